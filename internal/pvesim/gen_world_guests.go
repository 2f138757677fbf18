package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// roles are what guests are there for: a stem of their names and how busy they are.
var guestRoles = []struct {
	stem   string
	cores  int
	memory int // MiB
	disk   int // GiB
	cpu    float64
	mem    float64
	net    float64
}{
	{"web", 2, 2048, 20, 0.08, 0.45, 120e3},
	{"app", 4, 8192, 40, 0.15, 0.6, 90e3},
	{"db", 8, 16384, 120, 0.22, 0.82, 200e3},
	{"mail", 2, 4096, 60, 0.05, 0.5, 30e3},
	{"dns", 1, 512, 8, 0.01, 0.3, 5e3},
	{"ci-runner", 4, 8192, 50, 0.3, 0.5, 60e3},
	{"k8s-worker", 8, 32768, 80, 0.35, 0.7, 400e3},
	{"mon", 2, 4096, 64, 0.1, 0.55, 80e3},
	{"proxy", 1, 1024, 10, 0.06, 0.3, 500e3},
	{"win-ts", 4, 16384, 100, 0.12, 0.65, 50e3},
	{"backup-test", 1, 1024, 16, 0.02, 0.2, 1e3},
	{"git", 2, 4096, 80, 0.05, 0.5, 40e3},
}

// templates makes the VMs and the container from which others are cloned.
func (g *generator) templates(r *rand.Rand) {
	g.next = 9000
	for _, t := range [...]struct {
		name, ostype string
		kind         apidoc.GuestKind
		disk         int
	}{{"tmpl-debian13", "l26", apidoc.QEMU, 8}, {"tmpl-win2025", "win11", apidoc.QEMU, 40}, {"tmpl-ct-debian13", "debian", apidoc.LXC, 4}} {
		n := g.Nodes[r.IntN(min(len(g.Nodes), 3))]
		s := g.storageFor(r, n, t.kind == apidoc.QEMU && len(g.Nodes) >= 3)
		x := &Guest{ID: g.next, Kind: t.kind, Node: n.Name, State: Stopped}
		g.next++
		if t.kind == apidoc.QEMU {
			g.vmConfig(r, x, t.name, 2, 2048, t.ostype)
			x.Config.Set("description", "Golden image. Clone it, don't start it.")
		} else {
			s = g.storageFor(r, n, false)
			g.ctConfig(r, x, t.name, 1, 512, t.ostype)
		}
		x.Config.Set("template", "1")
		g.addDisk(r, x, s, t.disk, true, nil)
		g.AddGuest(x)
		g.bases = append(g.bases, x)
	}
	g.next = 100
}

// guestsOf makes the others: VMs and containers three to two, with small gaps
// between their ids as if some had been deleted.
func (g *generator) guestsOf(r *rand.Rand, count int) {
	if count < len(g.bases) { // fewer guests were asked for than there are templates
		for _, b := range g.bases[count:] {
			g.RemoveGuest(b.ID)
		}
		g.bases = g.bases[:count]
	}
	perRole := make([]int, len(guestRoles))
	for i := len(g.bases); i < count; i++ {
		if chance(r, 7) {
			g.next += apidoc.VMID(1 + r.IntN(5))
		}
		if g.next >= 9000 && g.next < 9100 {
			g.next = 9100
		}
		x := &Guest{ID: g.next, Kind: apidoc.QEMU, State: Running}
		g.next++
		if i%5 >= 3 {
			x.Kind = apidoc.LXC
		}
		ri := r.IntN(len(guestRoles))
		if guestRoles[ri].stem == "win-ts" && x.Kind == apidoc.LXC {
			ri = 0
		}
		perRole[ri]++
		role := guestRoles[ri]
		name := fmt.Sprintf("%s%02d", role.stem, perRole[ri])
		switch c := r.IntN(100); {
		case c < 2:
			name = ""
		case c == 2:
			name = role.stem + strconv.Itoa(perRole[ri]) + ".customers.example.net"
		case c == 3 && i > 20:
			name = oneOf(r, "büro", "データ", "zürich") + "-" + strconv.Itoa(int(x.ID))
		}
		mem := role.memory
		n := g.place(r, int64(mem)*mib)
		x.Node = n.Name
		if n.Memory < 8*int64(mem)*mib {
			mem = 512
		}
		x.Load = Load{Seed: r.Uint64(), CPU: role.cpu * (0.5 + r.Float64()), Memory: role.mem * (0.8 + 0.4*r.Float64()), Net: role.net * (0.3 + r.Float64()), Disk: 20e3 + r.Float64()*300e3}
		ostype := "l26"
		if role.stem == "win-ts" {
			ostype = oneOf(r, "win11", "win10")
		}
		if x.Kind == apidoc.QEMU {
			g.vmConfig(r, x, name, role.cores, mem, ostype)
		} else {
			g.ctConfig(r, x, name, role.cores, mem, oneOf(r, "debian", "debian", "ubuntu", "alpine"))
		}
		var base *Guest
		if x.Kind == apidoc.QEMU && ostype == "l26" && chance(r, 8) && len(g.bases) > 0 {
			base = g.bases[0]
		}
		s := g.storageFor(r, n, chance(r, 35))
		g.addDisk(r, x, s, role.disk*(1+r.IntN(3))/1, false, base)
		if chance(r, 15) {
			g.addDisk(r, x, s, role.disk*2, false, nil)
		}
		g.state(r, x)
		g.tagsAndPool(r, x, role.stem)
		if chance(r, 18) {
			g.snapshots(r, x)
		}
		if x.Up() {
			g.agent(r, x)
		}
		g.AddGuest(x)
	}
}

// place gives the node with the most memory left of three tried.
func (g *generator) place(r *rand.Rand, memory int64) *Node {
	best := g.Nodes[r.IntN(len(g.Nodes))]
	for range 2 {
		if n := g.Nodes[r.IntN(len(g.Nodes))]; g.rooms[n.Name] > g.rooms[best.Name] {
			best = n
		}
	}
	g.rooms[best.Name] -= memory / 2
	return best
}

func (g *generator) vmConfig(r *rand.Rand, x *Guest, name string, cores, memory int, ostype string) {
	created := g.now - day*int64(10+r.IntN(900))
	c := NewConfig("boot", "order=scsi0;ide2;net0", "cores", strconv.Itoa(cores), "cpu", "x86-64-v2-AES", "memory", strconv.Itoa(memory),
		"meta", "creation-qemu=10.1.2,ctime="+strconv.FormatInt(created, 10), "net0", "virtio="+mac(r)+",bridge=vmbr0,firewall=1",
		"ostype", ostype, "scsihw", "virtio-scsi-single", "smbios1", "uuid="+uuid(r), "sockets", "1", "vmgenid", uuid(r), "numa", "0")
	if name != "" {
		c.Set("name", name)
	}
	if chance(r, 70) {
		c.Set("agent", "1")
	}
	if chance(r, 75) {
		c.Set("onboot", "1")
	}
	if chance(r, 30) {
		c.Set("net0", c.Get("net0")+",tag="+strconv.Itoa(10*(1+r.IntN(20))))
	}
	if chance(r, 8) {
		c.Set("net1", "virtio="+mac(r)+",bridge=vmbr1")
	}
	switch {
	case chance(r, 12):
		c.Set("ide2", "nfs-data:iso/debian-13.1.0-amd64-netinst.iso,media=cdrom,size=783M")
	default:
		c.Set("ide2", "none,media=cdrom")
	}
	if chance(r, 5) {
		c.Set("balloon", "0")
	}
	if chance(r, 4) {
		c.Set("protection", "1")
	}
	if strings.HasPrefix(ostype, "win") {
		c.Set("machine", "pc-q35-10.1")
		c.Set("bios", "ovmf")
	}
	if chance(r, 10) {
		c.Set("description", oneOf(r, "Owner: ops\nTicket: OPS-1182", "Zürich office\n**do not move**", "see wiki", "Kunde: Müller & Söhne\n"))
	}
	if chance(r, 6) {
		c.Set("startup", "order="+strconv.Itoa(1+r.IntN(5))+",up=30")
	}
	x.Config = c
}

func (g *generator) ctConfig(r *rand.Rand, x *Guest, name string, cores, memory int, ostype string) {
	c := NewConfig("arch", "amd64", "cores", strconv.Itoa(cores), "memory", strconv.Itoa(memory), "swap", "512",
		"net0", "name=eth0,bridge=vmbr0,firewall=1,hwaddr="+mac(r)+",ip=dhcp,type=veth", "ostype", ostype, "features", "nesting=1", "unprivileged", "1")
	if name != "" {
		c.Set("hostname", name)
	}
	if chance(r, 80) {
		c.Set("onboot", "1")
	}
	if chance(r, 10) {
		c.Set("description", oneOf(r, "reverse proxy for the office", "test, may be deleted", "läuft seit 2019"))
	}
	if chance(r, 3) {
		c.Set("protection", "1")
	}
	x.Config = c
}

// addDisk gives a guest its next disk on a storage, as a linked clone where a
// base on the same storage is given.
func (g *generator) addDisk(r *rand.Rand, x *Guest, s *Storage, sizeGiB int, base bool, from *Guest) {
	count := 0
	for _, d := range x.Disks() {
		if !d.CDROM {
			count++
		}
	}
	name, format := volumeName(s, x.Kind, x.ID, count, base)
	size := int64(sizeGiB) * gib
	v := &Volume{ID: apidoc.VolID(string(s.ID) + ":" + name), Content: "images", Format: format, Size: size, Owner: x.ID, Created: g.now - day*int64(5+r.IntN(900))}
	if x.Kind == apidoc.LXC {
		v.Content = "rootdir"
	}
	v.Used = size * int64(15+r.IntN(60)) / 100
	place := s.Place(x.Node)
	if from != nil {
		for _, d := range from.Disks() {
			if st, parent, ok := d.Volume.Split(); ok && st == s.ID && !d.CDROM && place.Volume(d.Volume) != nil {
				v.Size = d.Size
				v.Used = d.Size / 10
				v.Parent = parent
				if s.Type != "lvmthin" {
					v.ID = apidoc.VolID(string(s.ID) + ":" + parent + "/" + name)
				}
			}
		}
	}
	place.Add(v)
	value := string(v.ID)
	key := "scsi" + strconv.Itoa(count)
	switch {
	case x.Kind == apidoc.LXC && count == 0:
		key = "rootfs"
	case x.Kind == apidoc.LXC:
		key = "mp" + strconv.Itoa(count-1)
		value += ",mp=/data"
		if count > 1 {
			value += strconv.Itoa(count)
		}
	default:
		value += ",discard=on,iothread=1"
	}
	if key == "rootfs" {
		x.DiskUsed = v.Used
	}
	x.Config.Set(key, value+",size="+diskSize(v.Size))
}

// state decides what a guest does: most run, some were stopped, a few are
// paused, locked or have changes that wait.
func (g *generator) state(r *rand.Rand, x *Guest) {
	node := g.Node(x.Node)
	switch c := r.IntN(100); {
	case c < 78:
	case c < 79 && x.Kind == apidoc.QEMU:
		x.State = Paused
	case c < 80 && x.Kind == apidoc.QEMU:
		x.Config.Set("lock", oneOf(r, "backup", "migrate", "snapshot"))
	default:
		x.State = Stopped
		if chance(r, 70) {
			x.Config.Delete("onboot")
		}
	}
	if x.Up() {
		x.Started = max(node.Booted+90+int64(r.IntN(600)), g.now-int64(r.IntN(int(60*day))))
		x.PID = 2000 + uint32(r.IntN(4000000))
		if chance(r, 3) {
			x.Pending.Set("memory", strconv.Itoa(atoi(x.Config.Get("memory"))*2))
		}
	}
}

func (g *generator) tagsAndPool(r *rand.Rand, x *Guest, stem string) {
	env := oneOf(r, "prod", "prod", "prod", "test", "dev")
	if chance(r, 75) {
		tags := []string{env}
		if chance(r, 40) {
			tags = append(tags, stem)
		}
		if chance(r, 3) {
			tags = append(tags, "größe-l")
		}
		if tags[len(tags)-1] < tags[0] {
			tags[0], tags[len(tags)-1] = tags[len(tags)-1], tags[0]
		}
		x.Config.Set("tags", strings.Join(tags, ";"))
	}
	if chance(r, 60) {
		x.Pool = map[string]apidoc.Pool{"prod": "production", "test": "staging", "dev": "dev"}[env]
	}
}

// snapshots gives a guest one to three, the last with its memory now and then.
func (g *generator) snapshots(r *rand.Rand, x *Guest) {
	parent := ""
	for i := range 1 + r.IntN(3) {
		name := oneOf(r, "before-upgrade", "clean", "vor_update", "release-2026")
		if x.Snapshot(name) != nil {
			name += strconv.Itoa(i)
		}
		s := &Snapshot{Name: name, Time: g.now - day*int64(40-10*i) - int64(r.IntN(86400)), Parent: parent, Config: x.Config.Clone(), RAM: x.Kind == apidoc.QEMU && chance(r, 25)}
		for _, k := range [...]string{"lock", "tags"} {
			s.Config.Delete(k)
		}
		if chance(r, 50) {
			s.Description = oneOf(r, "before the upgrade to 13", "known good", "taken by hand\n")
		}
		x.Snapshots = append(x.Snapshots, s)
		parent = name
	}
	x.Parent = parent
}

// agent gives a guest that is up the system that answers for it. A VM's
// answers only where its configuration has the agent switched on.
func (g *generator) agent(r *rand.Rand, x *Guest) {
	if x.Kind == apidoc.QEMU && (x.Config.Get("agent") != "1" || chance(r, 10)) {
		return
	}
	a := &Agent{Hostname: x.Name(), Timezone: "Europe/Berlin"}
	if a.Hostname == "" {
		a.Hostname = "localhost"
	}
	windows := strings.HasPrefix(x.Config.Get("ostype"), "win")
	ip := fmt.Sprintf("10.20.%d.%d", int(x.ID)/250%250, 2+int(x.ID)%250)
	hw := strings.ToLower(subOption(x.Config.Get("net0"), map[apidoc.GuestKind]string{apidoc.QEMU: "virtio", apidoc.LXC: "hwaddr"}[x.Kind]))
	root := x.MaxDisk()
	used := root * int64(20+r.IntN(60)) / 100
	if windows {
		a.OS = OSInfo{ID: "mswindows", Name: "Microsoft Windows", PrettyName: "Windows Server 2022 Standard", Version: "Microsoft Windows Server 2022", VersionID: "2022", Kernel: "20348", KernelVersion: "10.0", Machine: "x86_64"}
		a.Interfaces = []GuestInterface{{"Ethernet", hw, []string{ip + "/24"}}, {"Loopback Pseudo-Interface 1", "", []string{"::1/128", "127.0.0.1/8"}}}
		a.Disks = []GuestFS{{"\\\\?\\Volume{" + uuid(r) + "}\\", "C:\\", "NTFS", root, used}}
	} else {
		a.OS = OSInfo{ID: "debian", Name: "Debian GNU/Linux", PrettyName: "Debian GNU/Linux 13 (trixie)", Version: "13 (trixie)", VersionID: "13", Kernel: "6.12.57+deb13-amd64", KernelVersion: "#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1", Machine: "x86_64"}
		name := "ens18"
		if x.Kind == apidoc.LXC {
			name = "eth0"
		}
		a.Interfaces = []GuestInterface{{"lo", "00:00:00:00:00:00", []string{"127.0.0.1/8", "::1/128"}}, {name, hw, []string{ip + "/24", fmt.Sprintf("fe80::be24:11ff:fe%02x:%02x%02x/64", int(x.ID)%256, int(x.ID)/256%256, int(x.ID)%251)}}}
		if chance(r, 10) {
			a.Interfaces = append(a.Interfaces, GuestInterface{"docker0", "02:42:ac:11:00:02", []string{"172.17.0.1/16"}})
		}
		a.Disks = []GuestFS{{"sda1", "/", "ext4", root * 95 / 100, used}}
		if chance(r, 30) {
			a.Users = []string{"root"}
		}
		a.Files = map[string]string{"/etc/hostname": a.Hostname + "\n"}
	}
	x.Agent = a
}
