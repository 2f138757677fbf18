package pvesim

import "pvemcp/apidoc"

// Node is a member of the cluster.
type Node struct {
	Name   apidoc.Node `json:"name,omitempty"`
	ID     int         `json:"id,omitempty"` // corosync's nodeid
	IP     string      `json:"ip,omitempty"`
	Online bool        `json:"online"`
	// OfflineSince is when it was last heard of; for five minutes after that
	// lists still show the last known figures.
	OfflineSince int64 `json:"offline_since,omitempty" form:"time"`
	// Silent: the node answers, but its pvestatd reports nothing any more (a
	// hanging storage does that), so that lists show it and its guests as unknown.
	Silent      bool   `json:"silent,omitempty"`
	Maintenance bool   `json:"maintenance,omitempty"` // HA has moved its services away
	Booted      int64  `json:"booted,omitempty" form:"time"`
	CPUs        int    `json:"cpus,omitempty"`
	Sockets     int    `json:"sockets,omitempty"`
	CPUModel    string `json:"cpu_model,omitempty"`
	MHz         string `json:"mhz,omitempty"`
	Memory      int64  `json:"memory,omitempty" form:"size"`
	MemoryUsed  int64  `json:"memory_used,omitempty" form:"size"` // by the host itself, without guests
	Swap        int64  `json:"swap,omitempty" form:"size"`
	SwapUsed    int64  `json:"swap_used,omitempty" form:"size"`
	Root        int64  `json:"root,omitempty" form:"size"`
	RootUsed    int64  `json:"root_used,omitempty" form:"size"`
	Kernel      string `json:"kernel,omitempty"`
	EFI         bool   `json:"efi,omitempty"`
	SecureBoot  bool   `json:"secure_boot,omitempty"`
	Load        Load   `json:"load,omitempty"`

	Services     []*Service        `json:"services,omitempty"`
	Disks        []*PhysicalDisk   `json:"disks,omitempty"`
	VolumeGroups []*VolumeGroup    `json:"volume_groups,omitempty"`
	ThinPools    []*ThinPool       `json:"thin_pools,omitempty"`
	ZPools       []*ZPool          `json:"zpools,omitempty"`
	Directories  []*DirectoryMount `json:"directories,omitempty"`
	Interfaces   []*Interface      `json:"interfaces,omitempty"`
	NetChanges   string            `json:"net_changes,omitempty"` // text of pending network changes
	NetBefore    []*Interface      `json:"net_before,omitempty"`  // the interfaces in force while changes wait
	Updates      []*Package        `json:"updates,omitempty"`
	Packages     []*Package        `json:"packages,omitempty"`
	Certificates []*Certificate    `json:"certificates,omitempty"`
	Subscription Subscription      `json:"subscription,omitempty"`
	DNS          Config            `json:"dns,omitempty"` // search, dns1…
	Timezone     string            `json:"timezone,omitempty"`
	Hosts        string            `json:"hosts,omitempty"`
	Config       Config            `json:"config,omitempty"` // description, wakeonlan, acme…
	PCI          []*PCIDevice      `json:"pci,omitempty"`
	USB          []*USBDevice      `json:"usb,omitempty"`
	Firewall     NodeFirewall      `json:"firewall,omitempty"`
	Syslog       []LogLine         `json:"syslog,omitempty"` // lines beside those that every node writes

	tasks taskArchive
	away  int // fault that stands for the node while it is the only one and off
}

// LogLine is a line of a log with its time.
type LogLine struct {
	Time int64  `json:"time,omitempty" form:"time"`
	Text string `json:"text,omitempty"`
}

// Service is a systemd unit that Proxmox shows.
type Service struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	State       string `json:"state,omitempty"`
	ActiveState string `json:"active_state,omitempty"`
	UnitState   string `json:"unit_state,omitempty"`
}

// PhysicalDisk is a disk of a node with what SMART says of it.
type PhysicalDisk struct {
	Path       string           `json:"path,omitempty"`
	Model      string           `json:"model,omitempty"`
	Vendor     string           `json:"vendor,omitempty"`
	Serial     string           `json:"serial,omitempty"`
	WWN        string           `json:"wwn,omitempty"`
	Kind       string           `json:"kind,omitempty"` // hdd, ssd, nvme
	Size       int64            `json:"size,omitempty" form:"size"`
	RPM        int              `json:"rpm,omitempty"`
	Used       string           `json:"used,omitempty"` // LVM, ZFS, partitions, mounted… or ""
	Health     string           `json:"health"`         // PASSED, OK, FAILED, UNKNOWN
	Wearout    int              `json:"wearout"`        // per cent that remain; -1: not known
	GPT        bool             `json:"gpt,omitempty"`
	OSD        int              `json:"osd"` // -1: none
	Partitions []*PhysicalDisk  `json:"partitions,omitempty"`
	Attributes []SMARTAttribute `json:"attributes,omitempty"`
	SMARTText  string           `json:"smart_text,omitempty"`
}

// SMARTAttribute is one line of an ATA disk's table.
type SMARTAttribute struct {
	ID        int    `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Flags     string `json:"flags,omitempty"`
	Value     int    `json:"value,omitempty"`
	Worst     int    `json:"worst,omitempty"`
	Threshold int    `json:"threshold,omitempty"`
	Fail      string `json:"fail,omitempty"`
	Raw       string `json:"raw,omitempty"`
}

// VolumeGroup is one of LVM.
type VolumeGroup struct {
	Name    string           `json:"name,omitempty"`
	Size    int64            `json:"size,omitempty" form:"size"`
	Free    int64            `json:"free,omitempty" form:"size"`
	Volumes []PhysicalVolume `json:"volumes,omitempty"`
}

// PhysicalVolume is a member of a volume group.
type PhysicalVolume struct {
	Name string `json:"name,omitempty"`
	Size int64  `json:"size,omitempty" form:"size"`
	Free int64  `json:"free,omitempty" form:"size"`
}

// ThinPool is a thin pool of LVM.
type ThinPool struct {
	Name         string `json:"name,omitempty"`
	Group        string `json:"group,omitempty"`
	Size         int64  `json:"size,omitempty" form:"size"`
	Used         int64  `json:"used,omitempty" form:"size"`
	MetadataSize int64  `json:"metadata_size,omitempty" form:"size"`
	MetadataUsed int64  `json:"metadata_used,omitempty" form:"size"`
}

// ZPool is a pool of ZFS.
type ZPool struct {
	Name   string  `json:"name,omitempty"`
	Size   int64   `json:"size,omitempty" form:"size"`
	Alloc  int64   `json:"alloc,omitempty" form:"size"`
	Frag   int     `json:"frag,omitempty"`
	Dedup  float64 `json:"dedup"`
	Health string  `json:"health,omitempty"` // ONLINE, DEGRADED, FAULTED…
	Status string  `json:"status,omitempty"`
	Action string  `json:"action,omitempty"`
	Scan   string  `json:"scan,omitempty"`
	Errors string  `json:"errors,omitempty"`
	Vdevs  []*Vdev `json:"vdevs,omitempty"`
}

// Vdev is a part of a pool: a mirror, a raidz or a disk.
type Vdev struct {
	Name     string  `json:"name,omitempty"`
	State    string  `json:"state,omitempty"`
	Message  string  `json:"message,omitempty"`
	Read     int     `json:"read,omitempty"`
	Write    int     `json:"write,omitempty"`
	Cksum    int     `json:"cksum,omitempty"`
	Children []*Vdev `json:"children,omitempty"`
}

// DirectoryMount is a directory storage's mount.
type DirectoryMount struct {
	Unit    string `json:"unit,omitempty"`
	Path    string `json:"path,omitempty"`
	Device  string `json:"device,omitempty"`
	Type    string `json:"type,omitempty"`
	Options string `json:"options,omitempty"`
}

// Interface is a network interface of a node: fixed fields, and the others in
// Options by their key in the API.
type Interface struct {
	Name      string   `json:"name,omitempty"`
	Type      string   `json:"type,omitempty"`
	Active    bool     `json:"active"`
	Autostart bool     `json:"autostart,omitempty"`
	Exists    bool     `json:"exists,omitempty"`
	Priority  int      `json:"priority,omitempty"`
	Families  []string `json:"families,omitempty"`
	AltNames  []string `json:"alt_names,omitempty"`
	Options   Config   `json:"options,omitempty"`
}

// Package is a Debian package that is installed or could be upgraded.
type Package struct {
	Name       string `json:"name,omitempty"`
	Title      string `json:"title,omitempty"`
	Section    string `json:"section,omitempty"`
	Priority   string `json:"priority,omitempty"`
	Arch       string `json:"arch,omitempty"`
	Origin     string `json:"origin,omitempty"`
	Version    string `json:"version,omitempty"`
	OldVersion string `json:"old_version,omitempty"`
	State      string `json:"state,omitempty"`
}

// Certificate is a file that pveproxy or the cluster uses.
type Certificate struct {
	File        string   `json:"file,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Subject     string   `json:"subject,omitempty"`
	Issuer      string   `json:"issuer,omitempty"`
	NotBefore   int64    `json:"not_before,omitempty" form:"time"`
	NotAfter    int64    `json:"not_after,omitempty" form:"time"`
	SAN         []string `json:"san,omitempty"`
	KeyType     string   `json:"key_type,omitempty"`
	KeyBits     int      `json:"key_bits,omitempty"`
	PEM         string   `json:"pem,omitempty"`
}

// Subscription is a node's contract.
type Subscription struct {
	Status  string `json:"status,omitempty"` // active, notfound, expired, invalid, new, suspended
	Level   string `json:"level,omitempty"`  // c, b, s, p or ""
	Key     string `json:"key,omitempty"`
	Product string `json:"product,omitempty"`
	DueDate string `json:"due_date,omitempty"` // YYYY-MM-DD
	Message string `json:"message,omitempty"`
	Checked int64  `json:"checked,omitempty" form:"time"`
	Sockets int    `json:"sockets,omitempty"`
	Server  string `json:"server,omitempty"` // server id
}

// PCIDevice is a device that a VM could be given.
type PCIDevice struct {
	ID         string `json:"id,omitempty"`
	Class      string `json:"class,omitempty"`
	Device     string `json:"device,omitempty"`
	DeviceName string `json:"device_name,omitempty"`
	Vendor     string `json:"vendor,omitempty"`
	VendorName string `json:"vendor_name,omitempty"`
	IOMMUGroup int    `json:"iommu_group,omitempty"`
	Mdev       bool   `json:"mdev,omitempty"`
}

// USBDevice is a device at a USB port.
type USBDevice struct {
	Bus          int    `json:"bus,omitempty"`
	Dev          int    `json:"dev,omitempty"`
	Port         int    `json:"port,omitempty"`
	Level        int    `json:"level,omitempty"`
	Class        int    `json:"class,omitempty"`
	Vendor       string `json:"vendor,omitempty"`
	Product      string `json:"product,omitempty"`
	Manufacturer string `json:"manufacturer,omitempty"`
	ProductName  string `json:"product_name,omitempty"`
	Serial       string `json:"serial,omitempty"`
	Speed        string `json:"speed,omitempty"`
}
