package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/qemu/{vmid}/template", func(c *call) (any, error) { return makeTemplate(c, apidoc.QEMU) })
	register("POST /nodes/{node}/lxc/{vmid}/template", func(c *call) (any, error) { return makeTemplate(c, apidoc.LXC) })
}

func makeTemplate(c *call, kind apidoc.GuestKind) (any, error) {
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	what := noun(kind)
	disk := c.param("disk")
	if err := g.free(); err != nil {
		return nil, err
	}
	switch {
	case len(g.Snapshots) > 0:
		return nil, fail("unable to create template, because %s contains snapshots", what)
	case g.Template() && disk == "":
		return nil, fail("you can't convert a template to a template")
	case g.Up():
		return nil, fail("you can't convert a %s to template if %s is running", what, what)
	}
	if disk != "" && !g.Config.Has(disk) {
		return nil, fail("disk '%s' does not exist", disk)
	}
	if err := c.world.writable(g); err != nil {
		return nil, err
	}
	id := g.ID
	upid, err := c.launch(taskPrefix(kind)+"template", id.String(), func(k *worker) error { return k.template(kind, id, disk) })
	if kind == apidoc.LXC {
		return nil, err // the task is there, its id is not told
	}
	return upid, err
}

// template turns the disks of a guest into bases; there is no way back.
func (k *worker) template(kind apidoc.GuestKind, id apidoc.VMID, only string) error {
	w := k.world
	g, err := k.guest(kind, id)
	if err != nil {
		return err
	}
	for _, d := range g.Disks() {
		if !driveKey(kind, d.Key) || d.CDROM {
			continue
		}
		s, err := w.storageOn(storageOf(d.Volume), g.Node)
		if err != nil {
			return err
		}
		if !storageTypes[s.Type].base {
			if kind == apidoc.LXC {
				return fail("Template feature is not available for '%s'", d.Volume)
			}
			return fail("volume '%s' does not support template/clone", d.Volume)
		}
	}
	if only == "" {
		g.Config.Set("template", "1")
	}
	for _, d := range g.Disks() {
		if !driveKey(kind, d.Key) || d.CDROM || only != "" && d.Key != only {
			continue
		}
		if err := k.rest(1); err != nil {
			return err
		}
		if g, err = k.guest(kind, id); err != nil {
			return err
		}
		s, v := w.volumeOn(g.Node, d.Volume)
		if v == nil {
			return w.Storage(storageOf(d.Volume)).noVolume(d.Volume)
		}
		x := parseDrive(g.Config.Get(d.Key))
		x.volume = string(s.Place(g.Node).makeBase(v))
		g.Config.Set(d.Key, x.String())
	}
	return k.rest(1)
}

// makeBase gives a volume the name of a base.
func (p *Place) makeBase(v *Volume) apidoc.VolID {
	storage, name, _ := v.ID.Split()
	cut := strings.LastIndexByte(name, '/') + 1
	folder, last := name[:cut], name[cut:]
	switch {
	case strings.HasPrefix(last, "subvol-"):
		last = "basevol-" + strings.TrimPrefix(last, "subvol-")
	case strings.HasPrefix(last, "vm-"):
		last = "base-" + strings.TrimPrefix(last, "vm-")
	}
	if v.Parent != "" { // a base stands on its own
		folder = ""
		if strings.Count(name, "/") == 3 {
			folder = v.Owner.String() + "/"
		}
	}
	p.Remove(v.ID)
	v.ID = apidoc.VolID(string(storage) + ":" + folder + last)
	p.Add(v)
	return v.ID
}
