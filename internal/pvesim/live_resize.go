package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("PUT /nodes/{node}/qemu/{vmid}/resize", vmResize)
	register("PUT /nodes/{node}/lxc/{vmid}/resize", ctResize)
}

// wantedSize gives the size that a resize asks for: "+10G" more, or "50G".
func wantedSize(now int64, text string) int64 {
	if more, ok := strings.CutPrefix(text, "+"); ok {
		return now + parseDiskSize(more)
	}
	return parseDiskSize(text)
}

// vmResize finds out only in its task what is wrong with the disk.
func vmResize(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if err := c.unchanged(g, "checksum mismatch (file change by other user?)"); err != nil {
		return nil, err
	}
	if !c.flag("skiplock", false) {
		if err := g.free(); err != nil {
			return nil, err
		}
	}
	id, disk, size := g.ID, c.param("disk"), c.param("size")
	body := func(k *worker) error {
		g, err := k.guest(apidoc.QEMU, id)
		if err != nil {
			return err
		}
		d := parseDrive(g.Config.Get(disk))
		switch {
		case !g.Config.Has(disk):
			return fail("disk '%s' does not exist", disk)
		case d.cdrom():
			return fail("you can't resize a cdrom")
		}
		return k.grow(g, disk, d, size)
	}
	if c.world.Version.Major() < 8 {
		return nil, (&worker{srv: c.srv, world: c.world, task: &Task{UPIDParts: apidoc.UPIDParts{Node: g.Node}}}).growNow(body)
	}
	return c.launch("resize", id.String(), body)
}

// growNow is for versions in which a resize is no task.
func (k *worker) growNow(body func(*worker) error) error {
	k.hurried = true
	return body(k)
}

// grow makes a disk larger.
func (k *worker) grow(g *Guest, key string, d drive, size string) error {
	st, err := k.world.storageOn(storageOf(apidoc.VolID(d.volume)), g.Node)
	if err != nil {
		return err
	}
	v := st.look(g.Node).Volume(apidoc.VolID(d.volume))
	now := parseDiskSize(d.opts["size"])
	if v != nil {
		now = v.Size
	}
	want := wantedSize(now, size)
	switch {
	case want < now:
		return fail("shrinking disks is not supported")
	case want == now:
		return nil
	case v == nil:
		return st.noVolume(apidoc.VolID(d.volume))
	}
	if !k.hurried {
		if err := k.rest(2); err != nil {
			return err
		}
	}
	if st.thick() {
		_, name, _ := v.ID.Split()
		if err := st.room(g.Node, want-now, name); err != nil {
			return err
		}
	}
	st.Place(g.Node).resize(v, want)
	d = parseDrive(g.Config.Get(key))
	d.opts["size"] = diskSize(want)
	g.Config.Set(key, d.String())
	return nil
}

// ctResize looks at the sizes before it makes a task.
func ctResize(c *call) (any, error) {
	g, err := c.guest(apidoc.LXC)
	if err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	if err := c.unchanged(g, "detected modified configuration - file changed by other user? Try again."); err != nil {
		return nil, err
	}
	disk, size := c.param("disk"), c.param("size")
	d := parseDrive(g.Config.Get(disk))
	if d.volume == "" {
		return nil, fail("disk '%s' does not exist", disk)
	}
	if owner := c.world.ownerOf(g.Node, apidoc.VolID(d.volume)); owner != 0 && owner != g.ID {
		return nil, fail("can't resize mount point owned by another container (%d)", owner)
	}
	now := parseDiskSize(d.opts["size"])
	switch want := wantedSize(now, size); {
	case want < now:
		return nil, fail("unable to shrink disk size")
	case want == now:
		return nil, fail("disk is already at specified size")
	}
	id := g.ID
	return c.launch("resize", id.String(), func(k *worker) error {
		g, err := k.guest(apidoc.LXC, id)
		if err != nil {
			return err
		}
		if err := g.free(); err != nil {
			return err
		}
		return k.grow(g, disk, parseDrive(g.Config.Get(disk)), size)
	})
}
