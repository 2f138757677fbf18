package pvesim

import (
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /nodes/{node}/startall", startAll)
	register("POST /nodes/{node}/stopall", stopAll)
	register("POST /nodes/{node}/suspendall", suspendAll)
	register("POST /nodes/{node}/migrateall", migrateAll)
	register("POST /cluster/bulk-action/guest/start", bulk("start"))
	register("POST /cluster/bulk-action/guest/shutdown", bulk("shutdown"))
	register("POST /cluster/bulk-action/guest/suspend", bulk("suspend"))
	register("POST /cluster/bulk-action/guest/migrate", bulk("migrate"))
}

// chosen lists the guests of a node that a call over all of them means, in the
// order of their startup setting: templates never, without vms all others.
// Guests that the caller may not touch are left out when none was named.
func (c *call) chosen(node apidoc.Node, priv string) ([]apidoc.VMID, error) {
	named := c.list("vms")
	var some []*Guest
	for _, g := range c.world.Guests() {
		if node != "" && g.Node != node || g.Template() {
			continue
		}
		if len(named) > 0 && !containsText(named, g.ID.String()) {
			continue
		}
		if !c.seesAll() && !c.priv("/vms/"+g.ID.String(), priv) {
			if len(named) > 0 {
				return nil, deny("/vms/%d, %s", g.ID, priv)
			}
			continue
		}
		some = append(some, g)
	}
	slices.SortStableFunc(some, func(a, b *Guest) int { return a.startOrder() - b.startOrder() })
	ids := make([]apidoc.VMID, len(some))
	for i, g := range some {
		ids[i] = g.ID
	}
	return ids, nil
}

// startOrder is the guest's place among those that are started: those without
// a place come last.
func (g *Guest) startOrder() int {
	v := g.Config.Get("startup")
	if o := subOption(v, "order"); o != "" {
		return atoi(o)
	}
	if n, err := strconv.Atoi(firstPart(v)); err == nil {
		return n
	}
	return 1 << 30
}

// child starts the task of one guest and waits for its end.
func (k *worker) child(g *Guest, what string, body func(*worker) error) (string, error) {
	x := k.srv.spawn(g.Node, what, g.ID.String(), k.task.User, body)
	for x.task.End == 0 {
		if err := k.rest(1); err != nil {
			return "", err
		}
	}
	return x.task.Status, nil
}

// power gives the task that starts, stops or suspends a guest.
func power(g *Guest, what string, force bool) (kind string, body func(*worker) error) {
	id := g.ID
	prefix := taskPrefix(g.Kind)
	vm := g.Kind == apidoc.QEMU
	switch what {
	case "start":
		if vm {
			return prefix + "start", func(k *worker) error { return k.startVM(id, false) }
		}
		return prefix + "start", func(k *worker) error { return k.startCT(id, false) }
	case "suspend":
		return "qmsuspend", func(k *worker) error { return k.hibernate(id, "", false) }
	}
	if vm {
		return prefix + "shutdown", func(k *worker) error { return k.shutdownVM(id, false, force) }
	}
	return prefix + "shutdown", func(k *worker) error { return k.shutdownCT(id, force) }
}

func nouns(g *Guest) string { return noun(g.Kind) + " " + g.ID.String() }

// startAll starts the guests of a node: those that are to start with it, or
// with force all of them.
func startAll(c *call) (any, error) {
	if err := c.world.ready(); err != nil {
		return nil, err
	}
	ids, err := c.chosen(apidoc.Node(c.node()), "VM.PowerMgmt")
	if err != nil {
		return nil, err
	}
	force, named := c.flag("force", false), c.has("vms")
	return c.launch("startall", "", func(k *worker) error {
		for _, id := range ids {
			g := k.world.Guest(id)
			if g == nil || g.Node != k.task.Node || g.Up() || k.world.haManaged(id) || !force && !named && g.Config.Get("onboot") != "1" {
				continue
			}
			k.sayf("Starting %s", nouns(g))
			kind, body := power(g, "start", false)
			status, err := k.child(g, kind, body)
			if err != nil {
				return err
			}
			if status != "OK" {
				k.sayf("Starting %s failed: %s", nouns(g), status)
			}
		}
		return k.rest(1)
	})
}

func stopAll(c *call) (any, error) {
	ids, err := c.chosen(apidoc.Node(c.node()), "VM.PowerMgmt")
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	force := c.flag("force-stop", true)
	return c.launch("stopall", "", func(k *worker) error {
		for _, id := range ids {
			g := k.world.Guest(id)
			if g == nil || g.Node != k.task.Node || !g.Up() || k.world.haManaged(id) {
				continue
			}
			k.sayf("Stopping %s (timeout = 180 seconds)", nouns(g))
			kind, body := power(g, "shutdown", force)
			status, err := k.child(g, kind, body)
			if err != nil {
				return err
			}
			if status != "OK" {
				k.sayf("%s shutdown failed: %s", nouns(g), status)
			}
		}
		return k.rest(1)
	})
}

func suspendAll(c *call) (any, error) {
	ids, err := c.chosen(apidoc.Node(c.node()), "VM.PowerMgmt")
	if err != nil {
		return nil, err
	}
	slices.Reverse(ids)
	return c.launch("suspendall", "", func(k *worker) error {
		for _, id := range ids {
			g := k.world.Guest(id)
			if g == nil || g.Node != k.task.Node || !g.Up() || k.world.haManaged(id) || g.Kind == apidoc.LXC {
				continue
			}
			k.sayf("Suspending %s", nouns(g))
			kind, body := power(g, "suspend", false)
			status, err := k.child(g, kind, body)
			if err != nil {
				return err
			}
			if status != "OK" {
				k.sayf("%s suspend failed: %s", nouns(g), status)
			}
		}
		return k.rest(1)
	})
}

func migrateAll(c *call) (any, error) {
	target := apidoc.Node(c.param("target"))
	switch {
	case string(target) == c.node():
		return nil, refuse("target", "target is local node.")
	case c.world.ready() != nil:
		return nil, c.world.ready()
	case c.world.Node(target) == nil:
		return nil, fail("no such cluster node '%s'", target)
	}
	ids, err := c.chosen(apidoc.Node(c.node()), "VM.Migrate")
	if err != nil {
		return nil, err
	}
	local := c.flag("with-local-disks", false)
	return c.launch("migrateall", "", func(k *worker) error {
		for _, id := range ids {
			g := k.world.Guest(id)
			if g == nil || g.Node != k.task.Node {
				continue
			}
			k.sayf("Migrating %s to %s", nouns(g), target)
			status, err := k.moveOne(g, target, local)
			if err != nil {
				return err
			}
			if status != "OK" {
				k.sayf("Migrating %s failed: %s", nouns(g), status)
			}
		}
		return k.rest(1)
	})
}

// moveOne migrates a guest as part of a larger task.
func (k *worker) moveOne(g *Guest, target apidoc.Node, local bool) (string, error) {
	m := migration{kind: g.Kind, id: g.ID, target: target, online: g.Kind == apidoc.QEMU && g.Up(), restart: g.Kind == apidoc.LXC && g.Up(), local: local}
	if r := k.world.HA.Resource(g.ID); r != nil && k.world.haManaged(g.ID) {
		k.srv.haMove(r, target, false)
		return "OK", nil
	}
	return k.child(g, migrateTask(g.Kind), func(k *worker) error { return k.migrate(m) })
}

// bulk is an action over guests of the whole cluster; the task runs on the
// node that was asked and counts those that were passed over as warnings.
func bulk(what string) handler {
	return func(c *call) (any, error) {
		if err := c.world.ready(); err != nil {
			return nil, err
		}
		priv := "VM.PowerMgmt"
		target := apidoc.Node(c.param("target"))
		if what == "migrate" {
			priv = "VM.Migrate"
			if c.world.Node(target) == nil {
				return nil, fail("no such cluster node '%s'", target)
			}
		}
		ids, err := c.chosen("", priv)
		if err != nil {
			return nil, err
		}
		force, local := c.flag("force-stop", true), c.flag("with-local-disks", false)

		return c.launch("bulk-"+what, "", func(k *worker) error {
			var failed []string
			for _, id := range ids {
				g := k.world.Guest(id)
				if g == nil {
					continue
				}
				if why := skipped(g, what, target); why != "" {
					k.warnf("Skipping %s, %s", nouns(g), why)
					continue
				}
				var status string
				var err error
				if what == "migrate" {
					status, err = k.moveOne(g, target, local)
				} else {
					kind, body := power(g, what, force)
					status, err = k.child(g, kind, body)
				}
				if err != nil {
					return err
				}
				if status != "OK" {
					k.sayf("%s: %s", nouns(g), status)
					failed = append(failed, id.String())
				}
			}
			if len(failed) > 0 {
				return fail("Some guests failed to %s: %s", what, strings.Join(failed, ", "))
			}
			return k.rest(1)
		})
	}
}

// skipped says why an action over many guests passes one over.
func skipped(g *Guest, what string, target apidoc.Node) string {
	switch {
	case what == "start" && g.Up():
		return "already running"
	case (what == "shutdown" || what == "suspend") && !g.Up():
		return "not running"
	case what == "suspend" && g.Kind == apidoc.LXC:
		return "suspending containers is not supported"
	case what == "migrate" && g.Node == target:
		return "already on target node"
	}
	return ""
}
