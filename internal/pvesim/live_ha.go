package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

// HA takes requests and acts on them some time later: what a call starts for a
// guest that it looks after ends as soon as the request is written down, and
// the task that changes the guest is one of root@pam's, started by the agent
// on the guest's node.

const haAgent = "task started by HA resource agent"

// haStart asks HA to start a guest.
func (c *call) haStart(id apidoc.VMID) (any, error) {
	return c.launch("hastart", id.String(), func(k *worker) error {
		r, err := k.haRequest(id, "start", "")
		if err != nil {
			return err
		}
		if r.CRMState == "error" {
			k.sayf("service '%s' in error state, must be disabled and fixed first", r.SID)
			return fail("command 'ha-manager set %s --state started' failed: exit code 255", r.SID)
		}
		r.State = "started"
		k.srv.crm(r)
		return nil
	})
}

// haStop asks HA to stop a guest; hard means at once, without asking the guest.
func (c *call) haStop(id apidoc.VMID, hard bool) (any, error) {
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	return c.launch("hastop", id.String(), func(k *worker) error {
		r, err := k.haRequest(id, "stop", "")
		if err != nil {
			return err
		}
		k.srv.later(k.srv.opts.HACycle, func() {
			if !slices.Contains(k.world.HA.Resources, r) || r.shownState() != "started" {
				return // honoured in this state alone
			}
			r.State, r.CRMState = "stopped", "request_stop"
			k.srv.haDown(r, hard)
		})
		return nil
	})
}

// haMigrate asks HA to move a guest.
func (c *call) haMigrate(id apidoc.VMID, target apidoc.Node) (any, error) {
	return c.launch("hamigrate", id.String(), func(k *worker) error {
		r, err := k.haRequest(id, "migration", target)
		if err != nil {
			return err
		}
		k.srv.haMove(r, target, false)
		return nil
	})
}

// haRequest writes the line that such a task has and gives the resource.
func (k *worker) haRequest(id apidoc.VMID, what string, target apidoc.Node) (*HAResource, error) {
	g := k.world.Guest(id)
	kind := "VM"
	if g != nil && g.Kind == apidoc.LXC {
		kind = "CT"
	}
	line := "Requesting HA " + what + " for " + kind + " " + id.String()
	if target != "" {
		line += " to node " + string(target)
	}
	k.say(line)
	if err := k.rest(1); err != nil {
		return nil, err
	}
	r := k.world.HA.Resource(id)
	if r == nil || g == nil {
		return nil, fail("no such resource '%s'", k.world.haSID(id.String()))
	}
	return r, nil
}

// crm lets the manager look at a resource after its cycle.
func (s *Server) crm(r *HAResource) {
	s.later(s.opts.HACycle, func() {
		if !slices.Contains(s.world.HA.Resources, r) || !s.world.Quorate {
			return
		}
		g := s.world.Guest(r.Guest)
		if g == nil {
			r.CRMState = "error"
			return
		}
		switch r.State {
		case "started":
			if r.CRMState == "error" {
				return
			}
			r.CRMState = "started"
			if !g.Up() {
				s.haUp(r)
			}
		case "stopped":
			r.CRMState = "stopped"
			if g.Up() {
				r.CRMState = "request_stop"
				s.haDown(r, false)
			}
		case "disabled":
			r.CRMState = "stopped"
			if g.Up() {
				s.haDown(r, false)
			}
		case "ignored":
			r.CRMState = "ignored"
		}
	})
}

// haUp starts the guest of a resource. What can't be started goes into error.
func (s *Server) haUp(r *HAResource) {
	g := s.world.Guest(r.Guest)
	if n := s.world.Node(g.Node); n == nil || !n.Online {
		return
	}
	id, kind := g.ID, g.Kind
	s.spawn(g.Node, taskPrefix(kind)+"start", id.String(), "root@pam", func(k *worker) error {
		k.say(haAgent)
		var err error
		if kind == apidoc.QEMU {
			err = k.startVM(id, false)
		} else {
			err = k.startCT(id, false)
		}
		if err != nil {
			r.CRMState = "error"
		}
		return err
	})
}

// haDown stops the guest of a resource.
func (s *Server) haDown(r *HAResource, hard bool) {
	g := s.world.Guest(r.Guest)
	if g == nil || !g.Up() {
		r.CRMState = "stopped"
		return
	}
	if n := s.world.Node(g.Node); n == nil || !n.Online {
		return
	}
	id, kind, what := g.ID, g.Kind, "shutdown"
	if hard {
		what = "stop"
	}
	s.spawn(g.Node, taskPrefix(kind)+what, id.String(), "root@pam", func(k *worker) error {
		k.say(haAgent)
		var err error
		switch {
		case kind == apidoc.QEMU && hard:
			err = k.stopVM(id, false)
		case kind == apidoc.QEMU:
			err = k.shutdownVM(id, false, true)
		case hard:
			err = k.stopCT(id, false)
		default:
			err = k.shutdownCT(id, true)
		}
		if err == nil {
			r.CRMState = "stopped"
		}
		return err
	})
}

// haMove moves the guest of a resource: a VM that runs by migration, what can't
// be by stopping it, moving it and starting it.
func (s *Server) haMove(r *HAResource, target apidoc.Node, relocate bool) {
	s.later(s.opts.HACycle, func() {
		g := s.world.Guest(r.Guest)
		if g == nil || !slices.Contains(s.world.HA.Resources, r) || g.Node == target {
			return
		}
		before := r.CRMState
		r.CRMState = "migrate"
		if relocate {
			r.CRMState = "relocate"
		}
		id, kind := g.ID, g.Kind
		m := migration{kind: kind, id: id, target: target, online: g.Up() && kind == apidoc.QEMU && !relocate, restart: g.Up() && (kind == apidoc.LXC || relocate), local: true}
		s.spawn(g.Node, migrateTask(kind), id.String(), "root@pam", func(k *worker) error {
			k.say(haAgent)
			err := k.migrate(m)
			r.CRMState = before
			return err
		})
	})
}

func init() {
	register("POST /cluster/ha/resources", haAdd)
	register("PUT /cluster/ha/resources/{sid}", haChange)
	register("DELETE /cluster/ha/resources/{sid}", haRemove)
	register("POST /cluster/ha/resources/{sid}/migrate", func(c *call) (any, error) { return haMoveCall(c, false) })
	register("POST /cluster/ha/resources/{sid}/relocate", func(c *call) (any, error) { return haMoveCall(c, true) })
	register("POST /cluster/ha/status/disarm-ha", haDisarm)
	register("POST /cluster/ha/status/arm-ha", haDisarm)
}

// haConfig is the error of writing HA's configuration while that can't be.
func (w *World) haConfig(file string) error {
	if w.Quorate {
		return nil
	}
	return fail("unable to open file '/etc/pve/ha/%s.tmp.%d' - Permission denied", file, w.nextPID())
}

// haValues takes the parameters of a resource.
func (c *call) haValues(r *HAResource) error {
	if c.has("group") {
		if c.world.Version.Major() >= 9 {
			return fail("invalid parameter 'group': ha groups have been migrated to rules")
		}
		if !slices.ContainsFunc(c.world.HA.Groups, func(g *HAGroup) bool { return g.ID == c.param("group") }) {
			return fail("ha group '%s' does not exist", c.param("group"))
		}
		r.Group = c.param("group")
	}
	if c.has("comment") {
		r.Comment = strings.TrimRight(c.param("comment"), "\n")
	}
	if c.has("state") {
		r.State = c.param("state")
		if r.State == "enabled" {
			r.State = "started"
		}
	}
	r.MaxRestart = int(c.number("max_restart", int64(r.MaxRestart)))
	r.MaxRelocate = int(c.number("max_relocate", int64(r.MaxRelocate)))
	r.Failback = c.flag("failback", r.Failback)
	return nil
}

func haAdd(c *call) (any, error) {
	w := c.world
	sid := w.haSID(c.param("sid"))
	kind, number, _ := strings.Cut(sid, ":")
	id, err := apidoc.ParseVMID(number)
	if err != nil {
		return nil, refuse("sid", "invalid format - unable to parse HA service ID")
	}
	if t := c.param("type"); t != "" && t != kind {
		return nil, fail("unable to add resource '%s' - type '%s' does not match", sid, t)
	}
	g := w.Guest(id)
	if g == nil || (g.Kind == apidoc.LXC) != (kind == "ct") {
		if kind == "ct" {
			return nil, fail("unable to find container '%s' in cluster", number)
		}
		return nil, fail("unable to find VM '%s' in cluster", number)
	}
	if g.Template() {
		return nil, fail("unable to add template '%s' as HA resource", number)
	}
	if w.HA.Resource(id) != nil {
		return nil, fail("resource ID '%s' already defined", sid)
	}
	if err := w.haConfig("resources.cfg"); err != nil {
		return nil, err
	}
	r := &HAResource{SID: sid, Guest: id, State: "started", MaxRestart: 1, MaxRelocate: 1, Failback: true}
	if err := c.haValues(r); err != nil {
		return nil, err
	}
	w.HA.Resources = append(w.HA.Resources, r)
	if w.HA.Master == "" {
		w.HA.Master = w.Local
	}
	c.srv.crm(r)
	return nil, nil
}

// theResource gives the resource of the path.
func (c *call) theResource() (*HAResource, error) {
	sid := c.world.haSID(c.path["sid"])
	for _, r := range c.world.HA.Resources {
		if r.SID == sid {
			return r, nil
		}
	}
	return nil, fail("no such resource '%s'", sid)
}

func haChange(c *call) (any, error) {
	r, err := c.theResource()
	if err != nil {
		return nil, err
	}
	if d := c.param("digest"); d != "" && d != c.world.haDigest() {
		return nil, fail("detected modified configuration - file changed by other user? Try again.")
	}
	if r.CRMState == "error" && c.has("state") && c.param("state") != "disabled" && c.param("state") != "ignored" {
		return nil, fail("service '%s' in error state, must be disabled and fixed first", r.SID)
	}
	if err := c.world.haConfig("resources.cfg"); err != nil {
		return nil, err
	}
	for _, key := range c.list("delete") {
		switch key {
		case "comment":
			r.Comment = ""
		case "group":
			r.Group = ""
		case "state":
			r.State = "started"
		case "max_restart":
			r.MaxRestart = 1
		case "max_relocate":
			r.MaxRelocate = 1
		case "failback":
			r.Failback = true
		default:
			return nil, refuse("delete", "unknown option '"+key+"'")
		}
	}
	if err := c.haValues(r); err != nil {
		return nil, err
	}
	c.srv.crm(r)
	return nil, nil
}

// haRemove lets go of a guest, which goes on as it is. With purge it goes from
// the rules too, and a rule with nobody left goes.
func haRemove(c *call) (any, error) {
	r, err := c.theResource()
	if err != nil {
		return nil, err
	}
	if err := c.world.haConfig("resources.cfg"); err != nil {
		return nil, err
	}
	c.world.removeHA(r, c.flag("purge", true))
	return nil, nil
}

func (w *World) removeHA(r *HAResource, rules bool) {
	w.HA.Resources = slices.DeleteFunc(w.HA.Resources, func(x *HAResource) bool { return x == r })
	if !rules {
		return
	}
	for _, rule := range w.HA.Rules {
		rule.Resources = slices.DeleteFunc(rule.Resources, func(sid string) bool { return sid == r.SID })
	}
	w.HA.Rules = slices.DeleteFunc(w.HA.Rules, func(rule *HARule) bool { return len(rule.Resources) == 0 })
}

func haMoveCall(c *call, relocate bool) (any, error) {
	r, err := c.theResource()
	if err != nil {
		return nil, err
	}
	node := apidoc.Node(c.param("node"))
	if c.world.Node(node) == nil {
		return nil, fail("no such cluster node '%s'", node)
	}
	if r.State == "ignored" {
		return nil, fail("service '%s' is not managed by HA", r.SID)
	}
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	c.srv.haMove(r, node, relocate)
	return c.one(object{{"sid", r.SID}, {"requested-node", string(node)}}), nil
}

// haDisarm and arming change whether HA acts at all.
func haDisarm(c *call) (any, error) {
	if err := c.world.haConfig("manager_status"); err != nil {
		return nil, err
	}
	c.world.HA.Disarmed = strings.HasSuffix(c.ep.Path, "disarm-ha")
	c.world.HA.ResourceMode = c.param("resource-mode")
	return nil, nil
}
