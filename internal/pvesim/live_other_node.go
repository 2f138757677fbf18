package pvesim

import (
	"slices"
	"strings"
	"time"

	"pvemcp/apidoc"
)

func init() {
	for _, verb := range [...]string{"start", "stop", "restart", "reload"} {
		register("POST /nodes/{node}/services/{service}/"+verb, func(c *call) (any, error) { return changeService(c, verb) })
	}
	register("PUT /nodes/{node}/dns", setDNS)
	register("POST /nodes/{node}/hosts", setHosts)
	register("PUT /nodes/{node}/time", setTime)
	register("PUT /nodes/{node}/config", setNodeConfig)
	register("POST /nodes/{node}/status", nodeCommand)
	register("POST /nodes/{node}/wakeonlan", wakeNode)
	register("POST /nodes/{node}/apt/update", aptUpdate)
	register("PUT /nodes/{node}/subscription", setSubscription)
	register("POST /nodes/{node}/subscription", checkSubscription)
	register("DELETE /nodes/{node}/subscription", dropSubscription)
}

// changeService starts, stops or restarts a unit.
func changeService(c *call, verb string) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	name := c.path["service"]
	if !slices.ContainsFunc(n.Services, func(s *Service) bool { return s.Name == name }) {
		return nil, fail("no such service '%s'", name)
	}
	return c.launch("srv"+verb, name, func(k *worker) error {
		if verb == "stop" {
			k.say("stopping service " + name)
		} else {
			k.say(verb + "ing service " + name)
		}
		if err := k.rest(1); err != nil {
			return err
		}
		n := k.world.Node(k.task.Node)
		for _, s := range n.Services {
			if s.Name != name {
				continue
			}
			if s.UnitState == "not-found" || s.UnitState == "masked" {
				return fail("command 'systemctl %s %s' failed: exit code 5", verb, name)
			}
			if verb == "reload" && s.State != "running" {
				return fail("command 'systemctl reload %s' failed: exit code 1", name)
			}
			s.State, s.ActiveState = "running", "active"
			if verb == "stop" {
				s.State, s.ActiveState = "dead", "inactive"
			}
		}
		return nil
	})
}

func setDNS(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	n.DNS = Config{}
	return nil, c.store(&n.DNS)
}

func setHosts(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if err := c.sameDigest(digestOf(n.Hosts)); err != nil {
		return nil, err
	}
	n.Hosts = strings.TrimRight(c.param("data"), "\n") + "\n"
	return nil, nil
}

func setTime(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	n.Timezone = c.param("timezone")
	return nil, nil
}

func setNodeConfig(c *call) (any, error) {
	if err := c.quorum("node_cfg"); err != nil {
		return nil, err
	}
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if err := c.sameDigest(n.Config.Digest()); err != nil {
		return nil, err
	}
	changed := n.Config.Clone()
	if err := c.store(&changed); err != nil {
		return nil, err
	}
	n.Config = changed
	return nil, nil
}

// bootSteps is how long a node is away when it boots, in steps of tasks.
const bootSteps = 200

// nodeCommand reboots or shuts a node down. It is gone for a while, or until
// someone wakes it. Where it is the node that answers, another takes its place;
// where there is no other, connections end without an answer.
func nodeCommand(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	c.srv.leave(n)
	if c.param("command") == "reboot" {
		c.srv.comeBack(n.Name)
	}
	return nil, nil
}

// leave takes a node down in good order: its guests are shut down first. The
// caller holds the world's lock.
func (s *Server) leave(n *Node) {
	w := s.world
	for _, t := range slices.Clone(n.tasks.active) {
		if t.worker != nil {
			t.worker.interrupt()
		}
	}
	for _, g := range w.GuestsOn(n.Name, "") {
		if g.Up() {
			halt(g)
		}
	}
	n.Online, n.OfflineSince = false, s.now().Unix()
	if w.Local != n.Name {
		return
	}
	for _, other := range w.Nodes {
		if other.Online {
			w.Local = other.Name
			return
		}
	}
	if id, err := s.faults.add(Fault{Kind: FaultDrop}); err == nil {
		n.away = id
	}
}

// comeBack brings a node up after the time that a boot takes, and with it the
// guests that start with it.
func (s *Server) comeBack(name apidoc.Node) {
	s.later(bootSteps*s.opts.TaskStep, func() {
		w := s.world
		n := w.Node(name)
		if n == nil || n.Online {
			return
		}
		n.Online, n.OfflineSince, n.Booted = true, 0, s.now().Unix()
		if n.away != 0 {
			s.faults.remove(n.away)
			n.away = 0
		}
		if w.Quorate {
			s.spawn(name, "startall", "", "root@pam", func(k *worker) error { return k.onBoot() })
		}
	})
}

// onBoot starts the guests that are to run when the node does: those with
// onboot, and what HA wants to run.
func (k *worker) onBoot() error {
	for _, g := range k.world.GuestsOn(k.task.Node, "") {
		ha := k.world.HA.Resource(g.ID)
		wanted := g.Config.Get("onboot") == "1" && ha == nil || ha != nil && ha.State == "started"
		if !wanted || g.Up() || g.Template() {
			continue
		}
		var err error
		if g.Kind == apidoc.LXC {
			k.sayf("Starting CT %d", g.ID)
			err = k.startCT(g.ID, false)
		} else {
			k.sayf("Starting VM %d", g.ID)
			err = k.startVM(g.ID, false)
		}
		if stopped(err) {
			return err
		}
		if err != nil {
			k.say(strings.TrimRight(err.Error(), "\n"))
		}
	}
	return nil
}

// wakeNode sends the packet that a sleeping node's card waits for.
func wakeNode(c *call) (any, error) {
	n := c.world.Node(apidoc.Node(c.node()))
	if n == nil {
		return nil, fail("no such cluster node '%s'", c.node())
	}
	mac := firstPart(n.Config.Get("wakeonlan"))
	if m := subOption(n.Config.Get("wakeonlan"), "mac"); m != "" {
		mac = m
	}
	switch {
	case n.Name == c.world.Local:
		return nil, refuse("node", "'"+string(n.Name)+"' is local node, cannot wake my self!")
	case mac == "":
		return nil, fail("No wake on LAN MAC address defined for '%s'!", n.Name)
	}
	if !n.Online {
		c.srv.comeBack(n.Name)
	}
	return mac, nil
}

// aptUpdate reads the package lists anew; what could be upgraded stays as the
// world has it.
func aptUpdate(c *call) (any, error) {
	return c.launch("aptupdate", "", func(k *worker) error {
		k.say("starting apt-get update", "Hit:1 http://deb.debian.org/debian trixie InRelease", "Get:2 http://deb.debian.org/debian-security trixie-security InRelease [43.4 kB]")
		if err := k.rest(1); err != nil {
			return err
		}
		k.say("Hit:3 http://download.proxmox.com/debian/pve trixie InRelease", "Fetched 43.4 kB in 1s (41.2 kB/s)", "Reading package lists...")
		return nil
	})
}

func setSubscription(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	n.Subscription = Subscription{Status: "new", Key: c.param("key"), Server: n.Subscription.Server, Sockets: n.Sockets, Message: "this server has not been checked yet"}
	return nil, nil
}

// checkSubscription would ask a server of Proxmox, which nobody here can.
func checkSubscription(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	if n.Subscription.Key == "" {
		return nil, nil
	}
	if age := c.now.Unix() - n.Subscription.Checked; n.Subscription.Status == "active" && age < int64((24*time.Hour).Seconds()) && !c.flag("force", false) {
		return nil, nil
	}
	n.Subscription.Checked = c.now.Unix()
	return nil, nil
}

func dropSubscription(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	n.Subscription = Subscription{Status: "notfound", Message: "There is no subscription key", Server: n.Subscription.Server, Sockets: n.Sockets}
	return nil, nil
}
