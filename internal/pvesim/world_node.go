package pvesim

import "pvemcp/apidoc"

// Node is a member of the cluster.
type Node struct {
	Name   apidoc.Node
	ID     int // corosync's nodeid
	IP     string
	Online bool
	// OfflineSince is when it was last heard of; for five minutes after that
	// lists still show the last known figures.
	OfflineSince int64
	// Silent: the node answers, but its pvestatd reports nothing any more (a
	// hanging storage does that), so that lists show it and its guests as unknown.
	Silent      bool
	Maintenance bool // HA has moved its services away
	Booted      int64
	CPUs        int
	Sockets     int
	CPUModel    string
	MHz         string
	Memory      int64
	MemoryUsed  int64 // by the host itself, without guests
	Swap        int64
	SwapUsed    int64
	Root        int64
	RootUsed    int64
	Kernel      string
	EFI         bool
	SecureBoot  bool
	Load        Load

	Services     []*Service
	Disks        []*PhysicalDisk
	VolumeGroups []*VolumeGroup
	ThinPools    []*ThinPool
	ZPools       []*ZPool
	Directories  []*DirectoryMount
	Interfaces   []*Interface
	NetChanges   string // text of pending network changes
	Updates      []*Package
	Packages     []*Package
	Certificates []*Certificate
	Subscription Subscription
	DNS          Config // search, dns1…
	Timezone     string
	Hosts        string
	Config       Config // description, wakeonlan, acme…
	PCI          []*PCIDevice
	USB          []*USBDevice
	Firewall     NodeFirewall
	Syslog       []LogLine // lines beside those that every node writes

	tasks taskArchive
}

// LogLine is a line of a log with its time.
type LogLine struct {
	Time int64
	Text string
}

// Service is a systemd unit that Proxmox shows.
type Service struct {
	Name, Description             string
	State, ActiveState, UnitState string
}

// PhysicalDisk is a disk of a node with what SMART says of it.
type PhysicalDisk struct {
	Path, Model, Vendor, Serial, WWN string
	Kind                             string // hdd, ssd, nvme
	Size                             int64
	RPM                              int
	Used                             string // LVM, ZFS, partitions, mounted… or ""
	Health                           string // PASSED, OK, FAILED, UNKNOWN
	Wearout                          int    // per cent that remain; -1: not known
	GPT                              bool
	OSD                              int // -1: none
	Partitions                       []*PhysicalDisk
	Attributes                       []SMARTAttribute
	SMARTText                        string
}

// SMARTAttribute is one line of an ATA disk's table.
type SMARTAttribute struct {
	ID                      int
	Name, Flags             string
	Value, Worst, Threshold int
	Fail, Raw               string
}

// VolumeGroup is one of LVM.
type VolumeGroup struct {
	Name       string
	Size, Free int64
	Volumes    []PhysicalVolume
}

// PhysicalVolume is a member of a volume group.
type PhysicalVolume struct {
	Name       string
	Size, Free int64
}

// ThinPool is a thin pool of LVM.
type ThinPool struct {
	Name, Group                string
	Size, Used                 int64
	MetadataSize, MetadataUsed int64
}

// ZPool is a pool of ZFS.
type ZPool struct {
	Name        string
	Size, Alloc int64
	Frag        int
	Dedup       float64
	Health      string // ONLINE, DEGRADED, FAULTED…
	Status      string
	Action      string
	Scan        string
	Errors      string
	Vdevs       []*Vdev
}

// Vdev is a part of a pool: a mirror, a raidz or a disk.
type Vdev struct {
	Name, State, Message string
	Read, Write, Cksum   int
	Children             []*Vdev
}

// DirectoryMount is a directory storage's mount.
type DirectoryMount struct {
	Unit, Path, Device, Type, Options string
}

// Interface is a network interface of a node: fixed fields, and the others in
// Options by their key in the API.
type Interface struct {
	Name, Type string
	Active     bool
	Autostart  bool
	Exists     bool
	Priority   int
	Families   []string
	AltNames   []string
	Options    Config
}

// Package is a Debian package that is installed or could be upgraded.
type Package struct {
	Name, Title, Section, Priority, Arch, Origin string
	Version, OldVersion                          string
	State                                        string
}

// Certificate is a file that pveproxy or the cluster uses.
type Certificate struct {
	File, Fingerprint, Subject, Issuer string
	NotBefore, NotAfter                int64
	SAN                                []string
	KeyType                            string
	KeyBits                            int
	PEM                                string
}

// Subscription is a node's contract.
type Subscription struct {
	Status  string // active, notfound, expired, invalid, new, suspended
	Level   string // c, b, s, p or ""
	Key     string
	Product string
	DueDate string // YYYY-MM-DD
	Message string
	Checked int64
	Sockets int
	Server  string // server id
}

// PCIDevice is a device that a VM could be given.
type PCIDevice struct {
	ID, Class, Device, DeviceName, Vendor, VendorName string
	IOMMUGroup                                        int
	Mdev                                              bool
}

// USBDevice is a device at a USB port.
type USBDevice struct {
	Bus, Dev, Port, Level, Class                       int
	Vendor, Product, Manufacturer, ProductName, Serial string
	Speed                                              string
}
