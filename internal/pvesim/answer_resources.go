package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /cluster/resources", clusterResources)
	register("GET /nodes", nodesList)
}

// seesAll tells whether nothing is hidden from the caller, which spares the
// look at every single path: true for root@pam and its tokens that are not
// separated from it.
func (c *call) seesAll() bool {
	if c.who.root {
		return true
	}
	if c.who.user != "root@pam" {
		return false
	}
	if c.who.token == "" {
		return true
	}
	t := c.world.access.Tokens[c.who.name()]
	return t != nil && !t.Privsep
}

// seesGuest tells whether the caller may see the guest in lists.
func (c *call) seesGuest(id apidoc.VMID) bool {
	return c.seesAll() || c.priv("/vms/"+id.String(), "VM.Audit")
}

// seesStorage tells whether the caller may see the storage in lists.
func (c *call) seesStorage(id apidoc.Storage) bool {
	return c.seesAll() || c.anyPriv("/storage/"+string(id), "Datastore.Audit", "Datastore.AllocateSpace")
}

// clusterResources is the one list of everything. Without a type it also has
// pools and networks, which no type selects.
func clusterResources(c *call) (any, error) {
	w, t := c.world, c.now.Unix()
	kind := c.param("type")
	list := make([]object, 0, 64+len(w.guests)+len(w.Nodes)*(len(w.Storages)+1))
	all := c.seesAll()
	nodes := make(map[apidoc.Node]*Node, len(w.Nodes))
	for _, n := range w.Nodes {
		nodes[n.Name] = n
	}
	use := make(map[apidoc.Node]*nodeFigures, len(w.Nodes))
	for _, n := range w.Nodes {
		use[n.Name] = &nodeFigures{}
	}
	ha := make(map[apidoc.VMID]*HAResource, len(w.HA.Resources))
	for _, r := range w.HA.Resources {
		ha[r.Guest] = r
	}
	pools := map[apidoc.Pool]*poolSum{}
	if kind == "" || kind == "vm" || kind == "node" {
		// In the order of their ids, so that the same request number gives the
		// same order with the same seed.
		for _, g := range w.Guests() {
			n := nodes[g.Node]
			if n != nil && kind != "vm" {
				use[g.Node].add(n, g, t)
			}
			if kind == "node" {
				continue
			}
			if g.Pool != "" && kind == "" {
				s := pools[g.Pool]
				if s == nil {
					s = &poolSum{}
					pools[g.Pool] = s
				}
				s.add(w, g, n, t)
			}
			if all || c.priv("/vms/"+g.ID.String(), "VM.Audit") {
				list = append(list, w.guestResource(g, n, ha[g.ID], t))
			}
		}
	}
	if kind == "" || kind == "node" {
		for _, n := range w.Nodes {
			list = append(list, c.nodeResource(n, use[n.Name], t))
		}
	}
	if kind == "" || kind == "storage" {
		for _, s := range w.Storages {
			if s.Disabled || !(all || c.seesStorage(s.ID)) {
				continue
			}
			for _, n := range w.Nodes {
				if s.On(n.Name) {
					list = append(list, storageResource(s, n, t))
				}
			}
		}
	}
	if kind == "" {
		for _, p := range w.Pools {
			if all || c.priv("/pool/"+string(p.ID), "Pool.Audit") {
				o := object{{"id", "/pool/" + string(p.ID)}, {"pool", string(p.ID)}, {"type", "pool"}}
				if s := pools[p.ID]; s != nil && s.uptime > 0 {
					o = append(o, member{"cpu", s.cpu / float64(max(s.maxcpu, 1))}, member{"maxcpu", s.maxcpu}, member{"mem", s.mem}, member{"maxmem", s.maxmem}, member{"uptime", s.uptime})
				}
				list = append(list, o)
			}
		}
	}
	if kind == "" || kind == "sdn" {
		for _, z := range w.Zones {
			if !all && !c.anyPriv("/sdn/zones/"+z.ID, "SDN.Audit", "SDN.Allocate", "SDN.Use") {
				continue
			}
			for _, n := range w.Nodes {
				if !n.reported(t) {
					continue
				}
				switch {
				case kind == "sdn" || w.Version.Major() < 9:
					if kind == "sdn" || z.ID != "localnetwork" {
						list = append(list, object{{"id", "sdn/" + string(n.Name) + "/" + z.ID}, {"sdn", z.ID}, {"node", string(n.Name)}, {"status", "ok"}, {"type", "sdn"}})
					}
				default:
					list = append(list, object{{"id", "network/" + string(n.Name) + "/zone/" + z.ID}, {"network", z.ID}, {"network-type", "zone"}, {"node", string(n.Name)}, {"status", "ok"}, {"type", "network"}, {"zone-type", z.Type}})
				}
			}
		}
	}
	return c.rows(list), nil
}

type poolSum struct {
	cpu                 float64
	maxcpu              int
	mem, maxmem, uptime int64
}

func (s *poolSum) add(w *World, g *Guest, n *Node, t int64) {
	if !w.known(g, n, t) {
		return
	}
	f := g.at(t)
	cpus := g.CPUs(n)
	s.cpu += f.cpu * float64(cpus)
	s.maxcpu += cpus
	s.mem += f.mem
	s.maxmem += g.Memory()
	s.uptime = max(s.uptime, g.uptime(t))
}

// guestResource is a guest as the cluster's list shows it. What comes from the
// node's reports is missing while there are none; lock, tags, pool and HA
// state come from the cluster file system and are always there.
func (w *World) guestResource(g *Guest, n *Node, ha *HAResource, t int64) object {
	o := make(object, 0, 24)
	o = append(o, member{"id", string(g.Kind) + "/" + g.ID.String()}, member{"type", string(g.Kind)}, member{"vmid", int(g.ID)}, member{"node", string(g.Node)})
	if w.known(g, n, t) {
		f := g.at(t)
		in, out, read, write := g.counters(t)
		disk, memhost := int64(0), int64(0)
		if g.Kind == apidoc.LXC {
			if g.Up() {
				disk = g.DiskUsed
			}
		} else if g.Up() {
			memhost = f.mem + f.mem/32
		}
		o = append(o, member{"status", string(w.resourceStatus(g, n, t))}, member{"name", g.ShownName()}, member{"template", number01(g.Template())},
			member{"uptime", g.uptime(t)}, member{"cpu", f.cpu}, member{"maxcpu", g.CPUs(n)}, member{"mem", f.mem}, member{"maxmem", g.Memory()},
			member{"disk", disk}, member{"maxdisk", g.MaxDisk()}, member{"netin", in}, member{"netout", out}, member{"diskread", read}, member{"diskwrite", write})
		if w.Version.Major() >= 9 {
			o.put("memhost", memhost)
		}
	} else {
		o.put("status", "unknown")
	}
	o.putIf("lock", g.Lock())
	o.putIf("tags", g.Config.Get("tags"))
	o.putIf("pool", string(g.Pool))
	if ha != nil {
		o.put("hastate", ha.shownState())
	}
	return o
}

// nodeResource is a node in /nodes and in the cluster's list.
func (c *call) nodeResource(n *Node, f *nodeFigures, t int64) object {
	o := object{{"id", "node/" + string(n.Name)}, {"type", "node"}, {"node", string(n.Name)}}
	audit := c.seesAll() || c.priv("/nodes/"+string(n.Name), "Sys.Audit")
	switch {
	case !n.Online:
		o.put("status", "offline")
		if n.reported(t) {
			o = append(o, member{"level", n.Subscription.Level})
			if audit {
				o = append(o, member{"maxcpu", n.CPUs}, member{"maxmem", n.Memory}, member{"maxdisk", n.Root})
			}
		}
		return o
	case n.Silent:
		o.put("status", "unknown")
		return o
	}
	f.own(n, t)
	o = append(o, member{"status", "online"}, member{"level", n.Subscription.Level})
	if audit {
		o = append(o, member{"cpu", f.cpu}, member{"maxcpu", n.CPUs}, member{"mem", f.mem}, member{"maxmem", n.Memory},
			member{"disk", n.RootUsed}, member{"maxdisk", n.Root}, member{"uptime", t - n.Booted}, member{"cgroup-mode", 2})
	}
	if n.Maintenance {
		o.put("hastate", "maintenance")
	} else if len(c.world.HA.Resources) > 0 {
		o.put("hastate", "online")
	}
	return o
}

// storageResource is a storage on one node: a shared one comes once per node.
func storageResource(s *Storage, n *Node, t int64) object {
	o := object{{"id", "storage/" + string(n.Name) + "/" + string(s.ID)}, {"type", "storage"}, {"storage", string(s.ID)}, {"node", string(n.Name)},
		{"plugintype", s.Type}, {"shared", number01(s.Shared)}, {"content", strings.Join(s.Content, ",")}}
	if !n.reported(t) || s.Offline || s.Hanging {
		return append(o, member{"status", "unknown"})
	}
	p := s.look(n.Name)
	return append(o, member{"status", "available"}, member{"disk", p.Used}, member{"maxdisk", p.Total})
}

// nodesList is GET /nodes: nodes as in the cluster's list with their certificate.
func nodesList(c *call) (any, error) {
	w, t := c.world, c.now.Unix()
	by := w.guestsByNode()
	list := make([]object, 0, len(w.Nodes))
	for _, n := range w.Nodes {
		f := &nodeFigures{}
		if n.Online {
			for _, g := range by[n.Name] {
				f.add(n, g, t)
			}
		}
		o := c.nodeResource(n, f, t)
		for _, crt := range n.Certificates {
			if crt.File == "pve-ssl.pem" {
				o.put("ssl_fingerprint", crt.Fingerprint)
			}
		}
		list = append(list, o)
	}
	return c.rows(list), nil
}
