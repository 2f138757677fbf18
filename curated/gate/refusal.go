package gate

import (
	"fmt"

	"pvemcp/apidoc"
)

// Kind says why a call was refused.
type Kind string

// The reasons for a refusal. Each says what the way out is.
const (
	NotInReadonly   Kind = "not in readonly mode"         // PROXMOX_MODE=full is needed, which only the user can set
	NeedsConfirm    Kind = "needs confirm"                // confirm=true
	NeedsDataLoss   Kind = "needs i_understand_data_loss" // both flags
	NeedsPlan       Kind = "needs a plan"                 // a dry run gives its token
	NeedsPerson     Kind = "needs a person's consent"     // the client must ask
	NoGrant         Kind = "no grant"                     // the call is not the one that was confirmed
	ShellClosed     Kind = "shells are closed"            // PROXMOX_SHELL
	HostShellClosed Kind = "shells of hosts are closed"   // PROXMOX_HOST_SHELL
	Protected       Kind = "protected"                    // PROXMOX_PROTECT; no consent helps
	NotAllowed      Kind = "not on the allow-list"        // PROXMOX_ALLOW; no consent helps
	NotKnown        Kind = "not known whether protected"  // a read that decides about it failed, or can't see all
	NotJudged       Kind = "can't be judged"              // the request could not be read
	NotLogged       Kind = "can't be logged"              // the audit log can't be written, so nothing is changed
	PlanUnknown     Kind = "unknown plan"                 // no plan of this server, or long gone: dry run again
	PlanExpired     Kind = "plan expired"                 // dry run again
	PlanUsed        Kind = "plan already used"            // each works once: dry run again
	PlanOther       Kind = "plan of another call"         // tool or arguments differ from the dry run's
	PlanStale       Kind = "state changed since the plan" // what the dry run read is no longer so: dry run again
)

// Refusal says that a call was not made, and why.
type Refusal struct {
	Op       string // "VERB /path", secrets masked; of a plan the tool
	Kind     Kind
	Class    apidoc.Class
	Template string        // the method, empty when no known version has it
	Reason   string        // the overlay's reason, for reads that are not harmless
	Raised   []apidoc.Rule // the rules that raised the class
	Rule     string        // of Protected and NotAllowed: the rule, as it was set
	Guest    apidoc.VMID   // of Protected and NotAllowed: the guest, 0 where it is none
	Via      string        // of Protected and NotAllowed: the parameter that names it
	Err      error         // more, in words
}

func refuse(in *Intent, kind Kind) *Refusal {
	return &Refusal{Op: in.shown(), Kind: kind, Class: in.Class, Template: in.Template, Reason: in.Policy.Reason, Raised: in.Policy.RaisedBy(in.Params)}
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
