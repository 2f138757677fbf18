package pvesim

import (
	"fmt"
	"strings"
)

func init() {
	register("GET /nodes/{node}/disks/list", diskList)
	register("GET /nodes/{node}/disks/smart", diskSMART)
	register("GET /nodes/{node}/disks/lvm", lvmTree)
	register("GET /nodes/{node}/disks/lvmthin", thinPools)
	register("GET /nodes/{node}/disks/zfs", zfsPools)
	register("GET /nodes/{node}/disks/zfs/{name}", zfsPool)
	register("GET /nodes/{node}/disks/directory", directoryMounts)
	register("GET /nodes/{node}/hardware/pci", pciDevices)
	register("GET /nodes/{node}/hardware/usb", usbDevices)
}

func (d *PhysicalDisk) object() object {
	o := object{{"devpath", d.Path}, {"size", d.Size}, {"type", d.Kind}, {"gpt", number01(d.GPT)}, {"mounted", number01(d.Used == "mounted")}, {"osdid", d.OSD}, {"osdid-list", nil}}
	o.putIf("used", d.Used)
	if d.Kind == "partition" {
		return o
	}
	o = append(o, member{"model", d.Model}, member{"vendor", d.Vendor}, member{"serial", d.Serial}, member{"wwn", d.WWN}, member{"health", d.Health}, member{"rpm", d.RPM}, member{"by_id_link", "/dev/disk/by-id/" + d.Kind + "-" + strings.ReplaceAll(d.Model, " ", "_") + "_" + d.Serial})
	if d.Wearout >= 0 {
		o.put("wearout", d.Wearout)
	} else {
		o.put("wearout", "N/A")
	}
	if d.OSD >= 0 {
		o.put("osdid-list", []any{d.OSD})
	}
	return o
}

// diskList shows health and wear only where the disks may be woken.
func diskList(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	kind := c.param("type")
	list := []object{}
	for _, d := range n.Disks {
		if kind == "unused" && d.Used != "" || kind == "journal_disks" && d.Used != "" && d.Used != "LVM" {
			continue
		}
		o := d.object()
		if c.flag("skipsmart", false) {
			for i := range o {
				switch o[i].key {
				case "health":
					o[i].value = "UNKNOWN"
				case "wearout":
					o[i].value = "N/A"
				}
			}
		}
		list = append(list, o)
		if c.flag("include-partitions", false) {
			for _, p := range d.Partitions {
				list = append(list, append(p.object(), member{"parent", d.Path}))
			}
		}
	}
	return c.rows(list), nil
}

func diskSMART(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	for _, d := range n.Disks {
		if d.Path != c.param("disk") {
			continue
		}
		o := object{{"health", d.Health}}
		if c.flag("healthonly", false) {
			return c.one(o), nil
		}
		if d.Attributes == nil {
			return c.one(append(o, member{"type", "text"}, member{"text", d.SMARTText}, member{"wearout", d.Wearout})), nil
		}
		attributes := []object{}
		for _, a := range d.Attributes {
			attributes = append(attributes, object{{"id", fmt.Sprintf("%3d", a.ID)}, {"name", a.Name}, {"flags", a.Flags}, {"value", a.Value}, {"normalized", a.Value}, {"worst", a.Worst}, {"threshold", a.Threshold}, {"fail", a.Fail}, {"raw", a.Raw}})
		}
		o = append(o, member{"type", "ata"}, member{"attributes", attributes})
		if d.Wearout >= 0 {
			o.put("wearout", d.Wearout)
		}
		return c.one(o), nil
	}
	return nil, fail("unable to get device info for '%s'", c.param("disk"))
}

func lvmTree(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	groups := []object{}
	for _, g := range n.VolumeGroups {
		members := []object{}
		for _, v := range g.Volumes {
			members = append(members, object{{"name", v.Name}, {"size", v.Size}, {"free", v.Free}, {"leaf", 1}})
		}
		groups = append(groups, object{{"name", g.Name}, {"size", g.Size}, {"free", g.Free}, {"leaf", 0}, {"children", members}})
	}
	return c.one(object{{"leaf", 0}, {"children", groups}}), nil
}

// thinPools counts what the storage on the pool holds as used.
func thinPools(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, p := range n.ThinPools {
		used := p.Used
		for _, s := range c.world.Storages {
			if s.Type == "lvmthin" && s.Options.Get("vgname") == p.Group && s.Options.Get("thinpool") == p.Name {
				used += s.look(n.Name).Used
			}
		}
		list = append(list, object{{"lv", p.Name}, {"vg", p.Group}, {"lv_size", p.Size}, {"used", min(used, p.Size)}, {"metadata_size", p.MetadataSize}, {"metadata_used", p.MetadataUsed}})
	}
	return c.rows(list), nil
}

func zfsPools(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, p := range n.ZPools {
		alloc := p.Alloc
		for _, s := range c.world.Storages {
			if pool, _, _ := strings.Cut(s.Options.Get("pool"), "/"); s.Type == "zfspool" && pool == p.Name {
				alloc += s.look(n.Name).Used
			}
		}
		alloc = min(alloc, p.Size)
		list = append(list, object{{"name", p.Name}, {"size", p.Size}, {"alloc", alloc}, {"free", p.Size - alloc}, {"frag", p.Frag}, {"dedup", p.Dedup}, {"health", p.Health}})
	}
	return c.rows(list), nil
}

func (v *Vdev) object() object {
	o := object{{"name", v.Name}, {"state", v.State}, {"read", v.Read}, {"write", v.Write}, {"cksum", v.Cksum}, {"msg", v.Message}, {"leaf", number01(len(v.Children) == 0)}}
	if len(v.Children) > 0 {
		o.put("children", vdevs(v.Children))
	}
	return o
}

func vdevs(list []*Vdev) []object {
	out := []object{}
	for _, v := range list {
		out = append(out, v.object())
	}
	return out
}

func zfsPool(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	for _, p := range n.ZPools {
		if p.Name != c.path["name"] {
			continue
		}
		root := object{{"name", p.Name}, {"state", p.Health}, {"read", 0}, {"write", 0}, {"cksum", 0}, {"msg", ""}, {"leaf", 0}, {"children", vdevs(p.Vdevs)}}
		o := object{{"name", p.Name}, {"state", p.Health}, {"errors", p.Errors}, {"leaf", 0}, {"children", []object{root}}}
		o.putIf("status", p.Status)
		o.putIf("action", p.Action)
		o.putIf("scan", p.Scan)
		return c.one(o), nil
	}
	return nil, fail("command '/sbin/zpool status -P %s' failed: exit code 1", c.path["name"])
}

func directoryMounts(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, d := range n.Directories {
		list = append(list, object{{"unitfile", d.Unit}, {"path", d.Path}, {"device", d.Device}, {"type", d.Type}, {"options", d.Options}})
	}
	return c.rows(list), nil
}

// pciDevices leaves out the classes of the blacklist: memory controllers,
// bridges and processors unless one asks otherwise.
func pciDevices(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	hidden := []string{"05", "06", "0b"}
	if c.has("pci-class-blacklist") {
		hidden = c.list("pci-class-blacklist")
	}
	list := []object{}
next:
	for _, d := range n.PCI {
		for _, h := range hidden {
			if strings.HasPrefix(strings.TrimPrefix(d.Class, "0x"), h) {
				continue next
			}
		}
		o := object{{"id", d.ID}, {"class", d.Class}, {"device", d.Device}, {"vendor", d.Vendor}, {"iommugroup", d.IOMMUGroup}}
		if c.flag("verbose", true) {
			o = append(o, member{"device_name", d.DeviceName}, member{"vendor_name", d.VendorName})
		} else {
			o = object{{"id", d.ID}}
		}
		o.flagIf("mdev", d.Mdev)
		list = append(list, o)
	}
	return c.rows(list), nil
}

func usbDevices(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, d := range n.USB {
		o := object{{"busnum", d.Bus}, {"devnum", d.Dev}, {"port", d.Port}, {"level", d.Level}, {"class", d.Class}, {"vendid", d.Vendor}, {"prodid", d.Product}, {"speed", d.Speed}, {"usbpath", fmt.Sprintf("%d-%d", d.Bus, d.Port)}}
		o.putIf("manufacturer", d.Manufacturer)
		o.putIf("product", d.ProductName)
		o.putIf("serial", d.Serial)
		list = append(list, o)
	}
	return c.rows(list), nil
}
