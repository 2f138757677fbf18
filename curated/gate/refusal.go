package gate

import (
	"fmt"

	"pvemcp/apidoc"
)

// Kind says why a call was refused.
type Kind string

// The reasons for a refusal. Each says what the way out is.
const (
	NotInReadonly Kind = "not in readonly mode"         // PROXMOX_MODE=full is needed, which only the user can set
	NeedsConfirm  Kind = "needs confirm"                // confirm=true
	NeedsDataLoss Kind = "needs i_understand_data_loss" // both flags
	NoGrant       Kind = "no grant"                     // the call is not the one that was confirmed
	ShellClosed   Kind = "shells are closed"            // commands and consoles have their own tools
	NotJudged     Kind = "can't be judged"              // the request could not be read
)

// Refusal says that a call was not made, and why.
type Refusal struct {
	Op       string // "VERB /path"
	Kind     Kind
	Class    apidoc.Class
	Template string        // the method, empty when no known version has it
	Reason   string        // the overlay's reason, for reads that are not harmless
	Raised   []apidoc.Rule // the rules that raised the class
	Err      error
}

func refuse(in *Intent, kind Kind) error {
	return &Refusal{Op: in.String(), Kind: kind, Class: in.Class, Template: in.Template, Reason: in.Policy.Reason, Raised: in.Policy.RaisedBy(in.Params)}
}

// Error gives one line in short; the text for the agent is made elsewhere.
func (r *Refusal) Error() string {
	s := fmt.Sprintf("%s: refused: %s", r.Op, r.Kind)
	if r.Class != "" {
		s += fmt.Sprintf(" (class %s)", r.Class)
	}
	if r.Err != nil {
		s += ": " + r.Err.Error()
	}
	return s
}

// Unwrap gives the cause, if any.
func (r *Refusal) Unwrap() error { return r.Err }
