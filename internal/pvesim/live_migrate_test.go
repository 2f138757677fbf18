package pvesim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// without takes the time in front of each line away.
func without(log []string) string {
	var out []string
	for _, l := range log {
		if len(l) > 20 && l[4] == '-' && l[19] == ' ' {
			l = l[20:]
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func TestMigrate(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "can't migrate running VM without --online", "POST "+q1+"100/migrate", "target", "n2")
	got, log := task(t, s, "POST "+q1+"100/migrate", "target", "n2", "online", "1")
	assert.Equal(t, "migration aborted", got)
	assert.Contains(t, without(log), "ERROR: can't migrate local disk 'lvm:vm-100-disk-0': can't live migrate attached local disks without with-local-disks option")
	assert.Contains(t, without(log), "can't migrate VM - check log")
	assert.NotContains(t, config(t, s, q1+"100"), "lock")

	log = taskOK(t, s, "POST "+q1+"100/migrate", "target", "n2", "online", "1", "with-local-disks", "1", "targetstorage", "lvm:zfs")
	lines := without(log)
	for _, want := range []string{
		"starting migration of VM 100 to node 'n2' (192.0.2.2)", "found local disk 'lvm:vm-100-disk-0' (attached)",
		"volume 'lvm:vm-100-disk-0' is 'zfs:vm-100-disk-0' on the target", "starting VM 100 on remote node 'n2'",
		"drive-scsi0: transferred 8.0 GiB of 8.0 GiB (100.00%) in 4s, ready", "starting online/live migration on unix:/run/qemu-server/100.migrate",
		"migration active, transferred 491.5 MiB of 2.0 GiB VM-state, 512.0 MiB/s", "migration status: completed", "migration finished successfully (duration 00:00:0",
	} {
		assert.Contains(t, lines, want)
	}
	c := config(t, s, "/nodes/n2/qemu/100")
	assert.Equal(t, "zfs:vm-100-disk-0,size=8G", c["scsi0"])
	assert.NotContains(t, c, "lock")
	is, _ := status(t, s, "/nodes/n2/qemu/100")
	assert.Equal(t, "running", is)
	assert.Empty(t, volumes(s, "lvm", 100))
	assert.Equal(t, "n2", resourceOf(t, s, "qemu/100")["node"])
	fails(t, s, 500, "Configuration file 'nodes/n1/qemu-server/100.conf' does not exist", "GET "+q1+"100/config")

	upid, is1 := ok(t, s, "POST "+q1+"101/migrate", "target", "n2").(string)
	require.True(t, is1)
	assert.Contains(t, upid, ":qmigrate:101:")
	got, _ = ended(t, s, upid)
	assert.Equal(t, "OK", got)
	assert.Equal(t, "zfs:vm-101-disk-0,size=8G", config(t, s, "/nodes/n2/qemu/101")["scsi0"], "offline: the name stays")

	got, log = task(t, s, "POST "+q1+"114/migrate", "target", "n2", "online", "1")
	assert.Equal(t, "migration aborted", got)
	assert.Contains(t, without(log), "can't migrate VM which uses local devices: hostpci0")
	got, log = task(t, s, "POST "+q1+"108/migrate", "target", "n3")
	assert.Equal(t, "migration aborted", got)
	assert.Contains(t, without(log), "ERROR: migration aborted (duration 00:00:0")
	refuses(t, s, "target", "target is local node.", "POST "+q1+"108/migrate", "target", "n1")
	fails(t, s, 500, "no such cluster node 'n9'", "POST "+q1+"108/migrate", "target", "n9")
	fails(t, s, 500, "VM is locked (backup)", "POST "+q1+"106/migrate", "target", "n2")
	ok(t, s, "PUT "+q1+"108/config", "scsi1", "only1:1")
	fails(t, s, 500, "storage 'only1' is not available on node 'n2'", "POST "+q1+"108/migrate", "target", "n2")
	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "cluster not ready - no quorum?", "POST "+q1+"108/migrate", "target", "n2")
}

func TestMigrateInterrupted(t *testing.T) {
	s := lab(t)
	_, err := s.AddFault(Fault{Kind: FaultTaskFail, Task: "qmigrate", After: 5, Reason: "connection lost", Times: 1})
	require.NoError(t, err)
	got, log := task(t, s, "POST "+q1+"100/migrate", "target", "n2", "online", "1", "with-local-disks", "1")
	assert.Equal(t, "migration aborted", got)
	assert.Contains(t, without(log), ": connection lost")
	c := config(t, s, q1+"100")
	assert.NotContains(t, c, "lock")
	assert.Equal(t, "lvm:vm-100-disk-0,size=8G", c["scsi0"])
	s.World().View(func(w *World) {
		assert.Nil(t, w.Storage("lvm").look("n2").Volume("lvm:vm-100-disk-0"))
		assert.NotNil(t, w.Storage("lvm").look("n1").Volume("lvm:vm-100-disk-0"))
	})
}

func TestMigrateContainer(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "can't migrate running container without --online or --restart", "POST "+l1+"102/migrate", "target", "n2")
	got, log := task(t, s, "POST "+l1+"102/migrate", "target", "n2", "online", "1")
	assert.Equal(t, "migration aborted", got)
	assert.Contains(t, without(log), "lxc live migration is currently not implemented")
	log = taskOK(t, s, "POST "+l1+"102/migrate", "target", "n2", "restart", "1")
	for _, want := range []string{"shutdown CT 102", "found local volume 'zfs:subvol-102-disk-0' (in current VM config)", "start final cleanup", "start container on target node"} {
		assert.Contains(t, without(log), want)
	}
	is, _ := status(t, s, "/nodes/n2/lxc/102")
	assert.Equal(t, "running", is)
}

func TestHAMigrate(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST "+q1+"104/migrate", "target", "n2", "online", "1")
	assert.Equal(t, "Requesting HA migration for VM 104 to node n2", log[0])
	until(t, func() bool { return resourceOf(t, s, "qemu/104")["node"] == "n2" })
	log = taskOK(t, s, "POST "+l1+"109/migrate", "target", "n2", "restart", "1")
	assert.Equal(t, "Requesting HA migration for CT 109 to node n2", log[0])
	until(t, func() bool { return resourceOf(t, s, "lxc/109")["node"] == "n2" })
	ok(t, s, "POST /cluster/ha/resources/vm:104/relocate", "node", "n1")
	until(t, func() bool { m := resourceOf(t, s, "qemu/104"); return m["node"] == "n1" && m["status"] == "running" })
	fails(t, s, 500, "no such cluster node 'n9'", "POST /cluster/ha/resources/vm:104/migrate", "node", "n9")
}

func TestHAResources(t *testing.T) {
	s := lab(t)
	ok(t, s, "POST /cluster/ha/resources", "sid", "101", "comment", "db")
	until(t, func() bool { is, _ := status(t, s, q1+"101"); return is == "running" })
	fails(t, s, 500, "resource ID 'vm:101' already defined", "POST /cluster/ha/resources", "sid", "vm:101")
	fails(t, s, 500, "unable to find VM '999' in cluster", "POST /cluster/ha/resources", "sid", "vm:999")
	ok(t, s, "PUT /cluster/ha/resources/vm:101", "state", "disabled")
	until(t, func() bool { is, _ := status(t, s, q1+"101"); return is == "stopped" })
	ok(t, s, "POST /cluster/ha/rules", "rule", "apart", "type", "resource-affinity", "resources", "vm:101,vm:104", "affinity", "negative")
	fails(t, s, 500, "HA rule 'apart' already defined", "POST /cluster/ha/rules", "rule", "apart", "type", "resource-affinity", "resources", "vm:101,vm:104", "affinity", "negative")
	fails(t, s, 500, "cannot use unmanaged resource(s) vm:108.", "POST /cluster/ha/rules", "rule", "home", "type", "node-affinity", "resources", "vm:108", "nodes", "n1")
	ok(t, s, "PUT /cluster/ha/rules/apart", "type", "resource-affinity", "comment", "never together")
	ok(t, s, "DELETE /cluster/ha/resources/vm:101")
	s.World().View(func(w *World) {
		assert.Equal(t, []string{"vm:104"}, w.haRule("apart").Resources)
		assert.Equal(t, "never together", w.haRule("apart").Comment)
	})
	ok(t, s, "DELETE /cluster/ha/rules/apart")
	fails(t, s, 500, "HA rule 'apart' does not exist", "DELETE /cluster/ha/rules/apart")
	fails(t, s, 500, "no such resource 'vm:101'", "PUT /cluster/ha/resources/vm:101", "state", "started")
	fails(t, s, 500, "cannot create group: ha groups have been migrated to rules", "POST /cluster/ha/groups", "group", "gg", "nodes", "n1")
	changed(s, func(w *World) { w.HA.Resource(104).CRMState = "error" })
	fails(t, s, 500, "service 'vm:104' in error state, must be disabled and fixed first", "PUT /cluster/ha/resources/vm:104", "state", "started")
}
