package pvesim

import (
	"fmt"
	"slices"
	"strconv"

	"pvemcp/apidoc"
)

// The firewalls of the datacenter, the nodes and the guests have the same
// parts under different paths.
type firewallParts struct {
	options Config
	rules   []*FirewallRule
	ipsets  []*IPSet
	aliases []*Alias
	log     []string
}

func init() {
	guest := func(kind apidoc.GuestKind) func(*call) (firewallParts, error) {
		return func(c *call) (firewallParts, error) {
			// The node that was asked answers from the cluster file system, so
			// neither node nor kind need be right as long as the guest is there.
			g := c.world.Guest(apidoc.VMID(c.vmid()))
			if g == nil || g.Kind != kind {
				return firewallParts{}, nil
			}
			return firewallParts{g.Firewall.Options, g.Firewall.Rules, g.Firewall.IPSets, g.Firewall.Aliases, g.Firewall.Log}, nil
		}
	}
	cluster := func(c *call) (firewallParts, error) {
		f := &c.world.Firewall
		return firewallParts{options: f.Options, rules: f.Rules, ipsets: f.IPSets, aliases: f.Aliases}, nil
	}
	node := func(c *call) (firewallParts, error) {
		n, err := c.theNode()
		if err != nil {
			return firewallParts{}, err
		}
		return firewallParts{options: n.Firewall.Options, rules: n.Firewall.Rules, log: n.Firewall.Log}, nil
	}
	for base, parts := range map[string]func(*call) (firewallParts, error){
		"/cluster/firewall":                  cluster,
		"/nodes/{node}/firewall":             node,
		"/nodes/{node}/qemu/{vmid}/firewall": guest(apidoc.QEMU),
		"/nodes/{node}/lxc/{vmid}/firewall":  guest(apidoc.LXC),
	} {
		with := func(f func(*call, firewallParts) (any, error)) handler {
			return func(c *call) (any, error) {
				p, err := parts(c)
				if err != nil {
					return nil, err
				}
				return f(c, p)
			}
		}
		register("GET "+base+"/options", with(firewallOptions))
		register("GET "+base+"/rules", with(func(c *call, p firewallParts) (any, error) { return c.ordered(ruleRows(p.rules)), nil }))
		register("GET "+base+"/rules/{pos}", with(func(c *call, p firewallParts) (any, error) { return ruleAt(c, p.rules) }))
		if base != "/cluster/firewall" {
			register("GET "+base+"/log", with(func(c *call, p firewallParts) (any, error) { return c.page(p.log, 50, false), nil }))
		}
		if base != "/nodes/{node}/firewall" {
			register("GET "+base+"/ipset", with(ipsetList))
			register("GET "+base+"/ipset/{name}", with(ipsetEntries))
			register("GET "+base+"/ipset/{name}/{cidr}", with(ipsetEntry))
			register("GET "+base+"/aliases", with(aliasList))
			register("GET "+base+"/aliases/{name}", with(aliasNamed))
			register("GET "+base+"/refs", with(firewallRefs))
		}
	}
	register("GET /cluster/firewall/groups", securityGroups)
	register("GET /cluster/firewall/groups/{group}", securityGroup)
	register("GET /cluster/firewall/groups/{group}/{pos}", securityGroupRule)
	register("GET /cluster/firewall/macros", firewallMacros)
}

func firewallOptions(c *call, p firewallParts) (any, error) {
	o := configObject(&p.options, func(k string) bool {
		return !slices.Contains([]string{"policy_in", "policy_out", "policy_forward", "log_level_in", "log_level_out", "log_ratelimit"}, k)
	})
	return c.one(append(o, member{"digest", p.options.Digest()})), nil
}

func ruleRows(rules []*FirewallRule) []object {
	text := ""
	for _, r := range rules {
		text += fmt.Sprintf("%s %s %v\n%s", r.Type, r.Action, r.Enabled, r.Options.Text())
	}
	digest := digestOf(text)
	list := []object{}
	for i, r := range rules {
		o := object{{"pos", i}, {"type", r.Type}, {"action", r.Action}, {"enable", number01(r.Enabled)}, {"digest", digest}}
		r.Options.Each(func(k, v string) bool { o.put(k, v); return true })
		list = append(list, o)
	}
	return list
}

func ruleAt(c *call, rules []*FirewallRule) (any, error) {
	i, err := strconv.Atoi(c.path["pos"])
	if err != nil || i < 0 || i >= len(rules) {
		return nil, fail("no rule at position %s", c.path["pos"])
	}
	return c.one(ruleRows(rules)[i]), nil
}

func ipsetList(c *call, p firewallParts) (any, error) {
	list := []object{}
	for _, s := range p.ipsets {
		o := object{{"name", s.Name}, {"digest", digestOf(fmt.Sprint(s.Name, s.Entries))}}
		o.putIf("comment", s.Comment)
		list = append(list, o)
	}
	return c.rows(list), nil
}

func (s *IPSet) row(e IPSetEntry) object {
	o := object{{"cidr", e.CIDR}, {"digest", digestOf(fmt.Sprint(s.Name, s.Entries))}}
	o.putIf("comment", e.Comment)
	o.flagIf("nomatch", e.NoMatch)
	return o
}

func theIPSet(c *call, p firewallParts) (*IPSet, error) {
	for _, s := range p.ipsets {
		if s.Name == c.path["name"] {
			return s, nil
		}
	}
	return nil, fail("no such IPSet '%s'", c.path["name"])
}

func ipsetEntries(c *call, p firewallParts) (any, error) {
	s, err := theIPSet(c, p)
	if err != nil {
		return nil, err
	}
	list := []object{}
	for _, e := range s.Entries {
		list = append(list, s.row(e))
	}
	return c.rows(list), nil
}

func ipsetEntry(c *call, p firewallParts) (any, error) {
	s, err := theIPSet(c, p)
	if err != nil {
		return nil, err
	}
	for _, e := range s.Entries {
		if e.CIDR == c.path["cidr"] {
			return c.one(s.row(e)), nil
		}
	}
	return nil, refuse("cidr", "no such network")
}

func (a *Alias) object() object {
	o := object{{"name", a.Name}, {"cidr", a.CIDR}, {"ipversion", 4}, {"digest", digestOf(a.Name + a.CIDR + a.Comment)}}
	if _, _, v6 := addressFields(a.CIDR); v6 {
		o[2].value = 6
	}
	o.putIf("comment", a.Comment)
	return o
}

func aliasList(c *call, p firewallParts) (any, error) {
	list := []object{}
	for _, a := range p.aliases {
		list = append(list, a.object())
	}
	return c.rows(list), nil
}

func aliasNamed(c *call, p firewallParts) (any, error) {
	for _, a := range p.aliases {
		if a.Name == c.path["name"] {
			return c.one(a.object()), nil
		}
	}
	return nil, refuse("name", "no such alias")
}

// firewallRefs is what a rule may name: sets and aliases of this firewall, and
// of the datacenter's.
func firewallRefs(c *call, p firewallParts) (any, error) {
	list := []object{}
	add := func(scope string, ipsets []*IPSet, aliases []*Alias) {
		if c.param("type") != "alias" {
			for _, s := range ipsets {
				o := object{{"type", "ipset"}, {"name", s.Name}, {"ref", "+" + scope + s.Name}, {"scope", scope}}
				o.putIf("comment", s.Comment)
				list = append(list, o)
			}
		}
		if c.param("type") != "ipset" {
			for _, a := range aliases {
				o := object{{"type", "alias"}, {"name", a.Name}, {"ref", scope + a.Name}, {"scope", scope}}
				o.putIf("comment", a.Comment)
				list = append(list, o)
			}
		}
	}
	f := &c.world.Firewall
	add("dc/", f.IPSets, f.Aliases)
	if c.path["vmid"] != "" {
		add("guest/", p.ipsets, p.aliases)
	}
	return c.rows(list), nil
}

func securityGroups(c *call) (any, error) {
	list := []object{}
	for _, g := range c.world.Firewall.Groups {
		o := object{{"group", g.Name}, {"digest", digestOf(fmt.Sprint(len(c.world.Firewall.Groups), g.Name))}}
		o.putIf("comment", g.Comment)
		list = append(list, o)
	}
	return c.rows(list), nil
}

func (c *call) theGroup() (*SecurityGroup, error) {
	for _, g := range c.world.Firewall.Groups {
		if g.Name == c.path["group"] {
			return g, nil
		}
	}
	return nil, fail("no such security group '%s'", c.path["group"])
}

func securityGroup(c *call) (any, error) {
	g, err := c.theGroup()
	if err != nil {
		return nil, err
	}
	return c.ordered(ruleRows(g.Rules)), nil
}

func securityGroupRule(c *call) (any, error) {
	g, err := c.theGroup()
	if err != nil {
		return nil, err
	}
	return ruleAt(c, g.Rules)
}

func firewallMacros(c *call) (any, error) {
	list := []object{}
	for _, m := range [...][2]string{{"Ceph", "Ceph storage"}, {"DNS", "name service"}, {"HTTP", "web"}, {"HTTPS", "web over TLS"}, {"NTP", "time"}, {"Ping", "ICMP echo"}, {"RDP", "remote desktop"}, {"SMTP", "mail"}, {"SSH", "secure shell"}} {
		list = append(list, object{{"macro", m[0]}, {"descr", m[1]}})
	}
	return c.rows(list), nil
}
