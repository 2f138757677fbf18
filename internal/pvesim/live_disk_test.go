package pvesim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResize(t *testing.T) {
	s := lab(t)
	before := usedOn(s, "thick")
	upid, is := ok(t, s, "PUT "+q1+"108/resize", "disk", "scsi0", "size", "+6G").(string)
	require.True(t, is)
	assert.Contains(t, upid, ":resize:108:")
	got, _ := ended(t, s, upid)
	assert.Equal(t, "OK", got)
	assert.Equal(t, "thick:vm-108-disk-0,size=10G", config(t, s, q1+"108")["scsi0"])
	assert.Equal(t, before+6*gib, usedOn(s, "thick"))
	taskOK(t, s, "PUT "+q1+"108/resize", "disk", "scsi0", "size", "10G")
	for want, pairs := range map[string][]string{
		"shrinking disks is not supported": {"disk", "scsi0", "size", "1G"},
		"disk 'scsi9' does not exist":      {"disk", "scsi9", "size", "+1G"},
		"you can't resize a cdrom":         {"disk", "ide2", "size", "+1G"},
	} {
		got, _ := task(t, s, "PUT "+q1+"100/resize", pairs...)
		assert.Equal(t, want, got)
	}
	got, _ = task(t, s, "PUT "+q1+"108/resize", "disk", "scsi0", "size", "+500G")
	assert.Contains(t, got, "insufficient free space")
	fails(t, s, 500, "checksum mismatch (file change by other user?)", "PUT "+q1+"100/resize", "disk", "scsi0", "size", "+1G", "digest", strings.Repeat("0", 40))
	fails(t, s, 500, "VM is locked (backup)", "PUT "+q1+"106/resize", "disk", "scsi0", "size", "+1G")

	taskOK(t, s, "PUT "+l1+"102/resize", "disk", "rootfs", "size", "+1G")
	assert.Equal(t, "zfs:subvol-102-disk-0,size=5G", config(t, s, l1+"102")["rootfs"])
	fails(t, s, 500, "unable to shrink disk size", "PUT "+l1+"102/resize", "disk", "rootfs", "size", "1G")
	fails(t, s, 500, "disk is already at specified size", "PUT "+l1+"102/resize", "disk", "rootfs", "size", "5G")
	fails(t, s, 500, modified, "PUT "+l1+"102/resize", "disk", "rootfs", "size", "+1G", "digest", strings.Repeat("0", 40))
}

func TestMoveDisk(t *testing.T) {
	s := lab(t)
	log := taskOK(t, s, "POST "+q1+"100/move_disk", "disk", "scsi1", "storage", "nas")
	assert.Contains(t, log, "drive-scsi1: transferred 4.0 GiB of 4.0 GiB (100.00%) in 4s, ready")
	assert.Contains(t, log, "adding source volume 'lvm:vm-100-disk-1' as 'unused0' to config")
	c := config(t, s, q1+"100")
	assert.Equal(t, []string{"nas:100/vm-100-disk-0.raw,size=4G", "lvm:vm-100-disk-1"}, []string{c["scsi1"], c["unused0"]})
	log = taskOK(t, s, "POST "+q1+"101/move_disk", "disk", "scsi0", "storage", "nas", "format", "qcow2", "delete", "1", "digest", config(t, s, q1+"101")["digest"])
	assert.Equal(t, "create full clone of drive scsi0 (zfs:vm-101-disk-0)", log[0])
	assert.Contains(t, log, "transferred 2.0 GiB of 8.0 GiB (25.00%)")
	assert.Equal(t, "nas:101/vm-101-disk-0.qcow2,size=8G", config(t, s, q1+"101")["scsi0"])
	assert.Empty(t, volumes(s, "zfs", 101))

	fails(t, s, 500, "you can't move to the same storage with same format", "POST "+q1+"100/move_disk", "disk", "scsi0", "storage", "lvm")
	fails(t, s, 500, "you can't move a cdrom", "POST "+q1+"100/move_disk", "disk", "ide2", "storage", "lvm")
	refuses(t, s, "storage", "storage 'isos' does not support vm images", "POST "+q1+"100/move_disk", "disk", "scsi0", "storage", "isos")
	refuses(t, s, "storage", "either set 'storage' or 'target-vmid', but not both", "POST "+q1+"100/move_disk", "disk", "scsi0")
	fails(t, s, 500, modified, "POST "+q1+"100/move_disk", "disk", "scsi0", "storage", "nas", "digest", strings.Repeat("0", 40))
	fails(t, s, 500, "cannot move volumes of a running container", "POST "+l1+"102/move_volume", "volume", "rootfs", "storage", "nas")
	taskOK(t, s, "POST "+q1+"114/snapshot", "snapname", "x1")
	fails(t, s, 500, "you can't move a disk with snapshots and delete the source", "POST "+q1+"114/move_disk", "disk", "scsi0", "storage", "lvm", "delete", "1")
}

// TestMoveFails: a copy that finds no room leaves nothing behind.
func TestMoveFails(t *testing.T) {
	s := lab(t)
	changed(s, func(w *World) { p := w.Storage("nas").Place(""); p.Used = p.Total - 2*gib })
	before := usedOn(s, "nas")
	changed(s, func(w *World) { _, v := w.volumeOn("n1", "zfs:vm-101-disk-0"); v.Used = 3 * gib })
	got, log := task(t, s, "POST "+q1+"101/move_disk", "disk", "scsi0", "storage", "nas")
	assert.Regexp(t, "^storage migration failed: copy failed: ", got)
	assert.Contains(t, strings.Join(log, "\n"), "No space left on device")
	assert.Equal(t, before, usedOn(s, "nas"))
	assert.Empty(t, volumes(s, "nas", 101))
	assert.Equal(t, "zfs:vm-101-disk-0,size=8G", config(t, s, q1+"101")["scsi0"])
}

func TestReassign(t *testing.T) {
	s := lab(t)
	move := "POST " + q1 + "100/move_disk"
	fails(t, s, 500, "Cannot move disk to another VM while the source VM is running - detach first", move, "disk", "scsi1", "target-vmid", "101", "target-disk", "scsi3")
	taskOK(t, s, "POST "+q1+"100/status/stop")
	fails(t, s, 500, "Target disk key 'scsi0' is already in use for VM '101'", move, "disk", "scsi1", "target-vmid", "101", "target-disk", "scsi0")
	fails(t, s, 500, "Configuration file 'nodes/n1/qemu-server/110.conf' does not exist", move, "disk", "scsi1", "target-vmid", "110")
	fails(t, s, 500, modified, move, "disk", "scsi1", "target-vmid", "101", "target-digest", strings.Repeat("0", 40))
	upid, is := ok(t, s, move, "disk", "scsi1", "target-vmid", "101").(string)
	require.True(t, is)
	assert.Contains(t, upid, ":qmmove:100-scsi1>101-scsi1:")
	got, _ := ended(t, s, upid)
	require.Equal(t, "OK", got)
	assert.NotContains(t, config(t, s, q1+"100"), "scsi1")
	assert.Equal(t, "lvm:vm-101-disk-0,size=4G", config(t, s, q1+"101")["scsi1"])
	assert.Equal(t, []string{"lvm:vm-101-disk-0"}, volumes(s, "lvm", 101))
}

func TestTemplate(t *testing.T) {
	s := lab(t)
	fails(t, s, 500, "you can't convert a VM to template if VM is running", "POST "+q1+"100/template")
	fails(t, s, 500, "you can't convert a template to a template", "POST "+q1+"105/template")
	fails(t, s, 500, "you can't convert a CT to template if CT is running", "POST "+l1+"102/template")
	taskOK(t, s, "POST "+q1+"101/template")
	c := config(t, s, q1+"101")
	assert.Equal(t, []string{"1", "zfs:base-101-disk-0,size=8G"}, []string{c["template"], c["scsi0"]})
	assert.Equal(t, []string{"zfs:base-101-disk-0"}, volumes(s, "zfs", 101))
	got, _ := task(t, s, "POST "+q1+"108/template")
	assert.Equal(t, "volume 'thick:vm-108-disk-0' does not support template/clone", got)
	assert.Nil(t, ok(t, s, "POST "+l1+"103/template"), "no id is told")
	until(t, func() bool { return strings.HasPrefix(config(t, s, l1+"103")["rootfs"], "lvm:base-103-disk-0") })
	taskOK(t, s, "POST "+q1+"104/snapshot", "snapname", "x1")
	fails(t, s, 500, "unable to create template, because VM contains snapshots", "POST "+q1+"104/template")
}
