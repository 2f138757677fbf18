package apidoc

import (
	"slices"
	"sort"
	"strconv"
	"strings"
)

// privileges of 9.2 by their group, with the first major version that has
// them where that is not 7 or earlier (pve-access-control's AccessControl.pm).
var privileges = []struct {
	name  string
	since int
}{
	{"Datastore.Allocate", 0}, {"Datastore.AllocateSpace", 0}, {"Datastore.AllocateTemplate", 0}, {"Datastore.Audit", 0},
	{"Group.Allocate", 0},
	{"Mapping.Audit", 8}, {"Mapping.Modify", 8}, {"Mapping.Use", 8},
	{"Permissions.Modify", 0},
	{"Pool.Allocate", 0}, {"Pool.Audit", 0},
	{"Realm.Allocate", 0}, {"Realm.AllocateUser", 0},
	{"SDN.Allocate", 0}, {"SDN.Audit", 0}, {"SDN.Use", 8},
	{"Sys.AccessNetwork", 8}, {"Sys.Audit", 0}, {"Sys.Console", 0}, {"Sys.Incoming", 0},
	{"Sys.Modify", 0}, {"Sys.PowerMgmt", 0}, {"Sys.Syslog", 0},
	{"User.Modify", 0},
	{"VM.Allocate", 0}, {"VM.Audit", 0}, {"VM.Backup", 0}, {"VM.Clone", 0},
	{"VM.Config.CDROM", 0}, {"VM.Config.CPU", 0}, {"VM.Config.Cloudinit", 0}, {"VM.Config.Disk", 0},
	{"VM.Config.HWType", 0}, {"VM.Config.Memory", 0}, {"VM.Config.Network", 0}, {"VM.Config.Options", 0},
	{"VM.Console", 0},
	{"VM.GuestAgent.Audit", 9}, {"VM.GuestAgent.FileRead", 9}, {"VM.GuestAgent.FileSystemMgmt", 9},
	{"VM.GuestAgent.FileWrite", 9}, {"VM.GuestAgent.Unrestricted", 9},
	{"VM.Migrate", 0}, {"VM.PowerMgmt", 0}, {"VM.Replicate", 9}, {"VM.Snapshot", 0}, {"VM.Snapshot.Rollback", 0},
}

// monitor is the one privilege that went: until 8 it opened the human monitor
// and the guest agent.
const monitor = "VM.Monitor"

// major gives the first number of a version; what can't be read counts as the
// newest.
func major(version string) int {
	head, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(head)
	if err != nil {
		n, _ = strconv.Atoi(strings.SplitN(Newest, ".", 2)[0])
	}
	return n
}

// Privileges lists the privileges that a version of Proxmox VE ("8.4", "9.2.11")
// knows, sorted. The list is that of the major version.
func Privileges(version string) []string {
	m := major(version)
	var out []string
	for _, p := range privileges {
		if p.since <= m {
			out = append(out, p.name)
		}
	}
	if m < 9 {
		out = append(out, monitor)
	}
	sort.Strings(out)
	return out
}

// notForAdmin are what the role PVEAdmin lacks.
var notForAdmin = []string{
	"Mapping.Modify", "Permissions.Modify", "Realm.Allocate",
	"Sys.AccessNetwork", "Sys.Incoming", "Sys.Modify", "Sys.PowerMgmt",
}

// Roles gives the roles that a version comes with and their privileges,
// sorted. NoAccess has none, Administrator all.
func Roles(version string) map[string][]string {
	all := Privileges(version)
	m := major(version)
	pick := func(names ...string) []string {
		out := []string{}
		for _, p := range all {
			if slices.Contains(names, p) {
				out = append(out, p)
			}
		}
		return out
	}
	prefix := func(prefixes ...string) []string {
		out := []string{}
		for _, p := range all {
			if slices.ContainsFunc(prefixes, func(x string) bool { return strings.HasPrefix(p, x) }) {
				out = append(out, p)
			}
		}
		return out
	}
	admin := []string{}
	for _, p := range all {
		if !slices.Contains(notForAdmin, p) || m < 8 && p == "Permissions.Modify" {
			admin = append(admin, p)
		}
	}
	sysAdmin := pick("Sys.Console", "Sys.Syslog", "Sys.Audit")
	if m < 8 {
		sysAdmin = pick("Permissions.Modify", "Sys.Console", "Sys.Syslog", "Sys.Audit")
	}
	roles := map[string][]string{
		"Administrator": all,
		"NoAccess":      {},
		"PVEAdmin":      admin,
		"PVEAuditor": pick("VM.Audit", "VM.GuestAgent.Audit", "Sys.Audit", "Datastore.Audit",
			"SDN.Audit", "Pool.Audit", "Mapping.Audit"),
		"PVEDatastoreAdmin": prefix("Datastore."),
		"PVEDatastoreUser":  pick("Datastore.AllocateSpace", "Datastore.Audit"),
		"PVEPoolAdmin":      prefix("Pool."),
		"PVEPoolUser":       pick("Pool.Audit"),
		"PVESDNAdmin":       prefix("SDN."),
		"PVESysAdmin":       sysAdmin,
		"PVETemplateUser":   pick("VM.Clone", "VM.Audit"),
		"PVEUserAdmin":      pick("User.Modify", "Group.Allocate", "Realm.AllocateUser"),
		"PVEVMAdmin":        prefix("VM."),
		"PVEVMUser": pick("VM.Audit", "VM.GuestAgent.Audit", "VM.Config.CDROM", "VM.Config.Cloudinit",
			"VM.Console", "VM.Backup", "VM.GuestAgent.FileRead", "VM.GuestAgent.FileSystemMgmt",
			"VM.GuestAgent.FileWrite", "VM.PowerMgmt"),
	}
	if m >= 8 {
		roles["PVESDNUser"] = pick("SDN.Use", "SDN.Audit")
		roles["PVEMappingAdmin"] = prefix("Mapping.")
		roles["PVEMappingUser"] = pick("Mapping.Use", "Mapping.Audit")
	}
	return roles
}

// Need is a demand that a call makes on its caller: privileges on one path of
// the access control list, or being root@pam.
type Need struct {
	// Path in the access control list, values put in: "/vms/100". Empty with Root.
	Path  string
	Privs []string
	// Any: one of Privs is enough.
	Any bool
	// Root: only root@pam by ticket may; no privilege and no token helps.
	Root bool
	// And holds what is needed together with this one.
	And []Need
	// Or holds other ways: satisfying one of them is enough as well.
	Or []Need
	// Param is the parameter that makes the demand; "" when it is the call as
	// such.
	Param string
}

// Met tells whether has, which says if the caller holds a privilege on a path,
// satisfies the demand. Root demands are never met by privileges.
func (n Need) Met(has func(path, priv string) bool) bool {
	if n.met(has) && !slices.ContainsFunc(n.And, func(o Need) bool { return !o.Met(has) }) {
		return true
	}
	return slices.ContainsFunc(n.Or, func(o Need) bool { return o.Met(has) })
}

func (n Need) met(has func(path, priv string) bool) bool {
	if n.Root {
		return false
	}
	holds := func(p string) bool { return has(n.Path, p) }
	if n.Any {
		return slices.ContainsFunc(n.Privs, holds)
	}
	return !slices.ContainsFunc(n.Privs, func(p string) bool { return !holds(p) })
}

// Lacking gives the privileges of n.Privs that the caller does not hold: all
// of them when any would be enough and none is there, none when the demand is
// met. And and Or are not looked at.
func (n Need) Lacking(has func(path, priv string) bool) []string {
	if n.Root || n.met(has) {
		return nil
	}
	var out []string
	for _, p := range n.Privs {
		if !has(n.Path, p) {
			out = append(out, p)
		}
	}
	return out
}

// String says the demand in the way of Proxmox's own 403 text: path, then
// privileges, joined by "|" where one is enough.
func (n Need) String() string {
	var s string
	if n.Root {
		s = "root@pam"
	} else {
		sep := ", "
		if n.Any {
			sep = "|"
		}
		s = n.Path + ", " + strings.Join(n.Privs, sep)
	}
	for _, o := range n.And {
		s += " and " + o.String()
	}
	for _, o := range n.Or {
		s += " or " + o.String()
	}
	return s
}
