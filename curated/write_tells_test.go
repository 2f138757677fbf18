package curated

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/internal/pvesim"
)

// between does something on the way to the cluster, before the first request
// that is no GET goes on: what someone else does in that moment.
type between struct {
	http.RoundTripper
	once sync.Once
	do   func()
}

func (b *between) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		b.once.Do(b.do)
	}
	return b.RoundTripper.RoundTrip(req)
}

// meanwhile is a rig in whose cluster someone else is faster by a moment.
func meanwhile(t testing.TB, l live, do func(*pvesim.World)) *rig {
	t.Helper()
	if l.sim == nil {
		l.sim = labSim(t, l.step)
	}
	l.options = func(o *Options) {
		o.Transport = &between{RoundTripper: o.Transport, do: func() { l.sim.World().Change(do) }}
	}
	return labRig(t, l)
}

func touch(id apidoc.VMID) func(*pvesim.World) {
	return func(w *pvesim.World) { w.Guest(id).Config.Set("description", "of someone else") }
}

// What Proxmox would refuse, or do otherwise than is meant, is told before
// anything is sent.
func TestRefusedBeforeAnythingIsSent(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			sim := labSim(t, 0)
			r := labRig(t, live{protocol: protocol, sim: sim})
			both := []any{"confirm", true, "i_understand_data_loss", true}
			for _, c := range []struct {
				tool  string
				args  args
				words []string
			}{
				// power
				{"pve_lxc_action", args{"vmid": 102, "action": "reset"}, []string{"action"}},
				{"pve_vm_action", args{"vmid": 102, "action": "reset"}, []string{"containers have no reset"}},
				{"pve_vm_action", args{"vmid": 100, "action": "stop", "force": true}, []string{"belongs to shutdown"}},
				{"pve_vm_action", args{"vmid": 100, "action": "reboot", "to_disk": true}, []string{"belongs to the suspension of a VM"}},
				{"pve_vm_action", args{"vmid": 100, "action": "destroy"}, []string{"action", "shutdown"}},
				{"pve_vm_action", args{"vmid": 999, "action": "start"}, []string{`no guest with vmid "999"`}},
				{"pve_vm_action", args{"action": "start"}, []string{"vmid", "is needed"}},
				{"pve_vm_action", args{"vmid": 100, "name": "zed", "action": "stop"}, []string{`guest 100 is called "web", not "zed"`}},
				// a name that two guests have
				{"pve_vm_action", args{"name": "twin", "action": "start"}, []string{"names 2 guests", "109 (qemu on pve2)", "110 (lxc on pve1)"}},
				{"pve_delete", args{"name": "twin"}, []string{"names 2 guests"}},
				// snapshots
				{"pve_snapshot_create", args{"vmid": 102, "snapname": "x1", "vmstate": true}, []string{"a container's snapshot can't hold its memory"}},
				{"pve_snapshot_create", args{"vmid": 101, "snapname": "clean"}, []string{"exists already"}},
				{"pve_snapshot_create", args{"vmid": 101, "snapname": "a b"}, []string{"snapname"}},
				{"pve_snapshot_delete", args{"vmid": 101, "snapname": "claen"}, []string{`no snapshot "claen"`, "clean"}},
				{"pve_snapshot_rollback", args{"vmid": 100, "snapname": "clean"}, []string{`no snapshot "clean"`, "The guest has none"}},
				// migration
				{"pve_migrate", args{"vmid": 100, "target": "pve2"}, []string{"web) is running", "online=true moves it live"}},
				{"pve_migrate", args{"vmid": 102, "target": "pve2"}, []string{"is running", "containers can't be moved live"}},
				{"pve_migrate", args{"vmid": 101, "target": "pve3"}, []string{"node pve3 is offline"}},
				{"pve_migrate", args{"vmid": 101, "target": "pve22"}, []string{`no node "pve22"`, "pve2"}},
				// deletion
				{"pve_delete", args{"vmid": 100}, []string{"web) is running", "only destroyed when stopped"}},
				{"pve_delete", args{"vmid": 107}, []string{"protection on", "protection=0"}},
				{"pve_delete", args{"vmid": 112}, []string{"managed by HA", "purge=true"}},
				{"pve_delete", args{"vmid": 105}, []string{"linked clones still use its disks", "vm-106-disk-0"}},
				// restore
				{"pve_restore", args{"archive": "nas:iso/debian-13.iso"}, []string{"is not the volid of a backup"}},
				{"pve_restore", args{"archive": theBackup, "overwrite": true}, []string{"is needed with overwrite"}},
				{"pve_restore", args{"archive": theBackup, "overwrite": true, "vmid": 100}, []string{"is running", "only be replaced when stopped"}},
				{"pve_restore", args{"archive": theBackup, "overwrite": true, "vmid": 103}, []string{"can't be replaced by the backup of a VM"}},
				{"pve_restore", args{"archive": theBackup, "overwrite": true, "vmid": 107}, []string{"protection on"}},
				{"pve_restore", args{"archive": theBackup, "vmid": 111}, []string{"111 is taken"}},
				{"pve_create", args{"kind": "qemu", "node": "pve1", "vmid": 100}, []string{"100 is taken"}},
				{"pve_create", args{"kind": "lxc", "node": "pve1"}, []string{"a container is made from a template", "content=vztmpl"}},
				{"pve_create", args{"kind": "qemu", "node": "pve1", "params": args{"archive": theBackup}}, []string{"has its own argument or tool"}},
				{"pve_create", args{"kind": "qemu", "node": "pve1", "params": args{"corse": 2}}, []string{"corse", "cores"}},
				{"pve_clone", args{"vmid": 111, "newid": 100}, []string{"100 is taken"}},
				{"pve_clone", args{"vmid": 111, "full": false}, []string{"only a template"}},
				{"pve_clone", args{"vmid": 105, "storage": "tank"}, []string{"full=true copies it"}},
				{"pve_clone", args{"vmid": 102}, []string{"can only be copied from a snapshot"}},
				// templates
				{"pve_template", args{"vmid": 101}, []string{"has snapshots, which forbid it"}},
				{"pve_template", args{"vmid": 100}, []string{"only a stopped guest"}},
				{"pve_template", args{"vmid": 105}, []string{"is a template already"}},
				// disks
				{"pve_disk", args{"vmid": 101, "action": "destroy", "disk": "scsi0"}, []string{"is in use: detach it first"}},
				{"pve_disk", args{"vmid": 101, "action": "detach", "disk": "unused0"}, []string{"detached already"}},
				{"pve_disk", args{"vmid": 103, "action": "detach", "disk": "rootfs"}, []string{"root disk can't be taken"}},
				{"pve_disk", args{"vmid": 103, "action": "destroy", "disk": "rootfs"}, []string{"root disk can't be taken"}},
				{"pve_disk", args{"vmid": 101, "action": "grow", "disk": "scsi0", "size": "-1G"}, []string{"can't be made smaller"}},
				{"pve_disk", args{"vmid": 101, "action": "grow", "disk": "scsi0"}, []string{"size", "is needed"}},
				{"pve_disk", args{"vmid": 101, "action": "grow", "disk": "scsi7", "size": "+1G"}, []string{`has no disk "scsi7"`, "scsi0"}},
				{"pve_disk", args{"vmid": 101, "action": "grow", "disk": "net0", "size": "+1G"}, []string{`has no disk "net0"`}},
				{"pve_disk", args{"vmid": 100, "action": "move", "disk": "ide2", "storage": "nas"}, []string{"is a CD-ROM drive"}},
				{"pve_disk", args{"vmid": 102, "action": "move", "disk": "rootfs", "storage": "tank"}, []string{"can only be moved while it is stopped"}},
				// configuration
				{"pve_configure", args{"vmid": 101}, []string{"nothing to change"}},
				{"pve_configure", args{"vmid": 101, "delete": "net9"}, []string{`has no key "net9"`, "net0"}},
				{"pve_configure", args{"vmid": 101, "set": args{"memroy": 1}}, []string{"memroy", "memory"}},
				{"pve_configure", args{"vmid": 101, "set": args{"cores": 0}}, []string{"cores"}},
				{"pve_configure", args{"vmid": 103, "cloudinit": true}, []string{"containers have no cloud-init drive"}},
				{"pve_raw_call", args{"verb": "POST", "path": "/nodes/pve1/qemu/101/status/strat"}, []string{"status/start"}},
				{"pve_raw_call", args{"verb": "GET", "path": "/version"}, []string{"verb"}},
			} {
				require.Empty(t, r.writes(func() { r.fails(c.tool, with(c.args, both...), c.words...) }), "%s %v", c.tool, c.args)
			}
			// Where nothing has to be done, that is said and nothing is sent.
			for _, c := range []struct {
				tool string
				args args
			}{
				{"pve_vm_action", args{"vmid": 100, "action": "start"}},
				{"pve_vm_action", args{"vmid": 101, "action": "stop"}},
				{"pve_lxc_action", args{"vmid": 103, "action": "shutdown"}},
				{"pve_migrate", args{"vmid": 101, "target": "pve1"}},
			} {
				require.Empty(t, r.writes(func() { assert.Contains(t, r.ok(c.tool, with(c.args, both...)), "Nothing to do: ") }))
			}
		})
	}
}

// What a dry run finds out about the one guest in question.
func TestDryRunTells(t *testing.T) {
	t.Parallel()
	sim := labSim(t, 0)
	r := labRig(t, live{sim: sim})
	dry := func(tool string, a args) string {
		r.t.Helper()
		return r.ok(tool, with(a, "dry_run", true))
	}
	// Devices of the node forbid a migration; local disks need a flag.
	assert.Contains(t, dry("pve_migrate", args{"vmid": 113, "target": "pve2", "online": true}), "devices of this node, which forbids migration: hostpci0")
	assert.Contains(t, dry("pve_migrate", args{"vmid": 100, "target": "pve2", "online": true}), "a running VM needs with_local_disks=true for that")
	// Newer snapshots are named, and which storages mind them.
	text := dry("pve_snapshot_rollback", args{"vmid": 101, "snapname": "clean"})
	assert.Contains(t, text, "newer snapshots (patched)")
	assert.Contains(t, text, "ZFS")
	// Protection, HA and locks stand in it.
	assert.Contains(t, dry("pve_vm_action", args{"vmid": 107, "action": "start"}), "protection: on (Proxmox refuses to destroy it or its disks)")
	assert.Contains(t, dry("pve_vm_action", args{"vmid": 108, "action": "start"}), "lock: backup")
	assert.Contains(t, dry("pve_vm_action", args{"vmid": 104, "action": "stop"}), "ha: started")
	// So do values that go, but no secrets.
	sim.World().Change(func(w *pvesim.World) { w.Guest(111).Config.Set("cipassword", "$5$planted$hash") })
	text = dry("pve_configure", args{"vmid": 111, "set": args{"cipassword": "n3wPassw0rd"}, "delete": []string{"net0"}})
	assert.Contains(t, text, "net0 (virtio=BC:24:11:00:00:05,bridge=vmbr0) is removed")
	assert.Contains(t, text, "cipassword: (hidden)")
	assert.Contains(t, text, "cipassword is replaced")
	assert.NotContains(t, text, "planted")
	assert.NotContains(t, text, "n3wPassw0rd")
	assert.Contains(t, dry("pve_configure", args{"vmid": 111, "delete": []string{"scsi0"}}), "scsi0 (nas:111/vm-111-disk-0.qcow2) is detached and kept as an unused disk")
	text = dry("pve_configure", args{"vmid": 111, "delete": []string{"scsi0"}, "set": args{"force": true}})
	assert.Contains(t, text, "the volume of scsi0, with all its data (force)")
	assert.Contains(t, text, "i_understand_data_loss=true")
	// A token that may not do it is told so before, with what it lacks.
	low := labRig(t, live{sim: sim, token: "low@pve!audit"})
	assert.Contains(t, low.ok("pve_vm_action", args{"vmid": 101, "action": "start", "dry_run": true}), "The token lacks VM.PowerMgmt on /vms/101")
	assert.Contains(t, low.fails("pve_vm_action", startZed, "VM.PowerMgmt"), "pveum acl modify /vms/101")
	assert.NotEqual(t, pvesim.Running, guestNow(sim, 101).State)
}

// Someone else changes the guest between reading and writing: the digest that is
// sent makes Proxmox refuse, and that is explained.
func TestSomeoneElseWasFaster(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		args       args
		id         apidoc.VMID
		still      func(*pvesim.Guest) bool
	}{
		{"config", "pve_configure", args{"vmid": 101, "set": args{"cores": 4}}, 101, func(g *pvesim.Guest) bool { return g.Config.Get("cores") == "1" }},
		{"config by task", "pve_configure", args{"vmid": 101, "set": args{"scsi1": "tank:1"}}, 101, func(g *pvesim.Guest) bool { return !g.Config.Has("scsi1") }},
		{"config of a container", "pve_configure", args{"vmid": 103, "set": args{"memory": 64}}, 103, func(g *pvesim.Guest) bool { return g.Config.Get("memory") == "256" }},
		{"grow", "pve_disk", args{"vmid": 101, "action": "grow", "disk": "scsi0", "size": "+1G"}, 101, func(g *pvesim.Guest) bool { return strings.Contains(g.Config.Get("scsi0"), "size=8G") }},
		{"grow of a container", "pve_disk", args{"vmid": 103, "action": "grow", "disk": "rootfs", "size": "+1G"}, 103, func(g *pvesim.Guest) bool { return strings.Contains(g.Config.Get("rootfs"), "size=4G") }},
		{"move", "pve_disk", args{"vmid": 111, "action": "move", "disk": "scsi0", "storage": "tank"}, 111, func(g *pvesim.Guest) bool { return strings.Contains(g.Config.Get("scsi0"), "nas:") }},
		{"move of a container", "pve_disk", args{"vmid": 110, "action": "move", "disk": "rootfs", "storage": "tank"}, 110, func(g *pvesim.Guest) bool { return strings.Contains(g.Config.Get("rootfs"), "nas:") }},
		{"detach", "pve_disk", args{"vmid": 111, "action": "detach", "disk": "scsi0"}, 111, func(g *pvesim.Guest) bool { return g.Config.Has("scsi0") }},
		{"destroy", "pve_disk", args{"vmid": 103, "action": "destroy", "disk": "unused0"}, 103, func(g *pvesim.Guest) bool { return g.Config.Has("unused0") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := meanwhile(t, live{}, touch(c.id))
			text, isError := r.call(c.tool, with(c.args, "confirm", true, "i_understand_data_loss", true))
			assert.True(t, isError, text)
			assert.Contains(t, text, "Someone else changed the configuration after it was read")
			assert.True(t, c.still(guestNow(r.sim, c.id)))
			assert.Equal(t, "of someone else", guestNow(r.sim, c.id).Config.Get("description"))
		})
	}
}

// The state on which a plan or a person's consent rests has changed: nothing is
// sent.
func TestStateChangedSinceTheDryRun(t *testing.T) {
	changes := []struct {
		name, tool string
		args       args
		do         func(*pvesim.World)
	}{
		{"configure", "pve_configure", args{"vmid": 101, "set": args{"cores": 4}}, touch(101)},
		{"grow", "pve_disk", args{"vmid": 101, "action": "grow", "disk": "scsi0", "size": "+1G"}, touch(101)},
		{"delete", "pve_delete", args{"vmid": 111}, touch(111)},
		{"restore", "pve_restore", args{"archive": theBackup, "vmid": 111, "overwrite": true}, touch(111)},
		{"stop", "pve_vm_action", args{"vmid": 100, "action": "stop"}, func(w *pvesim.World) { w.Guest(100).State = pvesim.Paused }},
		{"rollback", "pve_snapshot_rollback", args{"vmid": 101, "snapname": "patched"}, func(w *pvesim.World) {
			w.Guest(101).Snapshots = append(w.Guest(101).Snapshots, &pvesim.Snapshot{Name: "later", Time: now.Unix(), Parent: "patched"})
		}},
		{"backup", "pve_backup", args{"vmid": 101, "storage": "nas", "mode": "stop"}, func(w *pvesim.World) { w.Guest(101).State = pvesim.Running }},
		{"migrate", "pve_migrate", args{"vmid": 100, "target": "pve2", "online": true}, func(w *pvesim.World) { w.Guest(100).State = pvesim.Paused }},
		{"clone", "pve_clone", args{"vmid": 111, "newid": 333}, func(w *pvesim.World) { w.Guest(111).State = pvesim.Running }},
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			flags := with(c.args, "confirm", true, "i_understand_data_loss", true)
			r := labRig(t, live{approval: gate.ByPlan})
			token := r.plan(c.tool, c.args)
			r.sim.World().Change(c.do)
			r.fails(c.tool, with(flags, "plan", token), "Nothing was changed: state changed since the plan", "dry_run=true again")
			assert.Empty(t, writesAfter(r.sim, 0))

			sim := labSim(t, 0)
			ask := labRig(t, live{sim: sim, approval: gate.ByAsk, client: answers(func(q string) *mcp.ElicitResult {
				sim.World().Change(c.do)
				return says("accept", true)(q)
			})})
			ask.fails(c.tool, c.args, "Nothing was changed: what the person was asked about has changed since", "asked anew")
			assert.Empty(t, writesAfter(sim, 0))
		})
	}
}

// An answer that no person gave is none: the state that goes with a question is
// sealed.
func TestForgedConsent(t *testing.T) {
	t.Parallel()
	r := labRig(t, live{approval: gate.ByAsk, client: answers(says("accept", true))})
	accepted := mcp.InputResponseMap{askID: &mcp.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}}
	for _, state := range []string{"", "x", "s1.", "s1.AAAA", "s1." + strings.Repeat("A", 200)} {
		res, err := r.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pve_vm_action", Arguments: args{"vmid": 101, "action": "start"}, InputResponses: accepted, RequestState: state})
		if err == nil {
			text, ok := res.Content[0].(*mcp.TextContent)
			require.True(t, ok)
			require.True(t, res.IsError, "%q: %s", state, text.Text)
			require.Contains(t, text.Text, "Nothing was changed")
		}
		require.Empty(t, writesAfter(r.sim, 0))
	}
}

// The next free id is no reservation: when someone else takes it in between, the
// one after it is taken.
func TestSomeoneElseTookTheID(t *testing.T) {
	take := func(w *pvesim.World) {
		w.AddGuest(&pvesim.Guest{ID: 115, Kind: apidoc.LXC, Node: "pve2", State: pvesim.Stopped, Config: pvesim.NewConfig("hostname", "faster")})
	}
	for name, c := range map[string]struct {
		tool, first string
		args        args
		kind        apidoc.GuestKind
	}{
		"create":    {"pve_create", "POST /nodes/pve1/qemu ", args{"kind": "qemu", "node": "pve1"}, apidoc.QEMU},
		"create_ct": {"pve_create", "POST /nodes/pve1/lxc ", args{"kind": "lxc", "node": "pve1", "disk": "tank:1", "source": "nas:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"}, apidoc.LXC},
		"clone":     {"pve_clone", "POST /nodes/pve1/qemu/111/clone ", args{"vmid": 111}, apidoc.QEMU},
		"clone_ct":  {"pve_clone", "POST /nodes/pve1/lxc/110/clone ", args{"vmid": 110}, apidoc.LXC},
		"restore":   {"pve_restore", "POST /nodes/pve1/qemu ", args{"archive": theBackup, "node": "pve1"}, apidoc.QEMU},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := meanwhile(t, live{}, take)
			text := r.ok(c.tool, with(c.args, "confirm", true))
			sent := writesAfter(r.sim, 0)
			require.Len(t, sent, 2, sent)
			for i, id := range []string{"id=115", "id=116"} {
				assert.True(t, strings.HasPrefix(sent[i], c.first), sent[i])
				assert.Contains(t, sent[i], id)
			}
			assert.Contains(t, text, "vmid: 116")
			assert.NotContains(t, text, "115")
			require.NotNil(t, guestNow(r.sim, 116))
			assert.Equal(t, c.kind, guestNow(r.sim, 116).Kind)
			assert.Equal(t, "faster", guestNow(r.sim, 115).Config.Get("hostname"), "the other's guest is left alone")

			// An id that was named is not replaced by another.
			r = meanwhile(t, live{}, take)
			name := "vmid"
			if c.tool == "pve_clone" {
				name = "newid"
			}
			taken := func(a args) {
				text, isError := r.call(c.tool, a)
				require.True(t, isError, text)
				require.Regexp(t, "already exists|Another guest has this id by now", text)
				require.Len(t, writesAfter(r.sim, 0), 1)
			}
			taken(with(c.args, "confirm", true, name, 115))

			// Nor is one that was approved.
			r = meanwhile(t, live{approval: gate.ByPlan}, take)
			dry := r.ok(c.tool, with(c.args, "dry_run", true))
			assert.Contains(t, dry, "The id 115 is free now but not reserved; if it is taken by then, a new dry run is needed.")
			taken(with(c.args, "confirm", true, "plan", planToken.FindString(dry)))
		})
	}
}

// HA does it later: what is told is the guest's state, never the end of the task
// that only asked HA.
func TestHAIsNotDoneWhenItsTaskIs(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{protocol: protocol})
			for _, c := range []struct {
				tool string
				args args
				hold string
			}{
				{"pve_vm_action", args{"vmid": 112, "action": "start"}, "qmstart"},
				{"pve_vm_action", args{"vmid": 104, "action": "shutdown"}, "qmshutdown"},
				{"pve_vm_action", args{"vmid": 104, "action": "stop"}, "qmstop"},
			} {
				r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: c.hold})
				text := r.ok(c.tool, with(c.args, "confirm", true, "wait_seconds", 1))
				assert.Contains(t, text, "HA has taken the request and not acted yet")
				assert.NotContains(t, text, "done")
				assert.NotContains(t, text, "task OK")
			}
			r.fault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "qmigrate"})
			text := labRig(t, live{protocol: protocol, sim: haMoving(t)}).ok("pve_migrate", args{"vmid": 104, "target": "pve2", "online": true, "confirm": true, "wait_seconds": 1})
			assert.Contains(t, text, "HA has taken the request; the guest is not on pve2 yet")
			assert.NotContains(t, text, "done")
		})
	}
}

// haMoving is a cluster in which HA's migrations never end.
func haMoving(t testing.TB) *pvesim.Server {
	t.Helper()
	sim := labSim(t, 0)
	_, err := sim.AddFault(pvesim.Fault{Kind: pvesim.FaultTaskHold, Task: "qmigrate"})
	require.NoError(t, err)
	return sim
}

// Failures that administrators know are told with what to do about them.
func TestKnownFailures(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		args       args
		prepare    func(*pvesim.World)
		words      []string
	}{
		{"not the newest snapshot", "pve_snapshot_rollback", args{"vmid": 101, "snapname": "clean"}, nil, []string{"is not most recent snapshot", "only go back to its newest snapshot"}},
		{"locked", "pve_vm_action", args{"vmid": 108, "action": "start"}, nil, []string{"VM is locked (backup)", "locked by another task"}},
		{"full storage", "pve_backup", args{"vmid": 100, "storage": "tiny"}, nil, []string{"FAILED: job errors"}},
		{"gone disk", "pve_vm_action", args{"vmid": 101, "action": "start"}, func(w *pvesim.World) { w.Storage("tank").Place("pve1").Remove("tank:vm-101-disk-0") }, []string{"does not exist", "configuration names is gone"}},
		{"no quorum", "pve_configure", args{"vmid": 101, "set": args{"cores": 2}}, func(w *pvesim.World) { w.Quorate = false }, []string{"without quorum", "pve_cluster_status"}},
		{"replication", "pve_delete", args{"vmid": 111}, func(w *pvesim.World) {
			w.Replications = append(w.Replications, &pvesim.Replication{ID: "111-0", Guest: 111, Target: "pve2"})
		}, []string{"There is a replication job '111-0'"}},
		{"node is down", "pve_vm_action", args{"vmid": 109, "action": "start"}, func(w *pvesim.World) { w.Node("pve2").Online = false }, []string{"pve2", "595"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := labRig(t, live{})
			if c.prepare != nil {
				r.sim.World().Change(c.prepare)
			}
			text, isError := r.call(c.tool, with(c.args, "confirm", true, "i_understand_data_loss", true))
			assert.True(t, isError, text)
			for _, w := range c.words {
				assert.Contains(t, text, w)
			}
		})
	}
}

// A change of several calls that stops in the middle says what was done.
func TestHalfAChange(t *testing.T) {
	t.Parallel()
	r := labRig(t, live{})
	r.fault(pvesim.Fault{Kind: pvesim.FaultStatus, Method: "POST", Path: "/nodes/*/qemu/*/status/start", Status: 500, Reason: "no power"})
	r.fails("pve_create", args{"kind": "qemu", "node": "pve1", "start": true, "confirm": true}, "only 1 of 2 calls were made", "What was done stays done", "no power")
	require.NotNil(t, guestNow(r.sim, 115))

	// A lost answer in the middle is still an unknown outcome.
	r = labRig(t, live{})
	r.fault(pvesim.Fault{Kind: pvesim.FaultLose, Method: "POST", Path: "/nodes/*/qemu/*/status/start"})
	r.fails("pve_create", args{"kind": "qemu", "node": "pve1", "start": true, "confirm": true}, "only 1 of 2 calls were made", "may or may not have been done")

	// A missing flag of the second call stops the first: nothing is half done.
	r = labRig(t, live{options: func(o *Options) {
		rules, err := gate.ParseRules("vmid:116")
		require.NoError(t, err)
		o.Protect = rules
	}})
	require.Empty(t, r.writes(func() {
		r.fails("pve_create", args{"kind": "qemu", "node": "pve1", "vmid": 116, "start": true, "confirm": true}, "vmid:116")
	}))
}
