package pvesim

import (
	"fmt"
	"slices"
	"time"

	"pvemcp/apidoc"
)

func init() {
	register("GET /cluster/ha/status/current", haStatus)
	register("GET /cluster/ha/status/manager_status", haManager)
	register("GET /cluster/ha/resources", haResources)
	register("GET /cluster/ha/resources/{sid}", haResource)
	register("GET /cluster/ha/rules", haRules)
	register("GET /cluster/ha/rules/{rule}", haRule)
	register("GET /cluster/ha/groups", haGroups)
	register("GET /cluster/ha/groups/{group}", haGroup)
	register("GET /cluster/replication", replicationJobs)
	register("GET /cluster/replication/{id}", replicationJob)
	register("GET /nodes/{node}/replication", nodeReplication)
	register("GET /nodes/{node}/replication/{id}/status", replicationStatus)
	register("GET /nodes/{node}/replication/{id}/log", replicationLog)
}

const haDate = "Mon Jan _2 15:04:05 2006"

func haStatus(c *call) (any, error) {
	w := c.world
	date := c.now.UTC().Format(haDate)
	local := string(w.Local)
	quorum := "OK"
	if !w.Quorate {
		quorum = fmt.Sprintf("No quorum on node '%s'!", local)
	}
	list := []object{{{"id", "quorum"}, {"type", "quorum"}, {"node", local}, {"quorate", number01(w.Quorate)}, {"status", quorum}}}
	if w.Version.Major() >= 9 {
		state := "standby"
		switch {
		case w.HA.Disarmed:
			state = "disarmed"
		case len(w.HA.Resources) > 0:
			state = "armed"
		}
		list = append(list, object{{"id", "fencing"}, {"type", "fencing"}, {"node", local}, {"armed-state", state}, {"status", state + " (CRM watchdog " + map[bool]string{true: "active", false: "standby"}[state == "armed"] + ")"}})
	}
	if w.HA.Master != "" {
		list = append(list, object{{"id", "master"}, {"type", "master"}, {"node", string(w.HA.Master)}, {"status", fmt.Sprintf("%s (active, %s)", w.HA.Master, date)}, {"timestamp", c.now.Unix()}})
		for _, n := range w.Nodes {
			state, at := "idle, watchdog standby", c.now
			for _, r := range w.HA.Resources {
				if g := w.Guest(r.Guest); g != nil && g.Node == n.Name && r.State == "started" {
					state = "active"
				}
			}
			switch {
			case !n.Online:
				state, at = "old timestamp - dead?", time.Unix(n.OfflineSince, 0)
			case n.Maintenance:
				state = "maintenance mode"
			}
			list = append(list, object{{"id", "lrm:" + string(n.Name)}, {"type", "lrm"}, {"node", string(n.Name)}, {"status", fmt.Sprintf("%s (%s, %s)", n.Name, state, at.UTC().Format(haDate))}, {"timestamp", at.Unix()}})
		}
	}
	for _, r := range w.HA.Resources {
		g := w.Guest(r.Guest)
		node := ""
		if g != nil {
			node = string(g.Node)
		}
		state := r.shownState()
		if r.CRMState == "" {
			state = "queued"
		}
		o := object{{"id", "service:" + r.SID}, {"type", "service"}, {"sid", r.SID}, {"node", node}, {"state", state}, {"crm_state", r.CRMState}, {"request_state", r.State}, {"status", fmt.Sprintf("%s (%s, %s)", r.SID, node, state)}, {"max_restart", r.MaxRestart}, {"max_relocate", r.MaxRelocate}}
		o.putIf("group", r.Group)
		o.putIf("comment", r.Comment)
		if w.Version.Major() >= 9 {
			o.put("failback", number01(r.Failback))
		}
		list = append(list, o)
	}
	return c.rows(list), nil
}

func haManager(c *call) (any, error) {
	w := c.world
	nodes, lrms, services := object{}, object{}, object{}
	for _, n := range w.Nodes {
		state := "online"
		switch {
		case !n.Online:
			state = "unknown"
		case n.Maintenance:
			state = "maintenance"
		}
		nodes.put(string(n.Name), state)
		lrms.put(string(n.Name), object{{"mode", "active"}, {"state", "wait_for_agent_lock"}, {"timestamp", c.now.Unix()}, {"results", object{}}})
	}
	for _, r := range w.HA.Resources {
		if g := w.Guest(r.Guest); g != nil {
			services.put(r.SID, object{{"node", string(g.Node)}, {"state", r.shownState()}, {"uid", digestOf(r.SID)[:22]}})
		}
	}
	return c.one(object{
		{"manager_status", object{{"master_node", string(w.HA.Master)}, {"node_status", nodes}, {"service_status", services}, {"timestamp", c.now.Unix()}}},
		{"lrm_status", lrms},
		{"quorum", object{{"node", string(w.Local)}, {"quorate", fmt.Sprint(number01(w.Quorate))}}},
	}), nil
}

func (w *World) haResourceObject(r *HAResource) object {
	kind := "vm"
	if len(r.SID) > 2 && r.SID[:2] == "ct" {
		kind = "ct"
	}
	o := object{{"sid", r.SID}, {"type", kind}, {"state", r.State}, {"digest", w.haDigest()}}
	if r.MaxRestart != 1 {
		o.put("max_restart", fmt.Sprint(r.MaxRestart))
	}
	if r.MaxRelocate != 1 {
		o.put("max_relocate", fmt.Sprint(r.MaxRelocate))
	}
	o.putIf("group", r.Group)
	o.putIf("comment", r.Comment)
	if w.Version.Major() >= 9 {
		o.put("failback", number01(r.Failback))
	}
	return o
}

func (w *World) haDigest() string {
	s := ""
	for _, r := range w.HA.Resources {
		s += fmt.Sprintf("%s %s %s %d %d %s %v\n", r.SID, r.State, r.Group, r.MaxRestart, r.MaxRelocate, r.Comment, r.Failback)
	}
	return digestOf(s)
}

func haResources(c *call) (any, error) {
	list := []object{}
	for _, r := range c.world.HA.Resources {
		o := c.world.haResourceObject(r)
		if !c.has("type") || o[1].value == c.param("type") {
			list = append(list, o)
		}
	}
	return c.rows(list), nil
}

// haSID completes a bare vmid with the kind of its guest.
func (w *World) haSID(s string) string {
	if id, err := apidoc.ParseVMID(s); err == nil {
		if g := w.Guest(id); g != nil && g.Kind == apidoc.LXC {
			return "ct:" + s
		}
		return "vm:" + s
	}
	return s
}

func haResource(c *call) (any, error) {
	sid := c.world.haSID(c.path["sid"])
	for _, r := range c.world.HA.Resources {
		if r.SID == sid {
			return c.one(c.world.haResourceObject(r)), nil
		}
	}
	return nil, fail("no such resource '%s'", sid)
}

func (w *World) ruleObject(i int) object {
	r := w.HA.Rules[i]
	resources := ""
	for j, s := range r.Resources {
		if j > 0 {
			resources += ","
		}
		resources += s
	}
	o := object{{"rule", r.ID}, {"type", r.Type}, {"resources", resources}, {"order", i + 1}, {"digest", digestOf(fmt.Sprint(len(w.HA.Rules), w.haDigest()))}}
	if r.Type == "node-affinity" {
		o.put("nodes", r.Nodes)
		o.put("strict", number01(r.Strict))
	} else {
		o.put("affinity", r.Affinity)
	}
	o.flagIf("disable", r.Disabled)
	o.putIf("comment", r.Comment)
	return o
}

func haRules(c *call) (any, error) {
	list := []object{}
	for i, r := range c.world.HA.Rules {
		if c.has("type") && r.Type != c.param("type") || c.has("resource") && !slices.Contains(r.Resources, c.param("resource")) {
			continue
		}
		list = append(list, c.world.ruleObject(i))
	}
	return c.rows(list), nil
}

func haRule(c *call) (any, error) {
	for i, r := range c.world.HA.Rules {
		if r.ID == c.path["rule"] {
			return c.one(c.world.ruleObject(i)), nil
		}
	}
	return nil, fail("no such ha rule '%s'", c.path["rule"])
}

// haGroups died with 9.0, when groups became rules.
func haGroups(c *call) (any, error) {
	if c.world.Version.Major() >= 9 {
		return nil, fail("cannot index groups: ha groups have been migrated to rules")
	}
	list := []object{}
	for _, g := range c.world.HA.Groups {
		list = append(list, g.object())
	}
	return c.rows(list), nil
}

func (g *HAGroup) object() object {
	o := object{{"group", g.ID}, {"type", "group"}, {"nodes", g.Nodes}}
	o.flagIf("restricted", g.Restricted)
	o.flagIf("nofailback", g.NoFailback)
	o.putIf("comment", g.Comment)
	return o
}

func haGroup(c *call) (any, error) {
	if c.world.Version.Major() >= 9 {
		return nil, fail("cannot read group: ha groups have been migrated to rules")
	}
	for _, g := range c.world.HA.Groups {
		if g.ID == c.path["group"] {
			return c.one(g.object()), nil
		}
	}
	return nil, fail("no such ha group '%s'", c.path["group"])
}

func (r *Replication) object() object {
	o := object{{"id", r.ID}, {"type", "local"}, {"guest", int(r.Guest)}, {"jobnum", r.Number}, {"target", string(r.Target)}, {"source", string(r.Source)}}
	o.putIf("schedule", r.Schedule)
	o.putIf("rate", r.Rate)
	o.putIf("comment", r.Comment)
	o.flagIf("disable", r.Disabled)
	return o
}

func replicationJobs(c *call) (any, error) {
	list := []object{}
	for _, r := range c.world.Replications {
		if c.seesGuest(r.Guest) {
			list = append(list, r.object())
		}
	}
	return c.rows(list), nil
}

func replicationJob(c *call) (any, error) {
	for _, r := range c.world.Replications {
		if r.ID == c.path["id"] {
			return c.one(append(r.object(), member{"digest", digestOf(r.ID + r.Schedule)})), nil
		}
	}
	return nil, fail("no such replication job '%s'", c.path["id"])
}

func (w *World) replicationState(r *Replication) object {
	o := r.object()
	if g := w.Guest(r.Guest); g != nil {
		o.put("vmtype", string(g.Kind))
	}
	o = append(o, member{"next_sync", r.NextSync}, member{"last_sync", r.LastSync}, member{"last_try", r.LastTry}, member{"fail_count", r.FailCount}, member{"duration", r.Duration})
	o.putIf("error", r.Error)
	return o
}

func nodeReplication(c *call) (any, error) {
	list := []object{}
	for _, r := range c.world.Replications {
		if string(r.Source) == c.node() && c.seesGuest(r.Guest) && (!c.has("guest") || c.number("guest", 0) == int64(r.Guest)) {
			list = append(list, c.world.replicationState(r))
		}
	}
	return c.rows(list), nil
}

func (c *call) theReplication() (*Replication, error) {
	for _, r := range c.world.Replications {
		if r.ID == c.path["id"] && string(r.Source) == c.node() {
			if !c.seesGuest(r.Guest) {
				return nil, deny("/vms/%d, VM.Audit", r.Guest)
			}
			return r, nil
		}
	}
	return nil, fail("no such replication job '%s'", c.path["id"])
}

func replicationStatus(c *call) (any, error) {
	r, err := c.theReplication()
	if err != nil {
		return nil, err
	}
	return c.one(c.world.replicationState(r)), nil
}

func replicationLog(c *call) (any, error) {
	r, err := c.theReplication()
	if err != nil {
		return nil, err
	}
	lines := r.Log
	if lines == nil {
		at := time.Unix(r.LastTry, 0).UTC().Format("2006-01-02 15:04:05")
		lines = []string{at + " " + r.ID + ": start replication job", at + " " + r.ID + ": guest => " + r.Guest.String() + ", running => 1"}
		if r.Error != "" {
			lines = append(lines, at+" "+r.ID+": end replication job with error: "+r.Error)
		} else {
			lines = append(lines, at+" "+r.ID+": end replication job")
		}
	}
	return c.page(lines, 50, true), nil
}
