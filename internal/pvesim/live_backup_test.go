package pvesim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// backupWorld has a guest of each kind, one that is locked, one on another
// node, and storages that are large, small and not for backups.
func backupWorld(t testing.TB) *World {
	t.Helper()
	w, err := ReadWorld(strings.NewReader(`{"cluster": "c", "nodes": [{"name": "n1"}, {"name": "n2"}],
	"storages": [{"id": "nas", "type": "nfs", "content": ["images", "rootdir", "backup", "iso", "vztmpl"], "size": "1T", "options": {"path": "/mnt/pve/nas"}},
		{"id": "pbs", "type": "pbs", "content": ["backup"], "size": "1T", "options": {"server": "b", "username": "u@pbs", "datastore": "d", "prune-backups": "keep-last=1"}},
		{"id": "tiny", "type": "nfs", "content": ["backup"], "size": "10M", "options": {"path": "/mnt/pve/tiny"}},
		{"id": "fast", "type": "lvmthin", "content": ["images", "rootdir"], "size": "1T", "options": {"vgname": "vg", "thinpool": "data"}}],
	"pools": [{"id": "dev"}],
	"guests": [
		{"id": 100, "node": "n1", "state": "running", "pool": "dev", "config": {"name": "web", "agent": 1, "memory": 2048, "scsi0": "fast:vm-100-disk-0,size=8G", "scsi1": "fast:vm-100-disk-1,size=4G,backup=0", "ide2": "none,media=cdrom", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "vmgenid": "11111111-1111-1111-1111-111111111111", "smbios1": "uuid=22222222-2222-2222-2222-222222222222"}, "agent": {"hostname": "web"}, "snapshots": [{"name": "s1"}]},
		{"id": 101, "node": "n1", "config": {"name": "locked", "lock": "migrate", "scsi0": "fast:vm-101-disk-0,size=1G"}},
		{"id": 102, "kind": "lxc", "node": "n1", "state": "running", "config": {"hostname": "ct", "memory": 512, "rootfs": "fast:vm-102-disk-0,size=4G", "mp0": "fast:vm-102-disk-1,mp=/data,size=2G"}},
		{"id": 103, "node": "n2", "config": {"name": "far", "scsi0": "nas:103/vm-103-disk-0.raw,size=1G"}}],
	"users": [{"id": "bob@pve"}], "tokens": [{"id": "root@pam!full", "privsep": false}, {"id": "bob@pve!tt", "privsep": false}],
	"acl": [{"path": "/vms/100", "who": "bob@pve", "role": "PVEVMUser"}, {"path": "/storage/nas", "who": "bob@pve", "role": "PVEDatastoreUser"}]}`), GeneratedEpoch)
	require.NoError(t, err)
	return w
}

func quick(t testing.TB, w *World) *Server {
	t.Helper()
	return start(t, Options{World: w, TaskStep: time.Millisecond})
}

func backupsOf(w *World, storage apidoc.Storage, id apidoc.VMID) (list []*Volume) {
	w.View(func(w *World) {
		for _, v := range w.Storage(storage).look("n1").Volumes() {
			if v.Content == "backup" && v.Owner == id {
				c := *v
				list = append(list, &c)
			}
		}
	})
	return list
}

func TestBackupOfOne(t *testing.T) {
	w := backupWorld(t)
	s := quick(t, w)
	log := strings.Join(taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", "nas", "compress", "zstd", "mode", "snapshot", "protected", "1", "notes-template", `{{guestname}} of {{node}} in {{cluster}}: {{vmid}}\nmore`), "\n")
	for _, line := range []string{
		"INFO: starting new backup job: vzdump 100 --compress zstd --mode snapshot ",
		"INFO: Starting Backup of VM 100 (qemu)", "INFO: status = running", "INFO: VM Name: web",
		"INFO: include disk 'scsi0' 'fast:vm-100-disk-0' 8G", "INFO: exclude disk 'scsi1' 'fast:vm-100-disk-1' (backup=no)",
		"INFO: backup mode: snapshot", "INFO: ionice priority: 7", "INFO: creating vzdump archive '/mnt/pve/nas/dump/vzdump-qemu-100-",
		"INFO: issuing guest-agent 'fs-freeze' command", "INFO: started backup task '", "INFO: resuming VM again",
		"INFO:  50% (4.0 GiB of 8.0 GiB) in ", "INFO: archive file size: ", "INFO: adding notes to backup", "INFO: marking backup as protected",
		"INFO: Finished Backup of VM 100 (", "INFO: Backup job finished successfully\nTASK OK",
	} {
		assert.Contains(t, log, line)
	}
	list := backupsOf(w, "nas", 100)
	require.Len(t, list, 1)
	assert.True(t, list[0].Protected)
	assert.Equal(t, "web of n1 in c: 100\nmore", list[0].Notes)
	assert.Equal(t, "vma.zst", list[0].Format)
	assert.True(t, strings.HasSuffix(string(list[0].ID), ".vma.zst"))
	assert.Equal(t, "2048", list[0].Config.Get("memory"))
	w.View(func(w *World) { assert.Empty(t, w.Guest(100).Lock()) })

	// The id of a task of one guest is its vmid.
	upid := ok(t, s, "POST /nodes/n1/vzdump", "vmid", "102,100", "storage", "pbs").(string)
	assert.Contains(t, upid, ":vzdump::root@pam!full:")
	status, lines := ended(t, s, upid)
	assert.Equal(t, "OK", status, lines)
	assert.Contains(t, strings.Join(lines, "\n"), "INFO: pruned 0 backup(s)\n")
	assert.Contains(t, lines, "INFO: excluding volume mount point mp0 ('/data') from backup (disabled)")
	upid = ok(t, s, "POST /nodes/n1/vzdump", "vmid", "102", "storage", "pbs").(string)
	assert.Contains(t, upid, ":vzdump:102:")
	_, lines = ended(t, s, upid)
	assert.Contains(t, lines, "INFO: pruned 1 backup(s) not covered by keep-retention policy")
	assert.Len(t, backupsOf(w, "pbs", 102), 1)
}

func TestBackupSelection(t *testing.T) {
	w := backupWorld(t)
	s := quick(t, w)
	refuses(t, s, "vmid", "property is missing", "POST /nodes/n1/vzdump", "storage", "nas")
	refuses(t, s, "all", "option conflicts with option 'vmid'", "POST /nodes/n1/vzdump", "all", "1", "vmid", "100")
	refuses(t, s, "pool", "option conflicts with option 'vmid'", "POST /nodes/n1/vzdump", "pool", "dev", "vmid", "100")
	assert.Equal(t, "OK", ok(t, s, "POST /nodes/n1/vzdump", "vmid", "103", "storage", "nas"), "a guest of another node")
	log := strings.Join(taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100,103", "storage", "nas"), "\n")
	assert.Contains(t, log, "INFO: skip external VMs: 103")
	log = strings.Join(taskOK(t, s, "POST /nodes/n1/vzdump", "pool", "dev", "storage", "nas"), "\n")
	assert.Contains(t, log, "Starting Backup of VM 100")
	assert.NotContains(t, log, "102")

	// One that fails does not keep the others from their backup.
	status, lines := task(t, s, "POST /nodes/n1/vzdump", "all", "1", "storage", "nas")
	log = strings.Join(lines, "\n")
	assert.Equal(t, "job errors", status)
	assert.Contains(t, log, "ERROR: Backup of VM 101 failed - VM is locked (migrate)\nINFO: Failed at ")
	assert.Contains(t, log, "INFO: Finished Backup of VM 102")
	assert.True(t, strings.HasSuffix(log, "INFO: Backup job finished with errors\nTASK ERROR: job errors"), log)
	w.View(func(w *World) { assert.Equal(t, "migrate", w.Guest(101).Lock(), "another's lock stays") })
	status, lines = task(t, s, "POST /nodes/n1/vzdump", "vmid", "999", "storage", "nas")
	assert.Equal(t, "job errors", status)
	assert.Contains(t, lines, "ERROR: Backup of VM 999 failed - unable to find VM '999'")

	for storage, want := range map[string]string{
		"nope": "could not get storage information for 'nope': storage 'nope' does not exist",
		"fast": "could not get storage information for 'fast': can't use storage 'fast' for backups - wrong content type",
		"tiny": "job errors",
	} {
		status, lines = task(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", storage)
		assert.Equal(t, want, status, lines)
	}
	assert.Contains(t, strings.Join(lines, "\n")+log, "ERROR: Backup of VM")
	assert.Empty(t, backupsOf(w, "tiny", 100), "a full storage has no half backups")

	// With all, what one may not back up is left out; by name it is refused.
	bob := "PVEAPIToken=bob@pve!tt=" + TokenSecret
	a := fetchAs(t, s, bob, "POST", "/api2/json/nodes/n1/vzdump", form("all", "1", "storage", "nas"))
	require.Equal(t, 200, a.status, a.body)
	status, lines = ended(t, s, a.data(t).(string))
	assert.Equal(t, "OK", status, lines)
	assert.NotContains(t, strings.Join(lines, "\n"), "VM 102")
	a = fetchAs(t, s, bob, "POST", "/api2/json/nodes/n1/vzdump", form("vmid", "102", "storage", "nas"))
	assert.Equal(t, "Permission check failed (/vms/102, VM.Backup)", a.reason)
}

func TestBackupJobsOfANodeWaitForEachOther(t *testing.T) {
	s := quick(t, backupWorld(t))
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "vzdump", Guest: 100})
	require.NoError(t, err)
	first := ok(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", "nas").(string)
	locked := func() (l string) { s.World().View(func(w *World) { l = w.Guest(100).Lock() }); return l }
	until(t, func() bool { return locked() == "backup" })
	second := ok(t, s, "POST /nodes/n1/vzdump", "vmid", "102", "storage", "nas", "lockwait", "100000").(string)
	time.Sleep(20 * time.Millisecond)
	s.World().View(func(w *World) {
		assert.Contains(t, w.Lines(w.Task(second)), "INFO: trying to get global lock - waiting...")
		assert.Zero(t, w.Task(second).End)
	})
	third, log := task(t, s, "POST /nodes/n1/vzdump", "vmid", "102", "storage", "nas", "lockwait", "0")
	assert.Equal(t, "can't acquire lock '/var/run/vzdump.lock' - got timeout", third, log)
	// Whoever is stopped leaves nothing behind.
	require.Equal(t, 200, api(t, s, "DELETE /nodes/n1/tasks/"+first).status)
	status, _ := ended(t, s, first)
	assert.Equal(t, "received interrupt", status)
	assert.Empty(t, locked())
	require.True(t, s.RemoveFault(hold))
	status, log = ended(t, s, second)
	assert.Equal(t, "OK", status, log)
	assert.Contains(t, log, "INFO: got global lock")
}

func TestDeleteContent(t *testing.T) {
	w := backupWorld(t)
	s := quick(t, w)
	taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", "nas", "protected", "1")
	id := string(backupsOf(w, "nas", 100)[0].ID)
	status, _ := task(t, s, "DELETE /nodes/n1/storage/nas/content/"+id)
	assert.Equal(t, "cannot remove protected volume '"+strings.TrimPrefix(id, "nas:")+"' on 'nas'", status)
	assert.Nil(t, ok(t, s, "PUT /nodes/n1/storage/nas/content/"+id, "protected", "0", "notes", "x\ny"))
	assert.Equal(t, "x\ny", ok(t, s, "GET /nodes/n1/storage/nas/content/"+id).(map[string]any)["notes"])
	upid := ok(t, s, "DELETE /nodes/n1/storage/nas/content/"+id).(string)
	assert.Contains(t, upid, ":imgdel:100@nas:")
	status, log := ended(t, s, upid)
	assert.Equal(t, "OK", status)
	assert.Equal(t, []string{"Removed volume '" + id + "'", "TASK OK"}, log)
	assert.Empty(t, backupsOf(w, "nas", 100))
	taskOK(t, s, "DELETE /nodes/n1/storage/nas/content/nas:iso/nope.iso")
	fails(t, s, 500, "only backups can have notes", "PUT /nodes/n1/storage/fast/content/fast:vm-100-disk-0", "notes", "x")
	// Nobody asks whether a guest uses it.
	taskOK(t, s, "DELETE /nodes/n1/storage/fast/content/fast:vm-100-disk-0")

	assert.Equal(t, "fast:vm-100-disk-9", ok(t, s, "POST /nodes/n1/storage/fast/content", "filename", "vm-100-disk-9", "vmid", "100", "size", "4G"))
	fails(t, s, 500, "disk image '/dev/vg/vm-100-disk-9' already exists", "POST /nodes/n1/storage/fast/content", "filename", "vm-100-disk-9", "vmid", "100", "size", "4G")
	fails(t, s, 500, "illegal name 'x' - should be 'vm-100-*'", "POST /nodes/n1/storage/fast/content", "filename", "x", "vmid", "100", "size", "4G")
	assert.Equal(t, "nas:100/vm-100-disk-9.qcow2", ok(t, s, "POST /nodes/n1/storage/nas/content", "filename", "vm-100-disk-9.qcow2", "vmid", "100", "size", "1048576"))
	w.View(func(w *World) {
		_, v := w.volumeOn("n1", "nas:100/vm-100-disk-9.qcow2")
		require.NotNil(t, v)
		assert.EqualValues(t, gib, v.Size, "a bare number is in KiB")
	})
	upid = asRoot(t, s, "POST /nodes/n1/storage/nas/content/nas:100/vm-100-disk-9.qcow2", "target", "nas:102/vm-102-disk-7.qcow2").data(t).(string)
	status, log = ended(t, s, upid)
	assert.Equal(t, "OK", status, log)
	w.View(func(w *World) {
		_, v := w.volumeOn("n1", "nas:102/vm-102-disk-7.qcow2")
		require.NotNil(t, v)
		assert.EqualValues(t, 102, v.Owner)
	})
	for range 3 {
		taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", "nas")
	}
	log = taskOK(t, s, "DELETE /nodes/n1/storage/nas/prunebackups", "vmid", "100", "prune-backups", "keep-last=1")
	assert.Len(t, log, 3)
	assert.Len(t, backupsOf(w, "nas", 100), 1)
}
