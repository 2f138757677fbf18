package pvesim

import (
	"slices"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("POST /cluster/ha/rules", ruleAdd)
	register("PUT /cluster/ha/rules/{rule}", ruleChange)
	register("DELETE /cluster/ha/rules/{rule}", ruleRemove)
	register("POST /cluster/ha/groups", groupWrite)
	register("PUT /cluster/ha/groups/{group}", groupWrite)
	register("DELETE /cluster/ha/groups/{group}", groupWrite)
}

func (w *World) haRule(id string) *HARule {
	for _, r := range w.HA.Rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// ruleValues takes the parameters of a rule.
func (c *call) ruleValues(r *HARule) error {
	if c.has("resources") {
		var sids []string
		for _, s := range c.list("resources") {
			sid := c.world.haSID(s)
			if !slices.ContainsFunc(c.world.HA.Resources, func(x *HAResource) bool { return x.SID == sid }) {
				return fail("cannot use unmanaged resource(s) %s.", sid)
			}
			sids = append(sids, sid)
		}
		r.Resources = sids
	}
	if c.has("nodes") {
		for _, n := range c.list("nodes") {
			name, _, _ := strings.Cut(n, ":")
			if c.world.Node(apidoc.Node(name)) == nil {
				return fail("no such cluster node '%s'", name)
			}
		}
		r.Nodes = strings.Join(c.list("nodes"), ",")
	}
	if c.has("comment") {
		r.Comment = strings.TrimRight(c.param("comment"), "\n")
	}
	if c.has("affinity") {
		r.Affinity = c.param("affinity")
	}
	r.Strict = c.flag("strict", r.Strict)
	r.Disabled = c.flag("disable", r.Disabled)
	if r.Type == "resource-affinity" && len(r.Resources) < 2 {
		return fail("rule '%s' needs at least two resources", r.ID)
	}
	return nil
}

func ruleAdd(c *call) (any, error) {
	if c.world.haRule(c.param("rule")) != nil {
		return nil, fail("HA rule '%s' already defined", c.param("rule"))
	}
	if err := c.world.haConfig("rules.cfg"); err != nil {
		return nil, err
	}
	r := &HARule{ID: c.param("rule"), Type: c.param("type")}
	if err := c.ruleValues(r); err != nil {
		return nil, err
	}
	c.world.HA.Rules = append(c.world.HA.Rules, r)
	return nil, nil
}

func ruleChange(c *call) (any, error) {
	r := c.world.haRule(c.path["rule"])
	if r == nil {
		return nil, fail("HA rule '%s' does not exist", c.path["rule"])
	}
	if t := c.param("type"); t != "" && t != r.Type {
		return nil, fail("HA rule '%s' is of type '%s', not '%s'", r.ID, r.Type, t)
	}
	if err := c.world.haConfig("rules.cfg"); err != nil {
		return nil, err
	}
	changed := *r
	for _, key := range c.list("delete") {
		switch key {
		case "comment":
			changed.Comment = ""
		case "strict":
			changed.Strict = false
		case "disable":
			changed.Disabled = false
		default:
			return nil, refuse("delete", "unknown option '"+key+"'")
		}
	}
	if err := c.ruleValues(&changed); err != nil {
		return nil, err
	}
	*r = changed
	return nil, nil
}

func ruleRemove(c *call) (any, error) {
	r := c.world.haRule(c.path["rule"])
	if r == nil {
		return nil, fail("HA rule '%s' does not exist", c.path["rule"])
	}
	if err := c.world.haConfig("rules.cfg"); err != nil {
		return nil, err
	}
	c.world.HA.Rules = slices.DeleteFunc(c.world.HA.Rules, func(x *HARule) bool { return x == r })
	return nil, nil
}

// groupWrite is about what 9.0 has made into rules.
func groupWrite(c *call) (any, error) {
	h := &c.world.HA
	id := c.param("group")
	at := slices.IndexFunc(h.Groups, func(g *HAGroup) bool { return g.ID == id })
	what := map[apidoc.Verb]string{apidoc.POST: "create", apidoc.PUT: "update", apidoc.DELETE: "delete"}[c.ep.Verb]
	switch {
	case c.world.Version.Major() >= 9:
		return nil, fail("cannot %s group: ha groups have been migrated to rules", what)
	case c.ep.Verb == apidoc.POST && at >= 0:
		return nil, fail("ha group ID '%s' already defined", id)
	case c.ep.Verb != apidoc.POST && at < 0:
		return nil, fail("no such ha group '%s'", id)
	}
	if err := c.world.haConfig("groups.cfg"); err != nil {
		return nil, err
	}
	if c.ep.Verb == apidoc.DELETE {
		if slices.ContainsFunc(h.Resources, func(r *HAResource) bool { return r.Group == id }) {
			return nil, fail("ha group is used by service")
		}
		h.Groups = slices.Delete(h.Groups, at, at+1)
		return nil, nil
	}
	if at < 0 {
		h.Groups = append(h.Groups, &HAGroup{ID: id})
		at = len(h.Groups) - 1
	}
	g := h.Groups[at]
	for _, key := range c.list("delete") {
		switch key {
		case "comment":
			g.Comment = ""
		case "restricted":
			g.Restricted = false
		case "nofailback":
			g.NoFailback = false
		}
	}
	if c.has("nodes") {
		g.Nodes = strings.Join(c.list("nodes"), ",")
	}
	if c.has("comment") {
		g.Comment = strings.TrimRight(c.param("comment"), "\n")
	}
	g.Restricted, g.NoFailback = c.flag("restricted", g.Restricted), c.flag("nofailback", g.NoFailback)
	return nil, nil
}
