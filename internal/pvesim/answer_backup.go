package pvesim

import (
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /cluster/backup", backupJobs)
	register("GET /cluster/backup/{id}", backupJob)
	register("GET /cluster/backup/{id}/included_volumes", includedVolumes)
	register("GET /cluster/backup-info/not-backed-up", notBackedUp)
	register("GET /nodes/{node}/vzdump/defaults", vzdumpDefaults)
	register("GET /nodes/{node}/vzdump/extractconfig", extractConfig)
}

// object is a job as answers have it: property strings are objects with texts
// in them, some flags are texts.
func (j *BackupJob) object(scheduled bool) object {
	o := object{{"id", j.ID}}
	j.Options.Each(func(k, v string) bool {
		switch k {
		case "prune-backups", "fleecing", "performance":
			o.put(k, propertyObject(v))
		case "enabled", "all", "repeat-missed":
			o.put(k, atoi(v))
		default:
			o.put(k, v)
		}
		return true
	})
	if !j.Options.Has("type") {
		o.put("type", "vzdump")
	}
	if scheduled && j.NextRun > 0 && j.Options.Get("enabled") != "0" {
		o.put("next-run", j.NextRun)
	}
	return o
}

// Job gives the backup job of that id, or nil.
func (w *World) Job(id string) *BackupJob {
	for _, j := range w.Jobs {
		if j.ID == id {
			return j
		}
	}
	return nil
}

func backupJobs(c *call) (any, error) {
	list := []object{}
	for _, j := range c.world.Jobs {
		list = append(list, j.object(true))
	}
	return c.rows(list), nil
}

func (c *call) theJob() (*BackupJob, error) {
	j := c.world.Job(c.path["id"])
	if j == nil {
		return nil, refuse("id", "No such job '"+c.path["id"]+"'")
	}
	return j, nil
}

func backupJob(c *call) (any, error) {
	j, err := c.theJob()
	if err != nil {
		return nil, err
	}
	return c.one(j.object(false)), nil
}

// Includes tells whether a job backs a guest up.
func (j *BackupJob) Includes(g *Guest) bool {
	o := &j.Options
	if n := o.Get("node"); n != "" && n != string(g.Node) {
		return false
	}
	in := func(key string) bool {
		for _, id := range apidoc.ListItems(o.Get(key)) {
			if id == g.ID.String() {
				return true
			}
		}
		return false
	}
	switch {
	case in("exclude"):
		return false
	case o.Get("all") == "1" || o.Has("exclude") && !o.Has("vmid") && !o.Has("pool"):
		return true
	case o.Has("pool"):
		pool := o.Get("pool")
		return string(g.Pool) == pool || strings.HasPrefix(string(g.Pool), pool+"/")
	}
	return in("vmid")
}

// includedVolumes is a tree: guests, and below them volumes with the reason
// why they are in the backup or not.
func includedVolumes(c *call) (any, error) {
	j, err := c.theJob()
	if err != nil {
		return nil, err
	}
	guests := []object{}
	for _, g := range c.world.Guests() {
		if !j.Includes(g) || !c.seesGuest(g.ID) {
			continue
		}
		volumes := []object{}
		for _, d := range g.Disks() {
			if indexed(d.Key, "unused") || d.Key == "vmstate" {
				continue
			}
			in, why := g.backedUp(d)
			volumes = append(volumes, object{{"id", d.Key}, {"name", string(d.Volume)}, {"included", number01(in)}, {"reason", why}})
		}
		guests = append(guests, object{{"id", int(g.ID)}, {"type", string(g.Kind)}, {"name", g.ShownName()}, {"children", volumes}})
	}
	for _, id := range apidoc.ListItems(j.Options.Get("vmid")) {
		if n, err := strconv.Atoi(id); err == nil && c.world.Guest(apidoc.VMID(n)) == nil {
			guests = append(guests, object{{"id", n}, {"type", "unknown"}})
		}
	}
	return c.one(object{{"children", guests}}), nil
}

// backedUp tells whether a disk goes into a backup, and why.
func (g *Guest) backedUp(d Disk) (in bool, why string) {
	flag := subOption(d.Value, "backup")
	switch {
	case d.CDROM:
		return false, "CD-ROM image"
	case g.Kind == apidoc.LXC && d.Key == "rootfs":
		return true, "rootfs"
	case g.Kind == apidoc.LXC && strings.HasPrefix(string(d.Volume), "/"):
		return false, "not a volume"
	case g.Kind == apidoc.LXC && flag == "1":
		return true, "enabled"
	case g.Kind == apidoc.LXC:
		return false, "disabled"
	case flag == "0" || flag == "no":
		return false, "disabled"
	}
	return true, "enabled"
}

// notBackedUp lists guests that no job covers.
func notBackedUp(c *call) (any, error) {
	list := []object{}
next:
	for _, g := range c.world.Guests() {
		if !c.seesGuest(g.ID) {
			continue
		}
		for _, j := range c.world.Jobs {
			if j.Includes(g) {
				continue next
			}
		}
		o := object{{"vmid", int(g.ID)}, {"type", string(g.Kind)}}
		o.putIf("name", g.Name())
		list = append(list, o)
	}
	return c.rows(list), nil
}

func vzdumpDefaults(c *call) (any, error) {
	storage := c.param("storage")
	o := object{{"mode", "snapshot"}, {"compress", "zstd"}, {"bwlimit", 0}, {"ionice", 7}, {"lockwait", 180}, {"stopwait", 10}, {"remove", 1}, {"stdexcludes", 1}, {"mailnotification", "always"}, {"notification-mode", "auto"}, {"zstd", 1}}
	prune := "keep-all=1"
	if storage == "" {
		o.put("storage", "local")
	} else {
		s := c.world.Storage(apidoc.Storage(storage))
		if s == nil {
			return nil, fail("storage '%s' does not exist", storage)
		}
		if p := s.Options.Get("prune-backups"); p != "" {
			prune = p
		}
		o.put("storage", storage)
	}
	return c.one(append(o, member{"prune-backups", prune})), nil
}

// extractConfig is a backup's configuration file as it is, secrets and all.
func extractConfig(c *call) (any, error) {
	id := apidoc.VolID(c.param("volume"))
	st, name, ok := id.Split()
	if !ok {
		return nil, fail("unable to parse volume ID '%s'", id)
	}
	s := c.world.Storage(st)
	if s == nil {
		return nil, fail("storage '%s' does not exist", st)
	}
	v := s.look(apidoc.Node(c.node())).volumes[id]
	if v == nil || v.Content != "backup" {
		return nil, fail("volume '%s' is not a backup", name)
	}
	if !c.seesVolume(s, v) {
		return nil, deny("/storage/%s, Datastore.Allocate", st)
	}
	if v.Config != nil {
		return v.Config.Text(), nil
	}
	if g := c.world.Guest(v.Owner); g != nil {
		text := g.Config.Clone()
		text.Delete("lock")
		return text.Text(), nil
	}
	return "cores: 1\nmemory: 512\nname: " + firstPart(v.Notes) + "\n", nil
}
