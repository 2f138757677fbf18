package curated

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/curated/gate"
	"pvemcp/internal/pvesim"
)

var startZed = args{"vmid": 101, "action": "start", "confirm": true}

// A wait ends when it was meant to, and says that the task goes on, with its
// id: a task that was only started is never told as done.
func TestWaitEnds(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol, options: func(o *Options) { o.MaxWait = 400 * time.Millisecond }})
			release := r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold})
			for _, c := range []struct {
				wait     any
				atLeast  time.Duration
				less     time.Duration
				cut      bool
				tool     string
				args     args
				addition string
			}{
				{wait: 0, less: 400 * time.Millisecond, tool: "pve_vm_action", args: startZed},
				{wait: nil, atLeast: 400 * time.Millisecond, less: 5 * time.Second, cut: true, tool: "pve_lxc_action", args: args{"vmid": 103, "action": "start", "confirm": true}},
				{wait: 600, atLeast: 400 * time.Millisecond, less: 20 * time.Second, cut: true, tool: "pve_vm_action", args: args{"vmid": 100, "action": "stop", "confirm": true}},
				{wait: "0", less: 400 * time.Millisecond, tool: "pve_raw_call", args: args{"verb": "POST", "path": l1 + "102/status/stop", "confirm": true}},
			} {
				a := c.args
				if c.wait != nil {
					a = with(a, "wait_seconds", c.wait)
				}
				begin := time.Now()
				text := r.ok(c.tool, a)
				took := time.Since(begin)
				assert.GreaterOrEqual(t, took, c.atLeast, text)
				if c.cut { // the other bound says nothing on a busy machine
					assert.Contains(t, text, "PROXMOX_MAX_WAIT")
				} else {
					assert.NotContains(t, text, "PROXMOX_MAX_WAIT")
				}
				assert.Contains(t, text, ": still running.")
				assert.Contains(t, text, "pve_task with wait_seconds follows it")
				assert.Contains(t, text, "UPID:pve1:")
				assert.NotContains(t, text, "done")
			}
			r.fails("pve_vm_action", with(startZed, "wait_seconds", 601), "wait_seconds")
			r.fails("pve_vm_action", with(startZed, "wait_seconds", -1), "wait_seconds")

			// pve_task goes on from there.
			upid := lastTask(r.sim, "qmstart")
			text := r.ok("pve_task", args{"upid": upid})
			assert.Contains(t, text, "still running")
			assert.NotContains(t, text, "done")
			release()
			text = r.ok("pve_task", args{"upid": upid, "wait_seconds": 1})
			assert.Contains(t, text, "qmstart 101 on pve1: done, task OK")
			assert.Equal(t, pvesim.Running, guestNow(r.sim, 101).State)
		})
	}
}

// lastTask gives the newest task of a type.
func lastTask(sim *pvesim.Server, kind string) (upid string) {
	sim.World().View(func(w *pvesim.World) {
		for _, n := range w.Nodes {
			active, ended := n.Tasks()
			for _, task := range append(active, ended...) {
				if task.Type == kind && upid == "" {
					upid = task.UPID
				}
			}
		}
	})
	return upid
}

// One call never waits longer than PROXMOX_MAX_WAIT, however many tasks it
// starts one after the other: a client that gives up hears nothing any more.
func TestWaitIsOfTheWholeCall(t *testing.T) {
	t.Parallel()
	r := labRig(t, live{step: 5 * time.Millisecond, options: func(o *Options) { o.MaxWait = time.Second }})
	r.fault(pvesim.Fault{Kind: pvesim.FaultTaskSlow, Task: "qmcreate", Delay: pvesim.Delay(250 * time.Millisecond)})
	r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "qmstart"})
	begin := time.Now()
	text := r.ok("pve_create", args{"kind": "qemu", "node": "pve1", "vmid": 222, "start": true, "confirm": true, "wait_seconds": 100})
	took := time.Since(begin)
	t.Log(took, text)
	assert.Contains(t, text, "still running")
	if created := guestNow(r.sim, 222); assert.NotNil(t, created) {
		assert.Less(t, took, 1900*time.Millisecond, "the waits were added up")
	}
}

// A client that cancels ends the wait, not the task.
func TestCancelledWait(t *testing.T) {
	eachWrite(t, func(t *testing.T, protocol string, c *writeCase) {
		if c.task == "" || protocol != protocols[1] {
			return
		}
		r := labRig(t, live{protocol: protocol, options: exposing2})
		release := r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: c.task})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for len(writesAfter(r.sim, 0)) == 0 || lastTask(r.sim, c.task) == "" {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(20 * time.Millisecond)
			cancel()
		}()
		res := r.inProcess(ctx, c.tool, c.consented("wait_seconds", 40))
		assert.Contains(t, res.Text, "the wait was cancelled; the task goes on")
		assert.Contains(t, res.Text, lastTask(r.sim, c.task))
		assert.False(t, res.IsError)
		assert.NotContains(t, res.Text, ": done")
		assert.Equal(t, c.sent[:1], writesAfter(r.sim, 0))
		upid := lastTask(r.sim, c.task)
		r.sim.World().View(func(w *pvesim.World) { assert.Zero(t, w.Task(upid).End) })
		release()
		if len(c.sent) == 1 && c.done != nil {
			eventually(t, "the task ends", func() (ended bool) {
				r.sim.World().View(func(w *pvesim.World) { ended = w.Task(upid).End != 0 })
				return ended
			})
			if !c.managed {
				c.done(t, r.sim)
			}
		}
	})
}

// The same over the wire: the client's cancellation reaches the wait at once,
// and the task goes on.
func TestCancelledWaitOverTheWire(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol})
			release := r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold})
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for lastTask(r.sim, "qmstart") == "" {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			_, err := r.session.CallTool(ctx, &mcp.CallToolParams{Name: "pve_vm_action", Arguments: with(startZed, "wait_seconds", 40)})
			require.ErrorIs(t, err, context.Canceled)
			// Nobody asks about the task any more soon after.
			asked := func() int { return len(r.sim.Requests()) }
			eventually(t, "the polling ends", func() bool {
				n := asked()
				time.Sleep(300 * time.Millisecond)
				return asked() == n
			})
			assert.Equal(t, []string{"POST " + q1 + "101/status/start"}, writesAfter(r.sim, 0), "the task was not stopped")
			release()
			eventually(t, "it runs", func() bool { return guestNow(r.sim, 101).State == pvesim.Running })
			// The session is as good as before.
			r.ok("pve_version", nil)
		})
	}
}

// Cancelling while the call itself is under way is another thing: whether it was
// made is not known, and that is what is said.
func TestCancelledCall(t *testing.T) {
	t.Parallel()
	r := labRig(t, live{})
	release := r.fault(pvesim.Fault{Kind: pvesim.FaultSlow, Method: "POST", Delay: pvesim.Delay(700 * time.Millisecond)})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		time.Sleep(250 * time.Millisecond)
		cancel()
	}()
	res := r.inProcess(ctx, "pve_vm_action", startZed)
	assert.True(t, res.IsError)
	assert.NotContains(t, res.Text, "nothing was changed")
	assert.Contains(t, res.Text, "may or may not have been done")
	release()
}

// While waiting, a client that wants to hear of it hears how far the task is.
func TestProgress(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var heard []*mcp.ProgressNotificationParams
			r := labRig(t, live{protocol: protocol, step: 20 * time.Millisecond, client: &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, req.Params)
				},
			}})
			r.fault(pvesim.Fault{Kind: pvesim.FaultTaskSlow, Task: "vzdump", Delay: pvesim.Delay(60 * time.Millisecond)})
			params := &mcp.CallToolParams{Name: "pve_backup", Arguments: args{"vmid": 101, "storage": "nas", "confirm": true, "wait_seconds": 40}}
			params.SetProgressToken("backup-1")
			res, err := r.session.CallTool(t.Context(), params)
			require.NoError(t, err)
			require.False(t, res.IsError, res.Content)
			mu.Lock()
			defer mu.Unlock()
			require.NotEmpty(t, heard)
			some, last := 0, 0.0
			for _, p := range heard {
				assert.Equal(t, "backup-1", p.ProgressToken)
				assert.GreaterOrEqual(t, p.Progress, last, "it never goes back")
				assert.LessOrEqual(t, p.Progress, 100.0)
				assert.NotContains(t, p.Message, "\n")
				assert.EqualValues(t, 100, p.Total)
				last = p.Progress
				if p.Progress > 0 {
					some++
					assert.Contains(t, p.Message, "%", "the last line of the log")
				}
			}
			assert.NotZero(t, some, "no percentage was heard of %d", len(heard))

			// Who did not ask for it hears nothing.
			n := len(heard)
			mu.Unlock()
			r.ok("pve_backup", args{"vmid": 101, "storage": "nas", "confirm": true})
			mu.Lock()
			assert.Len(t, heard, n)
		})
	}
}

// Warnings are a success that is told with them.
func TestWarnings(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol})
			r.sim.World().Change(func(w *pvesim.World) {
				task := w.StartTask("pve1", "qmstart", "101", "root@pam", now)
				task.Say("starting", "WARN: no efidisk configured! Using temporary efivars disk.", "WARN: the second one", "generating")
				w.EndTask(task, "WARNINGS: 2", now)
			})
			upid := lastTask(r.sim, "qmstart")
			// The cluster answers the start with that task.
			r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "POST", Times: 1, Status: 200, Reason: "OK", Body: `{"data":"` + upid + `"}`})
			text := r.ok("pve_vm_action", startZed)
			assert.Contains(t, text, "Start VM 101 (zed) on pve1: done with warnings (WARNINGS: 2)")
			assert.Contains(t, text, "no efidisk configured")
			assert.Contains(t, text, "the second one")
			assert.NotContains(t, text, "generating")
		})
	}
}

// What is no end is never told as one: a task whose state can't be read, one
// that vanished, one with an id that nobody can read.
func TestUnknownEnds(t *testing.T) {
	t.Parallel()
	r := labRig(t, live{})
	end := r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "GET", Path: "/nodes/*/tasks/**", Status: 500, Reason: "cannot read it"})
	text := r.ok("pve_vm_action", startZed)
	end()
	assert.Contains(t, text, "its end is not known")
	assert.Contains(t, text, "cannot read it")
	assert.Contains(t, text, "UPID:")
	assert.NotContains(t, text, "done")

	r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "POST", Times: 1, Status: 200, Reason: "OK", Body: `{"data":"UPID:nonsense"}`})
	text = r.ok("pve_lxc_action", args{"vmid": 103, "action": "start", "confirm": true})
	assert.Contains(t, text, "its end is not known")
	assert.NotContains(t, text, "done")

	r.sim.World().Change(func(w *pvesim.World) {
		task := w.StartTask("pve1", "qmstop", "100", "root@pam", now)
		w.EndTask(task, "unexpected status", now)
		task.Killed = true
	})
	r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "POST", Times: 1, Status: 200, Reason: "OK", Body: `{"data":"` + lastTask(r.sim, "qmstop") + `"}`})
	text, isError := r.call("pve_vm_action", args{"vmid": 100, "action": "stop", "confirm": true, "wait_seconds": 1})
	assert.True(t, isError)
	assert.Contains(t, text, "FAILED: unexpected status")
	assert.Contains(t, text, "how far it came is not known")
	assert.NotContains(t, text, ": done")
}

// pve_task_stop ends a task that runs, and says so of one that does not.
func TestTaskStop(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol, approval: gate.ByFlags})
			r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "vzdump"})
			text := r.ok("pve_backup", args{"vmid": 101, "storage": "nas", "confirm": true, "wait_seconds": 0})
			upid := lastTask(r.sim, "vzdump")
			require.Contains(t, text, upid)
			eventually(t, "it is locked", func() bool { return guestNow(r.sim, 101).Lock() == "backup" })
			text = r.ok("pve_task_stop", args{"upid": upid, "confirm": true})
			assert.Contains(t, text, "The task has ended: ")
			assert.NotContains(t, text, "ended: OK")
			assert.Empty(t, guestNow(r.sim, 101).Lock())
			require.Empty(t, r.writes(func() {
				assert.Contains(t, r.ok("pve_task_stop", args{"upid": upid, "confirm": true}), "Nothing to stop")
				r.fails("pve_task_stop", args{"upid": "UPID:x", "confirm": true}, "upid")
			}))
			assert.False(t, strings.Contains(strings.Join(volumesNow(r.sim, "nas", "pve1"), " "), "vzdump-qemu-101"))
		})
	}
}

// The task of a call that does not tell its id is found, and nothing is told as
// done while it is not.
func TestHiddenTask(t *testing.T) {
	t.Parallel()
	template := args{"vmid": 110, "confirm": true, "wait_seconds": 1}
	r := labRig(t, live{})
	r.sim.World().Change(func(w *pvesim.World) { // one that failed before is not taken for it
		w.EndTask(w.StartTask("pve1", "vztemplate", "110", "root@pam", now.Add(-time.Minute)), "of yesterday", now.Add(-time.Minute))
	})
	release := r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "vztemplate"})
	text := r.ok("pve_template", with(template, "wait_seconds", 0))
	assert.Contains(t, text, "still running")
	assert.Contains(t, text, lastTask(r.sim, "vztemplate"))
	release()
	eventually(t, "it is one", func() bool { g := guestNow(r.sim, 110); return strings.Contains(g.Config.Get("rootfs"), "base-110") })

	// The raw door follows it as well: what hides a task is known of the method,
	// not of one tool.
	r = labRig(t, live{})
	release = r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "vztemplate"})
	text = r.ok("pve_raw_call", args{"verb": "POST", "path": "/nodes/pve1/lxc/110/template", "confirm": true, "wait_seconds": 0})
	assert.Contains(t, text, "still running")
	assert.Contains(t, text, lastTask(r.sim, "vztemplate"))
	assert.NotContains(t, text, "done")
	release()

	// The list can't be read: before, nothing is sent; after, the end is not known.
	r = labRig(t, live{})
	end := r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "GET", Path: "/nodes/*/tasks", Status: 500, Reason: "no list"})
	require.Empty(t, r.writes(func() { r.fails("pve_template", template, "no list") }))
	end()
	r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "GET", Path: "/nodes/*/tasks", Status: 500, Reason: "no list", Skip: 1})
	text = r.ok("pve_template", template)
	assert.Contains(t, text, "its end is not known")
	assert.Contains(t, text, "pve_tasks with its vmid shows the task")
	assert.NotContains(t, text, "done")

	// No such task ever shows up.
	r = labRig(t, live{})
	r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "POST", Status: 200, Reason: "OK", Body: `{"data":null}`})
	text = r.ok("pve_template", template)
	assert.Contains(t, text, "its end is not known: its task, a vztemplate, is not in the node's list")
	assert.NotContains(t, text, "done")
}
