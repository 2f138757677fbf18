package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("DELETE /nodes/{node}/qemu/{vmid}", func(c *call) (any, error) { return destroyGuest(c, apidoc.QEMU) })
	register("DELETE /nodes/{node}/lxc/{vmid}", func(c *call) (any, error) { return destroyGuest(c, apidoc.LXC) })
}

func destroyGuest(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	purge, force, unreferenced := c.flag("purge", false), kind == apidoc.LXC && c.flag("force", false), c.flag("destroy-unreferenced-disks", false)
	skip := c.flag("skiplock", false)
	id := g.ID
	if err := c.world.removable(g, purge, force); err != nil {
		return nil, err
	}
	if !c.world.Quorate {
		return nil, c.world.writable(g)
	}
	return c.launch(taskPrefix(kind)+"destroy", id.String(), func(k *worker) error { return k.destroy(kind, id, purge, force, unreferenced, skip) })
}

// removable refuses the removal of what is protected, needed or running.
func (w *World) removable(g *Guest, purge, force bool) error {
	what := noun(g.Kind)
	if g.Config.Get("protection") == "1" {
		return fail("can't remove %s %d - protection mode enabled", what, g.ID)
	}
	if !purge {
		if w.haManaged(g.ID) {
			return fail("unable to remove %s %d - used in HA resources and purge parameter not set.", what, g.ID)
		}
		for _, r := range w.Replications {
			if r.Guest == g.ID {
				return fail("There is a replication job '%s' for guest '%d' - Please remove that first.", r.ID, g.ID)
			}
		}
	}
	if g.Up() && !force {
		if g.Kind == apidoc.LXC {
			return fail("unable to destroy CT %d - container is running", g.ID)
		}
		return fail("VM %d is running - destroy failed", g.ID)
	}
	return nil
}

// destroy removes a guest with its volumes. A volume that does not go is a
// warning alone.
func (k *worker) destroy(kind apidoc.GuestKind, id apidoc.VMID, purge, force, unreferenced, skiplock bool) error {
	w := k.world
	g, err := k.guest(kind, id)
	if err != nil {
		return err
	}
	if !skiplock && !(kind == apidoc.LXC && force) {
		if err := g.free(); err != nil {
			return err
		}
	}
	if err := w.removable(g, purge, force); err != nil {
		return err
	}
	if g.Template() {
		for _, d := range g.Disks() {
			s, v := w.volumeOn(g.Node, d.Volume)
			if _, name, _ := d.Volume.Split(); v != nil && v.Owner == id && s.Place(g.Node).linked(name) {
				return fail("base volume '%s' is still in use by linked cloned", d.Volume)
			}
		}
	}
	if g.Up() {
		if err := k.rest(2); err != nil {
			return err
		}
		halt(g)
	}
	if kind == apidoc.LXC { // a VM is locked by its file alone
		g.Config.Set("lock", "destroyed")
	}
	for _, v := range k.ownVolumes(g, unreferenced) {
		if err := k.rest(1); err != nil {
			return err
		}
		if _, there := w.volumeOn(g.Node, v); there == nil {
			continue
		}
		if err := w.freeVolume(g.Node, v); err != nil {
			k.warnf("Could not remove disk '%s', check manually: %s", v, strings.TrimRight(err.Error(), "\n"))
		} else if t := w.Storage(storageOf(v)).Type; t == "lvm" || t == "lvmthin" {
			k.sayf("  Logical volume \"%s\" successfully removed.", diskName(v))
		}
	}
	if err := k.rest(1); err != nil {
		return err
	}
	w.forget(id, g)
	if purge {
		k.sayf("purging %s %d from related configurations..", noun(kind), id)
		w.purge(k, g)
	}
	return nil
}

// diskName is what stands last in a volume's name.
func diskName(v apidoc.VolID) string {
	return string(v[strings.LastIndexAny(string(v), ":/")+1:])
}

// ownVolumes lists the volumes that go with a guest: those that its
// configuration, what is pending and its snapshots name, and with the
// parameter all that have its number on any storage.
func (k *worker) ownVolumes(g *Guest, unreferenced bool) []apidoc.VolID {
	var all []apidoc.VolID
	add := func(id apidoc.VolID) {
		if _, _, ok := id.Split(); ok && k.world.ownerOf(g.Node, id) == g.ID && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	configs := []*Config{&g.Config, &g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, &s.Config)
	}
	for _, c := range configs {
		for _, d := range Disks(g.Kind, c) {
			add(d.Volume)
		}
	}
	if unreferenced {
		for _, s := range k.world.Storages {
			if s.Disabled || !s.On(g.Node) {
				continue
			}
			for _, v := range s.look(g.Node).Volumes() {
				if v.Content == "images" || v.Content == "rootdir" {
					add(v.ID)
				}
			}
		}
	}
	return all
}

// forget removes a guest and what Proxmox always removes with it.
func (w *World) forget(id apidoc.VMID, g *Guest) {
	if w.Guest(id) == g {
		w.RemoveGuest(id)
	}
	path := "/vms/" + id.String()
	w.access.ACL = slices.DeleteFunc(w.access.ACL, func(e ACL) bool { return e.Path == path })
}

// purge takes a guest out of what names it: replication, backup jobs, HA.
func (w *World) purge(k *worker, g *Guest) {
	w.Replications = slices.DeleteFunc(w.Replications, func(r *Replication) bool { return r.Guest == g.ID })
	empty := map[*BackupJob]bool{}
	for _, j := range w.Jobs {
		for _, key := range [...]string{"vmid", "exclude"} {
			if !j.Options.Has(key) {
				continue
			}
			ids := apidoc.ListItems(j.Options.Get(key))
			left := slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return s == g.ID.String() })
			switch {
			case len(left) == len(ids):
			case len(left) == 0:
				j.Options.Delete(key)
				empty[j] = key == "vmid"
			default:
				j.Options.Set(key, strings.Join(left, ","))
			}
		}
	}
	w.Jobs = slices.DeleteFunc(w.Jobs, func(j *BackupJob) bool { return empty[j] })
	if r := w.HA.Resource(g.ID); r != nil {
		w.removeHA(r, true)
		k.sayf("NOTE: removed %s %d from HA resource configuration.", noun(g.Kind), g.ID)
	}
}
