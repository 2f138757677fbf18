package pvesim

import (
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/qemu/{vmid}/migrate", func(c *call) (any, error) { return migrateGuest(c, apidoc.QEMU) })
	register("POST /nodes/{node}/lxc/{vmid}/migrate", func(c *call) (any, error) { return migrateGuest(c, apidoc.LXC) })
}

// migration is what is asked of one.
type migration struct {
	kind    apidoc.GuestKind
	id      apidoc.VMID
	target  apidoc.Node
	online  bool
	restart bool              // stop, move, start
	local   bool              // with local disks
	map1    map[string]string // storage here → storage there; "" for all others
}

// storageMap reads targetstorage: one id, 1 for the same names, or pairs.
func storageMap(text string) map[string]string {
	m := map[string]string{}
	for _, item := range apidoc.ListItems(text) {
		if from, to, ok := strings.Cut(item, ":"); ok {
			m[from] = to
		} else if item != "1" {
			m[""] = item
		}
	}
	return m
}

// there gives the storage that stands for one on the target.
func (m migration) there(s apidoc.Storage) apidoc.Storage {
	if to, ok := m.map1[string(s)]; ok {
		return apidoc.Storage(to)
	}
	if to, ok := m.map1[""]; ok {
		return apidoc.Storage(to)
	}
	return s
}

func migrateGuest(c *call, kind apidoc.GuestKind) (any, error) {
	w := c.world
	m := migration{kind: kind, id: apidoc.VMID(c.vmid()), target: apidoc.Node(c.param("target")), online: c.flag("online", false), restart: c.flag("restart", false), local: c.flag("with-local-disks", false)}
	m.map1 = storageMap(c.param("targetstorage") + c.param("target-storage"))
	if string(m.target) == c.node() {
		return nil, refuse("target", "target is local node.")
	}
	if err := w.ready(); err != nil {
		return nil, err
	}
	if w.Node(m.target) == nil {
		return nil, fail("no such cluster node '%s'", m.target)
	}
	g, err := c.guest(kind)
	if err != nil {
		return nil, err
	}
	if err := g.free(); err != nil {
		return nil, err
	}
	if g.Up() {
		switch {
		case kind == apidoc.QEMU && !m.online:
			return nil, fail("can't migrate running VM without --online")
		case kind == apidoc.LXC && !m.online && !m.restart:
			return nil, fail("can't migrate running container without --online or --restart")
		}
	}
	for _, d := range g.Disks() {
		id := storageOf(d.Volume)
		if id == "" {
			continue
		}
		s := w.Storage(m.there(id))
		switch {
		case s == nil:
			return nil, fail("storage '%s' does not exist", m.there(id))
		case s.Disabled:
			return nil, fail("storage '%s' is disabled", s.ID)
		case !s.On(m.target):
			return nil, fail("storage '%s' is not available on node '%s'", s.ID, m.target)
		}
	}
	if w.haManaged(m.id) {
		return c.haMigrate(m.id, m.target)
	}
	return c.launch(migrateTask(kind), m.id.String(), func(k *worker) error { return k.migrate(m) })
}

// migrate moves a guest. Each line has its time; when it is given up before
// the target has taken over, all is as it was.
func (k *worker) migrate(m migration) error {
	w := k.world
	g, err := k.guest(m.kind, m.id)
	if err != nil {
		return err
	}
	if err := g.free(); err != nil {
		return err
	}
	say := func(format string, args ...any) { k.say(k.stamp() + fmt.Sprintf(format, args...)) }
	was := g.State
	var made []carried
	abort := func(why error) error {
		for _, x := range made {
			x.place.Remove(x.to)
		}
		if g, missing := k.guest(m.kind, m.id); missing == nil {
			if g.Lock() == "migrate" {
				g.Config.Delete("lock")
			}
			if was != Stopped && !g.Up() { // a container that was to be restarted
				k.boot(g)
			}
		}
		say("ERROR: migration aborted (duration %s): %s", clockText(k.seconds()), strings.TrimRight(why.Error(), "\n"))
		return fail("migration aborted")
	}
	target := w.Node(m.target)
	say("starting migration of %s %d to node '%s' (%s)", noun(m.kind), m.id, m.target, target.IP)
	if !target.Online {
		return abort(fail("Can't connect to destination address using public key"))
	}
	if m.kind == apidoc.LXC && m.online && !m.restart && g.Up() {
		return abort(fail("lxc live migration is currently not implemented"))
	}
	if m.online && !g.Up() && m.kind == apidoc.QEMU {
		say("WARNING: VM not running. Doing offline migration instead.")
	}
	live := g.Up() && m.kind == apidoc.QEMU && !m.restart
	disks, err := k.localDisks(g, m, live, say)
	if err != nil {
		return abort(err)
	}
	if err := w.writable(g); err != nil {
		return abort(err)
	}
	g.Config.Set("lock", "migrate")
	if err := k.rest(1); err != nil {
		return abort(err)
	}
	if g.Up() && !live {
		say("shutdown %s %d", noun(m.kind), m.id)
		if err := k.rest(2); err != nil {
			return abort(err)
		}
		halt(g)
	}
	if live {
		say("starting VM %d on remote node '%s'", m.id, m.target)
		if err := k.rest(1); err != nil {
			return abort(err)
		}
		say("start remote tunnel")
	}
	for _, d := range disks {
		x, err := k.carry(g, d, m, live, say)
		if x != nil {
			made = append(made, *x)
		}
		if err != nil {
			return abort(err)
		}
	}
	if live {
		if err := k.sendMemory(g, say); err != nil {
			return abort(err)
		}
	}
	if g, err = k.guest(m.kind, m.id); err != nil {
		return abort(err)
	}
	if !w.Node(m.target).Online {
		return abort(fail("Can't connect to destination address using public key"))
	}
	if m.kind == apidoc.LXC {
		say("start final cleanup")
	}
	for _, x := range made {
		from := w.Storage(storageOf(x.from))
		from.Place(k.task.Node).Remove(x.from)
		renameVolume(g, x.from, x.to)
	}
	g.Config.Delete("lock")
	g.Node = m.target
	for _, r := range w.Replications { // a job follows its guest
		if r.Guest == m.id && r.Target == m.target {
			r.Source, r.Target = m.target, k.task.Node
		}
	}
	if m.restart && was != Stopped {
		say("start %s on target node", map[apidoc.GuestKind]string{apidoc.QEMU: "VM", apidoc.LXC: "container"}[m.kind])
		if err := w.applyPending(g); err == nil {
			k.boot(g)
		}
	}
	say("migration finished successfully (duration %s)", clockText(k.seconds()))
	return nil
}

// renameVolume has all that names a volume name another.
func renameVolume(g *Guest, from, to apidoc.VolID) {
	if from == to {
		return
	}
	configs := []*Config{&g.Config, &g.Pending}
	for _, s := range g.Snapshots {
		configs = append(configs, &s.Config)
	}
	for _, c := range configs {
		for _, d := range Disks(g.Kind, c) {
			if d.Volume == from {
				c.Set(d.Key, string(to)+strings.TrimPrefix(d.Value, string(from)))
			}
		}
	}
}

// localDisks lists what must be copied, or says why that can't be.
func (k *worker) localDisks(g *Guest, m migration, live bool, say func(string, ...any)) ([]Disk, error) {
	w := k.world
	var devices []string
	for _, key := range g.Config.Keys() {
		v := g.Config.Get(key)
		if (indexed(key, "hostpci") || indexed(key, "usb") && !strings.HasPrefix(v, "spice")) && !strings.Contains(v, "mapping=") {
			devices = append(devices, key)
		}
	}
	if len(devices) > 0 && g.Kind == apidoc.QEMU {
		return nil, fail("can't migrate VM which uses local devices: %s", strings.Join(devices, ", "))
	}
	var disks []Disk
	seen, bad := map[apidoc.VolID]bool{}, false
	refuse := func(d Disk, why string) {
		word := "disk"
		if g.Kind == apidoc.LXC {
			word = "volume"
		}
		say("ERROR: can't migrate local %s '%s': %s", word, d.Volume, why)
		bad = true
	}
	all := g.Disks()
	for _, s := range g.Snapshots {
		for _, d := range Disks(g.Kind, &s.Config) {
			d.Key = "snapshot " + d.Key
			all = append(all, d)
		}
	}
	for _, d := range all {
		if strings.HasPrefix(string(d.Volume), "/") && g.Kind == apidoc.LXC {
			return nil, fail("cannot migrate local bind mount point '%s'", d.Key)
		}
		id, name, ok := d.Volume.Split()
		s := w.Storage(id)
		if !ok || s == nil || s.Shared || seen[d.Volume] {
			continue
		}
		seen[d.Volume] = true
		p := s.look(g.Node)
		v := p.Volume(d.Volume)
		attached := driveKey(g.Kind, d.Key)
		switch {
		case d.CDROM && !isCloudinit(string(d.Volume)):
			refuse(d, "local cdrom image")
			continue
		case v == nil:
			refuse(d, strings.TrimRight(s.noVolume(d.Volume).Error(), "\n"))
			continue
		case v.Owner != g.ID:
			refuse(d, fmt.Sprintf("owned by other VM (owner = VM %d)", v.Owner))
			continue
		}
		where := "attached"
		if !attached {
			where = "via storage"
		}
		if g.Kind == apidoc.LXC {
			say("found local volume '%s' (in current VM config)", d.Volume)
		} else {
			say("found local disk '%s' (%s)", d.Volume, where)
		}
		switch snapshotted := g.inSnapshot(d.Volume) != nil; {
		case live && attached && !m.local:
			refuse(d, "can't live migrate attached local disks without with-local-disks option")
		case live && snapshotted:
			refuse(d, "online storage migration not possible if non-replicated snapshot exists")
		case snapshotted && s.Type != "zfspool" && !strings.HasSuffix(name, ".qcow2"):
			refuse(d, "non-migratable snapshot exists")
		case p.linked(name):
			refuse(d, "referenced by linked clone(s)")
		default:
			disks = append(disks, d)
		}
	}
	if bad {
		return nil, fail("can't migrate %s - check log", noun(g.Kind))
	}
	return disks, nil
}

// carried is a volume that was copied to another node.
type carried struct {
	from, to apidoc.VolID
	place    *Place
}

// carry copies a volume to the target node.
func (k *worker) carry(g *Guest, d Disk, m migration, live bool, say func(string, ...any)) (*carried, error) {
	_, v := k.world.volumeOn(g.Node, d.Volume)
	if v == nil {
		return nil, fail("volume '%s' does not exist", d.Volume)
	}
	s, err := k.world.storageOn(m.there(storageOf(d.Volume)), m.target)
	if err != nil {
		return nil, err
	}
	i := image{kind: g.Kind, owner: g.ID, size: v.Size, format: v.Format, at: k.now().Unix()}
	if last := diskName(d.Volume); !strings.Contains(last, "-disk-") {
		i.name, _, _ = strings.Cut(strings.SplitN(last, "-", 3)[2], ".")
	}
	p := s.Place(m.target)
	var to *Volume
	if p.Volume(d.Volume) == nil && s.ID == storageOf(d.Volume) && v.Parent == "" { // it keeps its name
		_, name, _ := d.Volume.Split()
		copied := *v
		copied.Used = min(v.Size, mib)
		if s.thick() {
			copied.Used = 0
		}
		if err := s.room(m.target, copied.Taken(), name); err != nil {
			return nil, err
		}
		to = &copied
		p.Add(to)
	} else if to, err = k.world.allocate(s, m.target, i); err != nil {
		return nil, err
	}
	x := &carried{from: d.Volume, to: to.ID, place: p}
	if to.ID != d.Volume || live {
		say("volume '%s' is '%s' on the target", d.Volume, to.ID)
	}
	line := func(done, size int64, percent int) string {
		return fmt.Sprintf("%d bytes (%s) copied, %d s", done, sizeText(done), percent/25)
	}
	if live {
		line = func(done, size int64, percent int) string {
			return fmt.Sprintf("drive-%s: transferred %s of %s (%d.00%%) in %ds%s", d.Key, sizeText(done), sizeText(size), percent, percent/25, map[bool]string{true: ", ready"}[percent == 100])
		}
	}
	return x, k.copyVolume(m.target, v, to, s, line)
}

// sendMemory is the live part of a migration.
func (k *worker) sendMemory(g *Guest, say func(string, ...any)) error {
	say("starting online/live migration on unix:/run/qemu-server/%d.migrate", g.ID)
	memory := g.Memory()
	for _, percent := range [...]int64{24, 51, 78, 96} {
		if err := k.rest(1); err != nil {
			return err
		}
		say("migration active, transferred %s of %s VM-state, %s/s", sizeText(memory*percent/100), sizeText(memory), sizeText(memory/4))
	}
	if err := k.rest(1); err != nil {
		return err
	}
	say("average migration speed: %s/s - downtime %d ms", sizeText(memory/4), 20+mix(uint64(g.ID))%90)
	say("migration completed, transferred %s VM-state", sizeText(memory))
	say("migration status: completed")
	return nil
}

// migrateTask is the type of the task, which of VMs has one m.
func migrateTask(kind apidoc.GuestKind) string {
	if kind == apidoc.LXC {
		return "vzmigrate"
	}
	return "qmigrate"
}
