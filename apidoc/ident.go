package apidoc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Node is the name of a cluster member, such as "pve1". It is the host name
// without domain, case-sensitive.
type Node string

// VMID is the number of a guest (VM or container), 100 to 999999999, unique
// over both kinds and all nodes of a cluster.
type VMID int

// Storage is the id of a storage, such as "local-zfs".
type Storage string

// Pool is the id of a resource pool; from 8.1 on up to three levels joined by "/".
type Pool string

// Realm is the id of an authentication realm, such as "pam".
type Realm string

// UserID is a user with realm, such as "root@pam".
type UserID string

// VolID is the id of a volume: storage, colon, name within the storage, such
// as "local:iso/debian.iso" or "local-lvm:vm-100-disk-0".
type VolID string

// GuestKind tells a VM from a container, in the words of Proxmox's paths.
type GuestKind string

// The kinds of guests.
const (
	QEMU GuestKind = "qemu"
	LXC  GuestKind = "lxc"
)

// Noun gives the word that people use: "VM" or "container".
func (k GuestKind) Noun() string {
	switch k {
	case QEMU:
		return "VM"
	case LXC:
		return "container"
	}
	return "guest"
}

// ParseVMID takes the decimal text of a guest id. Limits as in Proxmox's
// format pve-vmid: 100 to 999999999, no leading zero.
func ParseVMID(s string) (VMID, error) {
	n, err := strconv.Atoi(s)
	if err != nil || len(s) < 3 || len(s) > 9 || s[0] < '1' || s[0] > '9' {
		return 0, fmt.Errorf("%q is not a vmid: a number from 100 to 999999999 is needed", s)
	}
	return VMID(n), nil
}

// String gives the decimal text.
func (v VMID) String() string { return strconv.Itoa(int(v)) }

// Split cuts a volume id into storage and name; ok is false where there is no
// colon (an absolute path, "none", "cdrom").
func (v VolID) Split() (storage Storage, name string, ok bool) {
	s, n, ok := strings.Cut(string(v), ":")
	if !ok || s == "" || strings.HasPrefix(s, "/") {
		return "", "", false
	}
	return Storage(s), n, true
}

// Owner gives the guest that a volume belongs to by its name, as Proxmox's
// storage plugins name volumes: vm-100-disk-0, base-100-disk-0,
// subvol-200-disk-0, 100/vm-100-disk-0.qcow2, backup/vzdump-qemu-100-…,
// backup/vm/100/… and backup/ct/200/…; ok is false for others.
func (v VolID) Owner() (VMID, bool) {
	_, name, ok := v.Split()
	if !ok {
		return 0, false
	}
	// A linked clone's volid names its base first: "base-100-disk-0/vm-101-disk-0".
	parts := strings.Split(name, "/")
	if parts[0] == "backup" && len(parts) >= 3 && (parts[1] == "vm" || parts[1] == "ct") {
		return vmidOf(parts[2])
	}
	last := parts[len(parts)-1]
	for _, prefix := range [...]string{"vzdump-qemu-", "vzdump-lxc-", "vzdump-openvz-", "vm-", "base-", "subvol-", "basevol-"} {
		if rest, ok := strings.CutPrefix(last, prefix); ok {
			digits, _, _ := strings.Cut(rest, "-")
			digits, _, _ = strings.Cut(digits, ".")
			return vmidOf(digits)
		}
	}
	if len(parts) >= 2 && parts[0] != "iso" && parts[0] != "vztmpl" && parts[0] != "snippets" && parts[0] != "import" {
		return vmidOf(parts[0])
	}
	return 0, false
}

func vmidOf(s string) (VMID, bool) {
	id, err := ParseVMID(s)
	return id, err == nil
}

// UPID is the id of a task: UPID:node:pid:pstart:starttime:type:id:user:
// (pve-common's UPID.pm). It names the node that runs the task.
type UPID string

// UPIDParts is a decoded [UPID].
type UPIDParts struct {
	Node   Node
	PID    uint32
	PStart uint64
	Start  time.Time // when the task began, to the second
	Type   string    // kind of task, such as qmstart or vzdump
	ID     string    // what it works on: mostly a vmid; may be empty
	User   string    // "root@pam" or, for a token, "root@pam!name"
}

// ParseUPID decodes a task id; the error tells what is wrong with its form.
func ParseUPID(s string) (UPIDParts, error) {
	var p UPIDParts
	fail := func(why string) (UPIDParts, error) {
		return UPIDParts{}, fmt.Errorf("%.120q is not a task id (UPID:node:pid:pstart:starttime:type:id:user:): %s", s, why)
	}
	f := strings.Split(strings.TrimSuffix(s, "\n"), ":")
	if len(f) != 9 || f[0] != "UPID" || f[8] != "" {
		return fail("nine parts are expected, the last empty")
	}
	if !isNodeName(f[1]) {
		return fail("bad node name")
	}
	pid, err := strconv.ParseUint(f[2], 16, 32)
	if err != nil || len(f[2]) != 8 {
		return fail("the process id must be 8 hex digits")
	}
	pstart, err := strconv.ParseUint(f[3], 16, 64)
	if err != nil || len(f[3]) < 8 || len(f[3]) > 9 {
		return fail("the process start must be 8 or 9 hex digits")
	}
	start, err := strconv.ParseUint(f[4], 16, 64)
	if err != nil || len(f[4]) != 8 {
		return fail("the start time must be 8 hex digits")
	}
	if f[5] == "" || f[7] == "" || strings.ContainsAny(s, "/ \t\r\n\v\f") {
		return fail("type and user must not be empty, and nothing may hold a blank or a slash")
	}
	p = UPIDParts{Node: Node(f[1]), PID: uint32(pid), PStart: pstart, Start: time.Unix(int64(start), 0).UTC(), Type: f[5], ID: f[6], User: f[7]}
	return p, nil
}

// String gives the wire form, hex digits in capitals as Proxmox writes them.
func (p UPIDParts) String() string {
	return fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:", p.Node, p.PID, p.PStart, p.Start.Unix(), p.Type, p.ID, p.User)
}

// isNodeName follows the format pve-node: letters and digits with hyphens inside.
func isNodeName(s string) bool {
	if s == "" || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// ParseNode takes the name of a node as the format pve-node allows it.
func ParseNode(s string) (Node, error) {
	if !isNodeName(s) {
		return "", fmt.Errorf("%q is not a node name: letters, digits and inner hyphens are allowed", s)
	}
	return Node(s), nil
}
