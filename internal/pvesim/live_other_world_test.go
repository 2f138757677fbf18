package pvesim

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClusterSettings(t *testing.T) {
	s := quick(t, small(t, ""))
	ok(t, s, "PUT /cluster/options", "keyboard", "de", "migration", "type=secure")
	ok(t, s, "PUT /cluster/options", "delete", "keyboard")
	options := ok(t, s, "GET /cluster/options").(map[string]any)
	assert.NotContains(t, options, "keyboard")
	assert.Equal(t, map[string]any{"type": "secure"}, options["migration"])

	ok(t, s, "POST /cluster/mapping/usb", "id", "dongle", "map", "node=n1,id=1d6b:0002")
	fails(t, s, 500, "usb ID 'dongle' already defined", "POST /cluster/mapping/usb", "id", "dongle", "map", "node=n1,id=1d6b:0002")
	fails(t, s, 500, "no such cluster node 'n9'", "POST /cluster/mapping/usb", "id", "other", "map", "node=n9,id=1d6b:0002")
	ok(t, s, "PUT /cluster/mapping/usb/dongle", "map", "node=n1,id=1d6b:0003", "description", "licence")
	assert.Equal(t, "licence", ok(t, s, "GET /cluster/mapping/usb/dongle").(map[string]any)["description"])
	ok(t, s, "DELETE /cluster/mapping/usb/dongle")
	fails(t, s, 500, "mapping 'dongle' not found", "DELETE /cluster/mapping/usb/dongle")

	ok(t, s, "POST /cluster/metrics/server/m1", "type", "influxdb", "server", "192.0.2.7", "port", "8086", "bucket", "pve", "token", "hidden-word")
	ok(t, s, "PUT /cluster/metrics/server/m1", "server", "192.0.2.8", "port", "8086", "disable", "1")
	m := ok(t, s, "GET /cluster/metrics/server/m1").(map[string]any)
	assert.Equal(t, "192.0.2.8", m["server"])
	assert.Equal(t, "pve", m["bucket"])
	assert.NotContains(t, m, "token")
	ok(t, s, "DELETE /cluster/metrics/server/m1")
	fails(t, s, 500, "no such server 'm1'", "DELETE /cluster/metrics/server/m1")
}

func TestSDN(t *testing.T) {
	s := quick(t, small(t, ""))
	fails(t, s, 500, "create sdn zone object failed: missing value for required option 'bridge'", "POST /cluster/sdn/zones", "zone", "z1", "type", "vlan")
	ok(t, s, "POST /cluster/sdn/zones", "zone", "z1", "type", "vlan", "bridge", "vmbr0")
	fails(t, s, 500, "create sdn zone object failed: sdn zone object ID 'z1' already defined", "POST /cluster/sdn/zones", "zone", "z1", "type", "vlan", "bridge", "vmbr0")
	ok(t, s, "POST /cluster/sdn/vnets", "vnet", "v1", "zone", "z1", "tag", "17")
	ok(t, s, "POST /cluster/sdn/vnets/v1/subnets", "subnet", "10.9.0.0/24", "type", "subnet", "gateway", "10.9.0.1")
	list := ok(t, s, "GET /cluster/sdn/vnets/v1/subnets").([]any)
	assert.Equal(t, "z1-10.9.0.0-24", list[0].(map[string]any)["subnet"])
	assert.Equal(t, "10.9.0.1", list[0].(map[string]any)["gateway"])
	fails(t, s, 500, "delete sdn zone object failed: zone z1 is used by vnet v1", "DELETE /cluster/sdn/zones/z1")
	fails(t, s, 500, "delete sdn vnet object failed: Can't delete vnet if subnets exists", "DELETE /cluster/sdn/vnets/v1")
	status, log := task(t, s, "PUT /cluster/sdn")
	assert.Equal(t, "WARNINGS: 2", status, log)
	ok(t, s, "DELETE /cluster/sdn/vnets/v1/subnets/z1-10.9.0.0-24")
	ok(t, s, "PUT /cluster/sdn/vnets/v1", "alias", "lab", "delete", "tag")
	ok(t, s, "DELETE /cluster/sdn/vnets/v1")
	ok(t, s, "DELETE /cluster/sdn/zones/z1")
	assert.Empty(t, ok(t, s, "GET /cluster/sdn/zones"))
}

func TestSections(t *testing.T) {
	w := small(t, "")
	s := quick(t, w)
	ok(t, s, "POST /cluster/notifications/endpoints/gotify", "name", "phone", "server", "https://push.example.org", "token", "hidden-word")
	a := api(t, s, "GET /cluster/notifications/endpoints/gotify/phone")
	assert.NotContains(t, a.body, "hidden-word")
	assert.Contains(t, api(t, s, "GET /cluster/notifications/targets").body, `"phone"`)
	ok(t, s, "POST /cluster/notifications/matchers", "name", "bad", "target", "phone", "match-severity", "error")
	assert.Equal(t, []any{"phone"}, ok(t, s, "GET /cluster/notifications/matchers/bad").(map[string]any)["target"])
	fails(t, s, 400, "cannot delete 'phone', referenced by: bad", "DELETE /cluster/notifications/endpoints/gotify/phone")
	ok(t, s, "PUT /cluster/notifications/matchers/default-matcher", "comment", "mine now")
	assert.Len(t, ok(t, s, "GET /cluster/notifications/matchers"), 2)
	ok(t, s, "DELETE /cluster/notifications/matchers/bad")
	ok(t, s, "DELETE /cluster/notifications/endpoints/gotify/phone")
	fails(t, s, 404, "'phone' does not exist", "GET /cluster/notifications/endpoints/gotify/phone")

	ok(t, s, "POST /cluster/jobs/realm-sync/j9", "realm", "pam", "schedule", "daily")
	assert.Equal(t, "daily", ok(t, s, "GET /cluster/jobs/realm-sync/j9").(map[string]any)["schedule"])
	ok(t, s, "PUT /cluster/jobs/realm-sync/j9", "schedule", "hourly")
	// What is kept this way is in a world file too.
	var b strings.Builder
	w.View(func(w *World) { require.NoError(t, WriteWorld(&b, w)) })
	again, err := ReadWorld(strings.NewReader(b.String()), GeneratedEpoch)
	require.NoError(t, err)
	assert.Equal(t, w.Sections, again.Sections)
	ok(t, s, "DELETE /cluster/jobs/realm-sync/j9")
	refuses(t, s, "id", "No such job 'j9'", "DELETE /cluster/jobs/realm-sync/j9")
}

func TestReplicationJobs(t *testing.T) {
	w := small(t, "")
	s := quick(t, w)
	fails(t, s, 500, "missing replicate feature on volume 'lvm:vm-100-disk-0'", "POST /cluster/replication", "id", "100-0", "target", "n2", "type", "local")
	ok(t, s, "POST /cluster/replication", "id", "101-0", "target", "n2", "type", "local", "schedule", "*/5")
	fails(t, s, 500, "replication job '101-0' already exists", "POST /cluster/replication", "id", "101-0", "target", "n2", "type", "local")
	ok(t, s, "PUT /cluster/replication/101-0", "comment", "spare")
	assert.Equal(t, "spare", ok(t, s, "GET /cluster/replication/101-0").(map[string]any)["comment"])
	state := func() map[string]any {
		return ok(t, s, "GET /nodes/n1/replication/101-0/status").(map[string]any)
	}
	ok(t, s, "POST /nodes/n1/replication/101-0/schedule_now")
	until(t, func() bool { return dataText(state()["fail_count"]) == "1" })
	assert.Contains(t, state()["error"], "exit code 255", "the target is off")
	changed(s, func(w *World) { w.Node("n2").Online = true })
	ok(t, s, "POST /nodes/n1/replication/101-0/schedule_now")
	until(t, func() bool { return dataText(state()["last_sync"]) != "0" })
	assert.NotContains(t, state(), "error")
	ok(t, s, "DELETE /cluster/replication/101-0")
	until(t, func() bool {
		gone := false
		w.View(func(w *World) { gone = w.replication("101-0") == nil })
		return gone
	})
	fails(t, s, 500, "no such job '101-0'", "DELETE /cluster/replication/101-0")
}

// TestChanges: what was done to a world is told in few words.
func TestChanges(t *testing.T) {
	s := quick(t, small(t, ""))
	get := func() map[string]any {
		a := fetch(t, s, "GET", "/__sim/changes", "")
		require.Equal(t, 200, a.status, a.body)
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(a.body), &v))
		return v
	}
	ok(t, s, "GET /cluster/resources")
	assert.Empty(t, get())
	fails(t, s, 500, "delete user failed: no such user ('zz@pve')", "DELETE /access/users/zz@pve")
	assert.Empty(t, get(), "a refused call changes nothing")
	ok(t, s, "PUT /nodes/n1/lxc/102/config", "hostname", "shop")
	ok(t, s, "PUT /access/acl", "path", "/vms/105", "roles", "PVEAuditor", "users", "dev@pve")
	taskOK(t, s, "DELETE /nodes/n1/storage/nas/content/nas:iso/a.iso")
	v := get()
	assert.Equal(t, map[string]any{"changed": map[string]any{"102": map[string]any{"config": map[string]any{"hostname": map[string]any{"from": "ct", "to": "shop"}}}}}, v["guests"])
	assert.Contains(t, v["acl"].(map[string]any)["added"], "/vms/105 dev@pve PVEAuditor")
	nas := v["storages"].(map[string]any)["changed"].(map[string]any)["nas"].(map[string]any)
	assert.Equal(t, map[string]any{"removed": []any{"nas:iso/a.iso"}}, nas["volumes"])
	assert.Len(t, v["tasks"].(map[string]any)["added"], 1)
	assert.Len(t, v, 4)
}

func TestRestore(t *testing.T) {
	w := backupWorld(t)
	s := quick(t, w)
	taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100,102", "storage", "nas", "compress", "zstd")
	taskOK(t, s, "POST /nodes/n1/vzdump", "vmid", "100", "storage", "pbs")
	vm, ct, pbs := string(backupsOf(w, "nas", 100)[0].ID), string(backupsOf(w, "nas", 102)[0].ID), string(backupsOf(w, "pbs", 100)[0].ID)

	upid := ok(t, s, "POST /nodes/n1/qemu", "vmid", "200", "archive", vm, "storage", "nas", "unique", "1", "name", "twin").(string)
	assert.Contains(t, upid, ":qmrestore:200:")
	status, log := ended(t, s, upid)
	require.Equal(t, "OK", status, log)
	assert.Contains(t, strings.Join(log, "\n"), "progress 100% (read 8589934592 bytes, duration 10 sec)")
	w.View(func(w *World) {
		g, old := w.Guest(200), w.Guest(100)
		assert.Equal(t, "twin", g.Name())
		assert.Equal(t, Stopped, g.State)
		assert.Equal(t, "nas:200/vm-200-disk-0.qcow2", string(g.Disks()[1].Volume), g.Config.Text())
		assert.NotEqual(t, old.Config.Get("net0"), g.Config.Get("net0"))
		assert.Contains(t, g.Config.Get("net0"), "bridge=vmbr0")
		assert.NotEqual(t, old.Config.Get("vmgenid"), g.Config.Get("vmgenid"))
		assert.False(t, g.Config.Has("scsi1"), "it was not in the backup")
		assert.Empty(t, g.Lock())
		_, v := w.volumeOn("n1", "nas:200/vm-200-disk-0.qcow2")
		require.NotNil(t, v)
		assert.EqualValues(t, 8*gib, v.Size)
	})
	fails(t, s, 500, "unable to restore VM 100 - VM 100 already exists on node 'n1'", "POST /nodes/n1/qemu", "vmid", "100", "archive", vm)
	fails(t, s, 500, "unable to restore VM 102 - CT 102 already exists on node 'n1'", "POST /nodes/n1/qemu", "vmid", "102", "archive", vm, "force", "1")
	fails(t, s, 500, "volume 'nas:backup/none.vma' does not exist", "POST /nodes/n1/qemu", "vmid", "201", "archive", "nas:backup/none.vma")
	refuses(t, s, "scsi0", "option conflicts with option 'archive'", "POST /nodes/n1/qemu", "vmid", "201", "archive", vm, "scsi0", "nas:1")
	fails(t, s, 500, "live-restore is only compatible with backup images from a Proxmox Backup Server", "POST /nodes/n1/qemu", "vmid", "201", "archive", vm, "live-restore", "1", "storage", "nas")
	status, _ = task(t, s, "POST /nodes/n1/qemu", "vmid", "100", "archive", vm, "force", "1")
	assert.Equal(t, "unable to restore VM 100 - vm is running", status)
	taskOK(t, s, "POST /nodes/n1/qemu/100/status/stop")

	// Over a guest: the old disks go before the new ones are there.
	ok(t, s, "PUT /nodes/n1/qemu/100/config", "memory", "8192")
	hold, err := s.AddFault(Fault{Kind: FaultTaskHold, Task: "qmrestore"})
	require.NoError(t, err)
	upid = ok(t, s, "POST /nodes/n1/qemu", "vmid", "100", "archive", pbs, "force", "1", "start", "1").(string)
	until(t, func() bool {
		locked := false
		w.View(func(w *World) { locked = w.Guest(100).Lock() == "create" })
		return locked
	})
	require.True(t, s.RemoveFault(hold))
	status, log = ended(t, s, upid)
	require.Equal(t, "OK", status, log)
	w.View(func(w *World) {
		g := w.Guest(100)
		assert.Equal(t, "2048", g.Config.Get("memory"))
		assert.Empty(t, g.Snapshots)
		assert.True(t, g.Up())
		assert.Equal(t, "fast:vm-100-disk-1", g.Config.Get("unused0"), "what the backup does not know stays, unused")
	})

	// One that fails half way leaves neither the old data nor the new.
	taskOK(t, s, "POST /nodes/n1/qemu/100/status/stop")
	_, err = s.AddFault(Fault{Kind: FaultTaskFail, Task: "qmrestore", After: 1, Times: 1, Reason: "backup connect failed: command error: connection error"})
	require.NoError(t, err)
	status, log = task(t, s, "POST /nodes/n1/qemu", "vmid", "100", "archive", pbs, "force", "1")
	assert.Equal(t, "backup connect failed: command error: connection error", status)
	assert.Contains(t, log, "error before or during data restore, some or all disks were not completely restored. VM 100 state is NOT cleaned up.")
	w.View(func(w *World) {
		g := w.Guest(100)
		_, v := w.volumeOn("n1", g.Disks()[1].Volume)
		assert.Nil(t, v, "%s", g.Config.Text())
		assert.Empty(t, g.Lock())
	})
	ok(t, s, "PUT /nodes/n1/qemu/100/config", "protection", "1")
	status, _ = task(t, s, "POST /nodes/n1/qemu", "vmid", "100", "archive", vm, "force", "1")
	assert.Equal(t, "unable to restore VM 100 - protection mode enabled", status)

	// Containers.
	fails(t, s, 500, "storage 'local' does not exist", "POST /nodes/n1/lxc", "vmid", "300", "ostemplate", ct, "restore", "1")
	taskOK(t, s, "POST /nodes/n1/lxc", "vmid", "300", "ostemplate", ct, "restore", "1", "storage", "fast", "hostname", "copy")
	w.View(func(w *World) {
		assert.Equal(t, "copy", w.Guest(300).Name())
		assert.Contains(t, w.Guest(300).Config.Get("rootfs"), "fast:vm-300-disk-")
	})
	fails(t, s, 500, "CT 102 already exists on node 'n1'", "POST /nodes/n1/lxc", "vmid", "102", "ostemplate", ct, "restore", "1", "storage", "fast")
	fails(t, s, 500, "can't overwrite running container", "POST /nodes/n1/lxc", "vmid", "102", "ostemplate", ct, "restore", "1", "storage", "fast", "force", "1")
	taskOK(t, s, "POST /nodes/n1/lxc/102/status/stop")
	log = taskOK(t, s, "POST /nodes/n1/lxc", "vmid", "102", "ostemplate", ct, "restore", "1", "storage", "fast", "force", "1")
	assert.Contains(t, log, "extracting archive '"+ct+"'")
	_, err = s.AddFault(Fault{Kind: FaultTaskFail, Task: "vzrestore", Times: 1, Reason: "tar: Unexpected EOF in archive"})
	require.NoError(t, err)
	status, _ = task(t, s, "POST /nodes/n1/lxc", "vmid", "301", "ostemplate", ct, "restore", "1", "storage", "fast")
	assert.Equal(t, "unable to restore CT 301 - tar: Unexpected EOF in archive", status)
	w.View(func(w *World) { assert.Nil(t, w.Guest(301), "a new one is taken out again") })
}
