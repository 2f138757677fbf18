package pvesim

import (
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// What a cluster has that nobody has set up: the built-in entries, and empty
// lists of the rest.

func init() {
	for _, path := range [...]string{
		"/cluster/sdn/fabrics/fabric", "/cluster/sdn/fabrics/node", "/cluster/sdn/prefix-lists", "/cluster/sdn/route-maps/entries",
	} {
		register("GET "+path, func(c *call) (any, error) { return c.rows(nil), nil })
	}
	register("GET /cluster/sdn/fabrics/all", func(c *call) (any, error) {
		return c.one(object{{"fabrics", []object{}}, {"nodes", []object{}}}), nil
	})
	register("GET /cluster/sdn/vnets/{vnet}/firewall/options", func(c *call) (any, error) { return c.one(object{}), nil })
	register("GET /cluster/sdn/vnets/{vnet}/firewall/rules", func(c *call) (any, error) { return c.ordered(nil), nil })
	register("GET /cluster/acme/directories", func(c *call) (any, error) {
		return c.rows([]object{
			{{"name", "Let's Encrypt V2"}, {"url", "https://acme-v02.api.letsencrypt.org/directory"}},
			{{"name", "Let's Encrypt V2 Staging"}, {"url", "https://acme-staging-v02.api.letsencrypt.org/directory"}},
		}), nil
	})
	register("GET /cluster/notifications/matcher-fields", func(c *call) (any, error) {
		return c.rows([]object{{{"name", "type"}}, {{"name", "hostname"}}, {{"name", "job-id"}}}), nil
	})
	register("GET /cluster/config/totem", configTotem)
	register("GET /cluster/config/join", configJoin)
	register("GET /cluster/config/qdevice", func(c *call) (any, error) { return c.one(object{}), nil })
	register("GET /nodes/{node}/scan/lvm", scanLVM)
	register("GET /nodes/{node}/scan/lvmthin", scanThin)
	register("GET /nodes/{node}/scan/zfs", scanZFS)
}

func mailToRoot() object {
	return object{{"name", "mail-to-root"}, {"origin", "builtin"}, {"comment", "to the address of root@pam"}}
}

func defaultMatcher() object {
	return object{{"name", "default-matcher"}, {"origin", "builtin"}, {"mode", "all"}, {"target", []string{"mail-to-root"}}, {"comment", "everything to mail-to-root"}}
}

func noSuchTarget(c *call) error {
	return &apiError{Status: 404, Message: "'" + c.path["name"] + "' does not exist\n"}
}

func configTotem(c *call) (any, error) {
	w := c.world
	if w.Cluster == "" {
		return c.one(object{}), nil
	}
	return c.one(object{{"cluster_name", w.Cluster}, {"config_version", strconv.Itoa(w.ConfigVersion)}, {"ip_version", "ipv4-6"}, {"link_mode", "passive"}, {"secauth", "on"}, {"version", "2"}, {"interface", object{{"0", object{{"linknumber", "0"}}}}}}), nil
}

func configJoin(c *call) (any, error) {
	w := c.world
	if w.Cluster == "" {
		return nil, fail("node is not in a cluster, no join info available!")
	}
	list := []object{}
	for _, n := range w.Nodes {
		print := ""
		for _, k := range n.Certificates {
			if k.File == "pve-ssl.pem" {
				print = k.Fingerprint
			}
		}
		list = append(list, object{{"name", string(n.Name)}, {"nodeid", n.ID}, {"pve_addr", n.IP}, {"pve_fp", print}, {"quorum_votes", 1}, {"ring0_addr", n.IP}})
	}
	totem := object{{"cluster_name", w.Cluster}, {"config_version", strconv.Itoa(w.ConfigVersion)}, {"version", "2"}}
	return c.one(object{{"config_digest", digestOf(w.Cluster + strconv.Itoa(w.ConfigVersion))}, {"preferred_node", string(w.Local)}, {"nodelist", list}, {"totem", totem}}), nil
}

func scanLVM(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, g := range n.VolumeGroups {
		list = append(list, object{{"vg", g.Name}})
	}
	return c.rows(list), nil
}

func scanThin(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, p := range n.ThinPools {
		if p.Group == c.param("vg") {
			list = append(list, object{{"lv", p.Name}})
		}
	}
	return c.rows(list), nil
}

func scanZFS(c *call) (any, error) {
	n, err := c.theNode()
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	list := []object{}
	add := func(pool string) {
		if pool != "" && !seen[pool] {
			seen[pool] = true
			list = append(list, object{{"pool", pool}})
		}
	}
	for _, p := range n.ZPools {
		add(p.Name)
		for _, s := range c.world.Storages {
			if s.Type == "zfspool" && s.On(apidoc.Node(c.node())) && strings.HasPrefix(s.Options.Get("pool"), p.Name) {
				add(s.Options.Get("pool"))
			}
		}
	}
	return c.rows(list), nil
}
