package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	base := "POST /nodes/{node}/qemu/{vmid}/status/"
	register(base+"start", vmStart)
	register(base+"stop", vmStop)
	register(base+"shutdown", vmShutdown)
	register(base+"reboot", vmReboot)
	register(base+"reset", vmReset)
	register(base+"suspend", vmSuspend)
	register(base+"resume", vmResume)
}

func vmStart(c *call) (any, error) {
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	id := apidoc.VMID(c.vmid())
	if c.world.haManaged(id) {
		return c.haStart(id)
	}
	skip := c.flag("skiplock", false)
	return c.launch("qmstart", id.String(), func(k *worker) error { return k.startVM(id, skip) })
}

// startVM brings a VM up with what was pending for it.
func (k *worker) startVM(id apidoc.VMID, skiplock bool) error {
	g, err := k.guest(apidoc.QEMU, id)
	switch {
	case err != nil:
		return err
	case g.Template():
		return fail("you can't start a vm if it's a template")
	case g.Lock() == "backup" && g.Up(): // its backup has started it, without letting it run
		g.State = Running
		return k.rest(1)
	case !skiplock:
		if err := g.free("suspended"); err != nil {
			return err
		}
	}
	if g.Up() {
		return fail("VM %d already running", id)
	}
	if err := k.activate(g); err != nil {
		return err
	}
	if err := k.rest(3); err != nil {
		return err
	}
	if g, err = k.guest(apidoc.QEMU, id); err != nil {
		return err
	}
	if g.Lock() == "suspended" {
		k.say("Resuming suspended VM")
		k.dropSavedState(g)
		k.say("Resumed VM, removing state")
	} else if err := k.world.applyPending(g); err != nil {
		return err
	}
	k.boot(g)
	return k.rest(1)
}

// boot makes a guest run from now on.
func (k *worker) boot(g *Guest) {
	g.State, g.Started, g.PID = Running, k.now().Unix(), k.world.nextPID()
}

// halt makes a guest stand still; what it had in memory is lost.
func halt(g *Guest) { g.State, g.Started, g.PID = Stopped, 0, 0 }

// dropSavedState forgets the memory that a suspended VM left on a storage.
func (k *worker) dropSavedState(g *Guest) {
	if v := g.Config.Get("vmstate"); v != "" {
		_ = k.world.freeVolume(g.Node, apidoc.VolID(firstPart(v))) // it may be gone with its storage
	}
	for _, key := range [...]string{"vmstate", "lock", "runningmachine", "runningcpu"} {
		g.Config.Delete(key)
	}
}

// activate makes sure that all disks of a guest can be used.
func (k *worker) activate(g *Guest) error {
	for _, d := range g.Disks() {
		id, _, ok := d.Volume.Split()
		if !ok || indexed(d.Key, "unused") {
			continue
		}
		s, err := k.world.storageOn(id, g.Node)
		if err != nil {
			return err
		}
		if s.look(g.Node).Volume(d.Volume) == nil {
			return s.noVolume(d.Volume)
		}
	}
	return nil
}

func vmStop(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	if c.world.haManaged(id) {
		if c.flag("overrule-shutdown", false) {
			return nil, refuse("overrule-shutdown", "Not applicable for HA resources.")
		}
		return c.haStop(id, true)
	}
	overrule := c.overrule("qmshutdown")
	skip := c.flag("skiplock", false)
	return c.launch("qmstop", id.String(), func(k *worker) error {
		overrule(k)
		return k.stopVM(id, skip)
	})
}

// stopVM pulls the plug of a VM; one that does not run is left alone.
func (k *worker) stopVM(id apidoc.VMID, skiplock bool) error {
	g, err := k.present(id)
	if err != nil || !g.Up() {
		return err
	}
	if !skiplock {
		if err := g.free(); err != nil {
			return err
		}
	}
	if err := k.rest(2); err != nil {
		return err
	}
	if g, err = k.present(id); err == nil {
		k.world.stopped(g)
	}
	return err
}

// present is guest with the text of those calls that ask for the process first.
func (k *worker) present(id apidoc.VMID) (*Guest, error) {
	g, err := k.guest(apidoc.QEMU, id)
	if err != nil {
		return nil, noProcess(k.task.Node, id)
	}
	return g, nil
}

func noProcess(node apidoc.Node, id apidoc.VMID) error {
	return fail("unable to find configuration file for VM %d on node '%s'", id, node)
}

// overrule takes the parameter of that name: the shutdown tasks of the guest
// that the caller may stop are stopped first.
func (c *call) overrule(kind string) func(*worker) {
	if !c.flag("overrule-shutdown", false) {
		return func(*worker) {}
	}
	may := c.seesAll() || c.priv("/nodes/"+c.node(), "Sys.Modify")
	id, who := apidoc.VMID(c.vmid()), c.who
	return func(k *worker) {
		var over []string
		for _, t := range k.world.runningTasks(k.task.Node, id, kind) {
			owner, _ := splitUser(t.User)
			if t.worker != nil && (may || t.User == who.name() || owner == who.user) {
				t.worker.interrupt()
				over = append(over, t.UPID)
			}
		}
		if len(over) > 0 {
			k.sayf("overruled %s tasks: %s", kind, strings.Join(over, ", "))
		}
	}
}

func vmShutdown(c *call) (any, error) {
	id := apidoc.VMID(c.vmid())
	g, _ := c.guest(apidoc.QEMU)
	force := c.flag("forceStop", false)
	paused := g != nil && g.State == Paused
	if paused && !force {
		return nil, fail("VM is paused - cannot shutdown")
	}
	if c.world.haManaged(id) {
		return c.haStop(id, false)
	}
	skip := c.flag("skiplock", false)
	return c.launch("qmshutdown", id.String(), func(k *worker) error {
		if paused {
			k.say("VM is paused - stop instead of shutdown")
			return k.stopVM(id, skip)
		}
		return k.shutdownVM(id, skip, force)
	})
}

// shutdownVM asks a VM to go down and waits for it.
func (k *worker) shutdownVM(id apidoc.VMID, skiplock, force bool) error {
	g, err := k.present(id)
	if err != nil || !g.Up() {
		return err
	}
	if !skiplock {
		if err := g.free(); err != nil {
			return err
		}
	}
	if k.srv.faults.deaf(id) {
		if err := k.rest(8); err != nil {
			return err
		}
		if !force {
			return fail("VM quit/powerdown failed - got timeout")
		}
		k.say("VM still running - terminating now with SIGTERM")
	}
	if err := k.rest(3); err != nil {
		return err
	}
	if g, err = k.present(id); err == nil {
		k.world.stopped(g)
	}
	return err
}

// upVM gives the VM of the path if it runs.
func (c *call) upVM() (*Guest, error) {
	g, err := c.guest(apidoc.QEMU)
	switch {
	case err != nil:
		return nil, noProcess(apidoc.Node(c.node()), apidoc.VMID(c.vmid()))
	case !g.Up():
		return nil, fail("VM %d not running", g.ID)
	}
	return g, nil
}

// vmReboot ends with the VM's process: it is started again by whoever sees
// that it has gone.
func vmReboot(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	switch {
	case err != nil:
		return nil, noProcess(apidoc.Node(c.node()), apidoc.VMID(c.vmid()))
	case g.State == Paused:
		return nil, fail("VM is paused - cannot shutdown")
	case !g.Up():
		return nil, fail("VM %d not running", g.ID)
	}
	id := g.ID
	return c.launch("qmreboot", id.String(), func(k *worker) error {
		if err := k.shutdownVM(id, false, false); err != nil {
			return err
		}
		k.srv.later(2*k.srv.opts.TaskStep, func() {
			if g, err := k.guest(apidoc.QEMU, id); err == nil && !g.Up() && g.Lock() == "" && k.world.applyPending(g) == nil {
				k.boot(g)
			}
		})
		return nil
	})
}

// vmReset leaves the process running, so what is pending stays so.
func vmReset(c *call) (any, error) {
	g, err := c.upVM()
	if err != nil {
		return nil, err
	}
	id, skip := g.ID, c.flag("skiplock", false)
	return c.launch("qmreset", id.String(), func(k *worker) error {
		g, err := k.present(id)
		if err != nil {
			return err
		}
		if !skip {
			if err := g.free(); err != nil {
				return err
			}
		}
		return k.rest(1)
	})
}

func vmSuspend(c *call) (any, error) {
	toDisk := c.flag("todisk", false)
	if c.has("statestorage") && !toDisk {
		return nil, refuse("todisk", "missing property required by 'statestorage'")
	}
	g, err := c.upVM()
	if err != nil {
		return nil, err
	}
	id, skip, state := g.ID, c.flag("skiplock", false), apidoc.Storage(c.param("statestorage"))
	if !toDisk {
		return c.launch("qmpause", id.String(), func(k *worker) error {
			g, err := k.guest(apidoc.QEMU, id)
			if err != nil {
				return err
			}
			if !skip {
				if err := g.free("backup"); err != nil {
					return err
				}
			}
			if err := k.rest(1); err != nil {
				return err
			}
			if g, err = k.guest(apidoc.QEMU, id); err == nil && g.Up() {
				g.State = Paused
			}
			return err
		})
	}
	switch {
	case c.world.haManaged(id):
		return nil, fail("Cannot suspend HA managed VM to disk")
	case g.passesDevices():
		return nil, fail("cannot suspend VM to disk due to passed-through PCI device(s), which lack the possibility to save/restore their internal state")
	}
	return c.launch("qmsuspend", id.String(), func(k *worker) error { return k.hibernate(id, state, skip) })
}

// passesDevices tells whether a VM has PCI devices of its node.
func (g *Guest) passesDevices() bool {
	for _, key := range g.Config.Keys() {
		if indexed(key, "hostpci") {
			return true
		}
	}
	return false
}

// hibernate writes a VM's memory to a storage and ends its process.
func (k *worker) hibernate(id apidoc.VMID, state apidoc.Storage, skiplock bool) error {
	g, err := k.guest(apidoc.QEMU, id)
	if err != nil {
		return err
	}
	if g.Lock() == "backup" {
		return fail("cannot suspend to disk during backup")
	}
	if !skiplock {
		if err := g.free(); err != nil {
			return err
		}
	}
	volume, err := k.world.allocateState(g, state, "suspend-"+k.now().UTC().Format("2006-01-02"), k.now().Unix())
	if err != nil {
		return err
	}
	g.Config.Set("lock", "suspending")
	g.Config.Set("vmstate", string(volume.ID))
	undo := func(err error) error {
		if g, missing := k.guest(apidoc.QEMU, id); missing == nil {
			k.dropSavedState(g)
		}
		return err
	}
	if err := k.saveMemory(g); err != nil {
		return undo(err)
	}
	if g, err = k.guest(apidoc.QEMU, id); err != nil {
		return err
	}
	halt(g)
	g.Config.Set("lock", "suspended")
	g.Config.Set("runningmachine", "pc-i440fx-10.1+pve0")
	return nil
}

// saveMemory writes the lines that saving a VM's memory has, while it rests.
func (k *worker) saveMemory(g *Guest) error {
	storage, _, _ := apidoc.VolID(g.Config.Get("vmstate")).Split()
	k.sayf("saving VM state and RAM using storage '%s'", storage)
	used := int64(float64(g.Memory()) * max(g.Load.Memory, 0.1))
	for i := int64(1); i <= 3; i++ {
		if err := k.rest(1); err != nil {
			return err
		}
		k.sayf("%s in %ds", sizeText(used*i/4), i)
	}
	k.sayf("completed saving the VM state in %ds, saved %s", 4, sizeText(used))
	return nil
}

func vmResume(c *call) (any, error) {
	g, err := c.guest(apidoc.QEMU)
	if err != nil {
		return nil, noProcess(apidoc.Node(c.node()), apidoc.VMID(c.vmid()))
	}
	id, skip, suspended := g.ID, c.flag("skiplock", false), g.Lock() == "suspended"
	if !g.Up() && !suspended {
		return nil, fail("VM %d not running", id)
	}
	return c.launch("qmresume", id.String(), func(k *worker) error {
		if suspended {
			return k.startVM(id, skip)
		}
		g, err := k.guest(apidoc.QEMU, id)
		if err != nil {
			return err
		}
		if !skip {
			if err := g.free("backup"); err != nil {
				return err
			}
		}
		if err := k.rest(1); err != nil {
			return err
		}
		if g, err = k.guest(apidoc.QEMU, id); err == nil && g.Up() {
			g.State = Running
		}
		return err
	})
}

// stopped is what becomes of a guest whose process has ended. A VM takes over
// then what was pending; a container does when it starts.
func (w *World) stopped(g *Guest) {
	halt(g)
	if g.Kind == apidoc.QEMU {
		if err := w.applyPending(g); err != nil {
			return // it stays pending, as where the file can't be written
		}
	}
}
