package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func judge(t testing.TB, g *Gate, verb, path string, params url.Values) *Intent {
	t.Helper()
	in, err := g.Judge(verb, path, params)
	require.NoError(t, err)
	return in
}

func hash(t testing.TB, args string) string {
	t.Helper()
	h, err := HashArgs(json.RawMessage(args))
	require.NoError(t, err)
	return h
}

type clock struct{ atomic.Int64 }

func (c *clock) now() time.Time { return time.Unix(c.Load(), 0) }

// planned opens a gate with plans and a clock.
func planned(t testing.TB, approval Approval) (*Gate, *spy, *clock) {
	t.Helper()
	c := &clock{}
	c.Store(1_000_000)
	below := &spy{}
	return open(t, Options{Next: below, Approval: approval, Now: c.now}), below, c
}

func TestPlan(t *testing.T) {
	ctx := context.Background()
	g, below, c := planned(t, ByPlan)
	stop := judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	del := judge(t, g, "DELETE", "/nodes/pve1/qemu/200", url.Values{"purge": {"1"}})
	args := hash(t, `{"vmid":200,"purge":true,"dry_run":true}`)
	issue := func() string {
		token, expires, err := g.IssuePlan(ctx, "pve_delete", args, "digest abc", []*Intent{stop, del})
		require.NoError(t, err)
		require.Equal(t, c.now().Add(10*time.Minute), expires)
		return token
	}

	// No plan, no change, whatever the flags say.
	_, err := g.Grant(ctx, stop, yes)
	require.Equal(t, NeedsPlan, kindOf(t, err))
	token := issue()
	_, err = g.Grant(ctx, stop, yes)
	require.Equal(t, NeedsPlan, kindOf(t, err), "an issued plan is not a redeemed one")

	// The plan with its calls, in order, each once.
	a, err := g.Redeem(ctx, token, "pve_delete", hash(t, `{"purge":true,"confirm":true,"vmid":200,"plan":"x","i_understand_data_loss":true}`), "digest abc")
	require.NoError(t, err)
	with := Consent{Confirm: true, DataLoss: true, Approved: a}
	_, err = g.Grant(ctx, del, with)
	require.Equal(t, PlanOther, kindOf(t, err), "the second before the first")
	_, err = g.Grant(ctx, stop, Consent{Approved: a})
	require.Equal(t, NeedsConfirm, kindOf(t, err), "a plan does not stand for the flags")
	first, err := g.Grant(ctx, stop, with)
	require.NoError(t, err)
	_, err = g.Grant(ctx, stop, with)
	require.Equal(t, PlanOther, kindOf(t, err), "the first twice")
	_, err = g.Grant(ctx, judge(t, g, "DELETE", "/nodes/pve1/qemu/200", nil), with)
	require.Equal(t, PlanOther, kindOf(t, err), "with other parameters")
	_, err = g.Grant(ctx, del, Consent{Confirm: true, Approved: a})
	require.Equal(t, NeedsDataLoss, kindOf(t, err))
	second, err := g.Grant(ctx, del, with)
	require.NoError(t, err)
	_, err = g.Grant(ctx, del, with)
	require.Equal(t, PlanOther, kindOf(t, err), "beyond the last")
	require.NoError(t, try(t, g, first, "POST", "/nodes/pve1/qemu/200/status/stop", nil))
	require.NoError(t, try(t, g, second, "DELETE", "/nodes/pve1/qemu/200", url.Values{"purge": {"1"}}))
	require.Equal(t, 2, below.count())

	_, err = g.Redeem(ctx, token, "pve_delete", args, "digest abc")
	require.Equal(t, PlanUsed, kindOf(t, err))

	// Another tool or other arguments: refused, and the plan stays good.
	token = issue()
	_, err = g.Redeem(ctx, token, "pve_raw_call", args, "digest abc")
	require.Equal(t, PlanOther, kindOf(t, err))
	_, err = g.Redeem(ctx, token, "pve_delete", hash(t, `{"vmid":201,"purge":true}`), "digest abc")
	require.Equal(t, PlanOther, kindOf(t, err))
	_, err = g.Redeem(ctx, " "+token+"\n", "pve_delete", args, "digest abc")
	require.NoError(t, err)

	// The state changed: the plan is void, also when it changes back.
	token = issue()
	_, err = g.Redeem(ctx, token, "pve_delete", args, "digest def")
	require.Equal(t, PlanStale, kindOf(t, err))
	_, err = g.Redeem(ctx, token, "pve_delete", args, "digest abc")
	require.Equal(t, PlanUsed, kindOf(t, err))

	// Time.
	token = issue()
	c.Add(599)
	a, err = g.Redeem(ctx, token, "pve_delete", args, "digest abc")
	require.NoError(t, err)
	c.Add(600)
	_, err = g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: a})
	require.Equal(t, PlanOther, kindOf(t, err), "a redeemed plan ends, too")
	token = issue()
	c.Add(600)
	_, err = g.Redeem(ctx, token, "pve_delete", args, "digest abc")
	require.Equal(t, PlanExpired, kindOf(t, err))

	for _, bad := range []string{"", "plan-", token[:len(token)-1], token + "0", strings.ToUpper(token), "plan-" + strings.Repeat("0", 32), "x" + token} {
		_, err = g.Redeem(ctx, bad, "pve_delete", args, "digest abc")
		require.Equal(t, PlanUnknown, kindOf(t, err), bad)
	}

	// What another gate approved is nothing here.
	other, _, _ := planned(t, ByPlan)
	token, _, err = other.IssuePlan(ctx, "t", "a", "s", []*Intent{stop})
	require.NoError(t, err)
	_, err = g.Redeem(ctx, token, "t", "a", "s")
	require.Equal(t, PlanUnknown, kindOf(t, err))
	foreign, err := other.Redeem(ctx, token, "t", "a", "s")
	require.NoError(t, err)
	_, err = g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: foreign})
	require.Equal(t, NeedsPlan, kindOf(t, err))
	_, err = g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: &Approved{}})
	require.Equal(t, NeedsPlan, kindOf(t, err))
}

// Of many that redeem one plan at the same time, one may.
func TestPlanWorksOnceInARace(t *testing.T) {
	ctx := context.Background()
	g, _, _ := planned(t, ByPlan)
	stop := judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	token, _, err := g.IssuePlan(ctx, "t", "a", "s", []*Intent{stop})
	require.NoError(t, err)
	var won atomic.Int32
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			if a, err := g.Redeem(ctx, token, "t", "a", "s"); err == nil {
				for range 4 {
					if _, err := g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: a}); err == nil {
						won.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
}

// A dry run promises nothing that will be refused.
func TestNoPlanForWhatIsRefused(t *testing.T) {
	ctx := context.Background()
	for _, o := range []Options{{Mode: ReadOnly}, {Protect: rules(t, "tag:prod")}, {Allow: rules(t, "vmid:950")}} {
		g := open(t, o)
		in := judge(t, g, "POST", "/nodes/pve1/qemu/100/status/stop", nil)
		_, _, err := g.IssuePlan(ctx, "t", "a", "s", []*Intent{in})
		require.Contains(t, []Kind{NotInReadonly, Protected, NotAllowed}, kindOf(t, err))
		_, _, err = g.Ask(ctx, "t", "a", "s", "?", []*Intent{in})
		require.Contains(t, []Kind{NotInReadonly, Protected, NotAllowed}, kindOf(t, err))
	}
	g := open(t, Options{})
	_, _, err := g.IssuePlan(ctx, "t", "a", "s", nil)
	require.ErrorContains(t, err, "1 to 1000 calls")
}

func TestHashArgs(t *testing.T) {
	base := hash(t, `{"vmid":200,"node":"pve1"}`)
	for _, same := range []string{
		`{"node":"pve1","vmid":200}`, `{"node":"pve1","vmid":200,"dry_run":true}`, `{"node":"pve1","vmid":200,"confirm":true,"plan":"plan-x"}`,
		` { "node" : "pve1" , "vmid" : 200 , "name" : null } `, `{"node":"pve1","vmid":200,"reason":"later","wait_seconds":30}`,
	} {
		require.Equal(t, base, hash(t, same), same)
	}
	for _, other := range []string{`{"vmid":201,"node":"pve1"}`, `{"vmid":200}`, `{"vmid":"200","node":"pve1"}`, `{"vmid":200,"node":"pve1","force":false}`, `{}`} {
		require.NotEqual(t, base, hash(t, other), other)
	}
	require.NotEqual(t, hash(t, `{"a":9007199254740993}`), hash(t, `{"a":9007199254740992}`))
	require.Equal(t, hash(t, `{}`), hash(t, ``))
	for _, bad := range []string{`[]`, `{`, `{} {}`, `1`} {
		_, err := HashArgs(json.RawMessage(bad))
		require.Error(t, err, bad)
	}
}

func TestMemoryPlansAreBounded(t *testing.T) {
	ctx := context.Background()
	c := &clock{}
	m := newMemoryPlans(3, c.now)
	for i := range 5 {
		require.NoError(t, m.Put(ctx, fmt.Sprint(i), Plan{Expires: time.Unix(int64(100+i), 0)}))
	}
	require.Len(t, m.plans, 3)
	_, err := m.Get(ctx, "1")
	require.ErrorIs(t, err, ErrPlanUnknown)
	_, err = m.Get(ctx, "4")
	require.NoError(t, err)
	require.NoError(t, m.Take(ctx, "4", time.Unix(200, 0)))
	require.ErrorIs(t, m.Take(ctx, "4", time.Unix(200, 0)), ErrPlanUsed)
	_, err = m.Get(ctx, "4")
	require.ErrorIs(t, err, ErrPlanUsed)
	for i := range 299 {
		require.NoError(t, m.Take(ctx, fmt.Sprint("x", i), time.Unix(200, 0)))
	}
	require.ErrorContains(t, m.Take(ctx, "y", time.Unix(200, 0)), "were used", "a full store refuses rather than forget")
	c.Store(200 + 601)
	require.NoError(t, m.Take(ctx, "y", time.Unix(2000, 0)))
	require.Len(t, m.used, 1)
}

func TestAsk(t *testing.T) {
	ctx := context.Background()
	g, below, c := planned(t, ByAsk)
	stop := judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", url.Values{"timeout": {"77"}})
	args := hash(t, `{"vmid":200}`)
	ask := func() string {
		state, _, err := g.Ask(ctx, "pve_vm_action", args, "running", "Stop VM 200?", []*Intent{stop})
		require.NoError(t, err)
		return state
	}
	_, err := g.Grant(ctx, stop, yes)
	require.Equal(t, NeedsPerson, kindOf(t, err))
	token, _, err := g.IssuePlan(ctx, "t", "a", "s", []*Intent{stop})
	require.NoError(t, err)
	byPlan, err := g.Redeem(ctx, token, "t", "a", "s")
	require.NoError(t, err)
	_, err = g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: byPlan})
	require.Equal(t, NeedsPerson, kindOf(t, err), "a plan is no person")

	state := ask()
	require.NotEqual(t, state, ask())
	for _, clear := range []string{"Stop", "200", "pve1", "running"} {
		require.NotContains(t, state, clear)
	}
	answered := func(state, tool, args, seen, question string) Kind {
		_, err := g.Answered(ctx, state, tool, args, seen, question)
		return kindOf(t, err)
	}
	require.Equal(t, PlanUnknown, answered(state, "pve_delete", args, "running", "Stop VM 200?"))
	require.Equal(t, PlanUnknown, answered(state, "pve_vm_action", hash(t, `{"vmid":201}`), "running", "Stop VM 200?"))
	require.Equal(t, PlanOther, answered(state, "pve_vm_action", args, "running", "Fine weather?"))
	require.Equal(t, PlanUnknown, answered("", "pve_vm_action", args, "running", "Stop VM 200?"))
	for i := range len(state) {
		forged := []byte(state)
		forged[i] ^= 1
		require.Equal(t, PlanUnknown, answered(string(forged), "pve_vm_action", args, "running", "Stop VM 200?"), i)
	}
	a, err := g.Answered(ctx, state, "pve_vm_action", args, "running", "Stop VM 200?")
	require.NoError(t, err)
	granted, err := g.Grant(ctx, stop, Consent{Confirm: true, DataLoss: true, Approved: a})
	require.NoError(t, err)
	require.NoError(t, try(t, g, granted, "POST", "/nodes/pve1/qemu/200/status/stop", url.Values{"timeout": {"77"}}))
	require.Equal(t, 1, below.count())
	require.Equal(t, PlanUsed, answered(state, "pve_vm_action", args, "running", "Stop VM 200?"), "one answer, one change")

	require.Equal(t, PlanStale, answered(ask(), "pve_vm_action", args, "stopped", "Stop VM 200?"))
	state = ask()
	c.Add(600)
	require.Equal(t, PlanExpired, answered(state, "pve_vm_action", args, "running", "Stop VM 200?"))

	// Another process without the key can't open it, one with it can.
	one := open(t, Options{Approval: ByAsk, SealKey: []byte("k"), Now: c.now})
	two := open(t, Options{Approval: ByAsk, SealKey: []byte("k"), Now: c.now})
	state, _, err = one.Ask(ctx, "t", "a", "s", "?", []*Intent{stop})
	require.NoError(t, err)
	_, err = g.Answered(ctx, state, "t", "a", "s", "?")
	require.Equal(t, PlanUnknown, kindOf(t, err))
	_, err = two.Answered(ctx, state, "t", "a", "s", "?")
	require.NoError(t, err)
}

type brokenPlans struct{ PlanStore }

func (brokenPlans) Get(context.Context, string) (Plan, error) {
	return Plan{}, errors.New("store away")
}
func (brokenPlans) Put(context.Context, string, Plan) error { return errors.New("store away") }
func (brokenPlans) Take(context.Context, string, time.Time) error {
	return errors.New("store away")
}

func TestAStoreThatFailsApprovesNothing(t *testing.T) {
	ctx := context.Background()
	g := open(t, Options{Approval: ByAsk, Plans: brokenPlans{}})
	stop := judge(t, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	_, _, err := g.IssuePlan(ctx, "t", "a", "s", []*Intent{stop})
	require.ErrorContains(t, err, "store away")
	_, err = g.Redeem(ctx, "plan-"+strings.Repeat("a", 32), "t", "a", "s")
	require.ErrorContains(t, err, "store away")
	state, _, err := g.Ask(ctx, "t", "a", "s", "?", []*Intent{stop})
	require.NoError(t, err)
	_, err = g.Answered(ctx, state, "t", "a", "s", "?")
	require.ErrorContains(t, err, "store away")
}

func TestOpenRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, o := range []Options{{Mode: Full}, {Approval: "maybe"}, {Shell: "yes"}} {
		_, err := Open(o)
		require.Error(t, err)
	}
	g, err := Open(Options{})
	require.NoError(t, err)
	require.Equal(t, ReadOnly, g.Mode())
	require.Equal(t, ByFlags, g.Approval())
	require.Equal(t, ShellOff, g.Shell())
}

func FuzzPlanToken(f *testing.F) {
	g := open(f, Options{Approval: ByPlan, SealKey: []byte("k")})
	in := judge(f, g, "POST", "/nodes/pve1/qemu/200/status/stop", nil)
	token, _, err := g.IssuePlan(context.Background(), "t", "a", "s", []*Intent{in})
	require.NoError(f, err)
	state, _, err := g.Ask(context.Background(), "t", "a", "s", "?", []*Intent{in})
	require.NoError(f, err)
	f.Add(token[:8], state)
	f.Add("plan-"+strings.Repeat("f", 32), "s1.AAAA")
	f.Add("", "s1.")
	f.Fuzz(func(t *testing.T, text, sealed string) {
		if _, err := g.Redeem(context.Background(), text, "t", "a", "s"); err == nil && strings.TrimSpace(text) != token {
			t.Fatalf("%q is taken for a plan", text)
		}
		if _, err := g.Answered(context.Background(), sealed, "t", "b", "s", "?"); err == nil {
			t.Fatalf("%q is taken for a state of other arguments", sealed)
		}
	})
}
