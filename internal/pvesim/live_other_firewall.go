package pvesim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// firewallPlace is where a call changes a firewall: of the datacenter, a node
// or a guest. What a level does not have is nil.
type firewallPlace struct {
	options *Config
	rules   *[]*FirewallRule
	ipsets  *[]*IPSet
	aliases *[]*Alias
}

func init() {
	guest := func(kind apidoc.GuestKind) func(*call) (firewallPlace, error) {
		return func(c *call) (firewallPlace, error) {
			g := c.world.Guest(apidoc.VMID(c.vmid()))
			if g == nil || g.Kind != kind {
				return firewallPlace{}, noConfig(kind, c.node(), c.vmid())
			}
			f := &g.Firewall
			return firewallPlace{&f.Options, &f.Rules, &f.IPSets, &f.Aliases}, nil
		}
	}
	for base, place := range map[string]func(*call) (firewallPlace, error){
		"/cluster/firewall": func(c *call) (firewallPlace, error) {
			f := &c.world.Firewall
			return firewallPlace{&f.Options, &f.Rules, &f.IPSets, &f.Aliases}, nil
		},
		"/nodes/{node}/firewall": func(c *call) (firewallPlace, error) {
			n, err := c.theNode()
			if err != nil {
				return firewallPlace{}, err
			}
			return firewallPlace{options: &n.Firewall.Options, rules: &n.Firewall.Rules}, nil
		},
		"/nodes/{node}/qemu/{vmid}/firewall": guest(apidoc.QEMU),
		"/nodes/{node}/lxc/{vmid}/firewall":  guest(apidoc.LXC),
	} {
		with := func(f func(*call, firewallPlace) error) handler {
			return func(c *call) (any, error) {
				if err := c.quorum("firewall"); err != nil {
					return nil, err
				}
				p, err := place(c)
				if err != nil {
					return nil, err
				}
				return nil, f(c, p)
			}
		}
		register("PUT "+base+"/options", with(setFirewallOptions))
		register("POST "+base+"/rules", with(func(c *call, p firewallPlace) error { return addRule(c, p.rules) }))
		register("PUT "+base+"/rules/{pos}", with(func(c *call, p firewallPlace) error { return changeRule(c, p.rules) }))
		register("DELETE "+base+"/rules/{pos}", with(func(c *call, p firewallPlace) error { return removeRule(c, p.rules) }))
		if base == "/nodes/{node}/firewall" {
			continue
		}
		register("POST "+base+"/aliases", with(addAlias))
		register("PUT "+base+"/aliases/{name}", with(changeAlias))
		register("DELETE "+base+"/aliases/{name}", with(removeAlias))
		register("POST "+base+"/ipset", with(addIPSet))
		register("DELETE "+base+"/ipset/{name}", with(removeIPSet))
		register("POST "+base+"/ipset/{name}", with(addNetwork))
		register("PUT "+base+"/ipset/{name}/{cidr}", with(changeNetwork))
		register("DELETE "+base+"/ipset/{name}/{cidr}", with(removeNetwork))
	}
	group := func(f func(*call, *[]*FirewallRule) error) handler {
		return func(c *call) (any, error) {
			g, err := c.theGroup()
			if err != nil {
				return nil, err
			}
			return nil, f(c, &g.Rules)
		}
	}
	register("POST /cluster/firewall/groups", addSecurityGroup)
	register("DELETE /cluster/firewall/groups/{group}", removeSecurityGroup)
	register("POST /cluster/firewall/groups/{group}", group(addRule))
	register("PUT /cluster/firewall/groups/{group}/{pos}", group(changeRule))
	register("DELETE /cluster/firewall/groups/{group}/{pos}", group(removeRule))
}

func setFirewallOptions(c *call, p firewallPlace) error {
	if err := c.sameDigest(p.options.Digest()); err != nil {
		return err
	}
	return c.store(p.options)
}

// rulesDigest is the one that lists of rules show.
func rulesDigest(rules []*FirewallRule) string {
	rows := ruleRows(rules)
	if len(rows) == 0 {
		return digestOf("")
	}
	for _, m := range rows[0] {
		if m.key == "digest" {
			return m.value.(string)
		}
	}
	return ""
}

// macros are those that GET /cluster/firewall/macros lists.
func isMacro(name string) bool {
	return slices.ContainsFunc([]string{"Ceph", "DNS", "HTTP", "HTTPS", "NTP", "Ping", "RDP", "SMTP", "SSH"}, func(m string) bool { return strings.EqualFold(m, name) })
}

// fillRule takes what a call says about a rule, and refuses what can't be one.
func (c *call) fillRule(r *FirewallRule) error {
	if c.has("type") {
		r.Type = c.param("type")
	}
	if c.has("action") {
		r.Action = c.param("action")
	}
	r.Enabled = c.number("enable", int64(number01(r.Enabled))) != 0
	if err := c.store(&r.Options, "type", "action", "enable", "pos", "moveto", "node", "vmid", "group"); err != nil {
		return err
	}
	o := &r.Options
	named := slices.ContainsFunc(c.world.Firewall.Groups, func(g *SecurityGroup) bool { return g.Name == r.Action })
	switch {
	case r.Type == "group" && !named:
		return refuse("action", "security group '"+r.Action+"' does not exist")
	case r.Type != "group" && !slices.Contains([]string{"ACCEPT", "DROP", "REJECT"}, r.Action):
		return refuse("action", "unknown action '"+r.Action+"'")
	case o.Has("macro") && !isMacro(o.Get("macro")):
		return refuse("macro", "unknown macro '"+o.Get("macro")+"'")
	}
	for _, port := range [...]string{"dport", "sport"} {
		if !o.Has(port) {
			continue
		}
		switch proto := o.Get("proto"); {
		case proto == "" && !o.Has("macro"):
			return refuse("proto", "missing property - '"+port+"' requires this property")
		case proto != "" && !slices.Contains([]string{"tcp", "udp", "sctp", "dccp", "udplite", "icmp", "icmpv6", "ipv6-icmp", "6", "17", "132", "33", "136", "1", "58"}, proto):
			return refuse(port, "protocol '"+proto+"' does not support ports")
		}
	}
	return nil
}

// addRule puts a new rule in front, or where the call says.
func addRule(c *call, rules *[]*FirewallRule) error {
	r := &FirewallRule{}
	if err := c.sameDigest(rulesDigest(*rules)); err != nil {
		return err
	}
	if err := c.fillRule(r); err != nil {
		return err
	}
	at := min(int(c.number("pos", 0)), len(*rules))
	*rules = slices.Insert(slices.Clone(*rules), at, r)
	return nil
}

func (c *call) ruleAt(rules []*FirewallRule) (int, error) {
	if err := c.sameDigest(rulesDigest(rules)); err != nil {
		return 0, err
	}
	i, err := strconv.Atoi(c.path["pos"])
	if err != nil || i < 0 || i >= len(rules) {
		return 0, fail("no rule at position %s", c.path["pos"])
	}
	return i, nil
}

func changeRule(c *call, rules *[]*FirewallRule) error {
	i, err := c.ruleAt(*rules)
	if err != nil {
		return err
	}
	r := (*rules)[i]
	if c.has("moveto") {
		to := min(int(c.number("moveto", 0)), len(*rules))
		list := slices.Insert(slices.Clone(*rules), to, r)
		if to <= i {
			i++
		}
		*rules = slices.Delete(list, i, i+1)
		return nil
	}
	changed := *r
	changed.Options = r.Options.Clone()
	if err := c.fillRule(&changed); err != nil {
		return err
	}
	*r = changed
	return nil
}

func removeRule(c *call, rules *[]*FirewallRule) error {
	i, err := c.ruleAt(*rules)
	if err != nil {
		return err
	}
	*rules = slices.Delete(slices.Clone(*rules), i, i+1)
	return nil
}

func aliasIn(list []*Alias, name string) *Alias {
	for _, a := range list {
		if strings.EqualFold(a.Name, name) {
			return a
		}
	}
	return nil
}

func addAlias(c *call, p firewallPlace) error {
	name := c.param("name")
	if aliasIn(*p.aliases, name) != nil {
		return refuse("name", "alias '"+name+"' already exists")
	}
	*p.aliases = append(*p.aliases, &Alias{Name: name, CIDR: c.param("cidr"), Comment: c.param("comment")})
	return nil
}

func changeAlias(c *call, p firewallPlace) error {
	a := aliasIn(*p.aliases, c.path["name"])
	if a == nil {
		return refuse("name", "no such alias")
	}
	if err := c.sameDigest(digestOf(a.Name + a.CIDR + a.Comment)); err != nil {
		return err
	}
	if to := c.param("rename"); to != "" && !strings.EqualFold(to, a.Name) {
		if aliasIn(*p.aliases, to) != nil {
			return refuse("name", "alias '"+to+"' already exists")
		}
		a.Name = to
	}
	a.CIDR = c.param("cidr")
	if c.has("comment") {
		a.Comment = c.param("comment")
	}
	return nil
}

// removeAlias does not mind an alias that is not there.
func removeAlias(c *call, p firewallPlace) error {
	a := aliasIn(*p.aliases, c.path["name"])
	if a == nil {
		return nil
	}
	if err := c.sameDigest(digestOf(a.Name + a.CIDR + a.Comment)); err != nil {
		return err
	}
	*p.aliases = slices.DeleteFunc(slices.Clone(*p.aliases), func(x *Alias) bool { return x == a })
	return nil
}

func setIn(list []*IPSet, name string) *IPSet {
	for _, s := range list {
		if strings.EqualFold(s.Name, name) {
			return s
		}
	}
	return nil
}

// addIPSet makes a set, or gives the one named by rename another name or comment.
func addIPSet(c *call, p firewallPlace) error {
	name, old := c.param("name"), c.param("rename")
	there := setIn(*p.ipsets, name)
	if old == "" {
		if there != nil {
			return refuse("name", "IPSet '"+name+"' already exists")
		}
		*p.ipsets = append(*p.ipsets, &IPSet{Name: name, Comment: c.param("comment")})
		return nil
	}
	s := setIn(*p.ipsets, old)
	switch {
	case s == nil:
		return refuse("name", "IPSet '"+old+"' does not exist")
	case there != nil && there != s:
		return refuse("name", "IPSet '"+name+"' does already exist")
	}
	s.Name = name
	if c.has("comment") {
		s.Comment = c.param("comment")
	}
	return nil
}

func removeIPSet(c *call, p firewallPlace) error {
	s := setIn(*p.ipsets, c.path["name"])
	if s == nil {
		return nil
	}
	if len(s.Entries) > 0 && !c.flag("force", false) {
		return fail("IPSet '%s' is not empty", s.Name)
	}
	*p.ipsets = slices.DeleteFunc(slices.Clone(*p.ipsets), func(x *IPSet) bool { return x == s })
	return nil
}

func (c *call) theSet(p firewallPlace) (*IPSet, error) {
	s := setIn(*p.ipsets, c.path["name"])
	if s == nil {
		return nil, fail("no such IPSet '%s'", c.path["name"])
	}
	return s, c.sameDigest(digestOf(fmt.Sprint(s.Name, s.Entries)))
}

func (s *IPSet) index(cidr string) int {
	return slices.IndexFunc(s.Entries, func(e IPSetEntry) bool { return e.CIDR == cidr })
}

func addNetwork(c *call, p firewallPlace) error {
	s, err := c.theSet(p)
	if err != nil {
		return err
	}
	cidr := c.param("cidr")
	if s.index(cidr) >= 0 {
		return refuse("cidr", "address '"+cidr+"' already exists")
	}
	s.Entries = append([]IPSetEntry{{CIDR: cidr, Comment: c.param("comment"), NoMatch: c.flag("nomatch", false)}}, s.Entries...)
	return nil
}

func changeNetwork(c *call, p firewallPlace) error {
	s, err := c.theSet(p)
	if err != nil {
		return err
	}
	i := s.index(c.path["cidr"])
	if i < 0 {
		return refuse("cidr", "no such network")
	}
	s.Entries = slices.Clone(s.Entries)
	e := &s.Entries[i]
	e.NoMatch = c.flag("nomatch", false)
	if c.has("comment") {
		e.Comment = c.param("comment")
	}
	return nil
}

func removeNetwork(c *call, p firewallPlace) error {
	s, err := c.theSet(p)
	if err != nil {
		return err
	}
	s.Entries = slices.DeleteFunc(slices.Clone(s.Entries), func(e IPSetEntry) bool { return e.CIDR == c.path["cidr"] })
	return nil
}

// addSecurityGroup makes a group, or gives the one named by rename another
// name or comment.
func addSecurityGroup(c *call) (any, error) {
	f := &c.world.Firewall
	find := func(name string) *SecurityGroup {
		for _, g := range f.Groups {
			if g.Name == name {
				return g
			}
		}
		return nil
	}
	name, old := c.param("group"), c.param("rename")
	if old == "" {
		if find(name) != nil {
			return nil, refuse("group", "Security group '"+name+"' already exists")
		}
		f.Groups = append(f.Groups, &SecurityGroup{Name: name, Comment: c.param("comment")})
		return nil, nil
	}
	g := find(old)
	switch {
	case g == nil:
		return nil, refuse("group", "Security group '"+old+"' does not exist")
	case name != old && find(name) != nil:
		return nil, refuse("group", "Security group '"+name+"' already exists")
	}
	g.Name = name
	if c.has("comment") {
		g.Comment = c.param("comment")
	}
	return nil, nil
}

func removeSecurityGroup(c *call) (any, error) {
	f := &c.world.Firewall
	for i, g := range f.Groups {
		if g.Name == c.path["group"] {
			if len(g.Rules) > 0 {
				return nil, fail("Security group '%s' is not empty", g.Name)
			}
			f.Groups = slices.Delete(slices.Clone(f.Groups), i, i+1)
			break
		}
	}
	return nil, nil
}
