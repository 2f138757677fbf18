package pvesim

import (
	"strconv"
	"strings"
	"sync"

	"pvemcp/apidoc"
)

// RunState is what a guest does.
type RunState string

// The states of guests; paused and prelaunch are of VMs alone.
const (
	Stopped   RunState = "stopped"
	Running   RunState = "running"
	Paused    RunState = "paused"
	Prelaunch RunState = "prelaunch"
)

// Guest is a VM or a container with all that belongs to it but its volumes.
type Guest struct {
	ID        apidoc.VMID      `json:"id,omitempty"`
	Kind      apidoc.GuestKind `json:"kind,omitempty"`
	Node      apidoc.Node      `json:"node,omitempty"`
	Pool      apidoc.Pool      `json:"pool,omitempty"`      // "": in none
	Config    Config           `json:"config,omitempty"`    // what is active; lock, template, tags and name stand in it
	Pending   Config           `json:"pending,omitempty"`   // what waits for the next start
	Deleting  map[string]int   `json:"deleting,omitempty"`  // keys to go at the next start: 1, or 2 with force
	Snapshots []*Snapshot      `json:"snapshots,omitempty"` // in the order in which they were taken
	Parent    string           `json:"parent,omitempty"`    // the snapshot that the present comes from
	State     RunState         `json:"state,omitempty"`
	Started   int64            `json:"started,omitempty" form:"time"` // time of the last start; 0 while stopped
	PID       uint32           `json:"pid,omitempty"`
	Agent     *Agent           `json:"agent,omitempty"` // nil: nothing answers in the guest
	Load      Load             `json:"load,omitempty"`
	Firewall  GuestFirewall    `json:"firewall,omitempty"`
	// DiskUsed is what a container's root file system holds, in bytes.
	DiskUsed int64 `json:"disk_used,omitempty" form:"size"`
}

// Snapshot is one of a guest. Config is the guest's at that time.
type Snapshot struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	Time        int64  `json:"time,omitempty" form:"time"`
	Parent      string `json:"parent,omitempty"`
	State       string `json:"state,omitempty"` // "", or prepare or delete of one that was left incomplete
	RAM         bool   `json:"ram,omitempty"`   // has the memory of the VM
	Config      Config `json:"config,omitempty"`
}

// Agent is what the guest agent of a VM, or the system of a container, tells.
type Agent struct {
	Hung       bool              `json:"hung,omitempty"` // configured and started, but gives no answer
	OS         OSInfo            `json:"os,omitempty"`
	Hostname   string            `json:"hostname,omitempty"`
	Interfaces []GuestInterface  `json:"interfaces,omitempty"`
	Disks      []GuestFS         `json:"disks,omitempty"`
	Users      []string          `json:"users,omitempty"`
	Timezone   string            `json:"timezone,omitempty"`
	Files      map[string]string `json:"files,omitempty"` // path → content

	frozen    bool              // its file systems, for a moment
	mu        sync.Mutex        // of processes
	processes map[int64]process // what it ran and nobody has asked about yet
}

// OSInfo is a guest's operating system as get-osinfo gives it.
type OSInfo struct {
	ID            string `json:"id,omitempty"`
	Name          string `json:"name,omitempty"`
	PrettyName    string `json:"pretty_name,omitempty"`
	Version       string `json:"version,omitempty"`
	VersionID     string `json:"version_id,omitempty"`
	Kernel        string `json:"kernel,omitempty"`
	KernelVersion string `json:"kernel_version,omitempty"`
	Machine       string `json:"machine,omitempty"`
}

// GuestInterface is a network interface inside a guest.
type GuestInterface struct {
	Name      string   `json:"name,omitempty"`
	MAC       string   `json:"mac,omitempty"`
	Addresses []string `json:"addresses,omitempty"` // with prefix length: 10.0.0.5/24
}

// GuestFS is a mounted file system inside a guest.
type GuestFS struct {
	Name       string `json:"name,omitempty"`
	Mountpoint string `json:"mountpoint,omitempty"`
	Type       string `json:"type,omitempty"`
	Total      int64  `json:"total,omitempty" form:"size"`
	Used       int64  `json:"used,omitempty" form:"size"`
}

// Load says how busy a guest is; the figures at a moment follow from it.
type Load struct {
	Seed   uint64  `json:"seed,omitempty"`
	CPU    float64 `json:"cpu,omitempty"`    // mean share of its cpus, 0 to 1
	Memory float64 `json:"memory,omitempty"` // mean share of its memory
	Net    float64 `json:"net,omitempty"`    // mean bytes per second, in
	Disk   float64 `json:"disk,omitempty"`   // mean bytes per second, written
}

// Name gives the guest's name, or "" where none was given.
func (g *Guest) Name() string {
	if g.Kind == apidoc.LXC {
		return g.Config.Get("hostname")
	}
	return g.Config.Get("name")
}

// ShownName is the name in lists: Proxmox makes one up where there is none.
func (g *Guest) ShownName() string {
	if n := g.Name(); n != "" {
		return n
	}
	if g.Kind == apidoc.LXC {
		return "CT" + g.ID.String()
	}
	return "VM " + g.ID.String()
}

// Lock gives what the guest is locked for, or "".
func (g *Guest) Lock() string { return g.Config.Get("lock") }

// Template tells whether the guest is one.
func (g *Guest) Template() bool { return g.Config.Get("template") == "1" }

// Up tells whether a process of the guest exists: it runs or is paused.
func (g *Guest) Up() bool { return g.State != Stopped && g.State != "" }

// Snapshot gives the snapshot of that name, or nil.
func (g *Guest) Snapshot(name string) *Snapshot {
	for _, s := range g.Snapshots {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// CPUs is the number of cpus: cores × sockets of a VM; a container without a
// limit has those of its node.
func (g *Guest) CPUs(node *Node) int {
	cores := atoi(g.Config.Get("cores"))
	if g.Kind == apidoc.LXC {
		if cores == 0 && node != nil {
			return node.CPUs
		}
		return max(cores, 1)
	}
	if v := atoi(g.Config.Get("vcpus")); v > 0 {
		return v
	}
	return max(cores, 1) * max(atoi(g.Config.Get("sockets")), 1)
}

// Memory is the memory in bytes; the defaults are Proxmox's 512 MiB.
func (g *Guest) Memory() int64 {
	mib := atoi(firstPart(strings.TrimPrefix(g.Config.Get("memory"), "current=")))
	if mib == 0 {
		mib = 512
	}
	return int64(mib) << 20
}

// Swap is a container's swap in bytes.
func (g *Guest) Swap() int64 {
	if !g.Config.Has("swap") {
		return 512 << 20
	}
	return int64(atoi(g.Config.Get("swap"))) << 20
}

// BootDisk gives the key of the disk whose size lists show: a container's
// rootfs, a VM's first disk in its boot order.
func (g *Guest) BootDisk() string {
	if g.Kind == apidoc.LXC {
		return "rootfs"
	}
	for dev := range strings.SplitSeq(strings.TrimPrefix(g.Config.Get("boot"), "order="), ";") {
		if d := g.Config.Get(dev); d != "" && isDiskKey(dev) && !isCDROM(d) {
			return dev
		}
	}
	for _, dev := range [...]string{"scsi0", "virtio0", "sata0", "ide0"} {
		if d := g.Config.Get(dev); d != "" && !isCDROM(d) {
			return dev
		}
	}
	return ""
}

// MaxDisk is the size of BootDisk in bytes, 0 without one.
func (g *Guest) MaxDisk() int64 {
	return parseDiskSize(subOption(g.Config.Get(g.BootDisk()), "size"))
}

// Disk is one disk key of a configuration.
type Disk struct {
	Key    string
	Volume apidoc.VolID
	Size   int64
	CDROM  bool
	Value  string // the whole property string
}

// Disks lists the disks, mount points, unused volumes and state volumes that a
// configuration of that kind names, by key.
func Disks(kind apidoc.GuestKind, c *Config) []Disk {
	var disks []Disk
	c.Each(func(key, value string) bool {
		if kind == apidoc.LXC && (key == "rootfs" || indexed(key, "mp") || indexed(key, "unused")) ||
			kind == apidoc.QEMU && (isDiskKey(key) || indexed(key, "unused") || key == "vmstate") {
			vol := firstPart(value)
			for _, p := range [...]string{"file=", "volume="} {
				vol = strings.TrimPrefix(vol, p)
			}
			disks = append(disks, Disk{Key: key, Volume: apidoc.VolID(vol), Size: parseDiskSize(subOption(value, "size")), CDROM: isCDROM(value), Value: value})
		}
		return true
	})
	return disks
}

// Disks lists what the active configuration names.
func (g *Guest) Disks() []Disk { return Disks(g.Kind, &g.Config) }

// isDiskKey tells whether a VM's key holds a drive.
func isDiskKey(key string) bool {
	switch key {
	case "efidisk0", "tpmstate0":
		return true
	case "scsihw":
		return false
	}
	return indexed(key, "scsi") || indexed(key, "virtio") || indexed(key, "sata") || indexed(key, "ide")
}

// indexed tells whether key is prefix and a number.
func indexed(key, prefix string) bool {
	rest, ok := strings.CutPrefix(key, prefix)
	if !ok || rest == "" {
		return false
	}
	_, err := strconv.ParseUint(rest, 10, 16)
	return err == nil
}

func isCDROM(value string) bool {
	return strings.Contains(value, "media=cdrom") || value == "cdrom" || value == "none"
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// parseDiskSize takes Proxmox's sizes of disks: a number with K, M, G or T, or
// bytes; what it can't read is 0.
func parseDiskSize(s string) int64 {
	if s == "" {
		return 0
	}
	shift := 0
	switch s[len(s)-1] {
	case 'K':
		shift = 10
	case 'M':
		shift = 20
	case 'G':
		shift = 30
	case 'T':
		shift = 40
	}
	if shift > 0 {
		s = s[:len(s)-1]
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return int64(f * float64(int64(1)<<shift))
}

// diskSize is the opposite: the largest unit that divides without a rest.
func diskSize(bytes int64) string {
	for _, u := range [...]struct {
		shift int
		unit  string
	}{{40, "T"}, {30, "G"}, {20, "M"}, {10, "K"}} {
		if bytes > 0 && bytes%(1<<u.shift) == 0 {
			return strconv.FormatInt(bytes>>u.shift, 10) + u.unit
		}
	}
	return strconv.FormatInt(bytes, 10)
}
