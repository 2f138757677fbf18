package pvesim

import (
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /cluster/replication", createReplication)
	register("PUT /cluster/replication/{id}", updateReplication)
	register("DELETE /cluster/replication/{id}", deleteReplication)
	register("POST /nodes/{node}/replication/{id}/schedule_now", scheduleReplication)
}

func (w *World) replication(id string) *Replication {
	for _, r := range w.Replications {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func createReplication(c *call) (any, error) {
	if err := c.quorum("replication_cfg"); err != nil {
		return nil, err
	}
	id := c.param("id")
	guestText, numberPart, _ := strings.Cut(id, "-")
	guest, err := apidoc.ParseVMID(guestText)
	if err != nil {
		return nil, refuse("id", "invalid format - value does not look like a replication job id")
	}
	number, err := strconv.Atoi(numberPart)
	if err != nil {
		return nil, refuse("id", "invalid format - value does not look like a replication job id")
	}
	g, target := c.world.Guest(guest), apidoc.Node(c.param("target"))
	switch {
	case c.world.replication(id) != nil:
		return nil, fail("replication job '%s' already exists", id)
	case g == nil:
		return nil, fail("no such VM '%d'", guest)
	case c.has("source") && c.param("source") != string(g.Node):
		return nil, fail("Source '%s' does not match current node of guest '%d' (%s)", c.param("source"), guest, g.Node)
	case c.world.Node(target) == nil:
		return nil, fail("no such cluster node '%s'", target)
	case target == g.Node:
		return nil, fail("target '%s' is the node of the guest", target)
	}
	for _, r := range c.world.Replications {
		if r.Guest == guest && r.Target == target {
			return nil, fail("replication job for guest '%d' to target '%s' already exists", guest, target)
		}
	}
	for _, d := range g.Disks() {
		st, _, ok := d.Volume.Split()
		s := c.world.Storage(st)
		if d.CDROM || subOption(d.Value, "replicate") == "0" || !ok || s == nil || s.Shared || indexed(d.Key, "unused") {
			continue
		}
		if !storageTypes[s.Type].replicate {
			return nil, fail("missing replicate feature on volume '%s'", d.Volume)
		}
	}
	r := &Replication{ID: id, Guest: guest, Number: number, Target: target, Source: g.Node}
	c.fillReplication(r)
	r.NextSync = nextRun(r.schedule(), c.now)
	c.world.Replications = append(c.world.Replications, r)
	return nil, nil
}

func (r *Replication) schedule() string {
	if r.Schedule == "" {
		return "*/15"
	}
	return r.Schedule
}

func (c *call) fillReplication(r *Replication) {
	for _, k := range c.list("delete") {
		switch k {
		case "schedule":
			r.Schedule = ""
		case "comment":
			r.Comment = ""
		case "rate":
			r.Rate = ""
		case "disable":
			r.Disabled = false
		}
	}
	for name, field := range map[string]*string{"schedule": &r.Schedule, "comment": &r.Comment, "rate": &r.Rate} {
		if c.has(name) {
			*field = c.param(name)
		}
	}
	r.Disabled = c.flag("disable", r.Disabled)
}

func (c *call) changedReplication() (*Replication, error) {
	if err := c.quorum("replication_cfg"); err != nil {
		return nil, err
	}
	r := c.world.replication(c.path["id"])
	if r == nil {
		return nil, fail("no such job '%s'", c.path["id"])
	}
	return r, c.sameDigest(digestOf(r.ID + r.Schedule))
}

func updateReplication(c *call) (any, error) {
	r, err := c.changedReplication()
	if err != nil {
		return nil, err
	}
	c.fillReplication(r)
	r.NextSync = nextRun(r.schedule(), c.now)
	return nil, nil
}

// deleteReplication ends a job: with force at once, else when its next run has
// cleaned up behind it.
func deleteReplication(c *call) (any, error) {
	r, err := c.changedReplication()
	if err != nil {
		return nil, err
	}
	w := c.world
	gone := func() {
		w.Replications = slices.DeleteFunc(slices.Clone(w.Replications), func(x *Replication) bool { return x == r })
	}
	if c.flag("force", false) {
		gone()
		return nil, nil
	}
	r.Disabled, r.NextSync = true, c.now.Unix()
	c.srv.later(5*c.srv.opts.TaskStep, gone)
	return nil, nil
}

// scheduleReplication lets a job run as soon as the scheduler looks.
func scheduleReplication(c *call) (any, error) {
	r, err := c.theReplication()
	if err != nil {
		return nil, err
	}
	r.NextSync = c.now.Unix()
	s, id := c.srv, r.ID
	s.later(5*s.opts.TaskStep, func() {
		if r := s.world.replication(id); r != nil {
			r.sync(s)
		}
	})
	return nil, nil
}

// sync is one run of a job.
func (r *Replication) sync(s *Server) {
	now := s.now()
	stamp := now.UTC().Format("2006-01-02 15:04:05") + " " + r.ID + ": "
	r.Log = []string{stamp + "start replication job"}
	r.LastTry = now.Unix()
	n := s.world.Node(r.Target)
	if n == nil || !n.Online {
		r.FailCount++
		r.Error = "command '/usr/bin/ssh -e none -o 'BatchMode=yes' -o 'HostKeyAlias=" + string(r.Target) + "' root@" + string(r.Target) + " -- pvesr prepare-local-job " + r.ID + "' failed: exit code 255"
		r.Log = append(r.Log, stamp+"end replication job with error: "+r.Error)
		r.NextSync = now.Unix() + 300
		return
	}
	kind := "full"
	if r.LastSync > 0 {
		kind = "incremental"
	}
	if g := s.world.Guest(r.Guest); g != nil {
		for _, d := range g.Disks() {
			if st := s.world.Storage(storageOf(d.Volume)); st != nil && !d.CDROM && storageTypes[st.Type].replicate {
				r.Log = append(r.Log, stamp+kind+" sync '"+string(d.Volume)+"' (__replicate_"+r.ID+"_"+strconv.FormatInt(now.Unix(), 10)+"__)")
			}
		}
	}
	r.Log = append(r.Log, stamp+"end replication job")
	r.LastSync, r.Duration, r.FailCount, r.Error = now.Unix(), 3.5, 0, ""
	r.NextSync = nextRun(r.schedule(), now)
}
