package pvesim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCreateVM(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST /nodes/n1/qemu", "vmid", "200", "name", "new", "memory", "1024", "scsi0", "lvm:16", "ide2", "nas:iso/a.iso,media=cdrom", "net0", "virtio,bridge=vmbr0", "pool", "dev", "start", "1", "tags", "B,a", "ciuser", "x", "cipassword", "secret12")
	assert.Contains(t, log, "scsi0: successfully created disk 'lvm:vm-200-disk-0,size=16G'")
	c := config(t, s, q1+"200")
	assert.Equal(t, []string{"new", "1024", "lvm:vm-200-disk-0,size=16G", "order=scsi0;ide2;net0", "a;b", maskedPassword}, []string{c["name"], c["memory"], c["scsi0"], c["boot"], c["tags"], c["cipassword"]})
	assert.NotContains(t, c, "lock")
	assert.Regexp(t, `^uuid=[0-9a-f-]{36}$`, c["smbios1"])
	is, _ := status(t, s, q1+"200")
	assert.Equal(t, "running", is)
	assert.Equal(t, "dev", resourceOf(t, s, "qemu/200")["pool"])

	fails(t, s, 500, "unable to create VM 110 - VM 110 already exists on node 'n2'", "POST /nodes/n1/qemu", "vmid", "110")
	fails(t, s, 500, "unable to create VM 102 - CT 102 already exists on node 'n1'", "POST /nodes/n1/qemu", "vmid", "102")
	fails(t, s, 500, "storage 'nope' does not exist", "POST /nodes/n1/qemu", "vmid", "201", "scsi0", "nope:1")
	got, _ := task(t, s, "POST /nodes/n1/qemu", "vmid", "201", "scsi0", "lvm:1", "scsi1", "thick:200")
	assert.Regexp(t, `^unable to create VM 201 - lvcreate 'thick/vm-201-disk-0' error`, got)
	assert.Empty(t, volumes(s, "lvm", 201))
	assert.Nil(t, resourceOf(t, s, "qemu/201"), "given back")
	changed(s, func(w *World) { w.Quorate = false })
	fails(t, s, 500, "cluster not ready - no quorum?", "POST /nodes/n1/qemu", "vmid", "201")
}

func TestCreateContainer(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST /nodes/n1/lxc", "vmid", "200", "ostemplate", "nas:vztmpl/deb.tar.zst", "hostname", "new", "rootfs", "zfs:4", "net0", "name=eth0,bridge=vmbr0", "password", "secret12", "start", "1")
	assert.Contains(t, log, "extracting archive 'nas:vztmpl/deb.tar.zst'")
	c := config(t, s, l1+"200")
	assert.Equal(t, []string{"new", "zfs:subvol-200-disk-0,size=4G", "512", "1"}, []string{c["hostname"], c["rootfs"], c["memory"], c["unprivileged"]})
	assert.NotContains(t, c, "password")
	is, _ := status(t, s, l1+"200")
	assert.Equal(t, "running", is)
	taskOK(t, s, "POST /nodes/n1/lxc", "vmid", "201", "ostemplate", "nas:vztmpl/deb.tar.zst", "storage", "lvm")
	assert.Equal(t, "lvm:vm-201-disk-0,size=4G", config(t, s, l1+"201")["rootfs"])
	fails(t, s, 500, "VM 110 already exists on node 'n2'", "POST /nodes/n1/lxc", "vmid", "110", "ostemplate", "nas:vztmpl/deb.tar.zst")
	fails(t, s, 500, "volume 'nas:vztmpl/none.tar.zst' does not exist", "POST /nodes/n1/lxc", "vmid", "202", "ostemplate", "nas:vztmpl/none.tar.zst")
}

func TestBulk(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST /nodes/n1/startall")
	assert.Contains(t, log, "Starting VM 101")
	assert.NotContains(t, log, "Starting CT 103", "it is not to start with its node")
	log = taskOK(t, s, "POST /nodes/n1/startall", "vms", "103,106")
	assert.Contains(t, log, "Starting VM 106 failed: VM is locked (backup)")
	is, _ := status(t, s, l1+"103")
	assert.Equal(t, "running", is)
	taskOK(t, s, "POST /nodes/n1/suspendall", "vms", "101")
	assert.Equal(t, "suspended", config(t, s, q1+"101")["lock"])
	got, log := task(t, s, "POST /cluster/bulk-action/guest/start", "vms", "100", "vms", "106", "vms", "110")
	assert.Equal(t, "Some guests failed to start: 106", got)
	assert.Contains(t, log, "WARN: Skipping VM 100, already running")
	is, _ = status(t, s, "/nodes/n2/qemu/110")
	assert.Equal(t, "running", is)
	taskOK(t, s, "POST /cluster/bulk-action/guest/shutdown", "vms", "110")
	taskOK(t, s, "POST /cluster/bulk-action/guest/migrate", "vms", "108", "target", "n2")
	assert.Equal(t, "n2", resourceOf(t, s, "qemu/108")["node"])
	log = taskOK(t, s, "POST /nodes/n1/migrateall", "vms", "107", "target", "n2")
	assert.Equal(t, "Migrating VM 107 to n2", log[0])
	taskOK(t, s, "POST /nodes/n1/stopall")
	s.World().View(func(w *World) {
		for _, g := range w.GuestsOn("n1", "") {
			assert.Equal(t, w.haManaged(g.ID), g.Up(), "%d", g.ID)
		}
	})
}

func TestAgentChanges(t *testing.T) {
	s := lab(t)
	agent := q1 + "100/agent"
	ok(t, s, "POST "+agent+"/ping")
	ok(t, s, "POST "+agent+"/fsfreeze-freeze")
	m, is := ok(t, s, "POST "+agent+"/fsfreeze-status").(map[string]any)
	require.True(t, is)
	assert.Equal(t, "frozen", m["result"])
	ok(t, s, "POST "+agent, "command", "fsfreeze-thaw")
	m, is = ok(t, s, "POST "+agent+"/exec", "command", "cat", "command", "/etc/hostname", "command", "/none").(map[string]any)
	require.True(t, is)
	pid := dataText(m["pid"])
	m, is = ok(t, s, "GET "+agent+"/exec-status", "pid", pid).(map[string]any)
	require.True(t, is)
	assert.Equal(t, []string{"1", "1", "web\n", "cat: /none: No such file or directory\n"}, []string{dataText(m["exited"]), dataText(m["exitcode"]), dataText(m["out-data"]), dataText(m["err-data"])})
	fails(t, s, 500, "Agent error: PID "+pid+" does not exist", "GET "+agent+"/exec-status", "pid", pid)
	ok(t, s, "POST "+agent+"/file-write", "file", "/tmp/x", "content", "hällo")
	m, is = ok(t, s, "GET "+agent+"/file-read", "file", "/tmp/x").(map[string]any)
	require.True(t, is)
	assert.Equal(t, "hällo", m["content"])
	fails(t, s, 500, "No QEMU guest agent configured", "POST "+q1+"101/agent/ping")
	ok(t, s, "POST "+agent+"/shutdown")
	until(t, func() bool { is, _ := status(t, s, q1+"100"); return is == "stopped" })
	fails(t, s, 500, "VM 100 is not running", "POST "+agent+"/ping")
	assert.Equal(t, "ERROR: VM 100 not running\n", ok(t, s, "POST "+q1+"100/monitor", "command", "info status"))
}
