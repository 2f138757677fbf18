package pvesim

import "pvemcp/apidoc"

func init() {
	base := "POST /nodes/{node}/lxc/{vmid}/status/"
	register(base+"start", ctStart)
	register(base+"stop", ctStop)
	register(base+"shutdown", ctShutdown)
	register(base+"reboot", ctReboot)
	register(base+"suspend", ctSuspend)
	register(base+"resume", ctResume)
}

// upCT tells whether the container of the path runs on its node.
func (c *call) upCT() bool {
	g, err := c.guest(apidoc.LXC)
	return err == nil && g.Up()
}

func ctStart(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if c.upCT() {
		return nil, fail("CT %d already running", id)
	}
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	if c.world.haManaged(id) {
		return c.haStart(id)
	}
	skip := c.flag("skiplock", false)
	return c.launch("vzstart", id.String(), func(k *worker) error { return k.startCT(id, skip) })
}

// startCT brings a container up with what was pending for it.
func (k *worker) startCT(id apidoc.VMID, skiplock bool) error {
	g, err := k.guest(apidoc.LXC, id)
	switch {
	case err != nil:
		return err
	case g.Template():
		return fail("you can't start a CT if it's a template")
	case !skiplock:
		if err := g.free("mounted"); err != nil {
			return err
		}
	}
	if g.Up() {
		return fail("CT %d already running", id)
	}
	if err := k.activate(g); err != nil {
		return err
	}
	if err := k.rest(3); err != nil {
		return err
	}
	if g, err = k.guest(apidoc.LXC, id); err != nil {
		return err
	}
	if err := k.world.applyPending(g); err != nil {
		return err
	}
	if g.Lock() == "mounted" {
		g.Config.Delete("lock")
	}
	k.boot(g)
	return k.rest(1)
}

func ctStop(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if !c.upCT() {
		return nil, fail("CT %d not running", id)
	}
	if c.world.haManaged(id) {
		if c.flag("overrule-shutdown", false) {
			return nil, refuse("overrule-shutdown", "Not applicable for HA resources.")
		}
		return c.haStop(id, true)
	}
	overrule := c.overrule("vzshutdown")
	skip := c.flag("skiplock", false)
	return c.launch("vzstop", id.String(), func(k *worker) error {
		overrule(k)
		return k.stopCT(id, skip)
	})
}

// stopCT kills a container.
func (k *worker) stopCT(id apidoc.VMID, skiplock bool) error {
	g, err := k.guest(apidoc.LXC, id)
	if err != nil {
		return err
	}
	if !skiplock {
		if err := g.free("mounted"); err != nil {
			return err
		}
	}
	if err := k.rest(2); err != nil {
		return err
	}
	if g, err = k.guest(apidoc.LXC, id); err == nil {
		k.world.stopped(g)
	}
	return err
}

func ctShutdown(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if !c.upCT() {
		return nil, fail("CT %d not running", id)
	}
	if c.world.haManaged(id) {
		return c.haStop(id, false)
	}
	force := c.flag("forceStop", false)
	return c.launch("vzshutdown", id.String(), func(k *worker) error { return k.shutdownCT(id, force) })
}

// shutdownCT asks a container to go down and waits for it.
func (k *worker) shutdownCT(id apidoc.VMID, force bool) error {
	g, err := k.guest(apidoc.LXC, id)
	if err != nil || !g.Up() {
		return err
	}
	if err := g.free("mounted"); err != nil {
		return err
	}
	if k.srv.faults.deaf(id) {
		if err := k.rest(8); err != nil {
			return err
		}
		if !force {
			return fail("container did not stop")
		}
	}
	if err := k.rest(3); err != nil {
		return err
	}
	if g, err = k.guest(apidoc.LXC, id); err == nil {
		k.world.stopped(g)
	}
	return err
}

// ctReboot kills what does not go down in time, and ends after the start.
func ctReboot(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if !c.upCT() {
		return nil, fail("VM %d not running", id)
	}
	return c.launch("vzreboot", id.String(), func(k *worker) error {
		if err := k.shutdownCT(id, true); err != nil {
			return err
		}
		return k.startCT(id, false)
	})
}

// ctSuspend is behind a tool that does not work for most containers.
func ctSuspend(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if !c.upCT() {
		return nil, fail("CT %d not running", id)
	}
	return c.launch("vzsuspend", id.String(), func(k *worker) error {
		g, err := k.guest(apidoc.LXC, id)
		if err != nil {
			return err
		}
		if err := g.free(); err != nil {
			return err
		}
		if err := k.rest(1); err != nil {
			return err
		}
		k.say("Checkpointing container failed")
		return fail("command 'lxc-checkpoint -n %d -s -D /var/lib/vz/dump/%d.checkpoint' failed: exit code 1", id, id)
	})
}

func ctResume(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if c.upCT() {
		return nil, fail("CT %d already running", id)
	}
	return c.launch("vzresume", id.String(), func(k *worker) error {
		if _, err := k.guest(apidoc.LXC, id); err != nil {
			return err
		}
		if err := k.rest(1); err != nil {
			return err
		}
		return fail("command 'lxc-checkpoint -n %d -r --foreground -D /var/lib/vz/dump/%d.checkpoint' failed: exit code 1", id, id)
	})
}
