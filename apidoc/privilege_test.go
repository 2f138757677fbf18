package apidoc

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

func newest(t *testing.T) *Schema {
	t.Helper()
	s, err := Snapshot(Newest)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPrivilegesByVersion(t *testing.T) {
	for version, want := range map[string]int{"9.2": 47, "9.2.11": 47, "8.4": 42, "7.4": 37, "": 47} {
		got := Privileges(version)
		if len(got) != want || !slices.IsSorted(got) {
			t.Errorf("%q: %d privileges, want %d: %v", version, len(got), want, got)
		}
		if slices.Contains(got, "VM.Monitor") == slices.Contains(got, "VM.Replicate") {
			t.Errorf("%q: VM.Monitor went when VM.Replicate came", version)
		}
	}
}

// TestEveryPrivilegeOfTheSchemaIsKnown ties the table to what the schemas
// themselves ask for.
func TestEveryPrivilegeOfTheSchemaIsKnown(t *testing.T) {
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		known := Privileges(version)
		asked := map[string]bool{}
		var walk func(e *Expr)
		walk = func(e *Expr) {
			if e == nil {
				return
			}
			for _, p := range e.Privs {
				asked[p] = true
			}
			for _, a := range e.Args {
				walk(a)
			}
		}
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			walk(m.Permission.Check)
		}
		for p := range asked {
			if !slices.Contains(known, p) {
				t.Errorf("%s asks for %s, which is in no table", version, p)
			}
		}
		if len(asked) < 20 {
			t.Errorf("%s: only %d privileges were looked at", version, len(asked))
		}
	}
}

func TestRoles(t *testing.T) {
	for _, c := range []struct {
		version, role string
		has, lacks    []string
		n             int // 0: any
	}{
		{"9.2", "Administrator", []string{"Sys.Modify", "Permissions.Modify"}, nil, 47},
		{"9.2", "NoAccess", nil, []string{"VM.Audit"}, 0},
		{"9.2", "PVEAdmin", []string{"VM.Allocate", "Sys.Console", "Sys.Audit"}, []string{"Sys.Modify", "Permissions.Modify", "Realm.Allocate", "Mapping.Modify"}, 40},
		{"9.2", "PVEAuditor", []string{"VM.Audit", "VM.GuestAgent.Audit", "Sys.Audit"}, []string{"VM.Console"}, 7},
		{"9.2", "PVEVMUser", []string{"VM.PowerMgmt", "VM.GuestAgent.FileWrite"}, []string{"VM.Config.Disk", "VM.GuestAgent.Unrestricted"}, 10},
		{"9.2", "PVEVMAdmin", []string{"VM.Replicate", "VM.GuestAgent.Unrestricted"}, []string{"Sys.Audit"}, 0},
		{"9.2", "PVESDNUser", []string{"SDN.Use"}, []string{"SDN.Allocate"}, 2},
		{"8.4", "PVEVMAdmin", []string{"VM.Monitor"}, []string{"VM.GuestAgent.Audit"}, 0},
		{"8.4", "PVEAuditor", []string{"Mapping.Audit"}, []string{"VM.GuestAgent.Audit"}, 6},
		{"7.4", "PVEAdmin", []string{"Permissions.Modify"}, []string{"Mapping.Use"}, 0},
		{"7.4", "PVESysAdmin", []string{"Permissions.Modify", "Sys.Syslog"}, nil, 4},
	} {
		privs, ok := Roles(c.version)[c.role]
		if !ok {
			t.Errorf("%s has no %s", c.version, c.role)
			continue
		}
		if c.n != 0 && len(privs) != c.n {
			t.Errorf("%s %s: %d privileges, want %d", c.version, c.role, len(privs), c.n)
		}
		for _, p := range c.has {
			if !slices.Contains(privs, p) {
				t.Errorf("%s %s lacks %s", c.version, c.role, p)
			}
		}
		for _, p := range c.lacks {
			if slices.Contains(privs, p) {
				t.Errorf("%s %s has %s", c.version, c.role, p)
			}
		}
	}
	if _, ok := Roles("7.4")["PVEMappingUser"]; ok {
		t.Error("7.4 has mappings")
	}
}

// holding makes a Has from "PATH PRIV" texts.
func holding(grants ...string) func(path, priv string) bool {
	return func(path, priv string) bool { return slices.Contains(grants, path+" "+priv) }
}

func TestEvalPermission(t *testing.T) {
	s := newest(t)
	groups := func(u UserID) ([]string, bool) { return []string{"g1"}, u == "a@pve" }
	for _, c := range []struct {
		method  string // VERB template
		caller  Caller
		params  string // k=v k=v
		ok      bool
		missing string
		unsure  bool
	}{
		// world, all, nothing declared
		{"GET /access/domains", Caller{}, "", true, "", false},
		{"GET /version", Caller{}, "", false, "root@pam", false},
		{"GET /version", Caller{User: "a@pve"}, "", true, "", false},
		{"POST /nodes/{node}/execute", Caller{User: "a@pve"}, "node=n", false, "root@pam", false},
		{"POST /nodes/{node}/execute", Caller{User: "root@pam", Token: true}, "node=n", false, "root@pam", false},
		{"POST /nodes/{node}/execute", Caller{User: "root@pam"}, "node=n", true, "", false},
		// a user who may all, whatever else is declared
		{"GET /cluster/options", Caller{User: "a@pve"}, "", true, "", false},
		// perm: all of the privileges, on the path with its parameters
		{"GET /nodes/{node}/qemu/{vmid}/config", Caller{User: "a@pve", Has: holding("/vms/100 VM.Audit")}, "vmid=100", true, "", false},
		{"GET /nodes/{node}/qemu/{vmid}/config", Caller{User: "a@pve", Has: holding("/vms/100 VM.Audit")}, "vmid=101", false, "/vms/101, VM.Audit", false},
		// any
		{"PUT /nodes/{node}/lxc/{vmid}/config", Caller{User: "a@pve", Has: holding("/vms/1 VM.Config.CPU")}, "vmid=1", true, "", false},
		{"PUT /nodes/{node}/lxc/{vmid}/config", Caller{User: "a@pve", Has: holding()}, "vmid=1", false,
			"/vms/1, VM.Config.Disk|VM.Config.CPU|VM.Config.Memory|VM.Config.Network|VM.Config.Options", false},
		// and, or, require_param
		{"POST /nodes/{node}/qemu/{vmid}/clone", Caller{User: "a@pve", Has: holding("/vms/1 VM.Clone", "/vms/2 VM.Allocate")}, "vmid=1 newid=2", true, "", false},
		{"POST /nodes/{node}/qemu/{vmid}/clone", Caller{User: "a@pve", Has: holding("/vms/1 VM.Clone", "/pool/p VM.Allocate")}, "vmid=1 newid=2 pool=p", true, "", false},
		{"POST /nodes/{node}/qemu/{vmid}/clone", Caller{User: "a@pve", Has: holding("/vms/1 VM.Clone", "/pool/p VM.Allocate")}, "vmid=1 newid=2", false, "/vms/2, VM.Allocate", false},
		{"POST /nodes/{node}/qemu/{vmid}/clone", Caller{User: "a@pve", Has: holding()}, "vmid=1 newid=2 pool=p", false,
			"/vms/1, VM.Clone; /vms/2, VM.Allocate or /pool/p, VM.Allocate", false},
		{"POST /nodes/{node}/storage/{storage}/download-url", Caller{User: "a@pve", Has: holding("/storage/s Datastore.AllocateTemplate", "/ Sys.Audit")}, "node=n storage=s", false,
			"/, Sys.Audit, Sys.Modify or /nodes/n, Sys.AccessNetwork", false},
		// a parameter that is not given leaves a dash, which what is granted above reaches
		{"GET /cluster/acme/meta", Caller{User: "a@pve", Has: holding("/nodes/- Sys.Audit")}, "", true, "", false},
		// perm-modify
		{"PUT /access/acl", Caller{User: "a@pve", Has: holding("/vms/1 VM.Allocate")}, "path=/vms/1", true, "", false},
		{"PUT /access/acl", Caller{User: "a@pve", Has: holding("/ VM.Allocate")}, "path=/", false, "/, Permissions.Modify", false},
		{"PUT /access/acl", Caller{User: "a@pve", Has: holding()}, "path=/storage/s", false, "/storage/s, Permissions.Modify|Datastore.Allocate", false},
		// userid-param self: no token is anybody's self
		{"GET /access/users/{userid}/token", Caller{User: "a@pve", Has: holding(), Groups: groups}, "userid=a@pve", true, "", false},
		{"GET /access/users/{userid}/token", Caller{User: "a@pve", Token: true, Has: holding(), Groups: groups}, "userid=a@pve", false, "/access/groups, User.Modify", false},
		// userid-group: through a group of the user in question, or all groups
		{"GET /access/users/{userid}", Caller{User: "b@pve", Has: holding("/access/groups/g1 Sys.Audit"), Groups: groups}, "userid=a@pve", true, "", false},
		{"GET /access/users/{userid}", Caller{User: "b@pve", Has: holding("/access/groups/g1 Sys.Audit"), Groups: groups}, "userid=x@pve", false, "/access/groups, User.Modify|Sys.Audit", false},
		{"GET /access/users/{userid}", Caller{User: "b@pve", Has: holding("/access/groups User.Modify")}, "userid=a@pve", true, "", false},
		{"GET /access/users/{userid}", Caller{User: "b@pve", Has: holding()}, "userid=a@pve", false, "/access/groups, User.Modify|Sys.Audit", true},
		// creating a user: all groups that are asked for, and the realm
		{"POST /access/users", Caller{User: "b@pve", Has: holding("/access/realm/pve Realm.AllocateUser", "/access/groups/g User.Modify")}, "userid=n@pve groups=g", true, "", false},
		{"POST /access/users", Caller{User: "b@pve", Has: holding("/access/realm/pve Realm.AllocateUser", "/access/groups/g User.Modify")}, "userid=n@pve groups=g,h", false, "/access/groups/h, User.Modify", false},
		{"POST /access/users", Caller{User: "b@pve", Has: holding("/access/realm/pve Realm.AllocateUser")}, "userid=n@pve", false, "/access/groups, User.Modify", false},
		{"POST /access/users", Caller{User: "b@pve", Has: holding("/access/groups User.Modify")}, "userid=n@x@ldap", false, "/access/realm/ldap, Realm.AllocateUser", false},
	} {
		verb, path, _ := strings.Cut(c.method, " ")
		e, ok := s.Endpoint(Verb(verb), path)
		if !ok {
			t.Fatalf("no %s", c.method)
		}
		m, err := e.Method()
		if err != nil {
			t.Fatal(err)
		}
		if c.caller.Has == nil {
			c.caller.Has = holding()
		}
		v := EvalPermission(m.Permission, c.caller, paramsOf(c.params))
		var missing []string
		for _, n := range v.Missing {
			missing = append(missing, n.String())
		}
		if v.OK && len(missing) > 0 {
			t.Errorf("%s: passes and lacks %v", c.method, missing)
		}
		if v.OK != c.ok || strings.Join(missing, "; ") != c.missing || v.Unsure != c.unsure {
			t.Errorf("%s %s: %v %q unsure %v; want %v %q %v", c.method, c.params, v.OK, strings.Join(missing, "; "), v.Unsure, c.ok, c.missing, c.unsure)
		}
	}
}

func paramsOf(s string) map[string][]string {
	out := map[string][]string{}
	for _, part := range strings.Fields(s) {
		k, v, _ := strings.Cut(part, "=")
		out[k] = append(out[k], strings.ReplaceAll(v, "+", " "))
	}
	return out
}

// TestEvalPermissionOverTheWholeSchema: who holds every privilege passes every
// declared permission once its parameters are given; who holds none is told
// what is missing.
func TestEvalPermissionOverTheWholeSchema(t *testing.T) {
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		all := func(string, string) bool { return true }
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			params := map[string][]string{}
			for _, p := range append(m.Parameters.Names(), m.PathParams()...) {
				params[p] = []string{"x@y"}
			}
			v := EvalPermission(m.Permission, Caller{User: "a@pve", Has: all}, params)
			if v.OK != m.Permission.Declared {
				t.Errorf("%s %s with all privileges: %+v", version, e, v)
			}
			v = EvalPermission(m.Permission, Caller{User: "a@pve", Has: holding()}, params)
			if open := m.Permission.User != ""; v.OK != open {
				t.Errorf("%s %s without privileges: %+v", version, e, v)
			}
			if !v.OK && len(v.Missing) == 0 {
				t.Errorf("%s %s: nothing is named as missing", version, e)
			}
		}
	}
}

// TestExtraRulesStandInSchemas: a rule whose method or parameter no version
// has is a slip of the pen, and one that asks for an unknown privilege is too.
func TestExtraRulesStandInSchemas(t *testing.T) {
	known := map[string]bool{}
	methods := map[string][]*Method{}
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range Privileges(version) {
			known[p] = true
		}
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			methods[e.String()] = append(methods[e.String()], m)
		}
	}
	has := func(ms []*Method, param string) bool {
		return slices.ContainsFunc(ms, func(m *Method) bool {
			_, ok := m.Property(strings.ReplaceAll(param, "[n]", "0"))
			return ok || slices.Contains(m.PathParams(), param)
		})
	}
	var check func(rule extraRule, n Need)
	check = func(rule extraRule, n Need) {
		for _, p := range n.Privs {
			if !known[p] {
				t.Errorf("%s: privilege %s", rule.method, p)
			}
		}
		for rest := n.Path; strings.Contains(rest, "{"); {
			_, after, _ := strings.Cut(rest, "{")
			name, tail, _ := strings.Cut(after, "}")
			rest = tail
			if !has(methods[rule.method], name) {
				t.Errorf("%s: path %s, but no parameter %s", rule.method, n.Path, name)
			}
		}
		for _, o := range append(slices.Clone(n.Or), n.And...) {
			check(rule, o)
		}
	}
	for _, r := range extraRules {
		if methods[r.method] == nil {
			t.Errorf("no version has %s", r.method)
			continue
		}
		for _, c := range r.when {
			if !has(methods[r.method], c.Param.Param()) {
				t.Errorf("%s: no parameter %s", r.method, c.Param)
			}
		}
		check(r, Need{Path: r.path, Privs: r.privs, Or: r.or})
	}
}

// TestEveryConfigKeyIsJudged: each parameter of the calls that write a guest's
// configuration has a rule, or is known to be root's.
func TestEveryConfigKeyIsJudged(t *testing.T) {
	rootOnly := map[string]bool{}
	for _, k := range []string{"args", "lock", "hookscript", "vmgenid", "affinity", "ivshmem", "parallel0", "arch", "amd-sev", "intel-tdx", "vmstate", "hugepages", "keephugepages", "spice_enhancements"} {
		rootOnly[k] = true
	}
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"POST /nodes/{node}/qemu", "PUT /nodes/{node}/qemu/{vmid}/config", "POST /nodes/{node}/lxc", "PUT /nodes/{node}/lxc/{vmid}/config"} {
			verb, path, _ := strings.Cut(method, " ")
			e, ok := s.Endpoint(Verb(verb), path)
			if !ok {
				t.Fatal(method)
			}
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range m.Parameters.Names() {
				key := strings.ReplaceAll(name, "[n]", "0")
				n := ExtraNeeds(Asking{Verb: Verb(verb), Path: path, Version: version, Params: map[string][]string{"vmid": {"100"}, key: {"local:8"}}})
				root := slices.ContainsFunc(n, func(n Need) bool { return n.Root && n.Param == key })
				if root && strings.Contains(path, "/qemu") && !rootOnly[key] && !strings.HasPrefix(key, "usb") && !strings.HasPrefix(key, "hostpci") && !strings.HasPrefix(key, "serial") && key != "skiplock" {
					t.Errorf("%s %s: %s is root's; meant so?", version, method, name)
				}
			}
		}
	}
}

func TestExtraNeeds(t *testing.T) {
	config := func(pairs ...string) func(string) string {
		return func(k string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == k {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	const (
		qemuPut    = "PUT /nodes/{node}/qemu/{vmid}/config"
		qemuCreate = "POST /nodes/{node}/qemu"
		lxcPut     = "PUT /nodes/{node}/lxc/{vmid}/config"
		lxcCreate  = "POST /nodes/{node}/lxc"
	)
	for _, c := range []struct {
		method, params string
		config         func(string) string
		want           string // of those for vmid=100
	}{
		{qemuPut, "cores=2", nil, "/vms/100, VM.Config.CPU"},
		{qemuPut, "memory=1 balloon=0", nil, "/vms/100, VM.Config.Memory; /vms/100, VM.Config.Memory"},
		{qemuPut, "numa0=cpus=0", nil, "/vms/100, VM.Config.CPU"},
		{qemuPut, "args=-x", nil, "root@pam"},
		{qemuPut, "hookscript=local:snippets/x", nil, "root@pam"},
		{qemuPut, "delete=args", config("args", "-x"), "root@pam"},
		{qemuPut, "delete=cores,description", nil, "/vms/100, VM.Config.CPU; /vms/100, VM.Config.Options"},
		{qemuPut, "delete=vmstate", nil, "/vms/100, VM.Config.Disk, VM.PowerMgmt"},
		{qemuPut, "skiplock=1", nil, "root@pam"},
		{qemuPut, "skiplock=0", nil, ""},
		{qemuPut, "digest=x", nil, ""},
		{qemuPut, "startup=order=1", nil, "/vms/100, VM.Config.Options; /, Sys.Modify"},
		{qemuPut, "ciuser=x", nil, "/vms/100, VM.Config.Cloudinit|VM.Config.Network"},
		{qemuPut, "ipconfig0=ip=dhcp", nil, "/vms/100, VM.Config.Cloudinit|VM.Config.Network"},
		{qemuPut, "serial0=socket", nil, "/vms/100, VM.Config.HWType"},
		{qemuPut, "serial0=/dev/ttyS0", nil, "root@pam"},
		{qemuPut, "usb0=spice", nil, "/vms/100, VM.Config.HWType"},
		{qemuPut, "usb0=host=1-2", nil, "root@pam"},
		{qemuPut, "usb0=mapping=key", nil, "/vms/100, VM.Config.HWType; /mapping/usb/key, Mapping.Use"},
		{qemuPut, "hostpci0=mapping=gpu", nil, "/vms/100, VM.Config.HWType; /mapping/pci/gpu, Mapping.Use"},
		{qemuPut, "hostpci0=mapping=gpu,romfile=x", nil, "/vms/100, VM.Config.HWType; /mapping/pci/gpu, Mapping.Use; root@pam"},
		{qemuPut, "hostpci0=0000:01:00.0", nil, "root@pam"},
		{qemuPut, "virtiofs0=dirid=share", nil, "/vms/100, VM.Config.Disk; /mapping/dir/share, Mapping.Use"},
		{qemuPut, "net0=virtio,bridge=vmbr0", nil, "/vms/100, VM.Config.Network; /sdn/zones/localnetwork/vmbr0, SDN.Use"},
		{qemuPut, "net0=virtio,bridge=vmbr1,tag=7", config("net0", "virtio=AA,bridge=vmbr0"),
			"/vms/100, VM.Config.Network; /sdn/zones/localnetwork/vmbr1/7, SDN.Use; /sdn/zones/localnetwork/vmbr0, SDN.Use"},
		{qemuPut, "delete=net0", config("net0", "virtio=AA,bridge=vmbr0"), "/vms/100, VM.Config.Network; /sdn/zones/localnetwork/vmbr0, SDN.Use"},
		{qemuPut, "net0=virtio,bridge=v1", nil, "/vms/100, VM.Config.Network; /sdn/zones/z1/v1, SDN.Use"},
		{qemuPut, "scsi1=local:8", nil, "/vms/100, VM.Config.Disk; /storage/local, Datastore.AllocateSpace"},
		{qemuPut, "scsi1=local-lvm:vm-100-disk-3", nil, "/vms/100, VM.Config.Disk"},
		{qemuPut, "scsi1=local-lvm:vm-200-disk-3", nil,
			"/vms/100, VM.Config.Disk; /storage/local-lvm, Datastore.Allocate or /storage/local-lvm, Datastore.Audit and /vms/200, VM.Config.Disk"},
		{qemuPut, "scsi1=/dev/sdb", nil, "/vms/100, VM.Config.Disk; root@pam"},
		{qemuPut, "scsi1=local:0,import-from=other:200/vm-200-disk-0.qcow2", nil,
			"/vms/100, VM.Config.Disk; /storage/local, Datastore.AllocateSpace; /storage/other, Datastore.Allocate or /storage/other, Datastore.Audit and /vms/200, VM.Clone"},
		{qemuPut, "ide2=none,media=cdrom", nil, "/vms/100, VM.Config.CDROM"},
		{qemuPut, "ide2=cdrom,media=cdrom", nil, "/vms/100, VM.Config.CDROM; /, Sys.Console"},
		{qemuPut, "ide2=local:iso/x.iso,media=cdrom", nil, "/vms/100, VM.Config.CDROM; /storage/local, Datastore.Allocate|Datastore.AllocateSpace|Datastore.Audit"},
		{qemuPut, "ide2=local:iso/x.iso,media=cdrom", config("ide2", "local:iso/x.iso,media=cdrom"), "/vms/100, VM.Config.CDROM"},
		{qemuPut, "ide2=local:cloudinit", nil, "/vms/100, VM.Config.Cloudinit, VM.Config.CDROM; /storage/local, Datastore.AllocateSpace"},
		{qemuPut, "cpu=custom-x", nil, "/vms/100, VM.Config.CPU; /mapping/cpu/x, Mapping.Use"},
		{qemuCreate, "", nil, "/vms/100, VM.Allocate"},
		{qemuCreate, "pool=p cores=1", nil, "/vms/100, VM.Allocate or /pool/p, VM.Allocate; /vms/100, VM.Config.CPU or /pool/p, VM.Config.CPU"},
		{qemuCreate, "archive=local:backup/x force=1", nil, "/vms/100, VM.Allocate or /vms/100, VM.Backup"},
		{qemuCreate, "start=1", nil, "/vms/100, VM.Allocate; /vms/100, VM.PowerMgmt"},
		{lxcPut, "swap=1", nil, "/vms/100, VM.Config.Memory"},
		{lxcPut, "hostname=x", nil, "/vms/100, VM.Config.Network"},
		{lxcPut, "onboot=1", nil, "/vms/100, VM.Config.Options"},
		{lxcPut, "mp0=local:4,mp=/x", nil, "/vms/100, VM.Config.Disk; /storage/local, Datastore.AllocateSpace"},
		{lxcPut, "mp0=/mnt/x,mp=/x", nil, "/vms/100, VM.Config.Disk; root@pam"},
		{lxcPut, "dev0=/dev/x", nil, "root@pam"},
		{lxcPut, "features=nesting=1", config("unprivileged", "1"), "/vms/100, VM.Allocate"},
		{lxcPut, "features=nesting=1,fuse=1", config("unprivileged", "1"), "root@pam"},
		{lxcPut, "features=nesting=1,fuse=1", config("unprivileged", "1", "features", "fuse=1"), "/vms/100, VM.Allocate"},
		{lxcPut, "features=nesting=1", config("hostname", "x"), "root@pam"},
		{lxcCreate, "ostemplate=local:vztmpl/x unprivileged=0", nil, "/vms/100, VM.Allocate; /, Sys.Modify; /storage/local, Datastore.Allocate|Datastore.AllocateSpace|Datastore.Audit"},
		{"POST /nodes/{node}/vzdump", "vmid=100,101 storage=nfs", nil, "/vms/100, VM.Backup; /vms/101, VM.Backup; /storage/nfs, Datastore.AllocateSpace"},
		{"POST /nodes/{node}/vzdump", "tmpdir=/x", nil, "/vms/100, VM.Backup; root@pam"},
		{"POST /nodes/{node}/vzdump", "storage=s prune-backups=keep-last=1", nil, "/vms/100, VM.Backup; /storage/s, Datastore.AllocateSpace; /storage/s, Datastore.Allocate"},
		{"POST /nodes/{node}/stopall", "", nil, "/, VM.PowerMgmt"},
		{"POST /nodes/{node}/stopall", "vms=7,8", nil, "/vms/7, VM.PowerMgmt or /, VM.PowerMgmt; /vms/8, VM.PowerMgmt or /, VM.PowerMgmt"},
		{"PUT /pools", "poolid=p vms=7", nil, "/vms/7, Permissions.Modify|VM.Allocate"},
		{"DELETE /nodes/{node}/storage/{storage}/content/{volume}", "storage=s volume=s:vm-7-disk-0", nil, "/storage/s, Datastore.Allocate"},
		{"DELETE /nodes/{node}/storage/{storage}/content/{volume}", "storage=s volume=backup/vzdump-qemu-107-2026_01_01-00_00_00.vma.zst", nil,
			"/storage/s, Datastore.Allocate or /storage/s, Datastore.AllocateSpace and /vms/107, VM.Backup"},
		{"POST /nodes/{node}/qemu/{vmid}/move_disk", "disk=scsi0 storage=s", nil, "/storage/s, Datastore.AllocateSpace"},
		{"POST /nodes/{node}/qemu/{vmid}/status/start", "skiplock=1", nil, "root@pam"},
		{"POST /nodes/{node}/replication/{id}/schedule_now", "id=107-0", nil, "/vms/107, VM.Replicate"},
		{"GET /version", "", nil, ""},
	} {
		verb, path, _ := strings.Cut(c.method, " ")
		params := paramsOf(c.params)
		if params["vmid"] == nil {
			params["vmid"] = []string{"100"}
		}
		zone := func(b string) string { return map[string]string{"v1": "z1"}[b] }
		var got []string
		for _, n := range ExtraNeeds(Asking{Verb: Verb(verb), Path: path, Params: params, Version: "9.2", Config: c.config, Zone: zone}) {
			got = append(got, n.String())
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.method, c.params, strings.Join(got, "; "), c.want)
		}
	}
	old := ExtraNeeds(Asking{Verb: PUT, Path: "/nodes/{node}/qemu/{vmid}/config", Version: "7.4", Params: paramsOf("vmid=1 net0=virtio,bridge=vmbr0")})
	if len(old) != 1 || old[0].Privs[0] != "VM.Config.Network" {
		t.Errorf("7.4 has no SDN.Use, yet: %v", old)
	}
}

func TestNeed(t *testing.T) {
	n := Need{Path: "/a", Privs: []string{"A", "B"}, Or: []Need{{Path: "/b", Privs: []string{"C"}, And: []Need{{Path: "/c", Privs: []string{"D", "E"}, Any: true}}}}}
	for grants, want := range map[string]bool{
		"":                false,
		"/a A":            false,
		"/a A,/a B":       true,
		"/b C":            false,
		"/b C,/c E":       true,
		"/c D,/c E,/a A":  false,
		"/b C,/c D,/a B":  true,
		"/c A,/c B,/b AB": false,
	} {
		if got := n.Met(holding(strings.Split(grants, ",")...)); got != want {
			t.Errorf("%q: %v", grants, got)
		}
	}
	if (Need{Root: true}).Met(func(string, string) bool { return true }) {
		t.Error("privileges made somebody root")
	}
	lacking := n.Lacking(holding("/a B"))
	if fmt.Sprint(lacking) != "[A]" {
		t.Error(lacking)
	}
	if n := ModifyNeed("/vms/1"); !n.Any || len(n.Privs) != 2 {
		t.Error(n)
	}
}

func TestFillPath(t *testing.T) {
	for _, c := range []struct {
		template, params, want string
		ok                     bool
	}{
		{"/vms/{vmid}", "vmid=1", "/vms/1", true},
		{"/", "", "/", true},
		{"/vms/{vmid}", "", "/vms/-", false},
		{"/a/{x}/{y}", "x=1 y=2", "/a/1/2", true},
		{"/a/{x", "x=1", "/a/{x", false},
	} {
		got, ok := FillPath(c.template, paramsOf(c.params))
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %s %v", c.template, got, ok)
		}
	}
	names := []string{}
	for r := range Roles(Newest) {
		names = append(names, r)
	}
	sort.Strings(names)
	if len(names) != 17 {
		t.Errorf("%d roles: %v", len(names), names)
	}
}
