package pvesim

import (
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/qemu", createVM)
	register("POST /nodes/{node}/lxc", createCT)
}

// taken refuses an id that a guest has.
func (w *World) taken(id apidoc.VMID, format string) error {
	if g := w.Guest(id); g != nil {
		return fail(format, id, noun(g.Kind), id, g.Node)
	}
	return nil
}

func createVM(c *call) (any, error) {
	w := c.world
	if c.param("archive") != "" {
		return restoreGuest(c)
	}
	if err := w.ready(); err != nil {
		return nil, err
	}
	id := apidoc.VMID(c.number("vmid", 0))
	if err := w.taken(id, "unable to create VM %d - %s %d already exists on node '%s'"); err != nil {
		return nil, err
	}
	g, e, err := c.newGuest(apidoc.QEMU, id)
	if err != nil {
		return nil, err
	}
	if err := g.checkMemory(e); err != nil {
		return nil, err
	}
	if err := g.checkBoot(e); err != nil {
		return nil, err
	}
	return c.create(g, e, nil)
}

func createCT(c *call) (any, error) {
	w := c.world
	if c.flag("restore", false) {
		return restoreGuest(c)
	}
	if err := w.ready(); err != nil {
		return nil, err
	}
	id := apidoc.VMID(c.number("vmid", 0))
	if g := w.Guest(id); g != nil {
		return nil, fail("%s %d already exists on node '%s'", noun(g.Kind), id, g.Node)
	}
	g, e, err := c.newGuest(apidoc.LXC, id)
	if err != nil {
		return nil, err
	}
	template := apidoc.VolID(c.param("ostemplate"))
	if storage, _, ok := template.Split(); ok {
		s, err := w.storageOn(storage, g.Node)
		if err != nil {
			return nil, err
		}
		if s.look(g.Node).Volume(template) == nil {
			return nil, fail("volume '%s' does not exist", template)
		}
	} else {
		return nil, fail("unable to parse volume ID '%s'", template)
	}
	storage := c.param("storage")
	if storage == "" {
		storage = "local"
	}
	if _, given := e.values["rootfs"]; !given {
		d := drive{volume: storage + ":4", opts: map[string]string{}}
		if err := w.checkDrive(g, "rootfs", d); err != nil {
			return nil, err
		}
		e.keys = append([]string{"rootfs"}, e.keys...)
		e.values["rootfs"], e.drives["rootfs"] = d.String(), d
	}
	defaults := map[string]string{"arch": "amd64", "memory": "512", "swap": "512", "ostype": ostypeOf(string(template)), "hostname": "CT" + id.String(), "unprivileged": "1"}
	if w.Version.Major() < 9 {
		delete(defaults, "unprivileged")
	}
	for _, key := range sortedKeys(defaults) {
		if _, given := e.values[key]; !given {
			e.keys = append(e.keys, key)
			e.values[key] = defaults[key]
		}
	}
	return c.create(g, e, func(k *worker) error {
		for _, key := range e.keys {
			if _, is := e.drives[key]; is {
				k.sayf("Creating filesystem on volume '%s'", parseDrive(g.Config.Get(key)).volume)
			}
		}
		k.sayf("extracting archive '%s'", template)
		if err := k.rest(3); err != nil {
			return err
		}
		k.say("Total bytes read: 541624320 (517MiB, 221MiB/s)", "Detected container architecture: amd64", "Creating SSH host key 'ssh_host_ed25519_key' - this may take some time ...")
		return k.rest(1)
	})
}

// ostypeOf guesses a container's system from the name of its template.
func ostypeOf(template string) string {
	for _, t := range [...]string{"debian", "ubuntu", "alpine", "centos", "fedora", "opensuse", "archlinux", "gentoo"} {
		if strings.Contains(template, t) {
			return t
		}
	}
	return "unmanaged"
}

// newGuest reads a call that creates a guest, which is not there yet.
func (c *call) newGuest(kind apidoc.GuestKind, id apidoc.VMID) (*Guest, *edit, error) {
	g := &Guest{ID: id, Kind: kind, Node: apidoc.Node(c.node()), Pool: apidoc.Pool(c.param("pool")), State: Stopped,
		Load: Load{Seed: c.world.chanceNow(), CPU: 0.03, Memory: 0.3, Net: 2e3, Disk: 10e3}}
	if g.Pool != "" && c.world.Pool(g.Pool) == nil {
		return nil, nil, fail("pool '%s' does not exist", g.Pool)
	}
	e, err := c.readEdit(g)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range e.keys {
		if d, is := e.drives[key]; is {
			if kind == apidoc.LXC && !strings.Contains(d.volume, ":") && !strings.HasPrefix(d.volume, "/") {
				if s := c.param("storage"); s != "" && d.volume != "" { // a size alone
					d.volume = s + ":" + d.volume
					e.drives[key] = d
				}
			}
			if err := c.world.checkDrive(g, key, d); err != nil {
				return nil, nil, err
			}
		}
	}
	return g, e, nil
}

// create puts a locked guest there and makes its disks in a task. What is half
// made when that fails goes, the guest too.
func (c *call) create(g *Guest, e *edit, unpack func(*worker) error) (any, error) {
	kind, id, start, ha := g.Kind, g.ID, c.flag("start", false), c.flag("ha-managed", false)
	c.world.AddGuest(g)
	g.Config.Set("lock", "create")
	return c.launch(taskPrefix(kind)+"create", id.String(), func(k *worker) error {
		w := k.world
		undo := func(err error) error {
			if w.Guest(id) == g {
				for _, v := range k.ownVolumes(g, false) {
					if s, _ := w.volumeOn(g.Node, v); s != nil {
						s.Place(g.Node).Remove(v)
					}
				}
				w.RemoveGuest(id)
			}
			return fail("unable to create %s %d - %s", noun(kind), id, err)
		}
		if err := k.rest(1); err != nil {
			return undo(err)
		}
		if err := w.change(g, e, k.now().Unix()); err != nil {
			return undo(err)
		}
		g.Config.Set("lock", "create")
		for _, key := range e.keys {
			if _, is := e.drives[key]; !is || kind != apidoc.QEMU {
				continue
			}
			if d := parseDrive(g.Config.Get(key)); !d.cdrom() {
				k.sayf("%s: successfully created disk '%s'", key, d)
			}
		}
		if kind == apidoc.QEMU {
			w.completeVM(g, k.now().Unix())
		}
		if unpack != nil {
			if err := unpack(k); err != nil {
				return undo(err)
			}
			g.DiskUsed = g.MaxDisk() / 8
		}
		g.Config.Delete("lock")
		if ha {
			sid := w.haSID(id.String())
			w.HA.Resources = append(w.HA.Resources, &HAResource{SID: sid, Guest: id, State: map[bool]string{true: "started", false: "stopped"}[start], MaxRestart: 1, MaxRelocate: 1, Failback: true})
			k.srv.crm(w.HA.Resources[len(w.HA.Resources)-1])
			return nil
		}
		if !start {
			return nil
		}
		var err error
		if kind == apidoc.QEMU {
			err = k.startVM(id, false)
		} else {
			err = k.startCT(id, false)
		}
		if err != nil && kind == apidoc.QEMU {
			k.warnf("unable to start VM after creation - %s", strings.TrimRight(err.Error(), "\n"))
			return nil
		}
		return err
	})
}

// completeVM adds what Proxmox writes into the configuration of a new VM.
func (w *World) completeVM(g *Guest, at int64) {
	set := func(key, value string) {
		if !g.Config.Has(key) {
			g.Config.Set(key, value)
		}
	}
	set("smbios1", "uuid="+w.newUUID())
	set("vmgenid", w.newUUID())
	set("meta", "creation-qemu=10.1.2,ctime="+strconv.FormatInt(at, 10))
	if strings.HasPrefix(g.Config.Get("ostype"), "w") {
		set("machine", "pc-i440fx-10.1")
	}
	if !g.Config.Has("boot") {
		var order []string
		for _, wanted := range [...]func(Disk) bool{func(d Disk) bool { return !d.CDROM }, func(d Disk) bool { return d.CDROM }} {
			for _, d := range g.Disks() {
				if isDiskKey(d.Key) && d.Key != "efidisk0" && d.Key != "tpmstate0" && wanted(d) && !isCloudinit(string(d.Volume)) {
					order = append(order, d.Key)
					break
				}
			}
		}
		for _, key := range g.Config.Keys() {
			if indexed(key, "net") {
				order = append(order, key)
				break
			}
		}
		if len(order) > 0 {
			g.Config.Set("boot", "order="+strings.Join(order, ";"))
		}
	}
}
