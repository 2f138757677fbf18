package curated

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/curated/gate"
	"pvemcp/internal/pvesim"
)

func exposing2(o *Options) { o.Expose = exposedPattern }

// consented gives the arguments with all flags that the change needs.
func (c *writeCase) consented(more ...any) args {
	a := with(c.args, "confirm", true)
	if c.loss {
		a["i_understand_data_loss"] = true
	}
	return with(a, more...)
}

// each runs f for every change and protocol.
func eachWrite(t *testing.T, f func(t *testing.T, protocol string, c *writeCase)) {
	for _, protocol := range protocols {
		for _, c := range writeCases() {
			t.Run(protocol+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				f(t, protocol, &c)
			})
		}
	}
}

// made holds that a change was made, by the world and not by the answer.
func (c *writeCase) made(t *testing.T, r *rig, text string, sent []string) {
	t.Helper()
	assert.Equal(t, c.sent, sent)
	if c.done != nil {
		c.done(t, r.sim)
	}
	if !c.managed {
		assert.Contains(t, text, ": done", text)
	}
	for _, w := range c.answers {
		assert.Contains(t, text, w)
	}
	assert.NotContains(t, text, "UPID:", "a task id is no success")
}

func TestWriteSucceeds(t *testing.T) {
	eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
		r := labRig(t, live{protocol: protocol, options: exposing2})
		var text string
		sent := r.writes(func() { text = r.ok(c.tool, c.consented()) })
		c.made(t, r, text, sent)
	})
}

// The rungs of the ladder that need no consent beyond flags: nothing is sent,
// and the words say which flag is missing and how else to go on.
func TestWriteIsRefused(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			sim := labSim(t, 0)
			readonly := labRig(t, live{sim: sim, protocol: protocol, mode: gate.ReadOnly, options: exposing2})
			full := labRig(t, live{sim: sim, protocol: protocol, options: exposing2})
			plan := labRig(t, live{sim: sim, protocol: protocol, approval: gate.ByPlan, options: exposing2})
			mute := labRig(t, live{sim: sim, protocol: protocol, approval: gate.ByAsk, options: exposing2})
			for _, r := range []*rig{full, plan, mute} { // what is warned of once only
				r.ok("pve_vm_action", args{"vmid": 101, "action": "start", "dry_run": true})
			}
			listed := map[string]bool{}
			list, err := readonly.session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			for _, tool := range list.Tools {
				listed[tool.Name] = true
				require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
			}
			for _, c := range writeCases() {
				t.Run(c.name, func(t *testing.T) {
					r := readonly.on(t)
					require.False(t, listed[c.tool], "listed in readonly")
					require.Empty(t, r.asked(func() { r.fails(c.tool, c.consented(), "PROXMOX_MODE=full") }))

					r = full.on(t)
					require.Empty(t, r.writes(func() {
						for _, a := range []args{c.args, with(c.args, "confirm", false), with(c.args, "i_understand_data_loss", true), with(c.args, "plan", "x"), with(c.args, "dry_run", false)} {
							r.fails(c.tool, a, "was not made", "confirm=true")
						}
						if c.loss {
							r.fails(c.tool, with(c.args, "confirm", true), "was not made", "i_understand_data_loss=true")
						}
					}))

					// A dry run changes nothing, whatever else is said.
					var text string
					require.Empty(t, r.writes(func() { text = r.ok(c.tool, c.consented("dry_run", true)) }))
					require.True(t, strings.HasPrefix(text, "Dry run, nothing was changed: "), text)
					for _, w := range c.tells {
						assert.Contains(t, text, w)
					}
					if c.loss {
						assert.Contains(t, text, "confirm=true and i_understand_data_loss=true")
					} else {
						assert.NotContains(t, text, "i_understand_data_loss")
					}
					golden(t, filepath.Join("dryrun", c.name+".txt"), c.tool+" "+jsonOf(t, c.args)+"\n\n"+text+"\n")

					r = plan.on(t)
					require.Empty(t, r.writes(func() {
						r.fails(c.tool, c.consented(), "wants a plan", "dry_run=true")
						for _, token := range []string{"x", "plan-", "plan-" + strings.Repeat("0", 32), "plan-" + strings.Repeat("é", 16)} {
							r.fails(c.tool, c.consented("plan", token), "Nothing was changed: unknown plan", "dry_run=true again")
						}
					}))

					r = mute.on(t)
					require.Empty(t, r.writes(func() {
						r.fails(c.tool, c.consented(), "was not made", "can't put a question")
					}))
				})
			}
			require.Empty(t, writesAfter(sim, 0))
		})
	}
}

var planToken = regexp.MustCompile(`plan-[0-9a-f]{32}`)

// plan makes a dry run and gives its token.
func (r *rig) plan(tool string, a args) string {
	r.t.Helper()
	text := r.ok(tool, with(a, "dry_run", true))
	token := planToken.FindString(text)
	require.NotEmpty(r.t, token, text)
	return token
}

// With plans: the same change succeeds with the token of its dry run, once, and
// with no other.
func TestWriteByPlan(t *testing.T) {
	eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
		clock := &clock{}
		r := labRig(t, live{protocol: protocol, approval: gate.ByPlan, options: func(o *Options) { o.Expose, o.Now = exposedPattern, clock.now }})
		other := labRig(t, live{protocol: protocol, sim: r.sim, approval: gate.ByPlan, options: exposing2})
		require.Empty(t, r.writes(func() {
			foreign := other.plan(c.tool, c.args)
			r.fails(c.tool, c.consented("plan", foreign), "unknown plan")

			token := r.plan(c.tool, c.args)
			// Flags are still needed, and do not use the plan up… nor does another tool.
			if c.tool != "pve_vm_action" {
				r.fails("pve_vm_action", args{"vmid": 101, "action": "start", "confirm": true, "plan": token}, "plan of another call")
			} else {
				r.fails("pve_lxc_action", args{"vmid": 103, "action": "start", "confirm": true, "plan": token}, "plan of another call")
			}
			late := r.plan(c.tool, c.args)
			clock.forward(11 * time.Minute)
			r.fails(c.tool, c.consented("plan", late), "plan expired")
		}))
		token := r.plan(c.tool, c.args)
		var text string
		sent := r.writes(func() { text = r.ok(c.tool, c.consented("plan", token, "reason", "planned", "wait_seconds", 20)) })
		c.made(t, r, text, sent)
		require.Empty(t, r.writes(func() { r.call(c.tool, c.consented("plan", token)) }), "a plan works once")
	})
}

// With a person: nothing is sent before the consent, and only an acceptance is
// one.
func TestWriteByAsking(t *testing.T) {
	eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
		sim := labSim(t, 0)
		type answer struct {
			action  string
			approve any
		}
		noes := []answer{{"decline", nil}}
		switch c.name {
		case "vm_start", "delete", "raw_access", "exposed_start", "create_vm_start":
			noes = append(noes, answer{"cancel", nil}, answer{"accept", false}, answer{"accept", nil}, answer{"decline", true})
		}
		for _, no := range noes {
			r := labRig(t, live{sim: sim, protocol: protocol, approval: gate.ByAsk, options: exposing2, client: answers(says(no.action, no.approve))})
			require.Empty(t, r.writes(func() {
				r.fails(c.tool, c.consented(), "did not agree", "nothing was changed")
			}), no.action)
		}
		asked := 0
		var question string
		r := labRig(t, live{sim: sim, protocol: protocol, approval: gate.ByAsk, options: exposing2})
		r.connectAs(protocol, answers(func(q string) *mcp.ElicitResult {
			asked++
			question = q
			assert.Empty(t, writesAfter(sim, 0), "nothing is sent before the consent")
			return says("accept", true)(q)
		}))
		var text string
		// The person's consent stands above the model's flags.
		sent := r.writes(func() { text = r.ok(c.tool, c.args) })
		assert.Equal(t, 1, asked)
		assert.Contains(t, question, "?\n")
		if c.loss && c.tool != "pve_raw_call" && !strings.HasPrefix(c.name, "exposed") {
			assert.Contains(t, question, "Lost for good: ")
		}
		c.made(t, r, text, sent)
	})
}

// A failed task is a failure: its reason, the end of its log and what to do.
func TestWriteTaskFails(t *testing.T) {
	eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
		if c.task == "" {
			return
		}
		r := labRig(t, live{protocol: protocol, options: exposing2})
		r.fault(pvesim.Fault{Kind: pvesim.FaultTaskFail, Task: c.task, Reason: "simulated trouble 4711"})
		var text string
		var isError bool
		sent := r.writes(func() { text, isError = r.call(c.tool, c.consented()) })
		assert.True(t, isError, text)
		assert.Equal(t, c.sent[:1], sent)
		// Some tasks end with less than the reason ("job errors", "migration
		// aborted"), which stands further up in their log.
		assert.Contains(t, text, "FAILED: ")
		assert.Contains(t, text, "simulated trouble 4711")
		assert.Contains(t, text, "TASK ERROR: ")
		assert.Contains(t, text, "UPID:", "how to see more")
		assert.NotContains(t, text, ": done")
	})
}

// A lost answer is told as unknown, and nothing is sent twice.
func TestWriteAnswerLost(t *testing.T) {
	for _, kind := range []pvesim.FaultKind{pvesim.FaultLose, pvesim.FaultCut} {
		t.Run(string(kind), func(t *testing.T) {
			eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
				if kind == pvesim.FaultCut && (protocol != protocols[1] || c.task == "") {
					return // the protocol changes nothing about what goes to Proxmox
				}
				r := labRig(t, live{protocol: protocol, options: exposing2})
				verb, _, _ := strings.Cut(c.sent[0], " ")
				r.fault(pvesim.Fault{Kind: kind, Method: verb})
				var text string
				sent := r.writes(func() {
					text = r.fails(c.tool, c.consented("wait_seconds", 0), "its answer was lost", "may or may not have been done", "Do not repeat it blindly")
				})
				assert.Equal(t, c.sent[:1], sent, "exactly one arrival")
				assert.NotContains(t, text, ": done")
			})
		})
	}
}

// A plan is of one tool and its arguments, and is used up by one change alone.
func TestPlanIsOfOneCall(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol, approval: gate.ByPlan, options: exposing2})
			token := r.plan("pve_vm_action", args{"vmid": 101, "action": "start"})
			require.Empty(t, r.writes(func() {
				for _, other := range []args{
					{"vmid": 111, "action": "start"},
					{"vmid": 100, "action": "stop"},
					{"vmid": 101, "action": "start", "timeout": 10},
					{"name": "zed", "action": "start"}, // the same, said otherwise: not what was looked at
				} {
					r.fails("pve_vm_action", with(other, "confirm", true, "plan", token), "Nothing was changed: plan of another call: the arguments are not those of the dry run", "dry_run=true again")
				}
				start := args{"verb": "POST", "path": q1 + "101/status/start"}
				r.fails("pve_raw_call", with(start, "confirm", true, "plan", token), "plan of another call", "pve_vm_action")
				r.fails("pve_vm_action", args{"vmid": 101, "action": "start", "plan": token, "dry_run": false}, "confirm=true")
			}))
			// After all these refusals it is still good for its own call, once.
			sent := r.writes(func() {
				r.ok("pve_vm_action", args{"vmid": 101, "action": "start", "confirm": true, "plan": token})
			})
			assert.Len(t, sent, 1)
			r.sim.World().Change(func(w *pvesim.World) { w.Guest(101).State = pvesim.Stopped })
			require.Empty(t, r.writes(func() {
				r.fails("pve_vm_action", args{"vmid": 101, "action": "start", "confirm": true, "plan": token}, "Nothing was changed: plan already used", "dry_run=true again")
			}))
		})
	}
}
