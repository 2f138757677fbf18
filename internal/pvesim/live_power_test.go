package pvesim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// status gives what a guest is in its own node's list, and its qmpstatus.
func status(t testing.TB, s *Server, path string) (string, string) {
	t.Helper()
	m, is := ok(t, s, "GET "+path+"/status/current").(map[string]any)
	require.True(t, is)
	return dataText(m["status"]), dataText(m["qmpstatus"])
}

func resourceOf(t testing.TB, s *Server, id string) map[string]any {
	t.Helper()
	list, is := ok(t, s, "GET /cluster/resources").([]any)
	require.True(t, is)
	for _, x := range list {
		if m, is := x.(map[string]any); is && m["id"] == id {
			return m
		}
	}
	return nil
}

func TestVMPower(t *testing.T) {
	s := lab(t)
	assert.Equal(t, []string{"TASK OK"}, taskOK(t, s, "POST "+q1+"101/status/start"))
	is, qmp := status(t, s, q1+"101")
	assert.Equal(t, "running running", is+" "+qmp)
	assert.Equal(t, "running", resourceOf(t, s, "qemu/101")["status"])
	got, _ := task(t, s, "POST "+q1+"101/status/start")
	assert.Equal(t, "VM 101 already running", got)

	taskOK(t, s, "POST "+q1+"101/status/reset")
	taskOK(t, s, "POST "+q1+"101/status/suspend")
	is, qmp = status(t, s, q1+"101")
	assert.Equal(t, "running paused", is+" "+qmp)
	assert.Equal(t, "paused", resourceOf(t, s, "qemu/101")["status"])
	fails(t, s, 500, "VM is paused - cannot shutdown", "POST "+q1+"101/status/shutdown")
	fails(t, s, 500, "VM is paused - cannot shutdown", "POST "+q1+"101/status/reboot")
	taskOK(t, s, "POST "+q1+"101/status/resume")
	_, qmp = status(t, s, q1+"101")
	assert.Equal(t, "running", qmp)
	taskOK(t, s, "POST "+q1+"101/status/suspend")
	log := taskOK(t, s, "POST "+q1+"101/status/shutdown", "forceStop", "1")
	assert.Equal(t, "VM is paused - stop instead of shutdown", log[0])

	taskOK(t, s, "POST "+q1+"101/status/stop")
	taskOK(t, s, "POST "+q1+"101/status/shutdown")
	for _, what := range []string{"reset", "suspend", "resume", "reboot"} {
		fails(t, s, 500, "VM 101 not running", "POST "+q1+"101/status/"+what)
		fails(t, s, 500, "unable to find configuration file for VM 999 on node 'n1'", "POST "+q1+"999/status/"+what)
	}
	got, _ = task(t, s, "POST "+q1+"999/status/start")
	assert.Equal(t, "Configuration file 'nodes/n1/qemu-server/999.conf' does not exist", got)
	got, _ = task(t, s, "POST "+q1+"105/status/start")
	assert.Equal(t, "you can't start a vm if it's a template", got)
	got, _ = task(t, s, "POST "+q1+"106/status/start")
	assert.Equal(t, "VM is locked (backup)", got)
	refuses(t, s, "skiplock", "Only root may use this option.", "POST "+q1+"106/status/start", "skiplock", "1")

	changed(s, func(w *World) { w.Storage("zfs").Offline = true })
	got, _ = task(t, s, "POST "+q1+"101/status/start")
	assert.Equal(t, "storage 'zfs' is not online", got)
	changed(s, func(w *World) {
		w.Storage("zfs").Offline = false
		w.Storage("zfs").Place("n1").Remove("zfs:vm-101-disk-0")
	})
	got, _ = task(t, s, "POST "+q1+"101/status/start")
	assert.Equal(t, "zfs error: cannot open 'rpool/vm-101-disk-0': dataset does not exist", got)

	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "cluster not ready - no quorum?", "POST "+q1+"101/status/start")
	taskOK(t, s, "POST "+q1+"100/status/stop")
}

// TestVMRestartsApplyPending: what waits is taken over when the VM goes down,
// a reset does not do that, and the task of a reboot ends before the VM is up.
func TestVMRestartsApplyPending(t *testing.T) {
	s := lab(t)
	ok(t, s, "PUT "+q1+"100/config", "cores", "4")
	taskOK(t, s, "POST "+q1+"100/status/reset")
	assert.Equal(t, "2", config(t, s, q1+"100", "current", "1")["cores"])
	taskOK(t, s, "POST "+q1+"100/status/reboot")
	until(t, func() bool { is, _ := status(t, s, q1+"100"); return is == "running" })
	assert.Equal(t, "4", config(t, s, q1+"100", "current", "1")["cores"])
	ok(t, s, "PUT "+q1+"100/config", "cores", "8")
	taskOK(t, s, "POST "+q1+"100/status/stop")
	assert.Equal(t, "8", config(t, s, q1+"100", "current", "1")["cores"])
}

func TestShutdownTimeouts(t *testing.T) {
	s := lab(t)
	_, err := s.AddFault(Fault{Kind: FaultDeaf, Guest: 100})
	require.NoError(t, err)
	_, err = s.AddFault(Fault{Kind: FaultDeaf, Guest: 102})
	require.NoError(t, err)
	got, _ := task(t, s, "POST "+q1+"100/status/shutdown")
	assert.Equal(t, "VM quit/powerdown failed - got timeout", got)
	is, _ := status(t, s, q1+"100")
	assert.Equal(t, "running", is)
	got, _ = task(t, s, "POST "+q1+"100/status/reboot")
	assert.Equal(t, "VM quit/powerdown failed - got timeout", got)
	log := taskOK(t, s, "POST "+q1+"100/status/shutdown", "forceStop", "1")
	assert.Equal(t, "VM still running - terminating now with SIGTERM", log[0])
	got, _ = task(t, s, "POST "+l1+"102/status/shutdown")
	assert.Equal(t, "container did not stop", got)
	taskOK(t, s, "POST "+l1+"102/status/reboot")
	is, _ = status(t, s, l1+"102")
	assert.Equal(t, "running", is)
	taskOK(t, s, "POST "+l1+"102/status/shutdown", "forceStop", "1")
	is, _ = status(t, s, l1+"102")
	assert.Equal(t, "stopped", is)
}

func TestOverruleShutdown(t *testing.T) {
	s := lab(t)
	_, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmshutdown"})
	require.NoError(t, err)
	upid, is := ok(t, s, "POST "+q1+"100/status/shutdown").(string)
	require.True(t, is)
	log := taskOK(t, s, "POST "+q1+"100/status/stop", "overrule-shutdown", "1")
	assert.Equal(t, "overruled qmshutdown tasks: "+upid, log[0])
	got, _ := ended(t, s, upid)
	assert.Equal(t, "received interrupt", got)
}

func TestVMHibernates(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "Cannot suspend HA managed VM to disk", "POST "+q1+"104/status/suspend", "todisk", "1")
	fails(t, s, 500, "cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state", "POST "+q1+"114/status/suspend", "todisk", "1")
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmsuspend"})
	require.NoError(t, err)
	upid, is := ok(t, s, "POST "+q1+"100/status/suspend", "todisk", "1", "statestorage", "nas").(string)
	require.True(t, is)
	until(t, func() bool { return config(t, s, q1+"100")["lock"] == "suspending" })
	s.RemoveFault(hold)
	got, log := ended(t, s, upid)
	require.Equal(t, "OK", got)
	assert.Equal(t, "saving VM state and RAM using storage 'nas'", log[0])
	assert.Regexp(t, `^completed saving the VM state in \d+s, saved [\d.]+ [KMG]iB$`, log[len(log)-2])
	c := config(t, s, q1+"100")
	assert.Equal(t, "suspended", c["lock"])
	assert.Regexp(t, `^nas:100/vm-100-state-suspend-\d{4}-\d\d-\d\d\.raw$`, c["vmstate"])
	st, _ := status(t, s, q1+"100")
	assert.Equal(t, "stopped", st)
	fails(t, s, 500, "VM is locked (suspended)", "PUT "+q1+"100/config", "cores", "1")
	taskOK(t, s, "POST "+q1+"100/status/resume")
	c = config(t, s, q1+"100")
	assert.NotContains(t, c, "lock")
	assert.NotContains(t, c, "vmstate")
	s.World().View(func(w *World) {
		for _, v := range w.Storage("nas").Place("").Volumes() {
			assert.NotContains(t, v.ID, "state", "its volume is gone")
		}
	})
	// Deleting the state makes it an ordinary stopped VM.
	taskOK(t, s, "POST "+q1+"100/status/suspend", "todisk", "1")
	ok(t, s, "PUT "+q1+"100/config", "delete", "vmstate")
	assert.NotContains(t, config(t, s, q1+"100"), "lock")
}

func TestContainerPower(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "CT 102 already running", "POST "+l1+"102/status/start")
	fails(t, s, 500, "CT 102 already running", "POST "+l1+"102/status/resume")
	taskOK(t, s, "POST "+l1+"102/status/reboot")
	taskOK(t, s, "POST "+l1+"102/status/shutdown")
	for what, reason := range map[string]string{"stop": "CT 102 not running", "shutdown": "CT 102 not running", "suspend": "CT 102 not running", "reboot": "VM 102 not running"} {
		fails(t, s, 500, reason, "POST "+l1+"102/status/"+what)
	}
	taskOK(t, s, "POST "+l1+"102/status/start")
	taskOK(t, s, "POST "+l1+"102/status/stop")
	got, _ := task(t, s, "POST "+l1+"113/status/start")
	assert.Equal(t, "you can't start a CT if it's a template", got)
	got, _ = task(t, s, "POST "+l1+"111/status/start")
	assert.Equal(t, "CT is locked (backup)", got)
	taskOK(t, s, "POST "+l1+"103/status/start")
	got, _ = task(t, s, "POST "+l1+"103/status/suspend")
	assert.Contains(t, got, "lxc-checkpoint")
	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "cluster not ready - no quorum?", "POST "+l1+"102/status/start")
}

// TestHAPower: for guests under HA the task ends at once; what happens to them
// happens later, by a task of root@pam's.
func TestHAPower(t *testing.T) {
	s := lab(t)
	for _, x := range []struct {
		path, noun string
		id         apidoc.VMID
	}{{q1 + "104", "VM", 104}, {l1 + "109", "CT", 109}} {
		upid, is := ok(t, s, "POST "+x.path+"/status/shutdown").(string)
		require.True(t, is)
		assert.Contains(t, upid, ":hastop:")
		got, log := ended(t, s, upid)
		assert.Equal(t, "OK", got)
		assert.Equal(t, "Requesting HA stop for "+x.noun+" "+x.id.String(), log[0])
		st, _ := status(t, s, x.path)
		assert.Equal(t, "running", st, "the task's end is not the guest's")
		until(t, func() bool { st, _ := status(t, s, x.path); return st == "stopped" })
		until(t, func() bool {
			return resourceOf(t, s, fmt.Sprintf("%s/%d", strings.Split(x.path, "/")[3], x.id))["hastate"] == "stopped"
		})
		s.World().View(func(w *World) { assert.Equal(t, "stopped", w.HA.Resource(x.id).State) })
		log = taskOK(t, s, "POST "+x.path+"/status/start")
		assert.Equal(t, "Requesting HA start for "+x.noun+" "+x.id.String(), log[0])
		until(t, func() bool { st, _ := status(t, s, x.path); return st == "running" })
		s.World().View(func(w *World) {
			_, done := w.Node("n1").Tasks()
			for _, d := range done {
				if d.ID == x.id.String() && !strings.HasPrefix(d.Type, "ha") {
					assert.Equal(t, "root@pam", d.User)
					assert.Equal(t, haAgent, w.Lines(d)[0])
				}
			}
		})
	}
	refuses(t, s, "overrule-shutdown", "Not applicable for HA resources.", "POST "+q1+"104/status/stop", "overrule-shutdown", "1")
	changed(s, func(w *World) { w.HA.Resource(104).CRMState = "error" })
	got, log := task(t, s, "POST "+q1+"104/status/start")
	assert.Equal(t, "command 'ha-manager set vm:104 --state started' failed: exit code 255", got)
	assert.Equal(t, "service 'vm:104' in error state, must be disabled and fixed first", log[1])
	changed(s, func(w *World) { w.HA.Resource(104).State = "ignored" })
	upid, is := ok(t, s, "POST "+q1+"104/status/stop").(string)
	require.True(t, is)
	assert.Contains(t, upid, ":qmstop:")
}
