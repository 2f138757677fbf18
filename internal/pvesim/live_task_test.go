package pvesim

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ended waits until a task has ended and gives its exit text and log.
func ended(t testing.TB, s *Server, upid string) (status string, log []string) {
	t.Helper()
	until(t, func() bool {
		s.World().View(func(w *World) {
			x := w.Task(upid)
			require.NotNil(t, x, upid)
			if x.End != 0 {
				status, log = x.Status, append([]string(nil), w.Lines(x)...)
			}
		})
		return status != ""
	})
	return status, log
}

// until waits for something that other goroutines bring about.
func until(t testing.TB, f func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(limit), "it does not come to pass")
	}
}

// spawnTest starts a task that no call asked for.
func spawnTest(s *Server, kind, id string, body func(*worker) error) string {
	upid := ""
	s.World().Change(func(*World) { upid = s.spawn("n1", kind, id, "root@pam", body).task.UPID })
	return upid
}

func TestTaskFaults(t *testing.T) {
	s := start(t, Options{World: small(t, ""), TaskStep: time.Millisecond})
	three := func(k *worker) error {
		for _, n := range []string{"one", "two", "three"} {
			k.say(n)
			if err := k.rest(1); err != nil {
				return err
			}
		}
		return nil
	}
	status, log := ended(t, s, spawnTest(s, "qmclone", "100", three))
	assert.Equal(t, "OK", status)
	assert.Equal(t, []string{"one", "two", "three", "TASK OK"}, log)

	_, err := s.AddFault(Fault{Kind: FaultTaskFail, Task: "qmclone", Guest: 100, After: 1, Reason: "no space left", Times: 1})
	require.NoError(t, err)
	status, _ = ended(t, s, spawnTest(s, "qmclone", "101", three))
	assert.Equal(t, "OK", status, "another guest")
	status, log = ended(t, s, spawnTest(s, "qmclone", "100", three))
	assert.Equal(t, "no space left", status)
	assert.Equal(t, []string{"one", "two", "TASK ERROR: no space left"}, log)
	status, _ = ended(t, s, spawnTest(s, "qmclone", "100", three))
	assert.Equal(t, "OK", status, "it was for one")
	assert.Empty(t, s.Faults())

	_, err = s.AddFault(Fault{Kind: FaultTaskFail, After: 100})
	require.NoError(t, err)
	status, _ = ended(t, s, spawnTest(s, "x", "", func(*worker) error { return nil }))
	assert.Equal(t, "command 'simulated' failed: exit code 1", status, "due at the end at the latest")
	s.ClearFaults()

	status, log = ended(t, s, spawnTest(s, "x", "", func(k *worker) error { k.warnf("odd"); k.warnf("odder"); return nil }))
	assert.Equal(t, "WARNINGS: 2", status)
	assert.Equal(t, []string{"WARN: odd", "WARN: odder", "TASK WARNINGS: 2"}, log)
	status, _ = ended(t, s, spawnTest(s, "x", "", func(*worker) error { return errors.New("one\ntwo\n") }))
	assert.Equal(t, "one two", status)
	status, _ = ended(t, s, spawnTest(s, "x", "", func(*worker) error { panic("oh") }))
	assert.Equal(t, "pvesim: oh", status)
}

func TestTaskHeldAndStopped(t *testing.T) {
	w := small(t, "")
	s := start(t, Options{World: w, TaskStep: time.Millisecond})
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmmove"})
	require.NoError(t, err)
	done := 0
	count := func(k *worker) error {
		for range 3 {
			done++
			if err := k.rest(1); err != nil {
				return err
			}
		}
		return nil
	}
	seen := func(n int) func() bool {
		return func() bool { is := false; w.View(func(*World) { is = done == n }); return is }
	}
	upid := spawnTest(s, "qmmove", "100", count)
	until(t, seen(1))
	time.Sleep(10 * time.Millisecond)
	assert.True(t, seen(1)(), "it stands still")
	require.True(t, s.StepTask(upid))
	until(t, seen(2))
	res := fetch(t, s, http.MethodPost, "/__sim/step/"+upid, "")
	require.Equal(t, 200, res.status)
	until(t, seen(3))
	require.True(t, s.RemoveFault(hold))
	status, _ := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	assert.False(t, s.StepTask(upid), "it has ended")
	assert.Equal(t, 404, fetch(t, s, http.MethodPost, "/__sim/step/"+upid, "").status)

	_, err = s.AddFault(Fault{Kind: FaultTaskHold})
	require.NoError(t, err)
	upid = spawnTest(s, "qmmove", "100", count)
	until(t, seen(4))
	got := fetch(t, s, http.MethodDelete, "/api2/json/nodes/n1/tasks/"+upid, "")
	require.Equal(t, 200, got.status, got.body)
	status, log := ended(t, s, upid)
	assert.Equal(t, "received interrupt", status)
	assert.Equal(t, []string{"TASK ERROR: received interrupt"}, log)
	assert.Equal(t, 200, fetch(t, s, http.MethodDelete, "/api2/json/nodes/n1/tasks/"+upid, "").status, "again")

	// One that was written down as running.
	upid = ""
	w.View(func(w *World) {
		active, _ := w.Node("n1").Tasks()
		upid = active[0].UPID
	})
	require.Equal(t, 200, fetch(t, s, http.MethodDelete, "/api2/json/nodes/n1/tasks/"+upid, "").status)
	status, _ = ended(t, s, upid)
	assert.Equal(t, "received interrupt", status)

	// A held task does not keep the server from closing.
	upid = spawnTest(s, "qmmove", "100", count)
	until(t, seen(5))
	s.Close()
	w.View(func(w *World) { assert.Zero(t, w.Task(upid).End) })
}

func TestTaskFaultForm(t *testing.T) {
	s := start(t, Options{World: small(t, "")})
	for _, f := range []Fault{
		{Kind: FaultTaskFail, Path: "/nodes"}, {Kind: FaultDeaf, Method: "GET"}, {Kind: FaultTaskFail, After: -1},
		{Kind: FaultOffline, Task: "qmclone"}, {Kind: FaultOffline, Guest: 100},
	} {
		_, err := s.AddFault(f)
		assert.Error(t, err, "%+v", f)
	}
}

// TestTaskFaultsInAWorldFile: a situation can have tasks that will fail.
func TestTaskFaultsInAWorldFile(t *testing.T) {
	w := small(t, `, "faults": [{"kind": "task-fail", "task": "qmstart", "guest": 105, "reason": "start failed: org.freedesktop.systemd1.UnitExists", "times": 1}, {"kind": "task-slow", "delay": "2ms"}, {"kind": "deaf", "guest": 100}]`)
	s := start(t, Options{World: w, TaskStep: time.Millisecond})
	changed(s, func(w *World) { w.Guest(105).Config.Delete("template") })
	status, _ := task(t, s, "POST /nodes/n1/qemu/105/status/start")
	assert.Equal(t, "start failed: org.freedesktop.systemd1.UnitExists", status)
	taskOK(t, s, "POST /nodes/n1/qemu/105/status/start")
	status, _ = task(t, s, "POST /nodes/n1/qemu/100/status/shutdown")
	assert.Equal(t, "VM quit/powerdown failed - got timeout", status)
}

// TestLostAnswer: the connection breaks after the change was taken, so the
// task is there although nobody was told of it.
func TestLostAnswer(t *testing.T) {
	s := lab(t)
	_, err := s.AddFault(Fault{Kind: FaultLose, Method: "POST", Path: "/nodes/*/qemu/101/status/start", Times: 1})
	require.NoError(t, err)
	_, err = exchangeRaw(t, s, buildRequest("POST", "/api2/json/nodes/n1/qemu/101/status/start", map[string]string{"Authorization": rootToken}, ""))
	require.Error(t, err)
	until(t, func() bool { is, _ := vmStatus(t, s, "101"); return is == "running" })
}

func vmStatus(t testing.TB, s *Server, id string) (string, string) {
	t.Helper()
	return status(t, s, q1+id)
}
