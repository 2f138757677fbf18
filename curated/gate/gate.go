package gate

import (
	"context"
	"crypto/sha256"
	"net/http"
	"sync/atomic"

	"pvemcp/apidoc"
)

// Mode says whether anything may be changed at all.
type Mode string

// The modes.
const (
	ReadOnly Mode = "readonly"
	Full     Mode = "full"
)

// Gate is the one place where a call is allowed or refused. It is safe for
// concurrent use.
type Gate struct {
	mode     Mode
	policies Policies
	next     http.RoundTripper
}

// New puts a gate in front of the transport. Anything but [Full] counts as
// readonly.
func New(mode Mode, policies Policies, next http.RoundTripper) *Gate {
	return &Gate{mode: mode, policies: policies, next: next}
}

// Mode tells the mode in force.
func (g *Gate) Mode() Mode {
	if g.mode == Full {
		return Full
	}
	return ReadOnly
}

// Consent is what a caller has agreed to. A flag that a model sets itself is a
// guard against slips, not a person's consent.
type Consent struct {
	Confirm  bool // the change as such
	DataLoss bool // that data may be lost, or that access changes
}

// grant lets one call through, once.
type grant struct {
	call [sha256.Size]byte
	used atomic.Bool
}

// Judge tells what a call is, without making it: for dry runs and annotations.
// Path may hold escapes; params are in wire form, without the path's values.
func (g *Gate) Judge(verb, path string, params map[string][]string) (*Intent, error) {
	return NewIntent(g.policies, verb, path, params)
}

// Grant gives a context in which exactly the judged call may be made once, if
// mode and consent allow it. The error is a [*Refusal].
func (g *Gate) Grant(ctx context.Context, in *Intent, consent Consent) (context.Context, error) {
	if err := g.mayWrite(in); err != nil {
		return nil, err
	}
	switch {
	case !consent.Confirm:
		return nil, refuse(in, NeedsConfirm)
	case in.Class.Rank() >= apidoc.Destroy.Rank() && !consent.DataLoss:
		return nil, refuse(in, NeedsDataLoss)
	}
	return context.WithValue(ctx, grantKey{}, &grant{call: in.fingerprint()}), nil
}

// mayWrite holds what no consent can overrule.
func (g *Gate) mayWrite(in *Intent) error {
	switch {
	case g.Mode() != Full:
		return refuse(in, NotInReadonly)
	case in.Class == apidoc.Shell:
		return refuse(in, ShellClosed)
	}
	return nil
}

// Authorize decides about one call. Harmless reads pass; everything else needs
// its grant. The error is a [*Refusal].
func (g *Gate) Authorize(ctx context.Context, in *Intent) error {
	if in.Class == apidoc.Read && in.Verb.Reads() {
		return nil
	}
	if err := g.mayWrite(in); err != nil {
		return err
	}
	grant := grantOf(ctx)
	if grant == nil || grant.call != in.fingerprint() || !grant.used.CompareAndSwap(false, true) {
		return refuse(in, NoGrant)
	}
	return nil
}

// RoundTrip judges the request as it would go over the wire and passes it on,
// or refuses it with a [*Refusal]. Nothing of a refused request is sent.
func (g *Gate) RoundTrip(req *http.Request) (*http.Response, error) {
	in, err := requestIntent(g.policies, req)
	if err == nil {
		err = g.Authorize(req.Context(), in)
	} else {
		err = &Refusal{Op: req.Method + " " + req.URL.Path, Kind: NotJudged, Err: err}
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	return g.next.RoundTrip(req)
}
