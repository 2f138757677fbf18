package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// nodes makes the members: three kinds of hardware, and from four nodes on one
// that is offline.
func (g *generator) nodes(r *rand.Rand, count, guests int) {
	// Larger hosts where more guests are to fit on one.
	dense := int64(1 + guests/count/25)
	if count > 1 {
		g.Cluster = "lab"
		g.ConfigVersion = count
	}
	g.Local = "pve1"
	kinds := []struct {
		model, mhz    string
		sockets, cpus int
		memory, root  int64
	}{
		{"AMD EPYC 7443P 24-Core Processor", "2850.000", 1, 48, 256 * gib, 94 * gib},
		{"Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz", "2900.000", 2, 64, 384 * gib, 94 * gib},
		{"AMD EPYC 9354P 32-Core Processor", "3250.000", 1, 64, 512 * gib, 220 * gib},
	}
	for i := 1; i <= count; i++ {
		k := kinds[r.IntN(len(kinds))]
		n := &Node{
			Name: apidoc.Node(fmt.Sprintf("pve%d", i)), ID: i, IP: fmt.Sprintf("10.10.%d.%d", (i-1)/200, 10+(i-1)%200), Online: true,
			Booted: g.now - day*int64(3+r.IntN(120)) - int64(r.IntN(86400)),
			CPUs:   k.cpus * int(min(dense, 8)), Sockets: k.sockets * int(min(dense, 8)), CPUModel: k.model, MHz: k.mhz,
			Memory: k.memory*dense - 700*mib, MemoryUsed: 4*gib + int64(r.IntN(4))*gib,
			Swap: 8 * gib, SwapUsed: int64(r.IntN(900)) * mib,
			Root: k.root, RootUsed: 9*gib + int64(r.IntN(30))*gib,
			Kernel: "6.17.13-2-pve", EFI: true, SecureBoot: chance(r, 50),
			Load:     Load{Seed: r.Uint64(), CPU: 0.01 + r.Float64()*0.03, Net: 40e3 + r.Float64()*400e3},
			Timezone: "Europe/Berlin",
		}
		n.MemoryUsed = min(n.MemoryUsed, n.Memory/4)
		n.DNS = NewConfig("search", "lab.example", "dns1", "10.10.0.1", "dns2", "10.10.0.2")
		n.Hosts = fmt.Sprintf("127.0.0.1 localhost.localdomain localhost\n%s %s.lab.example %s\n", n.IP, n.Name, n.Name)
		if i == 1 {
			n.Config.Set("description", "Rack A, unit 12\n")
		}
		if count >= 4 && i == count {
			n.Online = false
			n.OfflineSince = g.now - 3*hour
		}
		g.services(n)
		g.hardware(r, n)
		g.networks(n)
		g.packages(r, n)
		g.certificates(r, n)
		g.subscription(r, n)
		g.rooms[n.Name] = n.Memory * 85 / 100
		g.Nodes = append(g.Nodes, n)
	}
}

func (g *generator) services(n *Node) {
	for _, s := range [...][4]string{
		{"chrony", "NTP client and server", "running", "enabled"},
		{"corosync", "Corosync cluster engine", "running", "enabled"},
		{"cron", "Regular background jobs", "running", "enabled"},
		{"ksmtuned", "Kernel samepage merging tuning", "running", "enabled"},
		{"postfix", "Mail transport agent", "running", "enabled"},
		{"proxmox-firewall", "Firewall with nftables", "running", "enabled"},
		{"pve-cluster", "Cluster file system", "running", "enabled"},
		{"pve-firewall", "Firewall", "running", "enabled"},
		{"pve-ha-crm", "HA cluster resource manager", "running", "enabled"},
		{"pve-ha-lrm", "HA local resource manager", "running", "enabled"},
		{"pvedaemon", "API daemon", "running", "enabled"},
		{"pvefw-logger", "Firewall logger", "running", "static"},
		{"pveproxy", "API proxy", "running", "enabled"},
		{"pvescheduler", "Job scheduler", "running", "enabled"},
		{"pvestatd", "Status daemon", "running", "enabled"},
		{"qmeventd", "QEMU event daemon", "running", "enabled"},
		{"spiceproxy", "SPICE proxy", "running", "enabled"},
		{"sshd", "SSH server", "running", "enabled"},
		{"syslog", "System log", "dead", "not-found"},
		{"systemd-journald", "Journal", "running", "static"},
		{"systemd-timesyncd", "Network time", "dead", "not-found"},
	} {
		active := "active"
		if s[2] != "running" {
			active = "inactive"
		}
		if s[0] == "corosync" && g.Cluster == "" {
			s[2], active = "dead", "inactive"
		}
		n.Services = append(n.Services, &Service{Name: s[0], Description: s[1], State: s[2], ActiveState: active, UnitState: s[3]})
	}
}

// hardware gives each node two system disks, an LVM or ZFS store, and now and
// then a disk or a pool that needs care.
func (g *generator) hardware(r *rand.Rand, n *Node) {
	disk := func(path, kind, model, vendor, used string, size int64) *PhysicalDisk {
		d := &PhysicalDisk{Path: path, Kind: kind, Model: model, Vendor: vendor, Serial: strings.ToUpper(hexOf(r, 12)), WWN: "0x5" + hexOf(r, 15), Size: size, Used: used, GPT: used == "BIOS boot" || used == "partitions", OSD: -1, Health: "PASSED", Wearout: 100 - r.IntN(30)}
		switch kind {
		case "hdd":
			d.RPM, d.Wearout = 7200, -1
		case "nvme":
			d.Health = "PASSED"
		}
		if kind == "nvme" {
			d.SMARTText = fmt.Sprintf("SMART/Health Information (NVMe Log 0x02)\nCritical Warning:                   0x00\nTemperature:                        %d Celsius\nAvailable Spare:                    100%%\nPercentage Used:                    %d%%\nPower On Hours:                     %d\nMedia and Data Integrity Errors:    0\n", 34+r.IntN(15), 100-d.Wearout, 2000+r.IntN(20000))
		} else {
			d.Attributes = []SMARTAttribute{
				{ID: 5, Name: "Reallocated_Sector_Ct", Flags: "PO--CK", Value: 100, Worst: 100, Threshold: 10, Fail: "-", Raw: "0"},
				{ID: 9, Name: "Power_On_Hours", Flags: "-O--CK", Value: 96, Worst: 96, Threshold: 0, Fail: "-", Raw: fmt.Sprint(4000 + r.IntN(30000))},
				{ID: 194, Name: "Temperature_Celsius", Flags: "-O---K", Value: 68, Worst: 52, Threshold: 0, Fail: "-", Raw: fmt.Sprint(25 + r.IntN(20))},
				{ID: 197, Name: "Current_Pending_Sector", Flags: "-O--CK", Value: 100, Worst: 100, Threshold: 0, Fail: "-", Raw: "0"},
				{ID: 199, Name: "UDMA_CRC_Error_Count", Flags: "-OSRCK", Value: 200, Worst: 200, Threshold: 0, Fail: "-", Raw: "0"},
			}
		}
		n.Disks = append(n.Disks, d)
		return d
	}
	sys := disk("/dev/sda", "ssd", "SAMSUNG_MZ7L3480HCHQ-00A07", "ATA     ", "BIOS boot", 480103981056)
	sys.Partitions = []*PhysicalDisk{
		{Path: "/dev/sda1", Kind: "partition", Size: 1031168, Used: "BIOS boot", OSD: -1, GPT: true},
		{Path: "/dev/sda2", Kind: "partition", Size: 1073741824, Used: "EFI", OSD: -1, GPT: true},
		{Path: "/dev/sda3", Kind: "partition", Size: 479027199488, Used: "LVM", OSD: -1, GPT: true},
	}
	n.VolumeGroups = append(n.VolumeGroups, &VolumeGroup{Name: "pve", Size: 479023104000, Free: 17175674880, Volumes: []PhysicalVolume{{Name: "/dev/sda3", Size: 479023104000, Free: 17175674880}}})
	if n.zfs() {
		a := disk("/dev/nvme0n1", "nvme", "INTEL SSDPE2KX040T8", "unknown", "ZFS", 4*tib)
		b := disk("/dev/nvme1n1", "nvme", "INTEL SSDPE2KX040T8", "unknown", "ZFS", 4*tib)
		pool := &ZPool{Name: "rpool", Size: 4*tib - 64*gib, Frag: 5 + r.IntN(40), Dedup: 1, Health: "ONLINE",
			Scan:   "scrub repaired 0B in 00:41:17 with 0 errors on " + time.Unix(g.now-16*day, 0).UTC().Format("Mon Jan _2 15:04:05 2006"),
			Errors: "No known data errors"}
		mirror := &Vdev{Name: "mirror-0", State: "ONLINE"}
		for _, d := range []*PhysicalDisk{a, b} {
			mirror.Children = append(mirror.Children, &Vdev{Name: "nvme-" + strings.ReplaceAll(d.Model, " ", "_") + "_" + d.Serial, State: "ONLINE"})
		}
		pool.Vdevs = []*Vdev{mirror}
		if n.ID == 2 && g.Seed%2 == 1 || n.ID%9 == 5 {
			pool.Health, mirror.State = "DEGRADED", "DEGRADED"
			mirror.Children[1].State, mirror.Children[1].Read, mirror.Children[1].Write = "FAULTED", 12, 187
			mirror.Children[1].Message = "too many errors"
			pool.Status = "One or more devices are faulted in response to persistent errors. Sufficient replicas exist for the pool to continue functioning in a degraded state."
			pool.Action = "Replace the faulted device, or use 'zpool clear' to mark the device repaired."
			b.Health, b.Wearout = "FAILED", 3
		}
		n.ZPools = append(n.ZPools, pool)
	} else {
		disk("/dev/nvme0n1", "nvme", "SAMSUNG MZQL23T8HCLS-00A07", "unknown", "LVM", 3840755982336)
		n.VolumeGroups = append(n.VolumeGroups, &VolumeGroup{Name: "vmdata", Size: 3840751788032, Free: 0, Volumes: []PhysicalVolume{{Name: "/dev/nvme0n1", Size: 3840751788032}}})
		n.ThinPools = append(n.ThinPools, &ThinPool{Name: "data", Group: "vmdata", Size: 3800 * 1000 * mib, MetadataSize: 16 * gib, MetadataUsed: 600 * mib})
	}
	hdd := disk("/dev/sdb", "hdd", "TOSHIBA_MG08ACA16TE", "ATA     ", "", 16000900661248)
	if n.ID%5 == 3 {
		hdd.Attributes[0].Raw, hdd.Attributes[0].Value = "24", 98
		hdd.Attributes[3].Raw = "8"
	}
	n.PCI = []*PCIDevice{
		{ID: "0000:01:00.0", Class: "0x020000", Device: "0x1572", DeviceName: "Ethernet Controller X710 for 10GbE SFP+", Vendor: "0x8086", VendorName: "Intel Corporation", IOMMUGroup: 14},
		{ID: "0000:01:00.1", Class: "0x020000", Device: "0x1572", DeviceName: "Ethernet Controller X710 for 10GbE SFP+", Vendor: "0x8086", VendorName: "Intel Corporation", IOMMUGroup: 15},
		{ID: "0000:41:00.0", Class: "0x010802", Device: "0x0b60", DeviceName: "NVMe DC SSD", Vendor: "0x8086", VendorName: "Intel Corporation", IOMMUGroup: 33},
	}
	if n.ID == 1 {
		n.PCI = append(n.PCI, &PCIDevice{ID: "0000:81:00.0", Class: "0x030200", Device: "0x20b7", DeviceName: "GA100GL [A30 PCIe]", Vendor: "0x10de", VendorName: "NVIDIA Corporation", IOMMUGroup: 51, Mdev: true})
	}
	n.USB = []*USBDevice{
		{Bus: 1, Dev: 1, Port: 0, Level: 0, Class: 9, Vendor: "1d6b", Product: "0002", Manufacturer: "Linux xhci-hcd", ProductName: "xHCI Host Controller", Serial: "0000:00:14.0", Speed: "480"},
		{Bus: 1, Dev: 2, Port: 3, Level: 1, Class: 0, Vendor: "0557", Product: "2419", ProductName: "BMC virtual keyboard", Speed: "12"},
	}
}

// zfs tells whether the node keeps its guests on ZFS: every second one does.
func (n *Node) zfs() bool { return n.ID%2 == 0 }

func (g *generator) networks(n *Node) {
	eth := func(name, alt string, prio int) *Interface {
		return &Interface{Name: name, Type: "eth", Active: true, Exists: true, Priority: prio, Families: []string{"inet"}, AltNames: []string{alt}, Options: NewConfig("method", "manual", "method6", "manual")}
	}
	gateway := n.IP[:strings.LastIndexByte(n.IP, '.')] + ".1"
	n.Interfaces = []*Interface{
		eth("nic0", "enp1s0f0", 3), eth("nic1", "enp1s0f1", 4),
		{Name: "bond0", Type: "bond", Active: true, Autostart: true, Priority: 5, Families: []string{"inet"}, Options: NewConfig("method", "manual", "method6", "manual", "slaves", "nic0 nic1", "bond_mode", "802.3ad", "bond_xmit_hash_policy", "layer3+4")},
		{Name: "vmbr0", Type: "bridge", Active: true, Autostart: true, Priority: 6, Families: []string{"inet"}, Options: NewConfig("method", "static", "method6", "manual", "address", n.IP, "netmask", "24", "cidr", n.IP+"/24", "gateway", gateway, "bridge_ports", "bond0", "bridge_stp", "off", "bridge_fd", "0", "bridge_vlan_aware", "1", "bridge_vids", "2-4094", "comments", "management and guests\n")},
		{Name: "vmbr1", Type: "bridge", Active: true, Autostart: true, Priority: 7, Families: []string{"inet"}, Options: NewConfig("method", "manual", "method6", "manual", "bridge_ports", "", "bridge_stp", "off", "bridge_fd", "0", "comments", "isolated lab\n")},
	}
}

func (g *generator) packages(r *rand.Rand, n *Node) {
	for _, p := range [...][3]string{
		{"proxmox-ve", "9.2.0", "Proxmox VE metapackage"}, {"pve-manager", "9.2.11", "Manager and web interface"},
		{"proxmox-kernel-6.17.13-2-pve-signed", "6.17.13-2", "Kernel image"}, {"qemu-server", "9.2.6", "VM manager"},
		{"pve-qemu-kvm", "11.0.0-2", "Machine emulator"}, {"pve-container", "6.1.10", "Container manager"},
		{"libpve-storage-perl", "9.1.7", "Storage library"}, {"pve-ha-manager", "5.2.0", "HA stack"},
		{"pve-cluster", "9.1.6", "Cluster file system"}, {"lxc-pve", "7.0.0-2", "Container tools"},
		{"zfsutils-linux", "2.4.1-pve1", "ZFS tools"}, {"proxmox-backup-client", "4.2.1-1", "Backup client"},
	} {
		pkg := &Package{Name: p[0], Title: p[2], Section: "admin", Priority: "optional", Arch: "amd64", Origin: "Proxmox", Version: p[1], OldVersion: p[1], State: "Installed"}
		n.Packages = append(n.Packages, pkg)
	}
	for _, p := range [...][4]string{
		{"pve-manager", "9.2.11", "9.2.12", "Manager and web interface"},
		{"qemu-server", "9.2.6", "9.2.7", "VM manager"},
		{"proxmox-kernel-6.17", "6.17.13-2", "6.17.14-1", "Latest kernel of the series"},
		{"libssl3t64", "3.5.4-1~deb13u1", "3.5.4-1~deb13u2", "Secure sockets library"},
		{"openssh-server", "1:10.0p1-7", "1:10.0p1-7+deb13u1", "Remote login server"},
		{"bind9-host", "1:9.20.15-1~deb13u1", "1:9.20.18-1~deb13u1", "DNS look-up"},
	} {
		if chance(r, 70) {
			origin := "Proxmox"
			if strings.HasPrefix(p[0], "lib") || strings.HasPrefix(p[0], "open") || strings.HasPrefix(p[0], "bind") {
				origin = "Debian"
			}
			n.Updates = append(n.Updates, &Package{Name: p[0], Title: p[3], Section: "admin", Priority: "optional", Arch: "amd64", Origin: origin, OldVersion: p[1], Version: p[2]})
		}
	}
}

func (g *generator) certificates(r *rand.Rand, n *Node) {
	print := func() string {
		h := strings.ToUpper(hexOf(r, 64))
		parts := make([]string, 0, 32)
		for i := 0; i < 64; i += 2 {
			parts = append(parts, h[i:i+2])
		}
		return strings.Join(parts, ":")
	}
	ends := g.now + day*int64(150+r.IntN(500))
	if n.ID%7 == 2 {
		ends = g.now + day*int64(5+r.IntN(8))
	}
	n.Certificates = []*Certificate{
		{File: "pve-root-ca.pem", Fingerprint: print(), Subject: "/CN=Proxmox Virtual Environment/OU=" + uuid(r) + "/O=PVE Cluster Manager CA", Issuer: "/CN=Proxmox Virtual Environment/O=PVE Cluster Manager CA", NotBefore: g.now - 300*day, NotAfter: g.now + 3350*day, KeyType: "rsaEncryption", KeyBits: 4096},
		{File: "pve-ssl.pem", Fingerprint: print(), Subject: fmt.Sprintf("/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN=%s.lab.example", n.Name), Issuer: "/CN=Proxmox Virtual Environment/O=PVE Cluster Manager CA", NotBefore: ends - 730*day, NotAfter: ends, SAN: []string{"127.0.0.1", "0000:0000:0000:0000:0000:0000:0000:0001", "localhost", n.IP, string(n.Name), string(n.Name) + ".lab.example"}, KeyType: "rsaEncryption", KeyBits: 2048},
	}
}

func (g *generator) subscription(r *rand.Rand, n *Node) {
	n.Subscription = Subscription{Status: "notfound", Message: "There is no subscription key", Server: strings.ToUpper(hexOf(r, 32)), Sockets: n.Sockets, Checked: g.now - hour*int64(r.IntN(20))}
	if n.ID%3 == 1 {
		due := g.now + day*int64(20+r.IntN(300))
		n.Subscription.Status, n.Subscription.Level, n.Subscription.Message = "active", "b", ""
		n.Subscription.Key = fmt.Sprintf("pve%db-%s", n.Sockets, hexOf(r, 10))
		n.Subscription.Product = fmt.Sprintf("Proxmox VE Basic Subscription %d CPU/year", n.Sockets)
		n.Subscription.DueDate = time.Unix(due, 0).UTC().Format(time.DateOnly)
	}
}
