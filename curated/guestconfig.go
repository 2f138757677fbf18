package curated

import (
	"net/url"
	"sort"
	"strconv"
	"strings"

	"pvemcp/curated/render"
)

// disk is one drive or mount point of a guest's configuration.
type disk struct {
	key, volume, storage, size, format, mount string
	options                                   []string // what is set besides
	unused, cdrom                             bool
}

// nic is one network device.
type nic struct {
	key, model, mac, bridge, vlan, ip, ip6, gw, name string
	firewall, down                                   bool
}

// properties splits a property string; the bare value comes under "".
func properties(s string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(s, ",") {
		if k, v, ok := strings.Cut(part, "="); ok {
			out[k] = v
		} else if part != "" {
			out[""] = part
		}
	}
	return out
}

// indexedKey tells whether key is one of the bases with a number behind.
func indexedKey(key string, bases ...string) bool {
	for _, base := range bases {
		if rest, ok := strings.CutPrefix(key, base); ok && rest != "" {
			if _, err := strconv.Atoi(rest); err == nil {
				return true
			}
		}
	}
	return false
}

// disksOf lists the drives (VM) or the root file system and mount points
// (container), unused volumes last.
func disksOf(config map[string]string) []disk {
	var out []disk
	for _, key := range sortedConfig(config) {
		value := config[key]
		switch {
		case indexedKey(key, "scsi", "virtio", "sata", "ide", "efidisk", "tpmstate", "mp", "unused"), key == "rootfs":
		default:
			continue
		}
		p := properties(value)
		d := disk{key: key, volume: p[""], size: p["size"], format: p["format"], mount: p["mp"]}
		if d.volume == "" {
			d.volume = p["file"] + p["volume"]
		}
		d.storage, _, _ = strings.Cut(d.volume, ":")
		if !strings.Contains(d.volume, ":") {
			d.storage = ""
		}
		d.unused = strings.HasPrefix(key, "unused")
		d.cdrom = p["media"] == "cdrom"
		for _, name := range sortedConfig(p) {
			switch name {
			case "", "file", "volume", "size", "format", "mp", "media":
			default:
				d.options = append(d.options, name+"="+p[name])
			}
		}
		out = append(out, d)
	}
	sort.SliceStable(out, func(i, j int) bool { return !out[i].unused && out[j].unused })
	return out
}

// nicsOf lists the network devices.
func nicsOf(config map[string]string) []nic {
	var out []nic
	for _, key := range sortedConfig(config) {
		if !indexedKey(key, "net") {
			continue
		}
		p := properties(config[key])
		n := nic{key: key, bridge: p["bridge"], vlan: p["tag"], ip: p["ip"], ip6: p["ip6"], gw: p["gw"], name: p["name"], mac: p["hwaddr"] + p["macaddr"], model: p["model"], firewall: p["firewall"] == "1", down: p["link_down"] == "1"}
		for _, model := range nicModels {
			if mac, ok := p[model]; ok {
				n.model, n.mac = model, mac
			}
		}
		if n.model == "" {
			n.model = p[""]
		}
		// A VM's addresses from cloud-init stand in their own key.
		if ci, ok := config["ipconfig"+strings.TrimPrefix(key, "net")]; ok {
			c := properties(ci)
			n.ip, n.ip6, n.gw = c["ip"], c["ip6"], c["gw"]
		}
		out = append(out, n)
	}
	return out
}

// nicModels are the network cards that QEMU configurations name as a key.
var nicModels = []string{"virtio", "e1000", "e1000e", "rtl8139", "vmxnet3", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "i82551", "i82557b", "i82559er", "ne2k_isa", "ne2k_pci", "pcnet"}

func sortedConfig(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return naturalLess(keys[i], keys[j]) })
	return keys
}

// naturalLess orders net2 before net10.
func naturalLess(a, b string) bool {
	pa, na := splitNumber(a)
	pb, nb := splitNumber(b)
	if pa != pb {
		return pa < pb
	}
	return na < nb
}

func splitNumber(s string) (string, int) {
	i := len(s)
	for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(s[i:])
	if err != nil {
		return s, -1
	}
	return s[:i], n
}

// secretKeys are configuration keys whose values are never shown.
var secretKeys = map[string]bool{"cipassword": true}

// configBlock is the whole configuration, for those who ask for it.
func configBlock(config map[string]string) *render.KV {
	kv := &render.KV{ID: "config", Heading: "Configuration"}
	for _, key := range sortedConfig(config) {
		v := config[key]
		switch {
		case secretKeys[key]:
			v = "(hidden)"
		case key == "sshkeys": // stored URL-encoded
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
		}
		kv.Set(key, render.Str(v))
	}
	return kv
}

func disksTable(disks []disk) *render.Table[disk] {
	return &render.Table[disk]{
		ID: "disks", Heading: "Disks", Rows: disks, Empty: "no disks",
		Columns: []render.Column[disk]{
			{Name: "key", Cell: func(d *disk) render.Cell { return render.Str(d.key) }},
			{Name: "volume", Cell: func(d *disk) render.Cell { return strCell(true, d.volume) }},
			{Name: "size", Right: true, Cell: func(d *disk) render.Cell { return strCell(true, d.size) }},
			{Name: "mount", Cell: func(d *disk) render.Cell { return strCell(true, d.mount) }},
			{Name: "media", Cell: func(d *disk) render.Cell {
				if d.cdrom {
					return render.Str("cdrom")
				}
				return render.None()
			}},
			{Name: "options", Cell: func(d *disk) render.Cell { return strCell(true, strings.Join(d.options, ",")) }},
		},
	}
}

func nicsTable(nics []nic) *render.Table[nic] {
	return &render.Table[nic]{
		ID: "nets", Heading: "Network", Rows: nics, Empty: "no network devices",
		Columns: []render.Column[nic]{
			{Name: "key", Cell: func(n *nic) render.Cell { return render.Str(n.key) }},
			{Name: "name", Cell: func(n *nic) render.Cell { return strCell(true, n.name) }},
			{Name: "model", Cell: func(n *nic) render.Cell { return strCell(true, n.model) }},
			{Name: "bridge", Cell: func(n *nic) render.Cell { return strCell(true, n.bridge) }},
			{Name: "vlan", Cell: func(n *nic) render.Cell { return strCell(true, n.vlan) }},
			{Name: "mac", Cell: func(n *nic) render.Cell { return strCell(true, n.mac) }},
			{Name: "ip", Cell: func(n *nic) render.Cell { return strCell(true, joinNonEmpty(" ", n.ip, n.ip6)) }},
			{Name: "gw", Cell: func(n *nic) render.Cell { return strCell(true, n.gw) }},
			{Name: "firewall", Cell: func(n *nic) render.Cell {
				if n.firewall {
					return render.Str("yes")
				}
				return render.None()
			}},
			{Name: "link", Cell: func(n *nic) render.Cell {
				if n.down {
					return render.Str("down")
				}
				return render.None()
			}},
		},
	}
}

func joinNonEmpty(sep string, parts ...string) string {
	var out []string
	for _, p := range parts {
		if p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, sep)
}
