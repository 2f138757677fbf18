package pvesim

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// restoring is a restore under way: of what, into which guest.
type restoring struct {
	*worker
	kind    apidoc.GuestKind
	id      apidoc.VMID
	archive apidoc.VolID
	config  Config // of the backup
	given   Config // configuration keys of the call, which win
	storage apidoc.Storage
	pool    apidoc.Pool
	force   bool
	unique  bool
	start   bool
	live    bool
	old     bool // a guest is there that is overwritten
}

// restoreGuest answers POST …/qemu with archive and POST …/lxc with restore:
// it makes a guest out of a backup. Over a guest that is there, which takes
// force, the old disks are destroyed before the new ones are complete, so a
// failure costs both.
func restoreGuest(c *call) (any, error) {
	kind := apidoc.QEMU
	archive := apidoc.VolID(c.param("archive"))
	if strings.HasSuffix(c.ep.Path, "/lxc") {
		kind, archive = apidoc.LXC, apidoc.VolID(c.param("ostemplate"))
	}
	id := apidoc.VMID(c.number("vmid", 0))
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	for _, k := range sortedKeys(c.params) {
		if kind == apidoc.QEMU && isDiskKey(k) {
			return nil, refuse(k, "option conflicts with option 'archive'")
		}
	}
	if pool := apidoc.Pool(c.param("pool")); pool != "" && c.world.Pool(pool) == nil {
		return nil, fail("pool '%s' does not exist", pool)
	}
	backup, err := c.restorable(archive)
	if err != nil {
		return nil, err
	}
	r := &restoring{
		kind: kind, id: id, archive: archive, storage: apidoc.Storage(c.param("storage")), pool: apidoc.Pool(c.param("pool")),
		force: c.flag("force", false), unique: c.flag("unique", false), start: c.flag("start", false), live: c.flag("live-restore", false),
		given: c.givenConfig(),
	}
	if s, _, _ := archive.Split(); r.live && c.world.Storage(s).Type != "pbs" {
		return nil, fail("live-restore is only compatible with backup images from a Proxmox Backup Server")
	}
	if r.storage == "" && kind == apidoc.LXC {
		r.storage = "local"
	}
	if err := c.restoreTarget(r); err != nil {
		return nil, err
	}
	if err := c.restoreOver(r); err != nil {
		return nil, err
	}
	r.config = backupConfig(c.world, backup)
	typ := "qmrestore"
	if kind == apidoc.LXC {
		typ = "vzrestore"
	}
	if !r.old { // the configuration file is written before the task begins
		c.world.AddGuest(&Guest{ID: id, Kind: kind, Node: apidoc.Node(c.node()), State: Stopped, Pool: r.pool, Config: NewConfig("lock", "create"), Load: Load{Seed: mix(c.world.Seed ^ uint64(id)), CPU: 0.05, Memory: 0.5, Net: 20e3, Disk: 50e3}})
	}
	return c.launch(typ, id.String(), func(k *worker) error {
		r.worker = k
		return r.run()
	})
}

// restorable finds the backup and whether the caller may read it.
func (c *call) restorable(archive apidoc.VolID) (*Volume, error) {
	id, _, ok := archive.Split()
	if !ok {
		return nil, fail("unable to parse volume ID '%s'", archive)
	}
	if s := c.world.Storage(id); s != nil && s.Hanging && !s.Disabled {
		return nil, c.hang()
	}
	s, err := c.world.storageOn(id, apidoc.Node(c.node()))
	if err != nil {
		return nil, err
	}
	v := s.look(apidoc.Node(c.node())).Volume(archive)
	owner, isOwned := archive.Owner()
	if !c.root() && !c.priv("/storage/"+string(id), "Datastore.Allocate") {
		if err := c.need("/storage/"+string(id), "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
		if isOwned {
			if err := c.need("/vms/"+owner.String(), "VM.Backup"); err != nil {
				return nil, err
			}
		}
	}
	if v == nil {
		return nil, fail("volume '%s' does not exist", archive)
	}
	if v.Content != "backup" {
		return nil, fail("volume '%s' is not a backup", archive)
	}
	return v, nil
}

// givenConfig are the configuration keys among the parameters of a call that
// makes a guest.
func (c *call) givenConfig() Config {
	var given Config
	for _, k := range sortedKeys(c.params) {
		switch k {
		case "node", "vmid", "archive", "ostemplate", "restore", "force", "unique", "storage", "pool", "bwlimit", "live-restore", "start", "ha-managed", "ignore-unpack-errors", "password", "ssh-public-keys", "import-working-storage":
			continue
		}
		given.Set(k, c.text(k))
	}
	return given
}

// restoreTarget refuses a storage that can't take the disks.
func (c *call) restoreTarget(r *restoring) error {
	if r.storage == "" {
		return nil
	}
	s := c.world.Storage(r.storage)
	switch {
	case s == nil:
		return fail("storage '%s' does not exist", r.storage)
	case s.Disabled:
		return fail("storage '%s' is disabled", r.storage)
	case !s.On(apidoc.Node(c.node())):
		return fail("storage '%s' is not available on node '%s'", r.storage, c.node())
	case r.kind == apidoc.LXC && !s.Holds("rootdir"):
		return fail("storage '%s' does not support container directories", r.storage)
	case r.kind == apidoc.QEMU && !s.Holds("images"):
		return fail("storage '%s' does not support vm images", r.storage)
	}
	return nil
}

// restoreOver looks at the guest that has the id already.
func (c *call) restoreOver(r *restoring) error {
	g := c.world.Guest(r.id)
	if g == nil {
		return nil
	}
	about := fmt.Sprintf("unable to restore %s %d -", noun(r.kind), r.id)
	if !r.force || g.Kind != r.kind {
		if r.kind == apidoc.LXC {
			return fail("%s %d already exists on node '%s'", noun(g.Kind), r.id, g.Node)
		}
		return fail("%s %s %d already exists on node '%s'", about, noun(g.Kind), r.id, g.Node)
	}
	r.old = true
	if r.kind == apidoc.LXC {
		switch {
		case string(g.Node) != c.node():
			return fail("CT %d already exists on node '%s'", r.id, g.Node)
		case g.Config.Get("protection") == "1":
			return fail("%s protection mode enabled", about)
		case g.Up():
			return fail("can't overwrite running container")
		}
		return g.free()
	}
	return nil
}

// backupConfig is the configuration that a backup has in it: its own, or that
// of the guest it is of, or as little as a guest needs.
func backupConfig(w *World, v *Volume) Config {
	if v.Config != nil {
		return v.Config.Clone()
	}
	if g := w.Guest(v.Owner); g != nil && g.Kind == backupKind(v) {
		config := g.Config.Clone()
		config.Delete("lock")
		return config
	}
	name := firstPart(strings.SplitN(v.Notes, "\n", 2)[0])
	if backupKind(v) == apidoc.LXC {
		return NewConfig("arch", "amd64", "cores", "1", "hostname", name, "memory", "512", "ostype", "unmanaged", "rootfs", "local-lvm:vm-"+v.Owner.String()+"-disk-0,size=4G")
	}
	return NewConfig("cores", "1", "memory", "512", "name", name)
}

func (r *restoring) run() error {
	v, s, err := r.source()
	if err != nil {
		return r.failed(err)
	}
	if backupKind(v) != r.kind {
		return r.failed(fail("unable to restore %s %d - '%s' is a backup of another kind of guest", noun(r.kind), r.id, r.archive))
	}
	if r.old && r.kind == apidoc.QEMU {
		g := r.world.Guest(r.id)
		about := fmt.Sprintf("unable to restore VM %d -", r.id)
		switch {
		case g == nil || g.Kind != r.kind:
			return fail("%s no such VM", about)
		case g.Node != r.task.Node:
			return fail("%s VM %d already exists on node '%s'", about, r.id, g.Node)
		case g.Config.Get("protection") == "1":
			return fail("%s protection mode enabled", about)
		case g.Up():
			return fail("%s vm is running", about)
		}
		if err := g.free(); err != nil {
			return err
		}
		g.Config.Set("lock", "create")
	}
	if r.kind == apidoc.LXC {
		return r.container(v)
	}
	return r.machine(v, s)
}

// source is the backup as it is now.
func (r *restoring) source() (*Volume, *Storage, error) {
	id, _, _ := r.archive.Split()
	s := r.world.Storage(id)
	if s == nil {
		return nil, nil, fail("storage '%s' does not exist", id)
	}
	if !s.active() {
		return nil, nil, fail("storage '%s' is not online", id)
	}
	v := s.look(r.task.Node).Volume(r.archive)
	if v == nil {
		return nil, nil, fail("volume '%s' does not exist", r.archive)
	}
	return v, s, nil
}

// failed takes a guest out again that the restore had only begun.
func (r *restoring) failed(err error) error {
	if !r.old && !stopped(err) {
		r.world.RemoveGuest(r.id)
	}
	return err
}

// targets are the disks of the backup with the storage that each goes to.
func (r *restoring) targets() []Disk {
	var disks []Disk
	for _, d := range Disks(r.kind, &r.config) {
		if d.CDROM || indexed(d.Key, "unused") || d.Key == "vmstate" || d.Volume == "" || strings.HasPrefix(string(d.Volume), "/") {
			continue
		}
		disks = append(disks, d)
	}
	return disks
}

// storageFor is the storage that a disk of the backup goes to.
func (r *restoring) storageFor(d Disk) (*Storage, error) {
	id := r.storage
	if id == "" {
		id, _, _ = d.Volume.Split()
	}
	s, err := r.world.storageOn(id, r.task.Node)
	if err != nil {
		return nil, err
	}
	switch {
	case r.kind == apidoc.LXC && !s.Holds("rootdir"):
		return nil, fail("storage '%s' does not support container directories", id)
	case r.kind == apidoc.QEMU && !s.Holds("images"):
		return nil, fail("storage '%s' does not support vm images", id)
	}
	return s, nil
}

// finish writes the restored configuration: what the backup had, with its new
// disks, and what the call gave.
func (r *restoring) finish(g *Guest, disks map[string]*Volume) {
	config := r.config.Clone()
	for _, k := range config.Keys() {
		if k == "lock" || k == "parent" || k == "vmstate" || k == "snaptime" || indexed(k, "unused") {
			config.Delete(k)
		}
	}
	for key, v := range disks {
		_, rest, _ := strings.Cut(config.Get(key), ",")
		parts := slices.DeleteFunc(strings.Split(rest, ","), func(p string) bool { return p == "" || strings.HasPrefix(p, "size=") })
		config.Set(key, strings.Join(append(append([]string{string(v.ID)}, parts...), "size="+diskSize(v.Size)), ","))
	}
	if config.Has("vmgenid") {
		config.Set("vmgenid", r.world.newUUID())
	}
	if r.unique {
		for _, k := range config.Keys() {
			if indexed(k, "net") {
				config.Set(k, r.newMAC(config.Get(k)))
			}
		}
		if config.Has("smbios1") {
			config.Set("smbios1", "uuid="+r.world.newUUID())
		}
	}
	r.given.Each(func(k, v string) bool { config.Set(k, v); return true })
	g.Config, g.Pending, g.Deleting, g.Snapshots, g.Parent = config, Config{}, nil, nil, ""
	if r.pool != "" {
		g.Pool = r.pool
	}
}

// newMAC gives a network device another address.
func (r *restoring) newMAC(device string) string {
	parts := strings.Split(device, ",")
	for i, p := range parts {
		k, v, _ := strings.Cut(p, "=")
		if strings.Count(v, ":") == 5 {
			parts[i] = k + "=" + r.world.newMAC()
		}
	}
	return strings.Join(parts, ",")
}
