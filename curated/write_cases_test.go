package curated

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/internal/pvesim"
)

// writeCase is one change, made through one tool, with all that must be true of
// it whatever goes wrong.
type writeCase struct {
	name string
	tool string
	args args // without what the ladder asks for
	loss bool // needs i_understand_data_loss, too
	// sent is exactly what the change sends to Proxmox, in this order.
	sent []string
	// task is the type of the task that does the work; "" where the call does it.
	task string
	// done holds the world against what the change promises.
	done func(t testing.TB, sim *pvesim.Server)
	// tells are words of the dry run.
	tells []string
	// answers are words of the answer when all went well, beside "done".
	answers []string
	// managed: HA does it later, as a task of its own.
	managed bool
}

func isState(id apidoc.VMID, want pvesim.RunState) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) { assert.Equal(t, want, guestNow(sim, id).State) }
}

func hasConfig(id apidoc.VMID, key, want string) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) {
		g := guestNow(sim, id)
		assert.Equal(t, want, g.Config.Get(key))
	}
}

func snapshotNamesNow(sim *pvesim.Server, id apidoc.VMID) []string {
	out := []string{}
	for _, s := range guestNow(sim, id).Snapshots {
		out = append(out, s.Name)
	}
	return out
}

func hasSnapshots(id apidoc.VMID, want ...string) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) {
		assert.Equal(t, strings.Join(want, " "), strings.Join(snapshotNamesNow(sim, id), " "))
	}
}

func holds(storage apidoc.Storage, node apidoc.Node, part string, want bool) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) {
		list := volumesNow(sim, storage, node)
		assert.Equal(t, want, slices.ContainsFunc(list, func(v string) bool { return strings.Contains(v, part) }), "%s in %v", part, list)
	}
}

func all(checks ...func(testing.TB, *pvesim.Server)) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) {
		for _, c := range checks {
			c(t, sim)
		}
	}
}

const (
	q1 = "/nodes/pve1/qemu/"
	l1 = "/nodes/pve1/lxc/"
)

// theBackup is an archive that the tests of restores find on nas.
const theBackup = "nas:backup/vzdump-qemu-111-2026_11_29-01_00_00.vma.zst"

// theCTBackup is the same of a container.
const theCTBackup = "nas:backup/vzdump-lxc-103-2026_11_29-01_00_00.tar.zst"

func writeCases() []writeCase {
	return slices.Concat(powerCases(), snapshotCases(), configureCases(), diskCases(), backupCases(), guestCases(), otherCases())
}

func powerCases() []writeCase {
	return []writeCase{
		{name: "vm_start", tool: "pve_vm_action", args: args{"vmid": 101, "action": "start"}, sent: []string{"POST " + q1 + "101/status/start"}, task: "qmstart", done: isState(101, pvesim.Running), tells: []string{"VM 101 (zed)", "state: stopped", "node: pve1", "protection: off"}},
		{name: "vm_stop", tool: "pve_vm_action", args: args{"vmid": 100, "action": "stop"}, sent: []string{"POST " + q1 + "100/status/stop"}, task: "qmstop", done: isState(100, pvesim.Stopped), tells: []string{"cuts the power", "prod;web", "dev"}},
		{name: "vm_shutdown", tool: "pve_vm_action", args: args{"vmid": 100, "action": "shutdown", "timeout": 30}, sent: []string{"POST " + q1 + "100/status/shutdown timeout=30"}, task: "qmshutdown", done: isState(100, pvesim.Stopped)},
		{name: "vm_shutdown_force", tool: "pve_vm_action", args: args{"name": "web", "action": "shutdown", "force": true}, sent: []string{"POST " + q1 + "100/status/shutdown forceStop=1"}, task: "qmshutdown", done: isState(100, pvesim.Stopped), tells: []string{"stopped hard"}},
		{name: "vm_reboot", tool: "pve_vm_action", args: args{"vmid": 100, "action": "reboot"}, sent: []string{"POST " + q1 + "100/status/reboot"}, task: "qmreboot", done: func(t testing.TB, sim *pvesim.Server) {
			eventually(t, "it runs again", func() bool { return guestNow(sim, 100).State == pvesim.Running })
		}, tells: []string{"Pending configuration changes are applied"}, answers: []string{"started again right after"}},
		{name: "vm_reset", tool: "pve_vm_action", args: args{"vmid": 100, "action": "reset"}, sent: []string{"POST " + q1 + "100/status/reset"}, task: "qmreset", done: isState(100, pvesim.Running), tells: []string{"unsaved data inside the guest is lost"}},
		{name: "vm_suspend", tool: "pve_vm_action", args: args{"vmid": 100, "action": "suspend"}, sent: []string{"POST " + q1 + "100/status/suspend"}, task: "qmpause", done: isState(100, pvesim.Paused), tells: []string{"keeps its memory"}},
		{name: "vm_hibernate", tool: "pve_vm_action", args: args{"vmid": 100, "action": "suspend", "to_disk": true}, sent: []string{"POST " + q1 + "100/status/suspend todisk=1"}, task: "qmsuspend", done: all(isState(100, pvesim.Stopped), hasConfig(100, "lock", "suspended"))},
		{name: "vm_resume", tool: "pve_vm_action", args: args{"vmid": 114, "action": "resume"}, sent: []string{"POST " + q1 + "114/status/resume"}, task: "qmresume", done: isState(114, pvesim.Running)},
		{name: "vm_start_ha", tool: "pve_vm_action", args: args{"vmid": 112, "action": "start"}, sent: []string{"POST " + q1 + "112/status/start"}, task: "hastart", managed: true, done: func(t testing.TB, sim *pvesim.Server) {
			isState(112, pvesim.Running)(t, sim)
			assert.Equal(t, "started", haWanted(sim, 112))
		}, tells: []string{"HA manages it", "requested state to started"}, answers: []string{"done by HA; the guest is running"}},
		{name: "vm_stop_ha", tool: "pve_vm_action", args: args{"vmid": 104, "action": "stop"}, sent: []string{"POST " + q1 + "104/status/stop"}, task: "hastop", managed: true, done: func(t testing.TB, sim *pvesim.Server) {
			isState(104, pvesim.Stopped)(t, sim)
			assert.Equal(t, "stopped", haWanted(sim, 104))
		}, tells: []string{"HA manages it", "requested state to stopped"}, answers: []string{"done by HA; the guest is stopped"}},
		{name: "ct_start", tool: "pve_lxc_action", args: args{"vmid": 103, "action": "start"}, sent: []string{"POST " + l1 + "103/status/start"}, task: "vzstart", done: isState(103, pvesim.Running)},
		{name: "ct_stop", tool: "pve_lxc_action", args: args{"vmid": 102, "action": "stop"}, sent: []string{"POST " + l1 + "102/status/stop"}, task: "vzstop", done: isState(102, pvesim.Stopped)},
		{name: "ct_shutdown", tool: "pve_lxc_action", args: args{"vmid": 102, "action": "shutdown"}, sent: []string{"POST " + l1 + "102/status/shutdown"}, task: "vzshutdown", done: isState(102, pvesim.Stopped)},
		{name: "ct_reboot", tool: "pve_lxc_action", args: args{"vmid": 102, "action": "reboot"}, sent: []string{"POST " + l1 + "102/status/reboot"}, task: "vzreboot", done: isState(102, pvesim.Running), tells: []string{"killed, then started"}},
		{name: "ct_by_vm_tool", tool: "pve_vm_action", args: args{"vmid": 103, "action": "start", "node": "pve2"}, sent: []string{"POST " + l1 + "103/status/start"}, task: "vzstart", done: isState(103, pvesim.Running), answers: []string{"103 is a container, not a VM", "It is on node pve1, not on pve2"}},
	}
}

func haWanted(sim *pvesim.Server, id apidoc.VMID) (state string) {
	sim.World().View(func(w *pvesim.World) {
		if r := w.HA.Resource(id); r != nil {
			state = r.State
		}
	})
	return state
}

func snapshotCases() []writeCase {
	return []writeCase{
		{name: "snapshot", tool: "pve_snapshot_create", args: args{"vmid": 100, "snapname": "before", "description": "before the upgrade"}, sent: []string{"POST " + q1 + "100/snapshot description=before the upgrade snapname=before"}, task: "qmsnapshot", done: all(hasSnapshots(100, "before"), func(t testing.TB, sim *pvesim.Server) {
			assert.False(t, guestNow(sim, 100).Snapshots[0].RAM)
			assert.Equal(t, "before the upgrade", strings.TrimSpace(guestNow(sim, 100).Snapshots[0].Description))
		}), tells: []string{"Without RAM", "leaves the VM stopped"}},
		{name: "snapshot_ram", tool: "pve_snapshot_create", args: args{"vmid": 100, "snapname": "before", "vmstate": true}, sent: []string{"POST " + q1 + "100/snapshot snapname=before vmstate=1"}, task: "qmsnapshot", done: func(t testing.TB, sim *pvesim.Server) {
			assert.True(t, guestNow(sim, 100).Snapshots[0].RAM)
		}, tells: []string{"With RAM"}},
		{name: "snapshot_ct", tool: "pve_snapshot_create", args: args{"vmid": 103, "kind": "lxc", "snapname": "before"}, sent: []string{"POST " + l1 + "103/snapshot snapname=before"}, task: "vzsnapshot", done: hasSnapshots(103, "clean", "before")},
		{name: "snapshot_delete", tool: "pve_snapshot_delete", args: args{"vmid": 101, "snapname": "clean"}, loss: true, sent: []string{"DELETE " + q1 + "101/snapshot/clean"}, task: "qmdelsnapshot", done: hasSnapshots(101, "patched"), tells: []string{"can't be gone back to"}},
		{name: "snapshot_delete_ct", tool: "pve_snapshot_delete", args: args{"vmid": 103, "snapname": "clean"}, loss: true, sent: []string{"DELETE " + l1 + "103/snapshot/clean"}, task: "vzdelsnapshot", done: hasSnapshots(103)},
		{name: "rollback", tool: "pve_snapshot_rollback", args: args{"vmid": 101, "snapname": "patched", "start": true}, loss: true, sent: []string{"POST " + q1 + "101/snapshot/patched/rollback start=1"}, task: "qmrollback", done: isState(101, pvesim.Running), tells: []string{"everything written to its disks since 2026-11-25", "configuration as it is now"}},
		{name: "rollback_ct", tool: "pve_snapshot_rollback", args: args{"vmid": 103, "snapname": "clean"}, loss: true, sent: []string{"POST " + l1 + "103/snapshot/clean/rollback"}, task: "vzrollback", done: hasConfig(103, "memory", "128"), tells: []string{"Afterwards it is stopped"}},
	}
}

func configureCases() []writeCase {
	return []writeCase{
		{name: "configure", tool: "pve_configure", args: args{"vmid": 101, "set": args{"cores": 4, "description": "new"}}, sent: []string{"PUT " + q1 + "101/config cores=4 description=new digest=*"}, done: hasConfig(101, "cores", "4"), tells: []string{"cores is 1 now"}, answers: []string{"Nothing is pending"}},
		{name: "configure_pending", tool: "pve_configure", args: args{"vmid": 100, "set": args{"memory": 4096}}, sent: []string{"PUT " + q1 + "100/config digest=* memory=4096"}, done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 100)
			assert.Equal(t, "2048 4096", g.Config.Get("memory")+" "+g.Pending.Get("memory"))
		}, tells: []string{"stays pending"}, answers: []string{"Pending until it is stopped and started: memory=4096"}},
		{name: "configure_disk", tool: "pve_configure", args: args{"vmid": 101, "set": args{"scsi1": "tank:4"}}, sent: []string{"POST " + q1 + "101/config digest=* scsi1=tank:4"}, task: "qmconfig", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 101)
			assert.Contains(t, g.Config.Get("scsi1"), "tank:vm-101-disk-")
		}},
		{name: "configure_ct", tool: "pve_configure", args: args{"vmid": 103, "set": args{"memory": 1024}, "delete": []string{"net0"}}, sent: []string{"PUT " + l1 + "103/config delete=net0 digest=* memory=1024"}, done: all(hasConfig(103, "memory", "1024"), hasConfig(103, "net0", ""))},
		{name: "configure_delete_unused", tool: "pve_configure", args: args{"vmid": 101, "delete": "unused0"}, loss: true, sent: []string{"POST " + q1 + "101/config delete=unused0 digest=*"}, task: "qmconfig", done: all(hasConfig(101, "unused0", ""), holds("tank", "pve1", "vm-101-disk-1", false)), tells: []string{"the volume tank:vm-101-disk-1", "with all its data"}},
		{name: "cloudinit", tool: "pve_configure", args: args{"vmid": 111, "set": args{"ciuser": "root"}, "cloudinit": true}, sent: []string{"PUT " + q1 + "111/config ciuser=root digest=*", "PUT " + q1 + "111/cloudinit"}, done: hasConfig(111, "ciuser", "root"), tells: []string{"Call 2 of 2"}},
	}
}

func diskCases() []writeCase {
	return []writeCase{
		{name: "disk_grow", tool: "pve_disk", args: args{"vmid": 101, "action": "grow", "disk": "scsi0", "size": "+2G"}, sent: []string{"PUT " + q1 + "101/resize digest=* disk=scsi0 size=+2G"}, task: "resize", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 101)
			assert.Contains(t, g.Config.Get("scsi0"), "size=10G")
		}, tells: []string{"by 2G", "file systems inside the VM are not grown"}},
		{name: "disk_grow_ct", tool: "pve_disk", args: args{"vmid": 103, "action": "grow", "disk": "rootfs", "size": "6G"}, sent: []string{"PUT " + l1 + "103/resize digest=* disk=rootfs size=6G"}, task: "resize", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 103)
			assert.Contains(t, g.Config.Get("rootfs"), "size=6G")
		}},
		{name: "disk_move", tool: "pve_disk", args: args{"vmid": 111, "action": "move", "disk": "scsi0", "storage": "tank"}, sent: []string{"POST " + q1 + "111/move_disk digest=* disk=scsi0 storage=tank"}, task: "qmmove", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 111)
			assert.Contains(t, g.Config.Get("scsi0"), "tank:vm-111-disk-0")
			assert.Contains(t, g.Config.Get("unused0"), "nas:111/vm-111-disk-0.qcow2")
		}, tells: []string{"kept and listed as an unused disk"}},
		{name: "disk_move_delete", tool: "pve_disk", args: args{"vmid": 111, "action": "move", "disk": "scsi0", "storage": "tank", "delete_source": true}, loss: true, sent: []string{"POST " + q1 + "111/move_disk delete=1 digest=* disk=scsi0 storage=tank"}, task: "qmmove", done: all(holds("nas", "pve1", "vm-111-disk-0.qcow2", false), holds("tank", "pve1", "vm-111-disk-0", true)), tells: []string{"the source volume"}},
		{name: "disk_move_ct", tool: "pve_disk", args: args{"vmid": 110, "action": "move", "disk": "rootfs", "storage": "tank"}, sent: []string{"POST " + l1 + "110/move_volume digest=* storage=tank volume=rootfs"}, task: "move_volume", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 110)
			assert.Contains(t, g.Config.Get("rootfs"), "tank:subvol-110-disk-0")
			assert.Contains(t, g.Config.Get("unused0"), "nas:110/vm-110-disk-0.raw")
		}},
		{name: "disk_detach", tool: "pve_disk", args: args{"vmid": 111, "action": "detach", "disk": "scsi0"}, sent: []string{"POST " + q1 + "111/config delete=scsi0 digest=*"}, task: "qmconfig", done: all(hasConfig(111, "scsi0", ""), hasConfig(111, "unused0", "nas:111/vm-111-disk-0.qcow2"), holds("nas", "pve1", "vm-111-disk-0.qcow2", true)), tells: []string{"kept and listed as an unused disk"}},
		{name: "disk_detach_ct", tool: "pve_disk", args: args{"vmid": 103, "action": "detach", "disk": "mp0"}, sent: []string{"PUT " + l1 + "103/config delete=mp0 digest=*"}, done: all(hasConfig(103, "mp0", ""), hasConfig(103, "unused1", "fast:vm-103-disk-1"))},
		{name: "disk_destroy", tool: "pve_disk", args: args{"vmid": 101, "action": "destroy", "disk": "unused0"}, loss: true, sent: []string{"POST " + q1 + "101/config delete=unused0 digest=*"}, task: "qmconfig", done: all(hasConfig(101, "unused0", ""), holds("tank", "pve1", "vm-101-disk-1", false)), tells: []string{"the volume tank:vm-101-disk-1, with all its data"}},
		{name: "disk_destroy_ct", tool: "pve_disk", args: args{"vmid": 103, "action": "destroy", "disk": "unused0"}, loss: true, sent: []string{"PUT " + l1 + "103/config delete=unused0 digest=*"}, done: holds("fast", "pve1", "vm-103-disk-2", false)},
	}
}

func backupCases() []writeCase {
	return []writeCase{
		{name: "backup", tool: "pve_backup", args: args{"vmid": 101, "storage": "nas", "notes": "by hand"}, sent: []string{"POST /nodes/pve1/vzdump compress=zstd mode=snapshot notes-template=by hand remove=0 storage=nas vmid=101"}, task: "vzdump", done: holds("nas", "pve1", "backup/vzdump-qemu-101-", true), tells: []string{"One backup runs on a node at a time"}},
		{name: "backup_stop", tool: "pve_backup", args: args{"vmid": 102, "storage": "nas", "mode": "stop", "protected": true}, sent: []string{"POST /nodes/pve1/vzdump compress=zstd mode=stop protected=1 remove=0 storage=nas vmid=102"}, task: "vzdump", done: holds("nas", "pve1", "backup/vzdump-lxc-102-", true), tells: []string{"shuts the guest down", "disrupt"}},
		{name: "backup_prune", tool: "pve_backup", args: args{"vmid": 101, "storage": "nas", "prune": true}, loss: true, sent: []string{"POST /nodes/pve1/vzdump compress=zstd mode=snapshot remove=1 storage=nas vmid=101"}, task: "vzdump", done: holds("nas", "pve1", "backup/vzdump-qemu-101-", true), tells: []string{"older backups of it"}},
		{name: "restore_new", tool: "pve_restore", args: args{"archive": theBackup, "node": "pve1"}, sent: []string{"POST /nodes/pve1/qemu archive=" + theBackup + " unique=1 vmid=115"}, task: "qmrestore", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 115)
			require.NotNil(t, g)
			assert.NotContains(t, g.Config.Get("net0"), "BC:24:11:00:00:05")
		}, tells: []string{"new MAC addresses", "The id 115 is free now but not reserved"}, answers: []string{"115"}},
		{name: "restore_new_ct", tool: "pve_restore", args: args{"archive": theCTBackup, "node": "pve1", "vmid": 333, "storage": "tank"}, sent: []string{"POST /nodes/pve1/lxc ostemplate=" + theCTBackup + " restore=1 storage=tank unique=1 vmid=333"}, task: "vzrestore", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 333)
			require.NotNil(t, g)
			assert.NotContains(t, g.Config.Get("net0"), "BC:24:11:00:00:04")
		}},
		{name: "restore_over", tool: "pve_restore", args: args{"archive": theBackup, "vmid": 111, "overwrite": true}, loss: true, sent: []string{"POST /nodes/pve1/qemu archive=" + theBackup + " force=1 vmid=111"}, task: "qmrestore", done: hasConfig(111, "net0", "virtio=BC:24:11:00:00:05,bridge=vmbr0"), tells: []string{"destroyed BEFORE the backup is read", "nas:111/vm-111-disk-0.qcow2 4G"}},
	}
}

func guestCases() []writeCase {
	return []writeCase{
		{name: "create_vm", tool: "pve_create", args: args{"kind": "qemu", "node": "pve1", "name": "fresh", "cores": 2, "memory": 1024, "disk": "tank:8", "source": "nas:iso/debian-13.iso"}, sent: []string{"POST /nodes/pve1/qemu cores=2 ide2=nas:iso/debian-13.iso,media=cdrom memory=1024 name=fresh net0=virtio,bridge=vmbr0 scsi0=tank:8 scsihw=virtio-scsi-single vmid=115"}, task: "qmcreate", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 115)
			require.NotNil(t, g)
			assert.Equal(t, "fresh 2 1024", g.Config.Get("name")+" "+g.Config.Get("cores")+" "+g.Config.Get("memory"))
			assert.Contains(t, g.Config.Get("scsi0"), "tank:vm-115-disk-0")
		}, answers: []string{"115"}},
		{name: "create_vm_start", tool: "pve_create", args: args{"kind": "qemu", "node": "pve1", "vmid": 222, "start": true}, sent: []string{"POST /nodes/pve1/qemu net0=virtio,bridge=vmbr0 scsihw=virtio-scsi-single vmid=222", "POST /nodes/pve1/qemu/222/status/start"}, task: "qmcreate", done: isState(222, pvesim.Running), tells: []string{"It gets no disk", "Call 2 of 2"}},
		{name: "create_ct", tool: "pve_create", args: args{"kind": "lxc", "node": "pve1", "name": "cfresh", "memory": 256, "disk": "tank:2", "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "params": args{"unprivileged": true}}, sent: []string{"POST /nodes/pve1/lxc hostname=cfresh memory=256 net0=bridge=vmbr0,ip=dhcp,name=eth0 ostemplate=nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst rootfs=tank:2 unprivileged=1 vmid=115"}, task: "vzcreate", done: hasConfig(115, "hostname", "cfresh")},
		{name: "clone_full", tool: "pve_clone", args: args{"vmid": 111, "new_name": "copy", "storage": "tank"}, sent: []string{"POST " + q1 + "111/clone name=copy newid=115 storage=tank"}, task: "qmclone", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 115)
			require.NotNil(t, g)
			assert.Equal(t, "copy", g.Config.Get("name"))
			assert.NotContains(t, g.Config.Get("net0"), "BC:24:11:00:00:05")
		}, tells: []string{"new MAC addresses"}},
		{name: "clone_linked", tool: "pve_clone", args: args{"vmid": 105, "newid": 333}, sent: []string{"POST " + q1 + "105/clone newid=333"}, task: "qmclone", done: func(t testing.TB, sim *pvesim.Server) {
			g := guestNow(sim, 333)
			require.NotNil(t, g)
			assert.Contains(t, g.Config.Get("scsi0"), "base-105-disk-0")
		}, tells: []string{"Linked"}},
		{name: "clone_ct", tool: "pve_clone", args: args{"vmid": 110, "new_name": "ccopy"}, sent: []string{"POST " + l1 + "110/clone hostname=ccopy newid=115"}, task: "vzclone", done: hasConfig(115, "hostname", "ccopy")},
		{name: "migrate_live", tool: "pve_migrate", args: args{"vmid": 100, "target": "pve2", "online": true, "with_local_disks": true, "targetstorage": "fast"}, sent: []string{"POST " + q1 + "100/migrate online=1 target=pve2 targetstorage=fast with-local-disks=1"}, task: "qmigrate", done: onNode(100, "pve2", pvesim.Running), tells: []string{"Live: it keeps running", "Copied, because on local storage: fast:vm-100-disk-0 (8 GiB), fast:vm-100-disk-1 (4 GiB)"}},
		{name: "migrate_offline", tool: "pve_migrate", args: args{"vmid": 111, "target": "pve2", "kind": "qemu"}, sent: []string{"POST " + q1 + "111/migrate target=pve2"}, task: "qmigrate", done: onNode(111, "pve2", pvesim.Stopped)},
		{name: "migrate_ct", tool: "pve_migrate", args: args{"vmid": 102, "target": "pve2", "online": true}, sent: []string{"POST " + l1 + "102/migrate restart=1 target=pve2"}, task: "vzmigrate", done: onNode(102, "pve2", pvesim.Running), tells: []string{"Containers have no live migration", "it is down meanwhile"}},
		{name: "migrate_ha", tool: "pve_migrate", args: args{"vmid": 104, "target": "pve2", "online": true}, sent: []string{"POST " + q1 + "104/migrate online=1 target=pve2"}, task: "hamigrate", managed: true, done: onNode(104, "pve2", pvesim.Running), tells: []string{"HA manages it"}, answers: []string{"done by HA; it is on pve2 and running"}},
		{name: "template", tool: "pve_template", args: args{"vmid": 111}, sent: []string{"POST " + q1 + "111/template"}, task: "qmtemplate", done: all(hasConfig(111, "template", "1"), holds("nas", "pve1", "base-111-disk-0", true)), tells: []string{"can't be turned back"}},
		{name: "template_ct", tool: "pve_template", args: args{"vmid": 110}, sent: []string{"POST " + l1 + "110/template"}, task: "vztemplate", done: all(hasConfig(110, "template", "1"), holds("nas", "pve1", "base-110-disk-0", true))},
		{name: "delete", tool: "pve_delete", args: args{"vmid": 111}, loss: true, sent: []string{"DELETE " + q1 + "111"}, task: "qmdestroy", done: all(isGone(111), holds("nas", "pve1", "vm-111-disk-0", false), holds("nas", "pve1", theBackup, true)), tells: []string{"all its snapshots", "nas:111/vm-111-disk-0.qcow2 4G", "Its backups are kept"}},
		{name: "delete_purge", tool: "pve_delete", args: args{"vmid": 112, "purge": true, "destroy_unreferenced_disks": true}, loss: true, sent: []string{"DELETE " + q1 + "112 destroy-unreferenced-disks=1 purge=1"}, task: "qmdestroy", done: all(isGone(112), func(t testing.TB, sim *pvesim.Server) { assert.Empty(t, haWanted(sim, 112)) }), tells: []string{"every other volume that carries its id 112"}},
		{name: "delete_ct", tool: "pve_delete", args: args{"vmid": 110}, loss: true, sent: []string{"DELETE " + l1 + "110"}, task: "vzdestroy", done: isGone(110)},
	}
}

func onNode(id apidoc.VMID, node apidoc.Node, state pvesim.RunState) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) {
		g := guestNow(sim, id)
		require.NotNil(t, g)
		assert.Equal(t, node, g.Node)
		assert.Equal(t, state, g.State)
	}
}

func isGone(id apidoc.VMID) func(testing.TB, *pvesim.Server) {
	return func(t testing.TB, sim *pvesim.Server) { assert.Nil(t, guestNow(sim, id)) }
}

// runningTask is a task of the world that nobody works on any more.
const runningTask = "UPID:pve1:00004E20:00012345:6B0D46C8:download:debian.iso:root@pam:"

func stateText(sim *pvesim.Server) string {
	var b strings.Builder
	if err := pvesim.WriteWorld(&b, sim.World()); err != nil {
		return err.Error()
	}
	return b.String()
}

// exposedPattern is what the servers of these tests offer beside their tools.
const exposedPattern = "POST /nodes/*/qemu/*/status/start, PUT /access/acl"

func otherCases() []writeCase {
	return []writeCase{
		{name: "raw_start", tool: "pve_raw_call", args: args{"verb": "POST", "path": q1 + "101/status/start"}, sent: []string{"POST " + q1 + "101/status/start"}, task: "qmstart", done: isState(101, pvesim.Running)},
		{name: "raw_comment", tool: "pve_raw_call", args: args{"verb": "PUT", "path": l1 + "103/config", "params": args{"description": "mine", "cores": "2"}}, sent: []string{"PUT " + l1 + "103/config cores=2 description=mine"}, done: hasConfig(103, "cores", "2")},
		{name: "raw_access", tool: "pve_raw_call", args: args{"verb": "POST", "path": "/access/users", "params": args{"userid": "new@pve"}}, loss: true, sent: []string{"POST /access/users userid=new@pve"}, done: func(t testing.TB, sim *pvesim.Server) {
			text := stateText(sim)
			assert.Contains(t, text, "new@pve")
		}, tells: []string{"changes who may do what"}},
		{name: "exposed_start", tool: "pve_post_nodes_qemu_status_start", args: args{"node": "pve1", "vmid": 101}, sent: []string{"POST " + q1 + "101/status/start"}, task: "qmstart", done: isState(101, pvesim.Running)},
		{name: "exposed_acl", tool: "pve_put_access_acl", args: args{"path": "/vms/100", "roles": "PVEAuditor", "users": "low@pve"}, loss: true, sent: []string{"PUT /access/acl path=/vms/100 roles=PVEAuditor users=low@pve"}, done: func(t testing.TB, sim *pvesim.Server) {
			assert.Contains(t, stateText(sim), "/vms/100")
		}},
		{name: "task_stop", tool: "pve_task_stop", args: args{"upid": runningTask}, sent: []string{"DELETE /nodes/pve1/tasks/" + runningTask}, done: func(t testing.TB, sim *pvesim.Server) {
			sim.World().View(func(w *pvesim.World) { assert.NotZero(t, w.Task(runningTask).End) })
		}, tells: []string{"half done"}, answers: []string{"The task has ended"}},
	}
}
