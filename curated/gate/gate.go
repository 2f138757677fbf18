package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"pvemcp/apidoc"
	"pvemcp/curated/gate/audit"
	"pvemcp/generated"
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
	mode      Mode
	approval  Approval
	policies  Policies
	next      http.RoundTripper
	protect   Rules
	allow     Rules
	inventory *inventoryCache
	shell     ShellMode
	hostShell bool
	plans     PlanStore
	seal      *sealer
	audit     *audit.Log
	tokenID   string
	cluster   string
	fault     func(error)
	now       func() time.Time
}

// Options say what a gate lets through.
type Options struct {
	// Mode is readonly unless it is Full.
	Mode Mode
	// Next is the transport to Proxmox.
	Next http.RoundTripper
	// Policies say what methods do; nil means the generated ones.
	Policies Policies
	// Approval is how consent is given; empty means ByFlags.
	Approval Approval
	// Protect are guests that nothing may change, Allow, if there are any, the
	// only ones that may be changed. Protection wins.
	Protect, Allow Rules
	// Inventory knows the guests; nil reads through Next.
	Inventory Inventory
	// Shell opens calls of class shell; empty means ShellOff.
	Shell ShellMode
	// HostShell lets shells of hosts through although rules of use are set,
	// which they can get around.
	HostShell bool
	// Plans keeps plans; nil keeps a thousand in memory.
	Plans PlanStore
	// SealKey protects what clients keep for us; nil makes one for this process.
	SealKey []byte
	// Audit is the log of changes. In mode Full there must be one, or Unlogged.
	Audit *audit.Log
	// Unlogged says that changes are not logged: for the embedded cluster.
	Unlogged bool
	// TokenID and Cluster stand in the log.
	TokenID, Cluster string
	// Fault is told when an outcome can't be logged, which undoes nothing; nil
	// ignores it.
	Fault func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// New puts a gate with nothing but a mode in front of the transport: no rules of
// use, consent by flags, shells closed, no log. It is for tests and for the
// embedded cluster; a server for a real one uses [Open]. Anything but [Full]
// counts as readonly.
func New(mode Mode, policies Policies, next http.RoundTripper) *Gate {
	g, err := Open(Options{Mode: mode, Policies: policies, Next: next, Unlogged: true})
	if err != nil {
		panic("gate: " + err.Error()) // only without randomness
	}
	return g
}

// Open puts a gate in front of the transport. The error says which option is
// missing or not known.
func Open(o Options) (*Gate, error) {
	g := &Gate{
		mode: o.Mode, approval: o.Approval, policies: o.Policies, next: o.Next, protect: o.Protect, allow: o.Allow,
		shell: o.Shell, hostShell: o.HostShell, plans: o.Plans, audit: o.Audit,
		tokenID: o.TokenID, cluster: o.Cluster, fault: o.Fault, now: o.Now,
	}
	if g.policies == nil {
		g.policies = generatedPolicies
	}
	if g.fault == nil {
		g.fault = func(error) {}
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.plans == nil {
		g.plans = newMemoryPlans(1000, g.now)
	}
	switch g.approval {
	case "":
		g.approval = ByFlags
	case ByFlags, ByPlan, ByAsk:
	default:
		return nil, fmt.Errorf("approval %q: known are flags, plan, ask", o.Approval)
	}
	switch g.shell {
	case "":
		g.shell = ShellOff
	case ShellOff, ShellRead, ShellFull:
	default:
		return nil, fmt.Errorf("shell %q: known are off, read, full", o.Shell)
	}
	if o.Mode == Full && o.Audit == nil && !o.Unlogged {
		return nil, errors.New("changes need an audit log")
	}
	inventory := o.Inventory
	if inventory == nil {
		inventory = NewReader(o.Next)
	}
	g.inventory = &inventoryCache{from: inventory, now: g.now}
	var err error
	g.seal, err = newSealer(o.SealKey)
	return g, err
}

// generatedPolicies is the overlay as the generator compiled it.
func generatedPolicies(verb apidoc.Verb, template string) (*apidoc.Policy, bool) {
	e, ok := generated.EffectOf(verb, template)
	if !ok {
		return nil, false
	}
	return &e.Policy, true
}

// Mode tells the mode in force.
func (g *Gate) Mode() Mode {
	if g.mode == Full {
		return Full
	}
	return ReadOnly
}

// Approval tells how consent is given.
func (g *Gate) Approval() Approval { return g.approval }

// Shell tells what of class shell is open.
func (g *Gate) Shell() ShellMode { return g.shell }

// Rules tells the rules of use in force.
func (g *Gate) Rules() (protect, allow Rules) { return g.protect, g.allow }

// Consent is what a caller has agreed to. A flag that a model sets itself is a
// guard against slips, not a person's consent; that is what Approved is for.
type Consent struct {
	Confirm  bool      // the change as such
	DataLoss bool      // that data may be lost, that access changes, or that a command runs
	Approved *Approved // from Redeem or Answered, where the approval asks for it
}

// grant lets one call through, once.
type grant struct {
	gate *Gate
	call [sha256.Size]byte
	plan string
	by   Approval
	used atomic.Bool
}

// Judge tells what a call is, without making it: for dry runs and annotations.
// Path may hold escapes; params are in wire form, without the path's values.
func (g *Gate) Judge(verb, path string, params map[string][]string) (*Intent, error) {
	return NewIntent(g.policies, verb, path, params)
}

// Check tells what no consent can overrule: mode, shells, rules of use. It is
// for dry runs, so that they promise nothing that will be refused; it makes
// harmless reads alone. The error is a [*Refusal]; nil for a harmless read.
func (g *Gate) Check(ctx context.Context, in *Intent) error {
	if in.harmless() {
		return nil
	}
	if err := g.mayWrite(in); err != nil {
		return err
	}
	return g.mayTouch(ctx, in, false)
}

// Needs tells which flags a call needs, for dry runs.
func (i *Intent) Needs() (confirm, dataLoss bool) {
	return !i.harmless(), i.Class.Rank() >= apidoc.Destroy.Rank() && !i.readsShell()
}

func (i *Intent) harmless() bool {
	return i.Class == apidoc.Read && (i.Verb.Reads() || i.command)
}

// Grant gives a context in which exactly the judged call may be made once, if
// mode, rules of use and consent allow it. Calls of a plan must be granted in
// its order; nothing else of the plan is used up by a refusal. The error is a
// [*Refusal].
func (g *Gate) Grant(ctx context.Context, in *Intent, consent Consent) (context.Context, error) {
	if err := g.Check(ctx, in); err != nil {
		return nil, err
	}
	if confirm, dataLoss := in.Needs(); confirm && !consent.Confirm {
		return nil, refuse(in, NeedsConfirm)
	} else if dataLoss && !consent.DataLoss {
		return nil, refuse(in, NeedsDataLoss)
	}
	gr := &grant{gate: g, call: in.fingerprint(), by: ByFlags}
	if err := g.approve(in, gr, consent.Approved); err != nil {
		return nil, err
	}
	return context.WithValue(ctx, grantKey{}, gr), nil
}

// approve holds a call against the plan or the person's consent.
func (g *Gate) approve(in *Intent, gr *grant, a *Approved) error {
	if a == nil || a.gate != g || g.approval == ByAsk && a.by != ByAsk {
		switch {
		case g.approval == ByPlan:
			return refuse(in, NeedsPlan)
		case g.approval == ByAsk:
			return refuse(in, NeedsPerson)
		case a != nil:
			return refuse(in, PlanOther)
		}
		return nil
	}
	if !a.take(hex.EncodeToString(gr.call[:])) {
		r := refuse(in, PlanOther)
		r.Err = errors.New("it is not the next call of what was approved")
		return r
	}
	gr.plan, gr.by = a.id, a.by
	return nil
}

// mayWrite holds what no consent can overrule and needs no look at the cluster.
func (g *Gate) mayWrite(in *Intent) error {
	if g.Mode() != Full {
		return refuse(in, NotInReadonly)
	}
	return g.mayShell(in)
}

// Authorize decides about one call. Harmless reads pass; everything else needs
// its grant, which is used up, and is held against the rules of use once more,
// with the guests read anew. The error is a [*Refusal]. Who makes the call
// itself must log it, too: [Gate.Do] does both.
func (g *Gate) Authorize(ctx context.Context, in *Intent) error {
	_, err := g.authorize(ctx, in)
	return err
}

// authorize gives the grant that was used up; nil for a harmless read.
func (g *Gate) authorize(ctx context.Context, in *Intent) (*grant, error) {
	if in.harmless() {
		return nil, nil
	}
	if err := g.mayWrite(in); err != nil {
		return nil, err
	}
	gr := grantOf(ctx)
	if gr == nil || gr.gate != g || gr.call != in.fingerprint() || gr.used.Load() {
		return nil, refuse(in, NoGrant)
	}
	if err := g.mayTouch(ctx, in, true); err != nil {
		return nil, err
	}
	if !gr.used.CompareAndSwap(false, true) {
		return nil, refuse(in, NoGrant)
	}
	return gr, nil
}

// RoundTrip judges the request as it would go over the wire and passes it on,
// or refuses it with a [*Refusal]. Nothing of a refused request is sent, and
// what is sent is what was judged. A change is logged before it is sent and
// again with its outcome, for which the beginning of the answer is read ahead;
// the caller gets the whole answer.
func (g *Gate) RoundTrip(req *http.Request) (*http.Response, error) {
	in, body, err := requestIntent(g.policies, req)
	if req.Body != nil {
		_ = req.Body.Close()
	}
	if err != nil {
		return nil, &Refusal{Op: req.Method + " " + cut(maskText(req.URL.Path), longestWord), Kind: NotJudged, Err: err}
	}
	gr, err := g.authorize(req.Context(), in)
	if err != nil {
		return nil, err
	}
	req = judgedRequest(req, body)
	if gr == nil {
		return g.next.RoundTrip(req)
	}
	return g.send(req, in, gr)
}
