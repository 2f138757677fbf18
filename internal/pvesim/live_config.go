package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("PUT /nodes/{node}/qemu/{vmid}/config", func(c *call) (any, error) { return vmConfig(c, false) })
	register("POST /nodes/{node}/qemu/{vmid}/config", func(c *call) (any, error) { return vmConfig(c, true) })
	register("PUT /nodes/{node}/qemu/{vmid}/unlink", vmUnlink)
	register("PUT /nodes/{node}/lxc/{vmid}/config", ctConfig)
	register("PUT /nodes/{node}/qemu/{vmid}/cloudinit", vmCloudinit)
}

// edit is what a call wants of a configuration.
type edit struct {
	keys    []string // in order
	values  map[string]string
	drives  map[string]drive
	deletes []string
	reverts []string
	force   bool
}

// callParams are parameters of the calls that write a configuration which are
// no keys of it.
var callParams = map[string]bool{
	"node": true, "vmid": true, "delete": true, "revert": true, "digest": true, "skiplock": true, "force": true,
	"background_delay": true, "import-working-storage": true,
	"archive": true, "storage": true, "pool": true, "start": true, "unique": true, "bwlimit": true, "live-restore": true, "ha-managed": true,
	"ostemplate": true, "restore": true, "password": true, "ssh-public-keys": true, "ignore-unpack-errors": true,
}

// readEdit takes the call's parameters for a guest.
func (c *call) readEdit(g *Guest) (*edit, error) {
	e := &edit{values: map[string]string{}, drives: map[string]drive{}, force: c.flag("force", false)}
	for _, key := range sortedKeys(c.params) {
		if callParams[key] {
			continue
		}
		value, err := c.configValue(g, key)
		if err != nil {
			return nil, err
		}
		e.keys = append(e.keys, key)
		e.values[key] = value
		if driveKey(g.Kind, key) {
			e.drives[key] = parseDrive(value)
		}
	}
	e.deletes = c.list("delete")
	for _, key := range c.list("revert") {
		if _, known := c.method.Property(key); !known {
			return nil, refuse("revert", "unknown option '"+key+"'")
		}
		if c.has(key) {
			return nil, refuse("revert", "you can't use '-"+key+"' and '-revert "+key+"' at the same time")
		}
		e.reverts = append(e.reverts, key)
	}
	return e, nil
}

func (c *call) nothingToDo() bool {
	for key := range c.params {
		if !callParams[key] {
			return false
		}
	}
	return !c.has("delete") && !c.has("revert")
}

// vmConfig changes a VM's configuration: at once, or as a task.
func vmConfig(c *call, async bool) (any, error) {
	if c.nothingToDo() {
		return nil, fail("no options specified")
	}
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	e, err := c.readEdit(g)
	if err != nil {
		return nil, err
	}
	for _, key := range e.keys {
		if d, is := e.drives[key]; is {
			if err := c.world.checkDrive(g, key, d); err != nil {
				return nil, err
			}
		}
	}
	if err := c.unchanged(g, "checksum mismatch (file change by other user?)"); err != nil {
		return nil, err
	}
	if !c.flag("skiplock", false) && !(g.Lock() == "suspended" && containsText(e.deletes, "vmstate")) {
		if err := g.free(); err != nil {
			return nil, err
		}
	}
	if err := g.checkMemory(e); err != nil {
		return nil, err
	}
	if err := c.world.protects(g, e); err != nil {
		return nil, err
	}
	if err := g.checkBoot(e); err != nil {
		return nil, err
	}
	if err := c.world.writable(g); err != nil {
		return nil, err
	}
	now := c.now.Unix()
	if !async {
		return nil, c.world.change(g, e, now)
	}
	id := g.ID
	if held, _ := c.srv.faults.holds("qmconfig", id.String()); c.has("background_delay") && !held {
		// Somebody waits for the task, and it takes no time worth waiting for.
		t := c.world.StartTask(g.Node, "qmconfig", id.String(), c.who.name(), c.now)
		err := c.world.change(g, e, now)
		for _, f := range c.srv.faults.takeTask("qmconfig", id.String()) {
			if f.Kind == FaultTaskFail && err == nil {
				err = fail("%s", f.reason("command 'simulated' failed: exit code 1"))
			}
		}
		if err == nil {
			c.world.EndTask(t, "OK", c.now)
			return nil, nil
		}
		c.world.EndTask(t, strings.TrimRight(err.Error(), "\n"), c.now)
		return nil, fail("failed to update VM %d: %s", id, err)
	}
	return c.launch("qmconfig", id.String(), func(k *worker) error {
		g, err := k.guest(apidoc.QEMU, id)
		if err != nil {
			return err
		}
		for _, key := range e.keys {
			if d, is := e.drives[key]; is && allocateForm.MatchString(d.volume) {
				k.sayf("update VM %d: -%s %s", id, key, d)
			}
		}
		if err := k.rest(1); err != nil {
			return err
		}
		return k.world.change(g, e, now)
	})
}

// unchanged is the check of the parameter digest.
func (c *call) unchanged(g *Guest, text string) error {
	if d := c.param("digest"); d != "" && d != g.fileDigest() {
		return fail("%s", text)
	}
	return nil
}

// ctConfig changes a container's configuration, always at once.
func ctConfig(c *call) (any, error) {
	if c.nothingToDo() {
		return nil, fail("no options specified")
	}
	g, err := c.guest(apidoc.LXC)
	if err != nil {
		return nil, err
	}
	e, err := c.readEdit(g)
	if err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	if err := c.unchanged(g, "detected modified configuration - file changed by other user? Try again."); err != nil {
		return nil, err
	}
	for _, key := range e.deletes {
		switch key {
		case "memory", "rootfs", "ostype":
			return nil, fail("unable to delete required option '%s'", key)
		case "unprivileged", "arch":
			return nil, fail("unable to delete read-only option '%s'", key)
		}
	}
	for _, key := range e.keys {
		if key == "unprivileged" || key == "arch" {
			if e.values[key] != g.Config.Get(key) {
				return nil, fail("unable to modify read-only option: '%s'", key)
			}
		}
		if d, is := e.drives[key]; is {
			if err := c.world.checkDrive(g, key, d); err != nil {
				return nil, err
			}
		}
	}
	if err := c.world.protects(g, e); err != nil {
		return nil, err
	}
	if err := c.world.writable(g); err != nil {
		return nil, err
	}
	return nil, c.world.change(g, e, c.now.Unix())
}

// checkMemory refuses a balloon larger than the memory.
func (g *Guest) checkMemory(e *edit) error {
	if _, balloon := e.values["balloon"]; !balloon {
		if _, memory := e.values["memory"]; !memory {
			return nil
		}
	}
	value := func(key string) int {
		if v, given := e.values[key]; given {
			return atoi(firstPart(strings.TrimPrefix(v, "current=")))
		}
		return atoi(firstPart(strings.TrimPrefix(g.Config.Get(key), "current=")))
	}
	if memory := value("memory"); memory > 0 && value("balloon") > memory {
		return fail("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}

// checkBoot refuses a boot order with a device that is not there.
func (g *Guest) checkBoot(e *edit) error {
	order, ok := strings.CutPrefix(e.values["boot"], "order=")
	if !ok {
		return nil
	}
	for dev := range strings.SplitSeq(order, ";") {
		_, given := e.values[dev]
		if dev != "" && !given && !g.Config.Has(dev) && !g.Pending.Has(dev) {
			return fail("invalid bootorder: device '%s' does not exist'", dev)
		}
	}
	return nil
}

// protects refuses what protection=1 does not allow: drives that go or change.
func (w *World) protects(g *Guest, e *edit) error {
	on := g.Config.Get("protection") == "1"
	who := ""
	if g.Kind == apidoc.LXC {
		who = "CT " + g.ID.String() + " "
	}
	for _, key := range e.deletes {
		value := g.Config.Get(key)
		switch {
		case indexed(key, "unused") && value != "":
			id := apidoc.VolID(firstPart(value))
			if on && g.Kind == apidoc.QEMU {
				return fail("can't remove unused disk '%s' - protection mode enabled", id)
			}
			if on {
				return fail("can't remove %sdrive '%s' - protection mode enabled", who, key)
			}
			if g.inSnapshot(id) != nil {
				return fail("unable to delete '%s' - volume is still in use (snapshot?)", id)
			}
		case driveKey(g.Kind, key) && value != "" && on:
			return fail("can't remove %sdrive '%s' - protection mode enabled", who, key)
		case driveKey(g.Kind, key) && e.force && !parseDrive(value).cdrom() && value != "" && g.inSnapshot(apidoc.VolID(parseDrive(value).volume)) != nil:
			return fail("unable to delete '%s' - volume is still in use (snapshot?)", parseDrive(value).volume)
		}
	}
	if !on {
		return nil
	}
	for _, key := range e.keys {
		d, is := e.drives[key]
		if old := g.Config.Get(key); is && old != "" && parseDrive(old).volume != d.volume && !parseDrive(old).cdrom() {
			if g.Kind == apidoc.LXC {
				return fail("can't update %sdrive '%s' - protection mode enabled", who, key)
			}
			return fail("can't remove drive '%s' - protection mode enabled", key)
		}
	}
	return nil
}

// change writes an edit: everything goes into what is pending first; from
// there what can be is taken over at once.
func (w *World) change(g *Guest, e *edit, now int64) error {
	made := map[string]string{}
	var created []apidoc.VolID
	for _, key := range e.keys { // all volumes or none
		d, is := e.drives[key]
		if !is {
			continue
		}
		value, id, err := w.makeDrive(g, key, d, now)
		if err != nil {
			for _, id := range created {
				if s, _ := w.volumeOn(g.Node, id); s != nil {
					s.Place(g.Node).Remove(id)
				}
			}
			return err
		}
		made[key] = value
		if id != "" {
			created = append(created, id)
		}
	}
	if g.Deleting == nil {
		g.Deleting = map[string]int{}
	}
	var parked []apidoc.VolID // volumes of pending drives that will never be
	forget := func(key string) {
		if driveKey(g.Kind, key) && g.Pending.Has(key) {
			if id := apidoc.VolID(parseDrive(g.Pending.Get(key)).volume); attachment(g.Kind, &g.Config, id) == "" {
				parked = append(parked, id)
			}
		}
		g.Pending.Delete(key)
		delete(g.Deleting, key)
	}
	for _, key := range e.deletes {
		had := g.Config.Has(key)
		forget(key)
		switch {
		case !had:
		case indexed(key, "unused"):
			id := apidoc.VolID(firstPart(g.Config.Get(key)))
			if w.ownerOf(g.Node, id) == g.ID {
				if s, v := w.volumeOn(g.Node, id); s != nil && v != nil {
					if err := w.freeVolume(g.Node, id); err != nil {
						return err
					}
				}
			}
			g.Config.Delete(key)
		case key == "vmstate":
			(&worker{world: w}).dropSavedState(g)
		case e.force:
			g.Deleting[key] = 2
		default:
			g.Deleting[key] = 1
		}
	}
	for _, key := range e.keys {
		value := e.values[key]
		if v, is := made[key]; is {
			value = v
		}
		forget(key)
		if g.Config.Get(key) != value || !g.Config.Has(key) {
			g.Pending.Set(key, value)
		}
	}
	for _, key := range e.reverts {
		forget(key)
	}
	for _, id := range parked {
		if err := w.park(g, id); err != nil {
			return err
		}
	}
	if !g.Up() {
		return w.applyPending(g)
	}
	return w.hotplug(g)
}

// vmUnlink is delete of drives under another name.
func vmUnlink(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	e := &edit{deletes: c.list("idlist"), force: c.flag("force", false)}
	for _, key := range e.deletes {
		if !isDiskKey(key) && !indexed(key, "unused") {
			return nil, refuse("delete", "unknown option '"+key+"'")
		}
	}
	if err := c.world.protects(g, e); err != nil {
		return nil, err
	}
	if err := c.world.writable(g); err != nil {
		return nil, err
	}
	return nil, c.world.change(g, e, c.now.Unix())
}

// vmCloudinit writes the cloud-init drive anew from the configuration.
func vmCloudinit(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	for _, d := range g.Disks() {
		if isCloudinit(string(d.Volume)) {
			if _, err := c.world.storageOn(storageOf(d.Volume), g.Node); err != nil {
				return nil, err
			}
			return nil, nil
		}
	}
	return nil, fail("cloudinit drive not found")
}

// storageOf gives the storage in a volume's id.
func storageOf(id apidoc.VolID) apidoc.Storage {
	s, _, _ := id.Split()
	return s
}
