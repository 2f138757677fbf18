package pvesim

import (
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	for _, kind := range [...]apidoc.GuestKind{apidoc.QEMU, apidoc.LXC} {
		base := " /nodes/{node}/" + string(kind) + "/{vmid}/snapshot"
		register("POST"+base, func(c *call) (any, error) { return takeSnapshot(c, kind) })
		register("DELETE"+base+"/{snapname}", func(c *call) (any, error) { return deleteSnapshot(c, kind) })
		register("POST"+base+"/{snapname}/rollback", func(c *call) (any, error) { return rollback(c, kind) })
		register("PUT"+base+"/{snapname}/config", func(c *call) (any, error) { return describeSnapshot(c, kind) })
	}
}

// reservedSnapshot tells whether a name stands for something else.
func reservedSnapshot(kind apidoc.GuestKind, name string) bool {
	if kind == apidoc.LXC {
		return name == "current" || name == "vzdump"
	}
	return name == "current" || strings.EqualFold(name, "pending")
}

func takeSnapshot(c *call, kind apidoc.GuestKind) (any, error) {
	name, id := c.param("snapname"), apidoc.VMID(c.vmid())
	if reservedSnapshot(kind, name) {
		return nil, fail("unable to use snapshot name '%s' (reserved name)", name)
	}
	text, ram := c.param("description"), c.flag("vmstate", false)
	return c.launch(taskPrefix(kind)+"snapshot", id.String(), func(k *worker) error { return k.snapshot(kind, id, name, text, ram) })
}

// snapshot takes one: it is listed as incomplete and the guest locked until
// all volumes have theirs.
func (k *worker) snapshot(kind apidoc.GuestKind, id apidoc.VMID, name, text string, ram bool) error {
	w := k.world
	g, err := k.guest(kind, id)
	switch {
	case err != nil:
		return err
	case g.Template():
		return fail("you can't take a snapshot if it's a template")
	case g.free() != nil:
		return g.free()
	case g.Snapshot(name) != nil:
		return fail("snapshot name '%s' already used", name)
	case !w.hasFeature(g, "snapshot", ""):
		return fail("snapshot feature is not available")
	case w.writable(g) != nil:
		return w.writable(g)
	}
	ram = ram && kind == apidoc.QEMU && g.Up()
	if ram && g.passesDevices() {
		return fail("cannot snapshot VM with RAM due to passed-through PCI device(s), which lack the possibility to save/restore their internal state")
	}
	s := &Snapshot{Name: name, Description: text, Time: k.now().Unix(), Parent: g.Parent, State: "prepare", RAM: ram, Config: g.snapshotConfig()}
	if ram {
		v, err := w.allocateState(g, "", name, s.Time)
		if err != nil {
			return err
		}
		s.Config.Set("vmstate", string(v.ID))
	}
	g.Snapshots = append(g.Snapshots, s)
	g.Config.Set("lock", "snapshot")
	if err := k.snapshotVolumes(g, s); err != nil {
		k.say("snapshot create failed: starting cleanup")
		if g, missing := k.guest(kind, id); missing == nil {
			k.world.removeSnapshot(g, s)
			g.Config.Delete("lock")
		}
		return err
	}
	if g, err = k.guest(kind, id); err != nil {
		return err
	}
	s.State = ""
	g.Parent = name
	g.Config.Delete("lock")
	return nil
}

// snapshotConfig is what a snapshot keeps of the present configuration.
func (g *Guest) snapshotConfig() Config {
	c := g.Config.Clone()
	for _, key := range c.Keys() {
		if indexed(key, "unused") || key == "lock" || key == "description" || key == "vmstate" || key == "parent" {
			c.Delete(key)
		}
	}
	return c
}

func (k *worker) snapshotVolumes(g *Guest, s *Snapshot) error {
	if s.RAM {
		volume := apidoc.VolID(s.Config.Get("vmstate"))
		k.sayf("saving VM state and RAM using storage '%s'", storageOf(volume))
		used := int64(float64(g.Memory()) * max(g.Load.Memory, 0.1))
		for i := int64(1); i <= 3; i++ {
			if err := k.rest(1); err != nil {
				return err
			}
			k.sayf("%s in %ds", sizeText(used*i/4), i)
		}
		k.sayf("completed saving the VM state in 4s, saved %s", sizeText(used))
	}
	for _, d := range Disks(g.Kind, &s.Config) {
		if d.CDROM || !driveKey(g.Kind, d.Key) {
			continue
		}
		if g.Kind == apidoc.QEMU {
			k.sayf("snapshotting 'drive-%s' (%s)", d.Key, d.Volume)
		}
		if err := k.rest(1); err != nil {
			return err
		}
		st, err := k.world.storageOn(storageOf(d.Volume), g.Node)
		if err != nil {
			return err
		}
		if st.thick() && st.Type == "lvm" {
			_, name, _ := d.Volume.Split()
			if err := st.room(g.Node, d.Size, name); err != nil {
				return err
			}
		}
	}
	return k.rest(1)
}

// removeSnapshot takes a snapshot out of the list; those that come from it come
// from its own parent then.
func (w *World) removeSnapshot(g *Guest, s *Snapshot) {
	if v := s.Config.Get("vmstate"); v != "" {
		id := apidoc.VolID(firstPart(v))
		if st, _ := w.volumeOn(g.Node, id); st != nil {
			st.Place(g.Node).Remove(id)
		}
	}
	g.Snapshots = slices.DeleteFunc(g.Snapshots, func(x *Snapshot) bool { return x == s })
	for _, x := range g.Snapshots {
		if x.Parent == s.Name {
			x.Parent = s.Parent
		}
	}
	if g.Parent == s.Name {
		g.Parent = s.Parent
	}
}

func deleteSnapshot(c *call, kind apidoc.GuestKind) (any, error) {
	name, id, force := c.path["snapname"], apidoc.VMID(c.vmid()), c.flag("force", false)
	return c.launch(taskPrefix(kind)+"delsnapshot", id.String(), func(k *worker) error {
		w := k.world
		g, err := k.guest(kind, id)
		if err != nil {
			return err
		}
		s := g.Snapshot(name)
		switch {
		case g.Template():
			return fail("you can't delete a snapshot if vm is a template")
		case s == nil:
			return fail("snapshot '%s' does not exist", name)
		case g.free() != nil && !(force && g.Lock() == "snapshot-delete"):
			return g.free()
		case w.writable(g) != nil:
			return w.writable(g)
		}
		g.Config.Set("lock", "snapshot-delete")
		s.State = "delete"
		for _, d := range Disks(kind, &s.Config) {
			if d.CDROM || !driveKey(kind, d.Key) {
				continue
			}
			if _, err := w.storageOn(storageOf(d.Volume), g.Node); err != nil {
				if !force {
					return err // the snapshot stays, marked and the guest locked
				}
				k.say(strings.TrimRight(err.Error(), "\n"))
			}
			if err := k.rest(1); err != nil {
				return err
			}
		}
		if err := k.rest(1); err != nil {
			return err
		}
		if g, err = k.guest(kind, id); err != nil {
			return err
		}
		w.removeSnapshot(g, s)
		g.Config.Delete("lock")
		return nil
	})
}

func describeSnapshot(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	s := g.Snapshot(c.path["snapname"])
	if s == nil {
		return nil, fail("snapshot '%s' does not exist", c.path["snapname"])
	}
	if err := c.world.writable(g); err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	if c.has("description") {
		s.Description = c.param("description")
	}
	return nil, nil
}

func rollback(c *call, kind apidoc.GuestKind) (any, error) {
	name, id, start := c.path["snapname"], apidoc.VMID(c.vmid()), c.flag("start", false)
	return c.launch(taskPrefix(kind)+"rollback", id.String(), func(k *worker) error { return k.rollback(kind, id, name, start) })
}

// rollback makes a guest what it was: a running one is stopped, and what has
// been written since is lost.
func (k *worker) rollback(kind apidoc.GuestKind, id apidoc.VMID, name string, start bool) error {
	w := k.world
	g, err := k.guest(kind, id)
	if err != nil {
		return err
	}
	s := g.Snapshot(name)
	switch {
	case g.Template():
		return fail("you can't rollback if vm is a template")
	case s == nil:
		return fail("snapshot '%s' does not exist", name)
	case s.State != "":
		return fail("unable to rollback to incomplete snapshot (snapstate = %s)", s.State)
	}
	if err := w.canRollback(g, s); err != nil {
		return err
	}
	if err := g.free(); err != nil {
		return err
	}
	if err := w.writable(g); err != nil {
		return err
	}
	g.Config.Set("lock", "rollback")
	if g.Up() {
		if err := k.rest(1); err != nil {
			return err
		}
		halt(g)
	}
	if err := k.rest(2); err != nil {
		return err // half done: the guest is stopped and stays locked
	}
	if g, err = k.guest(kind, id); err != nil {
		return err
	}
	g.becomes(s)
	for _, d := range Disks(kind, &g.Config) { // disks have the size again that they had
		if st, v := w.volumeOn(g.Node, d.Volume); v != nil && d.Size > 0 && driveKey(kind, d.Key) && !d.CDROM {
			st.Place(g.Node).resize(v, d.Size)
		}
	}
	if s.RAM || start {
		if kind == apidoc.QEMU {
			return k.startVM(id, false)
		}
		return k.startCT(id, false)
	}
	return nil
}

// becomes gives a guest the configuration of a snapshot. Notes and unused
// volumes stay, and disks that the snapshot does not know become unused.
func (g *Guest) becomes(s *Snapshot) {
	old := g.Config
	g.Config = s.Config.Clone()
	g.Config.Delete("vmstate")
	g.Pending, g.Deleting = Config{}, nil
	if d := old.Get("description"); d != "" {
		g.Config.Set("description", d)
	}
	n := 0
	for _, d := range Disks(g.Kind, &old) {
		if d.CDROM || d.Key == "vmstate" || attachment(g.Kind, &g.Config, d.Volume) != "" {
			continue
		}
		for g.Config.Has("unused" + strconv.Itoa(n)) {
			n++
		}
		g.Config.Set("unused"+strconv.Itoa(n), string(d.Volume))
	}
	g.Parent = s.Name
}

// canRollback refuses what a storage can't do: some go back to their newest
// snapshot alone.
func (w *World) canRollback(g *Guest, s *Snapshot) error {
	for _, d := range Disks(g.Kind, &s.Config) {
		if d.CDROM || !driveKey(g.Kind, d.Key) {
			continue
		}
		st, err := w.storageOn(storageOf(d.Volume), g.Node)
		if err != nil {
			return err
		}
		if st.look(g.Node).Volume(d.Volume) == nil {
			return st.noVolume(d.Volume)
		}
		chain := st.Options.Get("snapshot-as-volume-chain") == "1"
		if st.Type != "zfspool" && st.Type != "zfs" && !chain {
			continue
		}
		_, name, _ := d.Volume.Split()
		if !chain {
			name = string(d.Volume)
		}
		for _, other := range g.Snapshots {
			newer := other.Time > s.Time || other.Time == s.Time && slices.Index(g.Snapshots, other) > slices.Index(g.Snapshots, s)
			if newer && attachment(g.Kind, &other.Config, d.Volume) != "" {
				return fail("can't rollback, '%s' is not most recent snapshot on '%s'", s.Name, name)
			}
		}
	}
	return nil
}
