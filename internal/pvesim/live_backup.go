package pvesim

import (
	"fmt"
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() { register("POST /nodes/{node}/vzdump", vzdump) }

// dumpJob is a backup of one or several guests of a node: what POST vzdump was
// asked for, after it was decided whom it means.
type dumpJob struct {
	*worker
	node     apidoc.Node
	who      string // as tasks name them
	options  map[string][]string
	command  string
	guests   []apidoc.VMID
	external []string // guests of other nodes, which are skipped
	failed   bool
}

func (j *dumpJob) option(name string) string {
	if v := j.options[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (j *dumpJob) is(name string, def bool) bool {
	switch j.option(name) {
	case "":
		return def
	case "0", "false", "off", "no":
		return false
	}
	return true
}

// selected are the guests that a vzdump call or job means, of all nodes.
func (c *call) selected() ([]apidoc.VMID, error) {
	for _, x := range [...][2]string{{"all", "vmid"}, {"exclude", "vmid"}, {"pool", "vmid"}, {"all", "pool"}} {
		if c.has(x[1]) && (c.has(x[0]) && x[0] != "all" || c.flag(x[0], false)) {
			return nil, refuse(x[0], "option conflicts with option '"+x[1]+"'")
		}
	}
	switch {
	case c.has("vmid"):
		var ids []apidoc.VMID
		for _, text := range c.list("vmid") {
			if id, err := apidoc.ParseVMID(text); err == nil && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids, nil
	case c.has("pool"), c.flag("all", false), c.has("exclude"):
		job := BackupJob{Options: NewConfig("exclude", strings.Join(c.list("exclude"), ","))}
		if c.has("pool") {
			if c.world.Pool(apidoc.Pool(c.param("pool"))) == nil {
				return nil, fail("pool '%s' does not exist", c.param("pool"))
			}
			job.Options.Set("pool", c.param("pool"))
		} else {
			job.Options.Set("all", "1")
		}
		var ids []apidoc.VMID
		for _, g := range c.world.Guests() {
			if job.Includes(g) {
				ids = append(ids, g.ID)
			}
		}
		return ids, nil
	}
	return nil, refuse("vmid", "property is missing")
}

// vzdump starts a backup. Guests of other nodes are left out; where nothing
// remains, the answer is a plain OK and no task. Of "all" those are left out
// that the caller may not back up.
func vzdump(c *call) (any, error) {
	ids, err := c.selected()
	if err != nil {
		return nil, err
	}
	node := apidoc.Node(c.node())
	j := &dumpJob{node: node, who: c.who.name(), options: c.params, command: c.dumpCommand()}
	all := c.flag("all", false) || c.has("exclude")
	for _, id := range ids {
		g := c.world.Guest(id)
		switch {
		case g == nil:
			j.guests = append(j.guests, id)
		case g.Node != node:
			if !all {
				j.external = append(j.external, id.String())
			}
		case !c.root() && !c.priv("/vms/"+id.String(), "VM.Backup"):
			if !all {
				return nil, deny("/vms/%s, VM.Backup", id)
			}
		default:
			j.guests = append(j.guests, id)
		}
	}
	if c.flag("stop", false) {
		for _, t := range c.world.Node(node).tasks.active {
			if t.Type == "vzdump" && t.worker != nil {
				t.worker.interrupt()
			}
		}
	}
	if len(j.guests) == 0 && !all {
		return "OK", nil
	}
	id := ""
	if len(j.guests) == 1 {
		id = j.guests[0].String()
	}
	return c.launch("vzdump", id, func(k *worker) error {
		j.worker = k
		return j.run()
	})
}

// dumpCommand is the call as a command line, as the log shows it.
func (c *call) dumpCommand() string {
	var b strings.Builder
	b.WriteString("vzdump")
	for _, id := range c.list("vmid") {
		b.WriteString(" " + id)
	}
	for _, k := range sortedKeys(c.params) {
		if k == "node" || k == "vmid" {
			continue
		}
		v := c.text(k)
		if v == "" || strings.ContainsAny(v, " {}'\"") {
			v = "'" + v + "'"
		}
		b.WriteString(" --" + k + " " + v)
	}
	return b.String()
}

func (j *dumpJob) info(format string, args ...any) { j.sayf("INFO: "+format, args...) }

func (j *dumpJob) run() error {
	if j.option("storage") != "" && j.option("dumpdir") != "" {
		return fail("cannot use options 'storage' and 'dumpdir' at the same time")
	}
	if err := j.storageFits(); err != nil {
		return err
	}
	j.info("starting new backup job: %s", j.command)
	if len(j.external) > 0 {
		j.info("skip external VMs: %s", strings.Join(j.external, ", "))
	}
	if err := j.lock(); err != nil {
		return err
	}
	for _, id := range j.guests {
		err := j.guest(id)
		if err == nil {
			continue
		}
		if stopped(err) {
			return err
		}
		j.failed = true
		j.sayf("ERROR: Backup of VM %s failed - %s", id, strings.TrimRight(err.Error(), "\n"))
		j.info("Failed at %s", j.stampText())
	}
	if j.failed {
		j.info("Backup job finished with errors")
		return fail("job errors")
	}
	j.info("Backup job finished successfully")
	return nil
}

// stopped tells whether an error ends the whole task and not one part of it.
func stopped(err error) bool { return err == errInterrupted || err == errClosed } //nolint:errorlint // made by rest alone

func (j *dumpJob) stampText() string { return strings.TrimSpace(j.stamp()) }

// storageID is where archives go; "" is a directory of the node that the
// world has no picture of.
func (j *dumpJob) storageID() apidoc.Storage {
	switch {
	case j.option("storage") != "":
		return apidoc.Storage(j.option("storage"))
	case j.option("dumpdir") != "":
		return ""
	}
	return "local"
}

func (j *dumpJob) storageFits() error {
	id := j.storageID()
	if id == "" {
		return nil
	}
	s := j.world.Storage(id)
	about := func(format string, args ...any) error {
		return fail("could not get storage information for '%s': %s", id, fmt.Sprintf(format, args...))
	}
	switch {
	case s == nil:
		return about("storage '%s' does not exist", id)
	case !s.Holds("backup"):
		return about("can't use storage '%s' for backups - wrong content type", id)
	case !s.On(j.node):
		return about("storage '%s' is not available on node '%s'", id, j.node)
	case s.Disabled:
		return about("storage '%s' is disabled", id)
	case !s.active():
		return about("storage '%s' is not online", id)
	}
	return nil
}

// lock waits until the node's earlier backup jobs have ended: there is one at
// a time. A minute of lockwait is a step here.
func (j *dumpJob) lock() error {
	wait := 180
	if v := j.option("lockwait"); v != "" {
		wait = atoi(v)
	}
	for n := 0; ; n++ {
		earlier := false
		after := false
		for _, t := range j.world.Node(j.node).tasks.active {
			if after && t.Type == "vzdump" {
				earlier = true
			}
			after = after || t == j.task
		}
		switch {
		case !earlier && n > 0:
			j.info("got global lock")
			return nil
		case !earlier:
			return nil
		case n == 0:
			j.info("trying to get global lock - waiting...")
		case n > wait:
			return fail("can't acquire lock '/var/run/vzdump.lock' - got timeout")
		}
		if err := j.rest(1); err != nil {
			return err
		}
	}
}

// guest backs one guest up. Its lock is taken off again however it ends.
func (j *dumpJob) guest(id apidoc.VMID) error {
	g := j.world.Guest(id)
	if g == nil || g.Node != j.node {
		return fail("unable to find VM '%s'", id)
	}
	began := j.now()
	j.info("Starting Backup of VM %d (%s)", id, g.Kind)
	j.info("Backup started at %s", j.stampText())
	running := g.Up()
	j.info("status = %s", map[bool]string{true: "running", false: "stopped"}[running])
	mode := j.option("mode")
	if mode == "" {
		mode = "snapshot"
	}
	if mode == "stop" && j.world.HA.Resource(id) != nil && j.world.HA.Resource(id).State == "started" {
		return fail("Cannot execute a backup with stop mode on a HA managed and enabled Service. Use snapshot mode or disable the Service.")
	}
	if err := g.free(); err != nil {
		return err
	}
	if err := j.world.writable(g); err != nil {
		return err
	}
	if err := j.room(g); err != nil {
		return err
	}
	if !running {
		mode = "stop"
	}
	size := j.disks(g)
	if g.Kind == apidoc.LXC && mode == "snapshot" && !j.world.hasFeature(g, "snapshot", "") {
		j.info("mode failure - some volumes do not support snapshots")
		j.info("trying 'suspend' mode instead")
		mode = "suspend"
	}
	j.info("backup mode: %s", mode)
	j.info("ionice priority: 7")
	g.Config.Set("lock", "backup")
	err := j.archive(g, mode, running, size, began.Unix())
	if g = j.world.Guest(id); g != nil && g.Lock() == "backup" {
		g.Config.Delete("lock")
	}
	if err != nil {
		return err
	}
	j.info("Finished Backup of VM %d (%s)", id, clockText(max(j.now().Unix()-began.Unix(), 0)))
	j.info("Backup finished at %s", j.stampText())
	return nil
}

// disks says which disks go in and gives their size.
func (j *dumpJob) disks(g *Guest) (size int64) {
	if g.Kind == apidoc.LXC {
		j.info("CT Name: %s", g.ShownName())
	} else {
		j.info("VM Name: %s", g.ShownName())
	}
	for _, d := range g.Disks() {
		if d.CDROM || indexed(d.Key, "unused") || d.Key == "vmstate" {
			continue
		}
		in, _ := g.backedUp(d)
		if in {
			size += d.Size
		}
		path := subOption(d.Value, "mp")
		switch {
		case g.Kind == apidoc.QEMU && in:
			j.info("include disk '%s' '%s' %s", d.Key, d.Volume, diskSize(d.Size))
		case g.Kind == apidoc.QEMU:
			j.info("exclude disk '%s' '%s' (backup=no)", d.Key, d.Volume)
		case d.Key == "rootfs":
			j.info("including mount point rootfs ('/') in backup")
		case in:
			j.info("including mount point %s ('%s') in backup", d.Key, path)
		default:
			j.info("excluding volume mount point %s ('%s') from backup (disabled)", d.Key, path)
		}
	}
	return size
}

// room refuses one more backup than the storage wants to have of a guest.
func (j *dumpJob) room(g *Guest) error {
	s := j.world.Storage(j.storageID())
	if s == nil {
		return nil
	}
	kept, protected := 0, 0
	for _, v := range s.look(j.node).volumes {
		if v.Content == "backup" && v.Owner == g.ID {
			if v.Protected {
				protected++
			} else {
				kept++
			}
		}
	}
	limit := 5
	if s.Options.Has("max-protected-backups") {
		limit = atoi(s.Options.Get("max-protected-backups"))
	}
	if j.is("protected", false) && limit >= 0 && protected >= limit {
		return fail("The number of protected backups per guest is limited to %d on storage '%s'", limit, s.ID)
	}
	if j.is("remove", true) {
		return nil
	}
	keep, total := keepOptions(j.retention(s)), 0
	for _, n := range keep {
		total += n
	}
	if keep["keep-all"] != 1 && total > 0 && kept >= total {
		return fail("There is a max backup limit of %d enforced by the target storage or the vzdump parameters. Either increase the limit or delete old backups.", total)
	}
	return nil
}

// retention is the one of the call, else that of the storage, else all stay.
func (j *dumpJob) retention(s *Storage) string {
	if p := j.option("prune-backups"); p != "" {
		return p
	}
	if p := s.Options.Get("prune-backups"); p != "" {
		return p
	}
	return "keep-all=1"
}
