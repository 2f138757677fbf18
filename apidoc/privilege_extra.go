package apidoc

import (
	"slices"
	"strings"
)

// Asking is a call whose demands beyond the schema are wanted.
type Asking struct {
	Verb    Verb
	Path    string              // template of the method
	Params  map[string][]string // wire form, the path's values among them
	Version string              // of the cluster; demands for privileges that it does not know are left out

	// Config gives the present configuration of the guest that the path names,
	// "" for a key that is not set. nil means that it is not known.
	Config func(key string) string
	// Zone gives the SDN zone of a bridge or VNet; nil means "localnetwork",
	// the zone of plain bridges.
	Zone func(bridge string) string
}

// ExtraNeeds lists what Proxmox asks of a caller in the code of a method, over
// and above what the schema declares: which configuration key needs which
// privilege, what only root@pam may set, storages, bridges and mappings that a
// call uses (read in the sources of qemu-server, pve-container, pve-manager,
// pve-storage and pve-access-control, 9.1 to 9.2). All of it must be met. The
// list is not complete: what hangs on the state of a storage or of another
// guest is known to the cluster alone, so an empty list promises nothing.
func ExtraNeeds(a Asking) []Need {
	var out []Need
	key := string(a.Verb) + " " + a.Path
	for _, r := range extraRules {
		if r.method == key {
			out = append(out, r.needs(a)...)
		}
	}
	switch key {
	case "PUT /nodes/{node}/qemu/{vmid}/config", "POST /nodes/{node}/qemu/{vmid}/config", "POST /nodes/{node}/qemu":
		out = append(out, qemuNeeds(a)...)
	case "PUT /nodes/{node}/lxc/{vmid}/config", "POST /nodes/{node}/lxc":
		out = append(out, lxcNeeds(a)...)
	case "DELETE /nodes/{node}/storage/{storage}/content/{volume}":
		out = append(out, deleteVolumeNeed(a))
	case "POST /nodes/{node}/replication/{id}/schedule_now":
		guest, _, _ := strings.Cut(a.first("id"), "-")
		out = append(out, Need{Path: "/vms/" + guest, Privs: []string{"VM.Replicate"}})
	case "POST /nodes/{node}/qemu/{vmid}/agent":
		out = append(out, Need{Path: "/vms/" + a.first("vmid"), Privs: []string{"VM.GuestAgent.Unrestricted"}, Param: "command"})
	}
	if known := Privileges(a.Version); len(out) > 0 {
		out = slices.DeleteFunc(out, func(n Need) bool {
			return slices.ContainsFunc(n.Privs, func(p string) bool { return !slices.Contains(known, p) })
		})
	}
	return out
}

func (a Asking) first(name string) string { return firstOf(a.Params[name]) }

func (a Asking) items(name string) []string {
	var out []string
	for _, v := range a.Params[name] {
		out = append(out, ListItems(v)...)
	}
	return out
}

// extraRule is one demand: of a method, if conditions hold, on a path.
type extraRule struct {
	method string
	when   []Condition
	path   string // "" with root
	privs  []string
	any    bool
	or     []Need
	param  string
}

// needs gives the demand for each value of the list that the path names.
func (r extraRule) needs(a Asking) []Need {
	for _, c := range r.when {
		if !c.Applies(a.Params) {
			return nil
		}
	}
	if r.path == "" {
		return []Need{{Root: true, Param: r.param}}
	}
	var out []Need
	for _, params := range expand(r.path, a) {
		path, ok := FillPath(r.path, params)
		if !ok {
			continue
		}
		n := Need{Path: path, Privs: r.privs, Any: r.any, Param: r.param}
		for _, o := range r.or {
			if filled, ok := FillPath(o.Path, params); ok {
				o.Path = filled
				n.Or = append(n.Or, o)
			}
		}
		out = append(out, n)
	}
	return out
}

// expand gives the parameters once for each item of the first list in a path
// template; the parameters of the request's path are no lists.
func expand(template string, a Asking) []map[string][]string {
	for rest := template; ; {
		_, after, found := strings.Cut(rest, "{")
		name, tail, closed := strings.Cut(after, "}")
		if !found || !closed {
			return []map[string][]string{a.Params}
		}
		rest = tail
		if strings.Contains(a.Path, "{"+name+"}") {
			continue
		}
		var out []map[string][]string
		for _, item := range a.items(name) {
			one := make(map[string][]string, len(a.Params))
			for k, v := range a.Params {
				one[k] = v
			}
			one[name] = []string{item}
			out = append(out, one)
		}
		return out
	}
}

func when(param string, op Op, value ...string) Condition {
	c := Condition{Param: ParamRef(param), Op: op}
	if len(value) > 0 {
		c.Value = value[0]
	}
	return c
}

func onlyRoot(method string, params ...string) []extraRule {
	var out []extraRule
	for _, p := range params {
		out = append(out, extraRule{method: method, when: []Condition{when(p, OpTrue)}, param: p})
	}
	return out
}

func needs(method, param, path string, privs ...string) extraRule {
	r := extraRule{method: method, path: path, privs: privs, param: param}
	if param != "" {
		r.when = []Condition{when(param, OpSet)}
	}
	return r
}

func (r extraRule) given(conds ...Condition) extraRule {
	r.when = append(slices.Clone(r.when), conds...)
	return r
}

func (r extraRule) either(or ...Need) extraRule {
	r.or = or
	return r
}

func (r extraRule) one() extraRule {
	r.any = true
	return r
}

// extraRules are the demands of calls that are no guest configuration.
var extraRules = buildExtraRules()

func buildExtraRules() []extraRule {
	var rules []extraRule
	add := func(r ...extraRule) { rules = append(rules, r...) }

	const vms, node = "/vms/{vmid}", "/nodes/{node}"
	for _, kind := range []string{"qemu", "lxc"} {
		guest := "/nodes/{node}/" + kind + "/{vmid}"
		create := "POST /nodes/{node}/" + kind
		// Creating: the id or the pool must be the caller's to allocate;
		// restoring over a guest takes VM.Backup as well.
		add(needs(create, "", vms, "VM.Allocate").either(Need{Path: "/pool/{pool}", Privs: []string{"VM.Allocate"}}).given(when("force", OpNotTrue)))
		add(needs(create, "", vms, "VM.Allocate").either(Need{Path: "/pool/{pool}", Privs: []string{"VM.Allocate"}},
			Need{Path: vms, Privs: []string{"VM.Backup"}}).given(when("force", OpTrue)))
		add(needs(create, "pool", "/pool/{pool}", "VM.Allocate").given(when("vmid", OpUnset)))
		add(needs(create, "ha-managed", "/", "Sys.Console").given(when("ha-managed", OpTrue)))
		add(needs(create, "storage", "/storage/{storage}", "Datastore.AllocateSpace"))

		clone := "POST " + guest + "/clone"
		add(needs(clone, "storage", "/storage/{storage}", "Datastore.AllocateSpace"))

		migrate := "POST " + guest + "/migrate"
		target := map[string]string{"qemu": "targetstorage", "lxc": "target-storage"}[kind]
		add(needs(migrate, target, vms, "VM.Config.Disk").given(when(target, OpLacks, "1")))
		for _, verb := range []string{"start", "stop"} {
			add(onlyRoot("POST "+guest+"/status/"+verb, "skiplock")...)
		}
	}
	const q = "/nodes/{node}/qemu/{vmid}"
	add(needs("POST /nodes/{node}/qemu", "start", vms, "VM.PowerMgmt").
		either(Need{Path: "/pool/{pool}", Privs: []string{"VM.PowerMgmt"}}).given(when("start", OpTrue)))
	for _, m := range []string{
		"POST " + q + "/status/shutdown", "POST " + q + "/status/suspend", "POST " + q + "/status/resume", "POST " + q + "/status/reset",
		"DELETE " + q, "PUT " + q + "/config", "POST " + q + "/config", "PUT " + q + "/resize", "PUT " + q + "/sendkey",
	} {
		add(onlyRoot(m, "skiplock")...)
	}
	add(onlyRoot("POST "+q+"/migrate", "force", "migration_type", "migration_network")...)
	start := "POST " + q + "/status/start"
	add(onlyRoot(start, "stateuri", "migratedfrom", "migration_type", "migration_network", "targetstorage", "force-cpu", "nets-host-mtu")...)
	add(onlyRoot("POST "+q+"/status/stop", "keepActive", "migratedfrom")...)
	add(onlyRoot("POST "+q+"/status/shutdown", "keepActive")...)
	suspend := "POST " + q + "/status/suspend"
	add(needs(suspend, "todisk", vms, "VM.Config.Disk").given(when("todisk", OpTrue)))
	add(needs(suspend, "statestorage", "/storage/{statestorage}", "Datastore.AllocateSpace").given(when("todisk", OpTrue)))
	move := "POST " + q + "/move_disk"
	add(needs(move, "storage", "/storage/{storage}", "Datastore.AllocateSpace"))
	add(needs(move, "target-vmid", "/vms/{target-vmid}", "VM.Config.Disk"))
	moveVolume := "POST /nodes/{node}/lxc/{vmid}/move_volume"
	add(needs(moveVolume, "storage", "/storage/{storage}", "Datastore.AllocateSpace"))
	add(needs(moveVolume, "target-vmid", "/vms/{target-vmid}", "VM.Config.Disk"))
	add(needs("POST "+q+"/snapshot/{snapname}/rollback", "start", vms, "VM.PowerMgmt").given(when("start", OpTrue)))

	// Backups.
	const dump = "POST /nodes/{node}/vzdump"
	add(needs(dump, "vmid", vms, "VM.Backup"))
	add(needs(dump, "storage", "/storage/{storage}", "Datastore.AllocateSpace"))
	add(needs(dump, "prune-backups", "/storage/{storage}", "Datastore.Allocate"))
	add(needs(dump, "stop", node, "Sys.Modify").given(when("stop", OpTrue)))
	for _, p := range []string{"bwlimit", "ionice", "performance"} {
		add(needs(dump, p, "/", "Sys.Modify"))
	}
	for _, m := range []string{dump, "POST /cluster/backup", "PUT /cluster/backup/{id}"} {
		for _, p := range []string{"tmpdir", "dumpdir", "script"} {
			add(extraRule{method: m, when: []Condition{when(p, OpSet)}, param: p})
		}
	}
	add(extraRule{method: dump, when: []Condition{when("job-id", OpSet)}, param: "job-id"})
	for _, m := range []string{"POST /cluster/backup", "PUT /cluster/backup/{id}"} {
		add(needs(m, "storage", "/storage/{storage}", "Datastore.Allocate"))
		add(needs(m, "pool", "/pool/{pool}", "VM.Backup"))
	}

	// Many guests at once: the privilege on everything, or on each one named.
	for method, priv := range map[string]string{
		"POST /nodes/{node}/startall": "VM.PowerMgmt", "POST /nodes/{node}/stopall": "VM.PowerMgmt",
		"POST /nodes/{node}/suspendall": "VM.PowerMgmt", "POST /nodes/{node}/migrateall": "VM.Migrate",
		"POST /cluster/bulk-action/guest/start": "VM.PowerMgmt", "POST /cluster/bulk-action/guest/shutdown": "VM.PowerMgmt",
		"POST /cluster/bulk-action/guest/suspend": "VM.PowerMgmt", "POST /cluster/bulk-action/guest/migrate": "VM.Migrate",
	} {
		add(needs(method, "", "/", priv).given(when("vms", OpUnset)))
		add(needs(method, "vms", "/vms/{vms}", priv).either(Need{Path: "/", Privs: []string{priv}}))
	}
	add(needs("POST /nodes/{node}/suspendall", "vms", "/vms/{vms}", "VM.Config.Disk"))

	// Pools: whoever adds or removes a member must be able to change the
	// permissions of it.
	for _, m := range []string{"PUT /pools", "PUT /pools/{poolid}"} {
		add(needs(m, "vms", "/vms/{vms}", "Permissions.Modify", "VM.Allocate").one())
		add(needs(m, "storage", "/storage/{storage}", "Permissions.Modify", "Datastore.Allocate").one())
	}

	// Storages and volumes.
	const storage = "/nodes/{node}/storage/{storage}"
	add(needs("DELETE "+storage+"/prunebackups", "", "/storage/{storage}", "Datastore.Allocate").given(when("vmid", OpUnset)))
	add(needs("DELETE "+storage+"/prunebackups", "vmid", "/storage/{storage}", "Datastore.Allocate").either(
		Need{Path: "/storage/{storage}", Privs: []string{"Datastore.AllocateSpace"}, And: []Need{{Path: vms, Privs: []string{"VM.Backup"}}}}))
	for _, m := range []string{"directory", "lvm", "lvmthin", "zfs"} {
		add(needs("POST /nodes/{node}/disks/"+m, "add_storage", "/storage", "Datastore.Allocate").given(when("add_storage", OpTrue)))
		add(needs("DELETE /nodes/{node}/disks/"+m+"/{name}", "cleanup-config", "/storage", "Datastore.Allocate").given(when("cleanup-config", OpTrue)))
	}

	return rules
}

// deleteVolumeNeed: a volume is deleted by who may allocate on its storage; a
// backup also by who may fill the storage and back up the guest it is of.
func deleteVolumeNeed(a Asking) Need {
	n := Need{Path: "/storage/" + a.first("storage"), Privs: []string{"Datastore.Allocate"}}
	volume := VolID(a.first("volume"))
	if _, _, ok := volume.Split(); !ok {
		volume = VolID(a.first("storage") + ":" + string(volume))
	}
	_, name, _ := volume.Split()
	if owner, ok := volume.Owner(); ok && strings.HasPrefix(name, "backup/") {
		n.Or = []Need{{
			Path: n.Path, Privs: []string{"Datastore.AllocateSpace"},
			And: []Need{{Path: "/vms/" + owner.String(), Privs: []string{"VM.Backup"}}},
		}}
	}
	return n
}
