package gate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
)

// Approval says how consent is given, beyond the flags.
type Approval string

// The approvals.
const (
	ByFlags Approval = "flags" // confirm and i_understand_data_loss are enough
	ByPlan  Approval = "plan"  // a dry run's token is needed, too
	ByAsk   Approval = "ask"   // a person must have been asked, too
)

// planLife is how long a plan may be applied, and a person's answer be used.
const planLife = 10 * time.Minute

// mostCalls bounds the calls of one plan.
const mostCalls = 1000

// Plan is what a dry run promised. It holds no secret, only hashes.
type Plan struct {
	Tool    string    `json:"tool"`
	Args    string    `json:"args"`  // see HashArgs
	Seen    string    `json:"seen"`  // hash of what the dry run read
	Calls   []string  `json:"calls"` // fingerprints, in order
	Expires time.Time `json:"expires"`
}

// What a PlanStore answers.
var (
	ErrPlanUnknown = errors.New("no such plan")
	ErrPlanUsed    = errors.New("the plan was used")
)

// PlanStore keeps plans until they are used or expire. One that several
// processes share must make Take atomic among them.
type PlanStore interface {
	// Put keeps a plan under its id.
	Put(ctx context.Context, id string, p Plan) error
	// Get gives a plan; ErrPlanUnknown or ErrPlanUsed. An expired one may be
	// given or not.
	Get(ctx context.Context, id string) (Plan, error)
	// Take marks an id as used until then, whether it was put or not: the first
	// caller gets nil, all others ErrPlanUsed.
	Take(ctx context.Context, id string, until time.Time) error
}

// memoryPlans is the store of one process, bounded in number.
type memoryPlans struct {
	mu    sync.Mutex
	max   int
	now   func() time.Time
	plans map[string]Plan
	used  map[string]time.Time // forget then
}

// NewMemoryPlans keeps plans in memory, max at most: when it is full, the one
// that expires first is forgotten.
func NewMemoryPlans(max int) PlanStore { return newMemoryPlans(max, time.Now) }

func newMemoryPlans(max int, now func() time.Time) *memoryPlans {
	return &memoryPlans{max: max, now: now, plans: map[string]Plan{}, used: map[string]time.Time{}}
}

func (m *memoryPlans) Put(_ context.Context, id string, p Plan) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidy()
	for len(m.plans) >= m.max {
		first := ""
		for id, p := range m.plans {
			if first == "" || p.Expires.Before(m.plans[first].Expires) {
				first = id
			}
		}
		delete(m.plans, first)
	}
	m.plans[id] = p
	return nil
}

func (m *memoryPlans) Get(_ context.Context, id string) (Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.used[id]; ok {
		return Plan{}, ErrPlanUsed
	}
	p, ok := m.plans[id]
	if !ok {
		return Plan{}, ErrPlanUnknown
	}
	return p, nil
}

func (m *memoryPlans) Take(_ context.Context, id string, until time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tidy()
	if _, ok := m.used[id]; ok {
		return ErrPlanUsed
	}
	// Forgetting a used id would let it be used again, so a full store refuses.
	if len(m.used) >= 100*m.max {
		return fmt.Errorf("more than %d plans were used within %s", 100*m.max, planLife)
	}
	delete(m.plans, id)
	m.used[id] = until
	return nil
}

// tidy forgets what expired a while ago; until then an expired plan is told
// from an unknown one.
func (m *memoryPlans) tidy() {
	now := m.now()
	for id, p := range m.plans {
		if now.Sub(p.Expires) > planLife {
			delete(m.plans, id)
		}
	}
	for id, until := range m.used {
		if now.Sub(until) > planLife {
			delete(m.used, id)
		}
	}
}

// Approved is the proof that a plan was redeemed, or that a person agreed. Only
// this package makes one; it grants the planned calls, in their order, each once.
type Approved struct {
	gate    *Gate
	by      Approval
	id      string
	expires time.Time

	mu    sync.Mutex
	calls []string
}

// ID names the plan in the audit log. It is not its token.
func (a *Approved) ID() string { return a.id }

// take uses up the next call, if it is this one.
func (a *Approved) take(call string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.calls) == 0 || a.calls[0] != call || !a.gate.now().Before(a.expires) {
		return false
	}
	a.calls = a.calls[1:]
	return true
}

// controls are the arguments that steer the ladder and say nothing of what is
// done.
var controls = map[string]bool{
	"dry_run": true, "confirm": true, "i_understand_data_loss": true, "plan": true, "reason": true,
	"wait_seconds": true, "max_tokens": true, "format": true, "fields": true,
}

// HashArgs gives the hash of a tool's arguments, as the client sent them, to
// which a plan is bound. Left out are the arguments that steer the ladder and
// the answer (dry_run, confirm, i_understand_data_loss, plan, reason,
// wait_seconds, max_tokens, format, fields) and those that are null; the order
// of keys does not count. The error says that they are no JSON object.
func HashArgs(args json.RawMessage) (string, error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var given map[string]any
	if err := dec.Decode(&given); err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("arguments: more than one JSON value")
	}
	for name, v := range given {
		if controls[name] || v == nil {
			delete(given, name)
		}
	}
	text, err := json.Marshal(given)
	if err != nil {
		return "", err
	}
	return hashText(string(text)), nil
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// makePlan holds all calls against what no consent overrules, so that nothing
// is promised that will be refused.
func (g *Gate) makePlan(ctx context.Context, tool, argsHash, seen string, intents []*Intent) (Plan, error) {
	p := Plan{Tool: tool, Args: argsHash, Seen: hashText(seen), Expires: g.now().Add(planLife)}
	if len(intents) == 0 || len(intents) > mostCalls {
		return Plan{}, fmt.Errorf("a plan has 1 to %d calls, not %d", mostCalls, len(intents))
	}
	for _, in := range intents {
		if err := g.Check(ctx, in); err != nil {
			return Plan{}, err
		}
		call := in.fingerprint()
		p.Calls = append(p.Calls, hex.EncodeToString(call[:]))
	}
	return p, nil
}

// tokenMark begins every plan token.
const tokenMark = "plan-"

// IssuePlan ends a dry run: it gives the token by which exactly these calls may
// be made later, in their order. It is bound to the tool, to its arguments (see
// [HashArgs]) and to seen, the text of what the dry run read and rests on (a
// configuration's digest, or the state in one canonical form). It works once,
// within ten minutes. The error is a [*Refusal] when a call would be refused
// whatever is consented to.
func (g *Gate) IssuePlan(ctx context.Context, tool, argsHash, seen string, intents []*Intent) (token string, expires time.Time, err error) {
	p, err := g.makePlan(ctx, tool, argsHash, seen, intents)
	if err != nil {
		return "", time.Time{}, err
	}
	var secret [16]byte
	_, _ = rand.Read(secret[:])
	token = tokenMark + hex.EncodeToString(secret[:])
	if err := g.plans.Put(ctx, hashText(token), p); err != nil {
		return "", time.Time{}, fmt.Errorf("keeping the plan: %w", err)
	}
	return token, p.Expires, nil
}

// parsePlanToken gives the id under which a token's plan is kept, which does not
// give the token away.
func parsePlanToken(token string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(token), tokenMark)
	if !ok || len(rest) != 32 {
		return "", false
	}
	for i := range len(rest) {
		if c := rest[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return "", false
		}
	}
	return hashText(tokenMark + rest), true
}

// Redeem takes a plan's token when its calls are to be made. seenNow is read
// anew, in the form in which the dry run gave it. A token that is refused for
// another tool or other arguments stays good; in all other cases it is used up.
// The error is a [*Refusal]: PlanUnknown, PlanExpired, PlanUsed, PlanOther or
// PlanStale.
func (g *Gate) Redeem(ctx context.Context, token, tool, argsHash, seenNow string) (*Approved, error) {
	id, ok := parsePlanToken(token)
	if !ok {
		return nil, refusePlan(tool, PlanUnknown, errors.New("it has not the form of a plan token"))
	}
	p, err := g.plans.Get(ctx, id)
	if err != nil {
		return nil, refusePlan(tool, planKind(err), err)
	}
	return g.redeem(ctx, ByPlan, id, p, tool, argsHash, seenNow)
}

func (g *Gate) redeem(ctx context.Context, by Approval, id string, p Plan, tool, argsHash, seenNow string) (*Approved, error) {
	switch {
	case !g.now().Before(p.Expires):
		return nil, refusePlan(tool, PlanExpired, fmt.Errorf("it was good until %s", p.Expires.UTC().Format(time.TimeOnly+" UTC")))
	case p.Tool != tool:
		return nil, refusePlan(tool, PlanOther, fmt.Errorf("it was made by %s", p.Tool))
	case p.Args != argsHash:
		return nil, refusePlan(tool, PlanOther, errors.New("the arguments are not those of the dry run"))
	}
	if err := g.plans.Take(ctx, id, p.Expires); err != nil {
		return nil, refusePlan(tool, planKind(err), err)
	}
	if p.Seen != hashText(seenNow) {
		return nil, refusePlan(tool, PlanStale, nil)
	}
	return &Approved{gate: g, by: by, id: id[:12], expires: g.now().Add(planLife), calls: p.Calls}, nil
}

func planKind(err error) Kind {
	if errors.Is(err, ErrPlanUsed) {
		return PlanUsed
	}
	return PlanUnknown
}

func refusePlan(tool string, kind Kind, err error) *Refusal {
	return &Refusal{Op: tool, Kind: kind, Class: apidoc.Class(""), Err: err}
}
