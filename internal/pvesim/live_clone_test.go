package pvesim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

func TestClone(t *testing.T) {
	s := lab(t)
	ok(t, s, "PUT "+q1+"100/config", "cores", "8") // pending, not copied
	upid, is := ok(t, s, "POST "+q1+"100/clone", "newid", "200", "name", "web-copy", "pool", "dev").(string)
	require.True(t, is)
	assert.Contains(t, upid, ":qmclone:100:", "its id is that of the source")
	got, log := ended(t, s, upid)
	require.Equal(t, "OK", got, log)
	c, from := config(t, s, q1+"200"), config(t, s, q1+"100", "current", "1")
	assert.Equal(t, []string{"web-copy", "2", "a;b", "lvm:vm-200-disk-0,size=8G", "lvm:vm-200-disk-1,size=4G", "none,media=cdrom"}, []string{c["name"], c["cores"], c["tags"], c["scsi0"], c["scsi1"], c["ide2"]})
	for _, key := range []string{"net0", "smbios1", "vmgenid"} {
		assert.NotEqual(t, from[key], c[key], key)
		assert.NotEmpty(t, c[key])
	}
	assert.NotContains(t, c, "lock")
	assert.Equal(t, "dev", resourceOf(t, s, "qemu/200")["pool"])
	assert.Contains(t, log, "drive-scsi0: mirror-job finished", "it runs")

	taskOK(t, s, "POST "+q1+"101/clone", "newid", "201", "target", "n1", "storage", "nas", "format", "qcow2", "description", "mine")
	c = config(t, s, q1+"201")
	assert.Equal(t, []string{"Copy-of-VM-zed", "mine", "1", "nas:201/vm-201-disk-0.qcow2,size=8G"}, []string{c["name"], c["description"], c["onboot"], c["scsi0"]})

	// A template is cloned by a link, to any node that has its storage.
	taskOK(t, s, "POST "+q1+"105/clone", "newid", "202", "target", "n2")
	assert.Equal(t, "nas:105/base-105-disk-0.qcow2/202/vm-202-disk-0.qcow2,size=4G", config(t, s, "/nodes/n2/qemu/202")["scsi0"])
	got, _ = task(t, s, "DELETE "+q1+"105")
	assert.Equal(t, "base volume 'nas:105/base-105-disk-0.qcow2' is still in use by linked cloned", got)

	taskOK(t, s, "POST "+l1+"113/clone", "newid", "203", "hostname", "linked")
	assert.Equal(t, "linked", config(t, s, l1+"203")["hostname"])
	taskOK(t, s, "POST "+l1+"103/clone", "newid", "204", "full", "1")
	assert.Equal(t, "off", config(t, s, l1+"204")["hostname"], "a container keeps the name")

	taskOK(t, s, "POST "+q1+"100/snapshot", "snapname", "s1")
	ok(t, s, "PUT "+q1+"100/config", "name", "renamed")
	taskOK(t, s, "POST "+q1+"100/clone", "newid", "205", "snapname", "s1", "full", "0")
	assert.Equal(t, "Copy-of-VM-web", config(t, s, q1+"205")["name"])
}

func TestCloneRefusals(t *testing.T) {
	s := lab(t)
	clone := "POST " + q1 + "100/clone"
	fails(t, s, 500, "unable to create VM 101: config file already exists", clone, "newid", "101")
	got, _ := task(t, s, clone, "newid", "110")
	assert.Regexp(t, `^clone failed: unable to open file '/etc/pve/nodes/n1/qemu-server/110.conf.tmp.\d+' - File exists$`, got)
	fails(t, s, 500, "Linked clone feature is not supported for 'lvm:vm-100-disk-0' (scsi0)", clone, "newid", "200", "full", "0")
	fails(t, s, 500, "parameter 'storage' not allowed for linked clones", "POST "+q1+"105/clone", "newid", "200", "storage", "nas")
	fails(t, s, 500, "parameter 'format' not allowed for linked clones", "POST "+q1+"105/clone", "newid", "200", "format", "raw")
	fails(t, s, 500, "can't clone VM to node 'n2' (VM uses local storage)", clone, "newid", "200", "target", "n2")
	fails(t, s, 500, "can't clone to non-shared storage 'lvm'", clone, "newid", "200", "target", "n2", "storage", "lvm")
	fails(t, s, 500, "VM is locked (backup)", "POST "+q1+"106/clone", "newid", "200")
	fails(t, s, 500, "snapshot 'nope' does not exist", clone, "newid", "200", "snapname", "nope")
	fails(t, s, 500, "VM 110 already exists on node 'n2'", "POST "+l1+"103/clone", "newid", "110")
	fails(t, s, 500, "Linked clone feature for 'lvm:vm-103-disk-0' is not available", "POST "+l1+"103/clone", "newid", "200", "full", "0")
	fails(t, s, 500, "Full clone of a running container is only possible from a snapshot", "POST "+l1+"102/clone", "newid", "200", "full", "1")
	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "cluster not ready - no quorum?", clone, "newid", "200")
}

// TestCloneRace: the id is taken as soon as a clone is accepted; what fails
// gives it back with all that was made.
func TestCloneRace(t *testing.T) {
	s := lab(t)
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmclone"})
	require.NoError(t, err)
	upid, is := ok(t, s, "POST "+q1+"100/clone", "newid", "200").(string)
	require.True(t, is)
	assert.Equal(t, "clone", config(t, s, q1+"200")["lock"])
	refuses(t, s, "vmid", "VM 200 already exists", "GET /cluster/nextid", "vmid", "200")
	fails(t, s, 500, "unable to create VM 200: config file already exists", "POST "+q1+"101/clone", "newid", "200")
	fails(t, s, 500, "unable to create VM 200 - VM 200 already exists on node 'n1'", "POST /nodes/n1/qemu", "vmid", "200")
	until(t, func() bool { return len(volumes(s, "lvm", 200)) == 1 })
	ok(t, s, "DELETE /nodes/n1/tasks/"+upid)
	got, _ := ended(t, s, upid)
	assert.Equal(t, "clone failed: received interrupt", got)
	fails(t, s, 500, "Configuration file 'nodes/n1/qemu-server/200.conf' does not exist", "GET "+q1+"200/config")
	assert.Empty(t, volumes(s, "lvm", 200))
	s.RemoveFault(hold)

	_, err = s.AddFault(Fault{Kind: FaultTaskFail, Task: "vzclone", After: 2, Reason: "rsync error", Times: 1})
	require.NoError(t, err)
	got, _ = task(t, s, "POST "+l1+"103/clone", "newid", "200", "full", "1")
	assert.Equal(t, "rsync error", got)
	assert.NotContains(t, config(t, s, l1+"103"), "lock", "the source is free again")
	assert.Empty(t, volumes(s, "lvm", 200))
}

func TestDestroy(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "can't remove VM 107 - protection mode enabled", "DELETE "+q1+"107")
	fails(t, s, 500, "VM 100 is running - destroy failed", "DELETE "+q1+"100")
	fails(t, s, 500, "unable to destroy CT 102 - container is running", "DELETE "+l1+"102")
	fails(t, s, 500, "unable to remove VM 104 - used in HA resources and purge parameter not set.", "DELETE "+q1+"104")
	fails(t, s, 500, "Configuration file 'nodes/n1/qemu-server/999.conf' does not exist", "DELETE "+q1+"999")
	got, _ := task(t, s, "DELETE "+q1+"106")
	assert.Equal(t, "VM is locked (backup)", got)

	changed(s, func(w *World) {
		w.Jobs = append(w.Jobs, &BackupJob{ID: "j1", Options: NewConfig("vmid", "101,107")}, &BackupJob{ID: "j2", Options: NewConfig("vmid", "101")})
		w.Replications = append(w.Replications, &Replication{ID: "101-0", Guest: 101, Source: "n1", Target: "n2"})
		w.access.Grant("/vms/101", "ops@pve", "PVEAuditor")
		w.Storage("nas").Place("").Add(&Volume{ID: "nas:101/vm-101-disk-9.raw", Content: "images", Format: "raw", Size: gib, Owner: 101})
	})
	fails(t, s, 500, "There is a replication job '101-0' for guest '101' - Please remove that first.", "DELETE "+q1+"101")
	log := taskOK(t, s, "DELETE "+q1+"101", "purge", "1", "destroy-unreferenced-disks", "1")
	assert.Contains(t, log, "purging VM 101 from related configurations..")
	s.World().View(func(w *World) {
		assert.Nil(t, w.Guest(101))
		assert.Empty(t, w.Replications)
		require.Len(t, w.Jobs, 1, "a job for nobody goes")
		assert.Equal(t, "107", w.Jobs[0].Options.Get("vmid"))
		for _, e := range w.access.ACL {
			assert.NotEqual(t, "/vms/101", e.Path)
		}
	})
	assert.Empty(t, volumes(s, "zfs", 101))
	assert.Empty(t, volumes(s, "nas", 101))
	assert.Nil(t, resourceOf(t, s, "qemu/101"))

	taskOK(t, s, "DELETE "+l1+"102", "force", "1")
	taskOK(t, s, "POST "+q1+"104/status/stop")
	until(t, func() bool { is, _ := status(t, s, q1+"104"); return is == "stopped" })
	log = taskOK(t, s, "DELETE "+q1+"104", "purge", "1")
	assert.Contains(t, log, "NOTE: removed VM 104 from HA resource configuration.")
	s.World().View(func(w *World) { assert.Nil(t, w.HA.Resource(apidoc.VMID(104))) })

	changed(s, func(w *World) { w.Storage("thick").Offline = true })
	got, log = task(t, s, "DELETE "+q1+"108")
	assert.Equal(t, "WARNINGS: 1", got)
	assert.Equal(t, "WARN: Could not remove disk 'thick:vm-108-disk-0', check manually: storage 'thick' is not online", log[0])
}
