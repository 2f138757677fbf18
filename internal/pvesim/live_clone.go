package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/qemu/{vmid}/clone", func(c *call) (any, error) { return cloneGuest(c, apidoc.QEMU) })
	register("POST /nodes/{node}/lxc/{vmid}/clone", func(c *call) (any, error) { return cloneGuest(c, apidoc.LXC) })
}

// cloning is a guest that is being copied.
type cloning struct {
	kind     apidoc.GuestKind
	from     apidoc.VMID
	source   *Guest // what is copied: the guest, or what it was at a snapshot
	to       apidoc.VMID
	target   apidoc.Node
	storage  apidoc.Storage
	format   string
	full     bool
	snapshot bool
	name     string
	text     string
	hasText  bool
}

func cloneGuest(c *call, kind apidoc.GuestKind) (any, error) {
	w := c.world
	if err := w.ready(); err != nil {
		return nil, err
	}
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	id := apidoc.VMID(c.number("newid", 0))
	m := cloning{kind: kind, from: g.ID, to: id, target: g.Node, storage: apidoc.Storage(c.param("storage")), format: c.param("format"),
		full: c.flag("full", !g.Template()), text: c.param("description"), hasText: c.has("description"), name: c.param("name")}
	if kind == apidoc.LXC {
		m.name = c.param("hostname")
	}
	if t := apidoc.Node(c.param("target")); t != "" {
		if w.Node(t) == nil {
			return nil, fail("no such cluster node '%s'", t)
		}
		m.target = t
	}
	if p := apidoc.Pool(c.param("pool")); p != "" && w.Pool(p) == nil {
		return nil, fail("pool '%s' does not exist", p)
	}
	if !m.full {
		switch {
		case m.storage != "":
			return nil, fail("parameter 'storage' not allowed for linked clones")
		case m.format != "":
			return nil, fail("parameter 'format' not allowed for linked clones")
		}
	}
	if m.storage != "" {
		if _, err := w.storageOn(m.storage, g.Node); err != nil {
			return nil, err
		}
		if s := w.Storage(m.storage); m.target != g.Node && !s.Shared {
			return nil, fail("can't clone to non-shared storage '%s'", m.storage)
		}
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	m.source = &Guest{ID: g.ID, Kind: kind, Node: g.Node, State: g.State, Config: g.Config.Clone(), Agent: g.Agent, Load: g.Load}
	if name := c.param("snapname"); name != "" {
		s := g.Snapshot(name)
		if s == nil {
			return nil, fail("snapshot '%s' does not exist", name)
		}
		m.snapshot = true
		m.source.Config, m.source.State = s.Config.Clone(), Stopped
	}
	if err := w.canClone(m); err != nil {
		return nil, err
	}
	elsewhere := false
	if other := w.Guest(id); other != nil {
		switch {
		case kind == apidoc.LXC:
			return nil, fail("%s %d already exists on node '%s'", noun(other.Kind), id, other.Node)
		case other.Node == g.Node:
			return nil, fail("unable to create VM %d: config file already exists", id)
		}
		elsewhere = true
	}
	if !elsewhere { // from now on the id is taken
		lock := "clone"
		if kind == apidoc.LXC {
			lock = "create"
			g.Config.Set("lock", "disk")
		}
		w.AddGuest(&Guest{ID: id, Kind: kind, Node: g.Node, Pool: apidoc.Pool(c.param("pool")), State: Stopped, Config: NewConfig("lock", lock), Load: Load{Seed: w.chanceNow(), CPU: g.Load.CPU, Memory: g.Load.Memory, Net: g.Load.Net, Disk: g.Load.Disk}})
	}
	return c.launch(taskPrefix(kind)+"clone", g.ID.String(), func(k *worker) error {
		if elsewhere {
			return fail("clone failed: unable to open file '/etc/pve/nodes/%s/qemu-server/%d.conf.tmp.%d' - File exists", k.task.Node, id, k.world.nextPID())
		}
		return k.clone(m)
	})
}

// canClone refuses what the storages of a guest's disks can't do.
func (w *World) canClone(m cloning) error {
	running := m.source.Up() && !m.snapshot
	if m.kind == apidoc.LXC && running && m.full {
		return fail("Full clone of a running container is only possible from a snapshot")
	}
	for _, d := range m.source.Disks() {
		if !driveKey(m.kind, d.Key) || d.CDROM && !isCloudinit(string(d.Volume)) {
			if id := storageOf(d.Volume); id != "" && m.target != m.source.Node && driveKey(m.kind, d.Key) {
				if s := w.Storage(id); s == nil || !s.Shared {
					return fail("can't clone VM to node '%s' (VM uses local storage)", m.target)
				}
			}
			continue
		}
		if strings.HasPrefix(string(d.Volume), "/") {
			return fail("unable to clone mountpoint '%s' (type bind)", d.Key)
		}
		s, err := w.storageOn(storageOf(d.Volume), m.source.Node)
		switch {
		case err != nil:
			return err
		case m.target != m.source.Node && !s.Shared && (m.storage == "" || !m.full):
			return fail("can't clone VM to node '%s' (VM uses local storage)", m.target)
		case isCloudinit(string(d.Volume)):
		case !m.full && !s.can("clone", d.Volume, m.kind, m.snapshot):
			if m.kind == apidoc.LXC {
				return fail("Linked clone feature for '%s' is not available", d.Volume)
			}
			return fail("Linked clone feature is not supported for '%s' (%s)", d.Volume, d.Key)
		case m.full && !s.can("copy", d.Volume, m.kind, m.snapshot):
			if m.kind == apidoc.LXC {
				return fail("Full clone feature for '%s' is not available", d.Volume)
			}
			return fail("Full clone feature is not supported for '%s' (%s)", d.Volume, d.Key)
		case d.Key == "tpmstate0" && running:
			return fail("cannot clone TPM state while VM is running")
		}
	}
	return nil
}

// clone makes the copy that was announced. What is half made when it fails is
// taken away, the new guest too.
func (k *worker) clone(m cloning) error {
	w := k.world
	var made []apidoc.VolID
	config, err := k.cloneConfig(m, &made)
	if g, missing := k.guest(m.kind, m.from); missing == nil && m.kind == apidoc.LXC && g.Lock() == "disk" {
		g.Config.Delete("lock")
	}
	g := w.Guest(m.to)
	if err == nil && g == nil {
		err = noConfig(m.kind, string(k.task.Node), int(m.to))
	}
	if err != nil {
		for _, id := range made {
			if s, v := w.volumeOn(k.task.Node, id); v != nil {
				s.Place(k.task.Node).Remove(id)
			}
		}
		if g != nil {
			w.RemoveGuest(m.to)
		}
		if m.kind == apidoc.LXC {
			return err
		}
		return fail("clone failed: %s", err)
	}
	g.Config = config
	g.Node = m.target
	if m.source.Agent != nil {
		g.Agent = m.source.Agent.copied()
	}
	if m.kind == apidoc.LXC {
		g.DiskUsed = g.MaxDisk() / 5
	}
	return nil
}

// cloneConfig makes the disks and the configuration of a clone.
func (k *worker) cloneConfig(m cloning, made *[]apidoc.VolID) (Config, error) {
	w := k.world
	config := m.source.Config.Clone()
	for _, key := range config.Keys() {
		switch {
		case indexed(key, "unused"), key == "lock", key == "template", key == "parent", key == "vmstate", key == "snaptime":
			config.Delete(key)
		case indexed(key, "net"):
			p := parts(config.Get(key))
			if m.kind == apidoc.LXC {
				p["hwaddr"] = w.newMAC()
				name := p["name"]
				delete(p, "name")
				config.Set(key, joined("name="+name, p))
			} else {
				for _, model := range networkModels {
					delete(p, model)
				}
				model, _, _ := strings.Cut(firstPart(config.Get(key)), "=")
				config.Set(key, joined(model+"="+w.newMAC(), p))
			}
		case key == "vmgenid":
			config.Set(key, w.newUUID())
		case key == "smbios1":
			p := parts(config.Get(key))
			delete(p, "uuid")
			config.Set(key, joined("uuid="+w.newUUID(), p))
		}
	}
	switch {
	case m.kind == apidoc.LXC && m.name != "":
		config.Set("hostname", m.name)
	case m.kind == apidoc.QEMU && m.name != "":
		config.Set("name", m.name)
	case m.kind == apidoc.QEMU:
		name := m.source.Config.Get("name")
		if name == "" {
			name = m.from.String()
		}
		config.Set("name", "Copy-of-VM-"+name)
	}
	if m.hasText {
		config.Set("description", m.text)
		if m.text == "" {
			config.Delete("description")
		}
	}
	disks := m.source.Disks()
	slices.SortStableFunc(disks, func(a, b Disk) int { return strings.Compare(a.Key, b.Key) })
	for _, d := range disks {
		if !driveKey(m.kind, d.Key) || d.CDROM && !isCloudinit(string(d.Volume)) {
			continue
		}
		v, err := k.cloneDisk(m, d)
		if err != nil {
			return config, err
		}
		*made = append(*made, v.ID)
		x := parseDrive(config.Get(d.Key))
		x.volume = string(v.ID)
		if !isCloudinit(x.volume) {
			x.opts["size"] = diskSize(v.Size)
		}
		config.Set(d.Key, x.String())
	}
	return config, k.rest(1)
}

func (k *worker) cloneDisk(m cloning, d Disk) (*Volume, error) {
	w := k.world
	s, err := w.storageOn(storageOf(d.Volume), m.source.Node)
	if err != nil {
		return nil, err
	}
	if isCloudinit(string(d.Volume)) {
		if m.storage != "" {
			if s, err = w.storageOn(m.storage, m.source.Node); err != nil {
				return nil, err
			}
		}
		return w.allocate(s, m.source.Node, image{kind: m.kind, owner: m.to, size: 4 * mib, name: "cloudinit", at: k.now().Unix()})
	}
	if m.full {
		return k.cloneVolume(m.source.Node, m.source, d.Key, m.source.Up() && !m.snapshot, copying{owner: m.to, node: m.source.Node, storage: m.storage, format: m.format})
	}
	k.sayf("create linked clone of drive %s (%s)", d.Key, d.Volume)
	if err := k.rest(1); err != nil {
		return nil, err
	}
	base := s.look(m.source.Node).Volume(d.Volume)
	if base == nil {
		return nil, s.noVolume(d.Volume)
	}
	return w.link(s, m.source.Node, base, m.to, m.kind, k.now().Unix())
}

// link makes a volume that takes from a base what is not written to it.
func (w *World) link(s *Storage, node apidoc.Node, base *Volume, owner apidoc.VMID, kind apidoc.GuestKind, at int64) (*Volume, error) {
	v, err := w.allocate(s, node, image{kind: kind, owner: owner, size: base.Size, used: mib, format: base.Format, at: at})
	if err != nil {
		return nil, err
	}
	_, parent, _ := base.ID.Split()
	if !strings.HasPrefix(parent[strings.LastIndexByte(parent, '/')+1:], "base") {
		return v, nil // of a snapshot: nothing names it
	}
	p := s.Place(node)
	p.Remove(v.ID)
	v.Parent = parent
	if s.Type != "lvmthin" {
		_, name, _ := v.ID.Split()
		v.ID = apidoc.VolID(string(s.ID) + ":" + parent + "/" + name)
	}
	p.Add(v)
	return v, nil
}
