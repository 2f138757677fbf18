package pvesim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// snapshots lists name → parent of a guest's snapshots, the present among them.
func snapshots(t testing.TB, s *Server, path string) map[string]string {
	t.Helper()
	list, is := ok(t, s, "GET "+path+"/snapshot").([]any)
	require.True(t, is)
	out := map[string]string{}
	for _, x := range list {
		m, is := x.(map[string]any)
		require.True(t, is)
		out[dataText(m["name"])] = dataText(m["parent"])
		if st := dataText(m["snapstate"]); st != "" {
			out[dataText(m["name"])] += "!" + st
		}
	}
	return out
}

func TestSnapshots(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "one", "description", "first")
	assert.Equal(t, []string{"snapshotting 'drive-scsi0' (lvm:vm-100-disk-0)", "snapshotting 'drive-scsi1' (lvm:vm-100-disk-1)", "TASK OK"}, log)
	log = taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "two", "vmstate", "1")
	assert.Equal(t, "saving VM state and RAM using storage 'lvm'", log[0])
	taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "three")
	assert.Equal(t, map[string]string{"one": "", "two": "one", "three": "two", "current": "three"}, snapshots(t, s, q1+"100"))
	assert.Contains(t, volumes(s, "lvm", 100), "lvm:vm-100-state-two")

	ok(t, s, "PUT "+q1+"100/snapshot/one/config", "description", "oldest")
	m, is := ok(t, s, "GET "+q1+"100/snapshot/one/config").(map[string]any)
	require.True(t, is)
	assert.Equal(t, "oldest", m["description"])
	assert.NotContains(t, m, "lock")

	taskOK(t, s, "DELETE "+q1+"100/snapshot/two")
	assert.Equal(t, map[string]string{"one": "", "three": "one", "current": "three"}, snapshots(t, s, q1+"100"))
	assert.NotContains(t, volumes(s, "lvm", 100), "lvm:vm-100-state-two")

	for call, want := range map[string]string{
		"POST " + q1 + "100/snapshot?snapname=one":  "snapshot name 'one' already used",
		"POST " + q1 + "108/snapshot?snapname=one":  "snapshot feature is not available",
		"POST " + q1 + "105/snapshot?snapname=one":  "you can't take a snapshot if it's a template",
		"POST " + q1 + "106/snapshot?snapname=one":  "VM is locked (backup)",
		"DELETE " + q1 + "100/snapshot/nope":        "snapshot 'nope' does not exist",
		"POST " + q1 + "100/snapshot/nope/rollback": "snapshot 'nope' does not exist",
		"POST " + l1 + "111/snapshot?snapname=one":  "CT is locked (backup)",
		"POST " + l1 + "109/snapshot?snapname=one":  "snapshot feature is not available",
		"POST " + q1 + "105/snapshot/nope/rollback": "you can't rollback if vm is a template",
	} {
		got, _ := task(t, s, call)
		assert.Equal(t, want, got, call)
	}
	got, _ := task(t, s, "POST "+q1+"114/snapshot", "snapname", "ram", "vmstate", "1")
	assert.Equal(t, "cannot snapshot VM with RAM due to passed-through PCI device(s), which lack the possibility to save/restore their internal state", got)
	for _, name := range []string{"current", "PENDING"} {
		fails(t, s, 500, "unable to use snapshot name '"+name+"' (reserved name)", "POST "+q1+"100/snapshot", "snapname", name)
	}
	fails(t, s, 500, "unable to use snapshot name 'vzdump' (reserved name)", "POST "+l1+"102/snapshot", "snapname", "vzdump")
	fails(t, s, 500, "snapshot 'nope' does not exist", "PUT "+q1+"100/snapshot/nope/config", "description", "x")
	taskOK(t, s, "POST "+q1+"101/snapshot", "snapname", "noram", "vmstate", "1")
	s.World().View(func(w *World) { assert.False(t, w.Guest(101).Snapshot("noram").RAM, "it does not run") })
}

// TestRollback: the present is lost, notes stay, disks that came later become
// unused, and a running guest is stopped.
func TestRollback(t *testing.T) {
	s := lab(t)
	taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "base")
	ok(t, s, "PUT "+q1+"100/config", "name", "later", "description", "kept", "scsi2", "lvm:1", "cores", "8")
	taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "next", "vmstate", "1")
	taskOK(t, s, "POST "+q1+"100/snapshot/base/rollback")
	c := config(t, s, q1+"100")
	assert.Equal(t, []string{"web", "kept", "2", "lvm:vm-100-disk-2"}, []string{c["name"], c["description"], c["cores"], c["unused0"]})
	assert.NotContains(t, c, "lock")
	assert.Empty(t, pending(t, s, q1+"100"))
	is, _ := status(t, s, q1+"100")
	assert.Equal(t, "stopped", is)
	assert.Equal(t, map[string]string{"base": "", "next": "base", "current": "base"}, snapshots(t, s, q1+"100"))
	taskOK(t, s, "POST "+q1+"100/snapshot/next/rollback")
	is, _ = status(t, s, q1+"100")
	assert.Equal(t, "running", is, "its memory was kept")
	assert.Equal(t, "later", config(t, s, q1+"100")["name"])
	taskOK(t, s, "POST "+q1+"100/snapshot/base/rollback", "start", "1")
	is, _ = status(t, s, q1+"100")
	assert.Equal(t, "running", is)

	// ZFS goes back to the newest alone.
	taskOK(t, s, "POST "+q1+"101/snapshot", "snapname", "old")
	taskOK(t, s, "POST "+q1+"101/snapshot", "snapname", "new")
	got, _ := task(t, s, "POST "+q1+"101/snapshot/old/rollback")
	assert.Equal(t, "can't rollback, 'old' is not most recent snapshot on 'zfs:vm-101-disk-0'", got)
	taskOK(t, s, "POST "+q1+"101/snapshot/new/rollback")
	taskOK(t, s, "DELETE "+q1+"101/snapshot/new")
	taskOK(t, s, "POST "+q1+"101/snapshot/old/rollback")

	taskOK(t, s, "POST "+l1+"102/snapshot", "snapname", "ct")
	taskOK(t, s, "POST "+l1+"102/snapshot/ct/rollback", "start", "1")
	is, _ = status(t, s, l1+"102")
	assert.Equal(t, "running", is)

	changed(s, func(w *World) { w.Guest(101).Snapshot("old").State = "prepare" })
	got, _ = task(t, s, "POST "+q1+"101/snapshot/old/rollback")
	assert.Equal(t, "unable to rollback to incomplete snapshot (snapstate = prepare)", got)
}

// TestSnapshotInterrupted: while it is taken the guest is locked; what fails
// is cleaned up, and what is deleted halfway stays as it is.
func TestSnapshotInterrupted(t *testing.T) {
	s := lab(t)
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmsnapshot"})
	require.NoError(t, err)
	upid, is := ok(t, s, "POST "+q1+"100/snapshot", "snapname", "one").(string)
	require.True(t, is)
	until(t, func() bool { return snapshots(t, s, q1+"100")["one"] == "!prepare" })
	fails(t, s, 500, "VM is locked (snapshot)", "PUT "+q1+"100/config", "name", "x")
	assert.Equal(t, "snapshot", resourceOf(t, s, "qemu/100")["lock"])
	m, is := ok(t, s, "GET /nodes/n1/tasks/"+upid+"/status").(map[string]any)
	require.True(t, is)
	assert.Equal(t, "running", m["status"])
	ok(t, s, "DELETE /nodes/n1/tasks/"+upid)
	got, log := ended(t, s, upid)
	assert.Equal(t, "received interrupt", got)
	assert.Contains(t, log, "snapshot create failed: starting cleanup")
	assert.Equal(t, map[string]string{"current": ""}, snapshots(t, s, q1+"100"))
	assert.NotContains(t, config(t, s, q1+"100"), "lock")
	s.RemoveFault(hold)

	taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "one")
	_, err = s.AddFault(Fault{Kind: FaultTaskFail, Task: "qmdelsnapshot", Reason: "lvremove 'pve/snap_vm-100-disk-0_one' error: timeout", Times: 1})
	require.NoError(t, err)
	got, _ = task(t, s, "DELETE "+q1+"100/snapshot/one")
	assert.Equal(t, "lvremove 'pve/snap_vm-100-disk-0_one' error: timeout", got)
	assert.Equal(t, "!delete", snapshots(t, s, q1+"100")["one"])
	got, _ = task(t, s, "DELETE "+q1+"100/snapshot/one")
	assert.Equal(t, "VM is locked (snapshot-delete)", got)
	taskOK(t, s, "DELETE "+q1+"100/snapshot/one", "force", "1")
	assert.NotContains(t, config(t, s, q1+"100"), "lock")
}
