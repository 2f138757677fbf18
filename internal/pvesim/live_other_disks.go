package pvesim

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	const base = "/nodes/{node}/disks/"
	register("PUT "+base+"wipedisk", wipeDisk)
	register("POST "+base+"initgpt", initDisk)
	for _, kind := range [...]string{"directory", "lvm", "lvmthin", "zfs"} {
		register("POST "+base+kind, func(c *call) (any, error) { return createOnDisks(c, kind) })
		register("DELETE "+base+kind+"/{name}", func(c *call) (any, error) { return removeFromDisks(c, kind) })
	}
}

// disk finds a disk or partition of a node, and the disk that it is or is on.
func (n *Node) disk(path string) (found, whole *PhysicalDisk) {
	for _, d := range n.Disks {
		if d.Path == path {
			return d, d
		}
		for _, p := range d.Partitions {
			if p.Path == path {
				return p, d
			}
		}
	}
	return nil, nil
}

// busy is why a disk can't be wiped: something of it is mounted or held.
func (d *PhysicalDisk) busy() error {
	for _, x := range append([]*PhysicalDisk{d}, d.Partitions...) {
		switch x.Used {
		case "mounted", "ext4", "xfs", "EFI", "BIOS boot":
			if x.Used != "BIOS boot" || x == d {
				return fail("disk/partition '%s' is mounted", x.Path)
			}
		case "LVM", "ZFS":
			return fail("disk/partition '%s' has a holder", x.Path)
		}
	}
	return nil
}

func deviceID(path string) string { return strings.TrimPrefix(path, "/dev/") }

func wipeDisk(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	path := c.param("disk")
	d, _ := n.disk(path)
	if d == nil {
		return nil, fail("%s is not a valid block device", path)
	}
	if err := d.busy(); err != nil {
		return nil, err
	}
	return c.launch("wipedisk", deviceID(path), func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		d, _ := k.world.Node(k.task.Node).disk(path)
		if d == nil {
			return fail("%s is not a valid block device", path)
		}
		if err := d.busy(); err != nil {
			return fail("error wiping '%s': %s", path, err)
		}
		d.wipe()
		k.say("200+0 records in", "200+0 records out", fmt.Sprintf("success: wiped disk %s", path))
		return nil
	})
}

func (d *PhysicalDisk) wipe() { d.Used, d.GPT, d.Partitions = "", false, nil }

func initDisk(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	path := c.param("disk")
	d, whole := n.disk(path)
	switch {
	case d == nil:
		return nil, fail("%s is not a valid block device", path)
	case d != whole:
		return nil, fail("%s is a partition", path)
	case d.Used != "" || len(d.Partitions) > 0:
		return nil, fail("disk %s already in use", path)
	}
	return c.launch("diskinit", deviceID(path), func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		if d, _ := k.world.Node(k.task.Node).disk(path); d != nil {
			d.GPT = true
		}
		k.say("Creating new GPT entries in memory.", "The operation has completed successfully.")
		return nil
	})
}

// raidNeeds is how many disks a level takes at least.
var raidNeeds = map[string]int{"single": 1, "mirror": 2, "raid10": 4, "raidz": 3, "raidz2": 4, "raidz3": 5, "draid": 3, "draid2": 4, "draid3": 5}

// createOnDisks makes a volume group, thin pool, ZFS pool or file system of
// unused disks, and a storage on it where that is asked for.
func createOnDisks(c *call, kind string) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	name := c.param("name")
	paths := c.list("devices")
	if kind != "zfs" {
		paths = []string{c.param("device")}
	}
	for _, p := range paths {
		d, _ := n.disk(p)
		if d == nil {
			return nil, fail("%s is not a valid block device", p)
		}
		if d.Used != "" || len(d.Partitions) > 0 {
			return nil, fail("device '%s' is already in use", p)
		}
	}
	if c.flag("add_storage", false) && c.world.Storage(apidoc.Storage(name)) != nil {
		return nil, fail("storage ID '%s' already defined", name)
	}
	if err := n.nameFree(kind, name); err != nil {
		return nil, err
	}
	level := c.param("raidlevel")
	switch {
	case kind != "zfs":
	case level == "single" && len(paths) != 1:
		return nil, fail("'%s' needs exactly one disk", level)
	case len(paths) < raidNeeds[level]:
		return nil, fail("'%s' needs at least %d disks.", level, raidNeeds[level])
	case level == "raid10" && len(paths)%2 != 0:
		return nil, fail("'%s' needs an even number of disks.", level)
	}
	filesystem, add := c.param("filesystem"), c.flag("add_storage", false)
	if filesystem == "" {
		filesystem = "ext4"
	}
	kinds := map[string]string{"directory": "dircreate", "lvm": "lvmcreate", "lvmthin": "lvmthincreate", "zfs": "zfscreate"}
	return c.launch(kinds[kind], name, func(k *worker) error {
		if err := k.rest(2); err != nil {
			return err
		}
		n := k.world.Node(k.task.Node)
		var size int64
		for _, p := range paths {
			d, whole := n.disk(p)
			if d == nil || d.Used != "" {
				return fail("device '%s' is already in use", p)
			}
			d.Used = map[string]string{"directory": "mounted", "lvm": "LVM", "lvmthin": "LVM", "zfs": "ZFS"}[kind]
			if kind == "directory" || kind == "zfs" {
				whole.GPT = true
			}
			size += d.Size
		}
		s := n.madeOf(kind, name, level, filesystem, paths, size)
		if !add {
			return nil
		}
		if k.world.Storage(s.ID) != nil {
			return fail("create storage failed: storage ID '%s' already defined", name)
		}
		s.Nodes = []apidoc.Node{n.Name}
		k.world.measure(s)
		k.world.Storages = append(k.world.Storages, s)
		return nil
	})
}

// nameFree refuses a name that something of that kind has already.
func (n *Node) nameFree(kind, name string) error {
	switch kind {
	case "lvm", "lvmthin":
		if slices.ContainsFunc(n.VolumeGroups, func(g *VolumeGroup) bool { return g.Name == name }) {
			return fail("volume group with name '%s' already exists on node '%s'", name, n.Name)
		}
	case "zfs":
		if slices.ContainsFunc(n.ZPools, func(p *ZPool) bool { return p.Name == name }) {
			return fail("pool '%s' already exists on node '%s'", name, n.Name)
		}
	case "directory":
		if slices.ContainsFunc(n.Directories, func(d *DirectoryMount) bool { return d.Path == "/mnt/pve/"+name }) {
			return fail("a systemd mount unit already exists: /etc/systemd/system/%s", mountUnit(name))
		}
	}
	return nil
}

func mountUnit(name string) string {
	return "mnt-pve-" + strings.ReplaceAll(name, "-", `\x2d`) + ".mount"
}

// madeOf notes what was made, and gives the storage that would lie on it.
func (n *Node) madeOf(kind, name, level, filesystem string, paths []string, size int64) *Storage {
	s := NewStorage(apidoc.Storage(name), "dir", "images", "rootdir")
	switch kind {
	case "lvm", "lvmthin":
		g := &VolumeGroup{Name: name, Size: size - 4*mib, Free: size - 4*mib}
		for _, p := range paths {
			g.Volumes = append(g.Volumes, PhysicalVolume{Name: p, Size: g.Size, Free: g.Free})
		}
		s.Type, s.Options = "lvm", NewConfig("vgname", name)
		if kind == "lvmthin" {
			g.Free, g.Volumes[0].Free = 0, 0
			n.ThinPools = append(n.ThinPools, &ThinPool{Name: name, Group: name, Size: g.Size / 100 * 98, MetadataSize: gib})
			s.Type, s.Options = "lvmthin", NewConfig("thinpool", name, "vgname", name)
		}
		n.VolumeGroups = append(n.VolumeGroups, g)
	case "zfs":
		pool := &ZPool{Name: name, Size: size, Dedup: 1, Health: "ONLINE", Errors: "No known data errors"}
		var disks []*Vdev
		for _, p := range paths {
			disks = append(disks, &Vdev{Name: p, State: "ONLINE"})
		}
		group := func(what string, members []*Vdev) {
			pool.Vdevs = append(pool.Vdevs, &Vdev{Name: fmt.Sprintf("%s-%d", what, len(pool.Vdevs)), State: "ONLINE", Children: members})
		}
		switch level {
		case "single":
			pool.Vdevs = disks
		case "mirror":
			pool.Size /= int64(len(paths))
			group("mirror", disks)
		case "raid10":
			pool.Size /= 2
			for i := 0; i+1 < len(disks); i += 2 {
				group("mirror", disks[i:i+2])
			}
		default:
			if level == "raidz" {
				level = "raidz1"
			}
			group(level, disks)
		}
		n.ZPools = append(n.ZPools, pool)
		s.Type, s.Options = "zfspool", NewConfig("pool", name)
	case "directory":
		n.Directories = append(n.Directories, &DirectoryMount{Unit: "/etc/systemd/system/" + mountUnit(name), Path: "/mnt/pve/" + name, Device: paths[0], Type: filesystem, Options: "defaults"})
		s.Content = []string{"images", "rootdir", "vztmpl", "iso", "backup", "snippets"}
		s.Options = NewConfig("path", "/mnt/pve/"+name, "is_mountpoint", "1")
	}
	return s
}

// removeFromDisks destroys one of these with all that is on it; storages go
// with cleanup-config, the disks' own tables with cleanup-disks.
func removeFromDisks(c *call, kind string) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	name, config, disks := c.path["name"], c.flag("cleanup-config", false), c.flag("cleanup-disks", false)
	group := name
	if kind == "lvmthin" {
		group = c.param("volume-group")
	}
	if n.there(kind, name, group) == nil {
		switch kind {
		case "lvm", "lvmthin":
			return nil, fail("no such volume group '%s' on node '%s'", group, n.Name)
		case "zfs":
			return nil, fail("no such zpool '%s'", name)
		}
		return nil, fail("no such mount unit '%s'", mountUnit(name))
	}
	kinds := map[string]string{"directory": "dirremove", "lvm": "lvmremove", "lvmthin": "lvmthinremove", "zfs": "zfsremove"}
	id := name
	if kind == "lvmthin" {
		id = group + "-" + name
	}
	return c.launch(kinds[kind], id, func(k *worker) error {
		if err := k.rest(1); err != nil {
			return err
		}
		n := k.world.Node(k.task.Node)
		paths := n.there(kind, name, group)
		n.forget(kind, name, group)
		if config {
			for _, s := range slices.Clone(k.world.Storages) {
				if !s.liesOn(kind, name, group) {
					continue
				}
				if len(s.Nodes) > 1 {
					s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(x apidoc.Node) bool { return x == n.Name })
				} else {
					k.world.dropStorage(s.ID)
				}
			}
		}
		for _, s := range k.world.Storages { // what was on it is gone
			if s.liesOn(kind, name, group) && !s.Shared {
				delete(s.places, n.Name)
			}
		}
		for _, p := range paths {
			if d, _ := n.disk(p); d != nil && (disks || kind != "lvmthin") {
				d.Used = ""
				if disks {
					d.wipe()
				}
			}
		}
		return nil
	})
}

// there gives the devices of what has that name, nil where there is none.
func (n *Node) there(kind, name, group string) []string {
	switch kind {
	case "lvm", "lvmthin":
		for _, g := range n.VolumeGroups {
			if g.Name == group && (kind == "lvm" || slices.ContainsFunc(n.ThinPools, func(t *ThinPool) bool { return t.Group == group && t.Name == name })) {
				paths := []string{}
				for _, v := range g.Volumes {
					paths = append(paths, v.Name)
				}
				return paths
			}
		}
	case "zfs":
		for _, p := range n.ZPools {
			if p.Name == name {
				paths := []string{}
				for _, v := range p.Vdevs {
					for _, d := range append([]*Vdev{v}, v.Children...) {
						paths = append(paths, n.devicePath(d.Name))
					}
				}
				return paths
			}
		}
	case "directory":
		for _, d := range n.Directories {
			if d.Path == "/mnt/pve/"+name {
				return []string{d.Device}
			}
		}
	}
	return nil
}

// devicePath finds the disk behind a name such as nvme-MODEL_SERIAL.
func (n *Node) devicePath(name string) string {
	for _, d := range n.Disks {
		if d.Serial != "" && strings.HasSuffix(name, d.Serial) {
			return d.Path
		}
	}
	return name
}

func (n *Node) forget(kind, name, group string) {
	switch kind {
	case "lvmthin":
		for _, g := range n.VolumeGroups {
			for _, t := range n.ThinPools {
				if g.Name == group && t.Group == group && t.Name == name {
					g.Free += t.Size
				}
			}
		}
		n.ThinPools = slices.DeleteFunc(slices.Clone(n.ThinPools), func(t *ThinPool) bool { return t.Group == group && t.Name == name })
	case "lvm":
		n.VolumeGroups = slices.DeleteFunc(slices.Clone(n.VolumeGroups), func(g *VolumeGroup) bool { return g.Name == group })
		n.ThinPools = slices.DeleteFunc(slices.Clone(n.ThinPools), func(t *ThinPool) bool { return t.Group == group })
	case "zfs":
		n.ZPools = slices.DeleteFunc(slices.Clone(n.ZPools), func(p *ZPool) bool { return p.Name == name })
	case "directory":
		n.Directories = slices.DeleteFunc(slices.Clone(n.Directories), func(d *DirectoryMount) bool { return d.Path == "/mnt/pve/"+name })
	}
}

// liesOn tells whether a storage is on what is removed.
func (s *Storage) liesOn(kind, name, group string) bool {
	o := &s.Options
	switch kind {
	case "lvm":
		return (s.Type == "lvm" || s.Type == "lvmthin") && o.Get("vgname") == group
	case "lvmthin":
		return s.Type == "lvmthin" && o.Get("vgname") == group && o.Get("thinpool") == name
	case "zfs":
		pool, _, _ := strings.Cut(o.Get("pool"), "/")
		return s.Type == "zfspool" && pool == name
	}
	return s.Type == "dir" && strings.TrimSuffix(o.Get("path"), "/") == "/mnt/pve/"+name
}
