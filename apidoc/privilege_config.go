package apidoc

import (
	"sort"
	"strings"
)

// What a guest's configuration keys need, on /vms/{vmid} (or, while creating,
// on the pool). Keys with an index stand without it.
var (
	qemuKeys = invert(map[string][]string{
		"VM.Config.CPU":    {"cores", "cpu", "cpulimit", "cpuunits", "numa", "numa#", "smp", "sockets", "vcpus", "runningcpu"},
		"VM.Config.Memory": {"memory", "balloon", "shares", "allow-ksm"},
		"VM.Config.HWType": {"acpi", "hotplug", "kvm", "machine", "runningmachine", "scsihw", "smbios1", "tablet", "vga", "watchdog", "audio0", "rng0"},
		"VM.Config.Options": {"agent", "autostart", "bios", "description", "keyboard", "localtime", "migrate_downtime", "migrate_speed",
			"name", "onboot", "ostype", "protection", "reboot", "startdate", "startup", "tdf", "template", "tags"},
		"VM.PowerMgmt":      {"freeze"},
		"VM.Config.Disk":    {"boot", "bootdisk", "vmstatestorage", "unused#", "virtiofs#"},
		"VM.Config.Network": {"net#"},
	})
	qemuDrives    = keySet("ide#", "sata#", "scsi#", "virtio#", "efidisk0", "tpmstate0", "cdrom")
	qemuCloudInit = keySet("cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys", "ipconfig#")
	// qemuPlain are parameters of the calls that are no configuration.
	qemuPlain = keySet("node", "vmid", "delete", "revert", "digest", "skiplock", "force", "background_delay", "archive", "pool",
		"start", "storage", "unique", "bwlimit", "live-restore", "ha-managed", "import-working-storage")

	lxcKeys = invert(map[string][]string{
		"VM.Config.CPU":     {"cores", "cpuunits", "cpulimit"},
		"VM.Config.Memory":  {"memory", "swap"},
		"VM.Config.Network": {"net#", "nameserver", "searchdomain", "hostname"},
		"VM.Config.Disk":    {"rootfs", "mp#", "unused#"},
	})
	lxcPlain = keySet("node", "vmid", "delete", "revert", "digest", "ostemplate", "password", "storage", "pool", "force", "restore",
		"unique", "start", "bwlimit", "ignore-unpack-errors", "ssh-public-keys", "ha-managed")
)

func invert(byPriv map[string][]string) map[string]string {
	out := map[string]string{}
	for priv, keys := range byPriv {
		for _, k := range keys {
			out[k] = priv
		}
	}
	return out
}

func keySet(keys ...string) map[string]bool {
	out := map[string]bool{}
	for _, k := range keys {
		out[k] = true
	}
	return out
}

// family gives the key as the tables have it: net3 is net#.
func family(key string) string {
	base := strings.TrimRight(key, "0123456789")
	if base == "" || base == key {
		return key
	}
	switch key {
	case "audio0", "rng0", "smbios1", "efidisk0", "tpmstate0":
		return key
	}
	return base + "#"
}

// guestNeeds collects the demands of one configuration.
type guestNeeds struct {
	a      Asking
	create bool
	out    []Need
}

// changed lists the configuration keys that a call sets, sorted, and those
// that it deletes.
func (g *guestNeeds) changed(plain map[string]bool) (set, deleted []string) {
	for k := range g.a.Params {
		if !plain[k] {
			set = append(set, k)
		}
	}
	sort.Strings(set)
	return set, g.a.items("delete")
}

// guest demands privileges on the guest, or on the pool in which it is made.
func (g *guestNeeds) guest(param string, any bool, privs ...string) {
	n := Need{Path: "/vms/" + g.a.first("vmid"), Privs: privs, Any: any, Param: param}
	if pool := g.a.first("pool"); g.create && pool != "" {
		n.Or = []Need{{Path: "/pool/" + pool, Privs: privs, Any: any, Param: param}}
	}
	g.out = append(g.out, n)
}

func (g *guestNeeds) on(param, path string, privs ...string) {
	g.out = append(g.out, Need{Path: path, Privs: privs, Param: param})
}

func (g *guestNeeds) root(param string) { g.out = append(g.out, Need{Root: true, Param: param}) }

func (g *guestNeeds) old(key string) string {
	if g.a.Config == nil || g.create {
		return ""
	}
	return g.a.Config(key)
}

func qemuNeeds(a Asking) []Need {
	g := &guestNeeds{a: a, create: !strings.Contains(a.Path, "{vmid}")}
	set, deleted := g.changed(qemuPlain)
	for _, k := range set {
		g.qemuKey(k, a.first(k), false)
	}
	for _, k := range deleted {
		g.qemuKey(k, g.old(k), true)
	}
	return g.out
}

// qemuKey demands what one key needs; value is the new one, or the present one
// of a key that is deleted.
func (g *guestNeeds) qemuKey(key, value string, deleted bool) {
	f := family(key)
	switch {
	case key == "vmstate" && deleted:
		g.guest(key, false, "VM.Config.Disk", "VM.PowerMgmt")
	case qemuDrives[f]:
		g.drive(key, value, deleted)
	case qemuCloudInit[f]:
		g.guest(key, true, "VM.Config.Cloudinit", "VM.Config.Network")
	case f == "serial#":
		if value == "socket" || deleted && value == "" {
			g.guest(key, false, "VM.Config.HWType")
		} else {
			g.root(key)
		}
	case f == "usb#", f == "hostpci#":
		g.device(key, f, value, deleted)
	case qemuKeys[f] != "":
		g.guest(key, false, qemuKeys[f])
		switch {
		case f == "startup":
			g.on(key, "/", "Sys.Modify")
		case f == "net#":
			g.bridge(key, value)
			if old := g.old(key); !deleted && old != "" {
				g.bridge(key, old)
			}
		case f == "virtiofs#":
			if id := inner(value, "dirid", true); id != "" {
				g.on(key, "/mapping/dir/"+id, "Mapping.Use")
			}
		case f == "cpu":
			if model := inner(value, "cputype", true); strings.HasPrefix(model, "custom-") && major(g.a.Version) >= 9 {
				g.on(key, "/mapping/cpu/"+strings.TrimPrefix(model, "custom-"), "Mapping.Use")
			}
		case f == "rng0" && inner(value, "source", true) == "/dev/hwrng":
			g.on(key, "/mapping/hwrng", "Mapping.Use")
		}
	default:
		g.root(key)
	}
}

// drive: CD-ROMs, cloud-init drives and disks each need their own privilege,
// and what they take from a storage.
func (g *guestNeeds) drive(key, value string, deleted bool) {
	file := inner(value, "file", true)
	media := inner(value, "media", false)
	switch {
	case strings.HasSuffix(file, ":cloudinit") || strings.Contains(file, "-cloudinit"):
		g.guest(key, false, "VM.Config.Cloudinit", "VM.Config.CDROM")
	case media == "cdrom" || key == "cdrom" || file == "none" || file == "cdrom":
		g.guest(key, false, "VM.Config.CDROM")
		if file == "cdrom" {
			g.on(key, "/", "Sys.Console")
		}
	default:
		g.guest(key, false, "VM.Config.Disk")
	}
	if deleted {
		return
	}
	g.volume(key, file)
	if from := inner(value, "import-from", false); from != "" {
		g.foreign(key, from, "VM.Clone")
	}
}

// volume: new space needs AllocateSpace; a volume of somebody else's guest
// needs rights on both.
func (g *guestNeeds) volume(key, file string) {
	storage, name, ok := VolID(file).Split()
	switch {
	case file == "" || file == "none" || file == "cdrom":
	case strings.HasPrefix(file, "/"):
		g.root(key)
	case !ok:
	case isSize(name) || name == "cloudinit":
		g.on(key, "/storage/"+string(storage), "Datastore.AllocateSpace")
	case strings.HasPrefix(name, "iso/") || strings.HasPrefix(name, "vztmpl/") || strings.HasPrefix(name, "import/"):
		if g.old(key) != "" && inner(g.old(key), "file", true) == file {
			return
		}
		g.out = append(g.out, Need{
			Path: "/storage/" + string(storage), Any: true, Param: key,
			Privs: []string{"Datastore.Allocate", "Datastore.AllocateSpace", "Datastore.Audit"},
		})
	default:
		g.foreign(key, file, "VM.Config.Disk")
	}
}

// foreign demands rights on a volume that belongs to another guest.
func (g *guestNeeds) foreign(key, volid, onOwner string) {
	storage, _, ok := VolID(volid).Split()
	if !ok {
		if strings.HasPrefix(volid, "/") {
			g.root(key)
		}
		return
	}
	owner, known := VolID(volid).Owner()
	if !known || owner.String() == g.a.first("vmid") {
		return
	}
	g.out = append(g.out, Need{
		Path: "/storage/" + string(storage), Privs: []string{"Datastore.Allocate"}, Param: key,
		Or: []Need{{
			Path: "/storage/" + string(storage), Privs: []string{"Datastore.Audit"},
			And: []Need{{Path: "/vms/" + owner.String(), Privs: []string{onOwner}}},
		}},
	})
}

// device: what stands behind a mapping needs the mapping, a real device root.
func (g *guestNeeds) device(key, f, value string, deleted bool) {
	kind := map[string]string{"usb#": "usb", "hostpci#": "pci"}[f]
	host := inner(value, "host", true)
	mapping := inner(value, "mapping", false)
	switch {
	case mapping != "":
		g.guest(key, false, "VM.Config.HWType")
		g.on(key, "/mapping/"+kind+"/"+mapping, "Mapping.Use")
	case kind == "usb" && (host == "spice" || strings.EqualFold(value, "spice")):
		g.guest(key, false, "VM.Config.HWType")
	case deleted && value == "":
		g.guest(key, false, "VM.Config.HWType")
	default:
		g.root(key)
		return
	}
	if inner(value, "romfile", false) != "" {
		g.root(key)
	}
}

// bridge demands the use of the bridge that a network card hangs on.
func (g *guestNeeds) bridge(key, value string) {
	bridge := inner(value, "bridge", false)
	if bridge == "" {
		return
	}
	zone := "localnetwork"
	if g.a.Zone != nil {
		if z := g.a.Zone(bridge); z != "" {
			zone = z
		}
	}
	path := "/sdn/zones/" + zone + "/" + bridge
	if tag := inner(value, "tag", false); tag != "" {
		path += "/" + tag
	}
	g.on(key, path, "SDN.Use")
}

func lxcNeeds(a Asking) []Need {
	g := &guestNeeds{a: a, create: !strings.Contains(a.Path, "{vmid}")}
	set, deleted := g.changed(lxcPlain)
	for _, k := range set {
		g.lxcKey(k, a.first(k), false)
	}
	for _, k := range deleted {
		g.lxcKey(k, g.old(k), true)
	}
	if !g.create {
		return g.out
	}
	if v := a.first("unprivileged"); v == "0" && major(a.Version) >= 9 {
		g.on("unprivileged", "/", "Sys.Modify")
	}
	if t := a.first("ostemplate"); t != "" && !strings.HasPrefix(t, "/") && a.first("restore") != "1" {
		if storage, _, ok := VolID(t).Split(); ok {
			g.out = append(g.out, Need{
				Path: "/storage/" + string(storage), Any: true, Param: "ostemplate",
				Privs: []string{"Datastore.Allocate", "Datastore.AllocateSpace", "Datastore.Audit"},
			})
		}
	}
	return g.out
}

func (g *guestNeeds) lxcKey(key, value string, deleted bool) {
	f := family(key)
	switch {
	case f == "rootfs" || f == "mp#":
		g.guest(key, false, "VM.Config.Disk")
		if deleted {
			return
		}
		volume := inner(value, "volume", true)
		if strings.HasPrefix(volume, "/") {
			g.root(key) // bind mounts and devices
			return
		}
		g.volume(key, volume)
	case f == "dev#" || key == "hookscript":
		g.root(key)
	case key == "features":
		g.features(key, value)
	case lxcKeys[f] != "":
		g.guest(key, false, lxcKeys[f])
		if f == "net#" {
			g.bridge(key, value)
			if old := g.old(key); !deleted && old != "" {
				g.bridge(key, old)
			}
		}
	default:
		if key == "unprivileged" && g.create {
			return
		}
		g.guest(key, false, "VM.Config.Options")
	}
}

// features: all flags but nesting, and every flag of a privileged container,
// are root's; nesting takes who may allocate.
func (g *guestNeeds) features(key, value string) {
	unprivileged := g.a.first("unprivileged")
	if unprivileged == "" {
		unprivileged = g.old("unprivileged")
	}
	if !g.create && unprivileged != "1" && g.a.Config != nil {
		g.root(key)
		return
	}
	before := map[string]string{}
	for _, part := range strings.Split(g.old(key), ",") {
		k, v, _ := strings.Cut(part, "=")
		before[k] = v
	}
	for _, part := range strings.Split(value, ",") {
		k, v, _ := strings.Cut(part, "=")
		if k != "" && k != "nesting" && before[k] != v {
			g.root(key)
			return
		}
	}
	g.guest(key, false, "VM.Allocate")
}

// inner gives what a key has inside a property string; with byDefault also a
// part that has no key.
func inner(value, key string, byDefault bool) string {
	for _, part := range strings.Split(value, ",") {
		k, v, keyed := strings.Cut(part, "=")
		switch {
		case keyed && k == key:
			return v
		case !keyed && byDefault && part != "":
			return part
		}
	}
	return ""
}

// isSize tells whether the part behind a storage asks for new space: a number
// of GiB.
func isSize(name string) bool {
	if name == "" || strings.Count(name, ".") > 1 {
		return false
	}
	return strings.Trim(name, "0123456789.") == ""
}
