package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /nodes/{node}/version", nodeVersion)
	register("GET /cluster/status", clusterStatus)
	register("GET /cluster/nextid", nextID)
	register("GET /cluster/options", datacenterOptions)
	register("GET /cluster/log", clusterLog)
	register("GET /cluster/tasks", clusterTasks)
	register("GET /cluster/config/nodes", configNodes)
	register("GET /cluster/config/apiversion", func(*call) (any, error) { return 1, nil })
	register("GET /cluster/metrics/server", metricServers)
	register("GET /cluster/metrics/server/{id}", metricServer)
	register("GET /pools", poolList)
	register("GET /pools/{poolid}", poolIndex)
}

func nodeVersion(c *call) (any, error) {
	v := c.world.Version
	return c.one(object{{"version", v.Version}, {"release", v.Release}, {"repoid", v.RepoID}}), nil
}

// clusterStatus has no cluster entry on a standalone host.
func clusterStatus(c *call) (any, error) {
	w := c.world
	var list []object
	if w.Cluster != "" {
		list = append(list, object{{"type", "cluster"}, {"id", "cluster"}, {"name", w.Cluster}, {"nodes", len(w.Nodes)}, {"version", w.ConfigVersion}, {"quorate", number01(w.Quorate)}})
	}
	for _, n := range w.Nodes {
		id := n.ID
		if w.Cluster == "" {
			id = 0
		}
		o := object{{"type", "node"}, {"id", "node/" + string(n.Name)}, {"name", string(n.Name)}, {"nodeid", id}, {"local", number01(n.Name == w.Local)}, {"online", number01(n.Online)}, {"level", n.Subscription.Level}}
		o.putIf("ip", n.IP)
		list = append(list, o)
	}
	return c.rows(list), nil
}

// idRange is the datacenter's range for new guest ids.
func (w *World) idRange() (lower, upper apidoc.VMID) {
	lower, upper = 100, 1000000
	r := w.Datacenter.Get("next-id")
	if v := atoi(subOption(r, "lower")); v > 0 {
		lower = apidoc.VMID(v)
	}
	if v := atoi(subOption(r, "upper")); v > 0 {
		upper = apidoc.VMID(v)
	}
	return lower, upper
}

func nextID(c *call) (any, error) {
	if c.has("vmid") {
		id := apidoc.VMID(c.number("vmid", 0))
		if g := c.world.Guest(id); g != nil {
			// Proxmox says VM of containers too.
			return nil, refuse("vmid", fmt.Sprintf("VM %d already exists", id))
		}
		return id.String(), nil
	}
	lower, upper := c.world.idRange()
	id := c.world.NextID(lower, upper)
	if id == 0 {
		return nil, fail("unable to get any free VMID in range [%d, %d]", lower, upper)
	}
	return id.String(), nil
}

// datacenterProperties are the keys of datacenter.cfg that are property
// strings and come out as objects.
var datacenterProperties = []string{"bwlimit", "consent-text", "crs", "ha", "migration", "next-id", "notify", "replication", "tag-style", "u2f", "user-tag-access", "webauthn"}

func datacenterOptions(c *call) (any, error) {
	o := object{}
	c.world.Datacenter.Each(func(key, value string) bool {
		if slices.Contains(datacenterProperties, key) && strings.Contains(value, "=") {
			o.put(key, propertyObject(value))
		} else {
			o.put(key, value)
		}
		return true
	})
	if tags := c.world.Datacenter.Get("registered-tags"); tags == "" {
		o.put("allowed-tags", []string{})
	}
	return c.one(o), nil
}

// propertyObject turns a property string into an object of texts.
func propertyObject(s string) object {
	o := object{}
	for part := range strings.SplitSeq(s, ",") {
		if k, v, ok := strings.Cut(part, "="); ok {
			o.put(k, v)
		}
	}
	return o
}

// clusterLog shows the newest entries first. Without Sys.Syslog on / one sees
// only one's own.
func clusterLog(c *call) (any, error) {
	limit := int(c.number("max", 50))
	all := c.seesAll() || c.priv("/", "Sys.Syslog")
	list := []object{}
	for i := len(c.world.Log) - 1; i >= 0 && len(list) < limit; i-- {
		e := c.world.Log[i]
		if !all && e.User != c.who.user {
			continue
		}
		list = append(list, object{{"uid", i + 1}, {"time", e.Time}, {"pri", e.Priority}, {"tag", e.Tag}, {"pid", e.PID}, {"node", string(e.Node)}, {"user", e.User}, {"msg", e.Message}})
	}
	return c.ordered(list), nil
}

func configNodes(c *call) (any, error) {
	list := []object{}
	if c.world.Cluster == "" {
		return c.ordered(list), nil
	}
	for _, n := range c.world.Nodes {
		list = append(list, object{{"node", string(n.Name)}, {"name", string(n.Name)}, {"nodeid", strconv.Itoa(n.ID)}, {"quorum_votes", "1"}, {"ring0_addr", n.IP}})
	}
	return c.rows(list), nil
}

func (m *MetricServer) object() object {
	o := object{{"id", m.ID}, {"type", m.Type}, {"server", m.Server}, {"port", m.Port}, {"disable", number01(m.Disabled)}}
	m.Options.Each(func(k, v string) bool { o.put(k, v); return true })
	return o
}

func metricServers(c *call) (any, error) {
	list := []object{}
	for _, m := range c.world.Metrics {
		list = append(list, m.object())
	}
	return c.rows(list), nil
}

func metricServer(c *call) (any, error) {
	for _, m := range c.world.Metrics {
		if m.ID == c.path["id"] {
			return c.one(m.object()), nil
		}
	}
	return nil, fail("status server entry '%s' does not exist", c.path["id"])
}

// poolMembers are the guests of a pool, and its storages as the local node
// sees them.
func (c *call) poolMembers(p *Pool, kind string) []object {
	w, t := c.world, c.now.Unix()
	list := []object{}
	if kind == "" || kind == "qemu" || kind == "lxc" {
		for _, g := range w.Members(p.ID) {
			if kind == "" || string(g.Kind) == kind {
				list = append(list, w.guestResource(g, w.Node(g.Node), w.HA.Resource(g.ID), t))
			}
		}
	}
	if kind == "" || kind == "storage" {
		for _, id := range p.Storages {
			s, n := w.Storage(id), w.Node(w.Local)
			if s == nil || n == nil {
				continue
			}
			if !s.On(n.Name) && len(s.Nodes) > 0 {
				n = w.Node(s.Nodes[0])
			}
			if n != nil {
				list = append(list, storageResource(s, n, t))
			}
		}
	}
	c.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

func poolList(c *call) (any, error) {
	if id := c.param("poolid"); id != "" {
		p := c.world.Pool(apidoc.Pool(id))
		if p == nil {
			return nil, fail("pool '%s' does not exist", id)
		}
		o := object{{"poolid", id}, {"members", c.poolMembers(p, c.param("type"))}}
		o.putIf("comment", p.Comment)
		return c.rows([]object{o}), nil
	}
	list := []object{}
	for _, p := range c.world.Pools {
		if c.seesAll() || c.anyPriv("/pool/"+string(p.ID), "Pool.Audit", "Pool.Allocate") {
			o := object{{"poolid", string(p.ID)}}
			o.putIf("comment", p.Comment)
			list = append(list, o)
		}
	}
	return c.rows(list), nil
}

func poolIndex(c *call) (any, error) {
	p := c.world.Pool(apidoc.Pool(c.path["poolid"]))
	if p == nil {
		return nil, fail("pool '%s' does not exist", c.path["poolid"])
	}
	o := object{{"members", c.poolMembers(p, c.param("type"))}}
	o.putIf("comment", p.Comment)
	return c.one(o), nil
}
