package pvesim

import (
	"sort"
	"strings"

	"pvemcp/apidoc"
)

func init() {
	register("GET /version", answerVersion)
	register("GET /access/ticket", func(*call) (any, error) { return nil, nil })
	register("POST /access/ticket", answerLogin)
	register("GET /access/domains", answerDomains)
	register("GET /access/domains/{realm}", answerDomain)
	register("GET /access/permissions", answerPermissions)
	register("GET /access/users", answerUsers)
	register("GET /access/users/{userid}", answerUser)
	register("GET /access/users/{userid}/token", answerTokens)
	register("GET /access/users/{userid}/token/{tokenid}", answerToken)
	register("GET /access/users/{userid}/tfa", answerUserTFA)
	register("GET /access/groups", answerGroups)
	register("GET /access/groups/{groupid}", answerGroup)
	register("GET /access/roles", answerRoles)
	register("GET /access/roles/{roleid}", answerRole)
	register("GET /access/acl", answerACL)
	register("GET /access/tfa", answerTFA)
	register("GET /access/tfa/{userid}", answerTFAOf)
}

func answerVersion(c *call) (any, error) {
	v := c.world.Version
	return map[string]any{"version": v.Version, "release": v.Release, "repoid": v.RepoID}, nil
}

// answerLogin issues a ticket. The password may also be a ticket that is still
// good, which renews it.
func answerLogin(c *call) (any, error) {
	user := c.param("username")
	if realm := c.param("realm"); realm != "" && !strings.HasSuffix(user, "@"+realm) {
		user += "@" + realm
	}
	failed := &apiError{Status: 401, Message: "authentication failure\n"}
	a := c.world.access
	if !a.usable(user, c.now) {
		return nil, failed
	}
	password := c.param("password")
	renewed, ok := c.srv.tickets.verify(password, c.now)
	if !(ok && renewed == user) && (a.Users[user].Password == "" || a.Users[user].Password != password) {
		return nil, failed
	}
	who := identity{user: user, root: user == "root@pam", view: newACLView(c.world)}
	return map[string]any{
		"username":            user,
		"ticket":              c.srv.tickets.issue(user, c.now),
		"CSRFPreventionToken": c.srv.tickets.csrf(user, c.now),
		"cap":                 capabilities(who),
	}, nil
}

// capabilities is the summary that the web interface shows buttons by: for
// each part of the tree the privileges that the user has anywhere in it.
func capabilities(who identity) map[string]any {
	parts := map[string]string{
		"vms": "/vms", "dc": "/", "access": "/access", "nodes": "/nodes", "storage": "/storage", "sdn": "/sdn", "mapping": "/mapping",
	}
	belongs := map[string][]string{
		"vms": {"VM."}, "dc": {"Sys.", "SDN."}, "access": {"User.", "Group.", "Permissions.", "Realm."}, "nodes": {"Sys."},
		"storage": {"Datastore."}, "sdn": {"SDN."}, "mapping": {"Mapping."},
	}
	paths := who.view.paths()
	out := map[string]any{}
	for part, root := range parts {
		has := map[string]int{}
		for _, path := range paths {
			if path != root && path != "/" && !strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/") {
				continue
			}
			if root == "/" && path != "/" {
				continue
			}
			for p := range who.view.effective(who, path) {
				for _, prefix := range belongs[part] {
					if strings.HasPrefix(p, prefix) {
						has[p] = 1
					}
				}
			}
		}
		out[part] = has
	}
	return out
}

// basePaths are shown by GET /access/permissions whether or not an entry names
// them.
var basePaths = []string{"/", "/access", "/access/groups", "/mapping", "/nodes", "/pool", "/sdn", "/storage", "/vms"}

// paths gives every ACL path at which something may differ: the fixed ones,
// those with entries, and what stands in pools.
func (v *aclView) paths() []string {
	seen := map[string]bool{}
	for _, p := range basePaths {
		seen[p] = true
	}
	for p := range v.byPath {
		seen[p] = true
	}
	for _, p := range v.pooled() {
		seen[p] = true
	}
	out := make([]string, 0, len(seen))
	for p := range seen {
		out = append(out, p)
	}
	sort.Strings(out)
	return out
}

// answerPermissions gives privileges by path; the number says whether they go
// down the tree. Others than one's own need Sys.Audit on /access.
func answerPermissions(c *call) (any, error) {
	who := c.who
	if id := c.param("userid"); id != "" && id != c.who.name() {
		user, token, _ := strings.Cut(id, "!")
		if user != c.who.user || c.who.token != "" {
			if err := c.need("/access", "Sys.Audit"); err != nil {
				return nil, err
			}
		}
		a := c.world.access
		if a.Users[user] == nil {
			return nil, fail("no such user ('%s')", user)
		}
		if token != "" && a.Tokens[id] == nil {
			return nil, fail("no such token '%s' for user '%s'", token, user)
		}
		who = identity{user: user, token: token, root: id == "root@pam", view: c.who.view}
	}
	paths := who.view.paths()
	if one := c.param("path"); one != "" {
		paths = []string{one}
	}
	out := map[string]any{}
	for _, path := range paths {
		has := map[string]int{}
		for p, down := range who.view.effective(who, path) {
			has[p] = 0
			if down {
				has[p] = 1
			}
		}
		if len(has) > 0 || c.has("path") {
			out[path] = has
		}
	}
	return out, nil
}

func answerDomains(c *call) (any, error) {
	out := []map[string]any{}
	for _, r := range c.world.access.Realms {
		e := map[string]any{"realm": r.ID, "type": r.Type}
		if r.Comment != "" {
			e["comment"] = r.Comment
		}
		if r.TFA != "" {
			e["tfa"] = r.TFA
		}
		if r.Default {
			e["default"] = 1
		}
		out = append(out, e)
	}
	return out, nil
}

func answerDomain(c *call) (any, error) {
	for _, r := range c.world.access.Realms {
		if r.ID != c.path["realm"] {
			continue
		}
		e := map[string]any{"type": r.Type, "digest": digestOf(r.ID + r.Type + r.Comment)}
		for k, v := range r.Options {
			e[k] = v
		}
		if r.Comment != "" {
			e["comment"] = r.Comment
		}
		if r.Default {
			e["default"] = 1
		}
		return e, nil
	}
	return nil, fail("domain '%s' does not exist", c.path["realm"])
}

// sees tells whether the caller may see a user: it is the caller, or one in a
// group that the caller may audit or manage.
func (c *call) sees(user string) bool {
	if c.who.name() == user {
		return true
	}
	if c.anyPriv("/access/groups", "User.Modify", "Sys.Audit") {
		return true
	}
	if u := c.world.access.Users[user]; u != nil {
		for _, g := range u.Groups {
			if c.anyPriv("/access/groups/"+g, "User.Modify", "Sys.Audit") {
				return true
			}
		}
	}
	return false
}

func (a *Access) userFields(id string, u *User) map[string]any {
	_, realm, _ := strings.Cut(id, "@")
	e := map[string]any{"enable": 0, "expire": u.Expire}
	if u.Enabled {
		e["enable"] = 1
	}
	for k, v := range map[string]string{
		"comment": u.Comment, "email": u.Email, "firstname": u.Firstname, "lastname": u.Lastname, "keys": u.Keys,
	} {
		if v != "" {
			e[k] = v
		}
	}
	for _, r := range a.Realms {
		if r.ID == realm {
			e["realm-type"] = r.Type
		}
	}
	return e
}

// tokensOf lists the tokens of a user, sorted by name.
func (a *Access) tokensOf(user string) []string {
	var names []string
	for id := range a.Tokens {
		if owner, name, _ := strings.Cut(id, "!"); owner == user {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func (t *Token) fields() map[string]any {
	e := map[string]any{"expire": t.Expire, "privsep": 0}
	if t.Privsep {
		e["privsep"] = 1
	}
	if t.Comment != "" {
		e["comment"] = t.Comment
	}
	return e
}

func answerUsers(c *call) (any, error) {
	a := c.world.access
	out := []map[string]any{}
	for _, id := range sortedKeys(a.Users) {
		u := a.Users[id]
		if !c.sees(id) || c.has("enabled") && c.flag("enabled", true) != u.Enabled {
			continue
		}
		e := a.userFields(id, u)
		e["userid"] = id
		if c.flag("full", false) {
			e["groups"] = strings.Join(u.Groups, ",")
			tokens := []map[string]any{}
			for _, name := range a.tokensOf(id) {
				t := a.Tokens[id+"!"+name].fields()
				t["tokenid"] = name
				tokens = append(tokens, t)
			}
			e["tokens"] = tokens
		}
		out = append(out, e)
	}
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// user gives the account that the path names, or the error for none.
func (c *call) user() (string, *User, error) {
	id := c.path["userid"]
	u := c.world.access.Users[id]
	if u == nil {
		return id, nil, fail("no such user ('%s')", id)
	}
	return id, u, nil
}

func answerUser(c *call) (any, error) {
	id, u, err := c.user()
	if err != nil {
		return nil, err
	}
	a := c.world.access
	e := a.userFields(id, u)
	delete(e, "realm-type")
	e["groups"] = append([]string{}, u.Groups...)
	tokens := map[string]any{}
	for _, name := range a.tokensOf(id) {
		tokens[name] = a.Tokens[id+"!"+name].fields()
	}
	e["tokens"] = tokens
	return e, nil
}

func answerTokens(c *call) (any, error) {
	id, _, err := c.user()
	if err != nil {
		return nil, err
	}
	out := []map[string]any{}
	for _, name := range c.world.access.tokensOf(id) {
		t := c.world.access.Tokens[id+"!"+name].fields()
		t["tokenid"] = name
		out = append(out, t)
	}
	return out, nil
}

func answerToken(c *call) (any, error) {
	id, _, err := c.user()
	if err != nil {
		return nil, err
	}
	t := c.world.access.Tokens[id+"!"+c.path["tokenid"]]
	if t == nil {
		return nil, fail("no such token '%s' for user '%s'", c.path["tokenid"], id)
	}
	return t.fields(), nil
}

func answerUserTFA(c *call) (any, error) {
	id, _, err := c.user()
	if err != nil {
		return nil, err
	}
	_, realm, _ := strings.Cut(id, "@")
	e := map[string]any{"realm": realm, "user": "oath"}
	if len(c.world.access.TFA[id]) == 0 {
		delete(e, "user")
	}
	if c.flag("multiple", false) {
		types := []string{}
		if len(c.world.access.TFA[id]) > 0 {
			types = append(types, "totp")
		}
		e["types"] = types
	}
	return e, nil
}

func answerTFA(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.world.access.TFA) {
		if c.sees(id) {
			out = append(out, map[string]any{"userid": id, "entries": c.world.access.factors(id)})
		}
	}
	return out, nil
}

func answerTFAOf(c *call) (any, error) { return c.world.access.factors(c.path["userid"]), nil }

func (a *Access) factors(user string) []map[string]any {
	out := []map[string]any{}
	for _, id := range a.TFA[user] {
		out = append(out, map[string]any{"id": id, "type": "totp", "description": "", "created": 0, "enable": 1})
	}
	return out
}

func answerGroups(c *call) (any, error) {
	a := c.world.access
	out := []map[string]any{}
	for _, id := range sortedKeys(a.Groups) {
		if !c.anyPriv("/access/groups/"+id, "User.Modify", "Sys.Audit", "Group.Allocate") {
			continue
		}
		e := map[string]any{"groupid": id, "users": strings.Join(a.members(id), ",")}
		if a.Groups[id].Comment != "" {
			e["comment"] = a.Groups[id].Comment
		}
		out = append(out, e)
	}
	return out, nil
}

func answerGroup(c *call) (any, error) {
	a := c.world.access
	g := a.Groups[c.path["groupid"]]
	if g == nil {
		return nil, fail("group '%s' does not exist", c.path["groupid"])
	}
	e := map[string]any{"members": a.members(c.path["groupid"])}
	if g.Comment != "" {
		e["comment"] = g.Comment
	}
	return e, nil
}

func answerRoles(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.world.access.Roles) {
		r := c.world.access.Roles[id]
		special := 0
		if r.Special {
			special = 1
		}
		out = append(out, map[string]any{"roleid": id, "privs": strings.Join(r.Privs, ","), "special": special})
	}
	c.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

func answerRole(c *call) (any, error) {
	r := c.world.access.Roles[c.path["roleid"]]
	if r == nil {
		return nil, fail("role '%s' does not exist", c.path["roleid"])
	}
	out := map[string]int{}
	for _, p := range r.Privs {
		out[p] = 1
	}
	return out, nil
}

// answerACL lists entries of paths whose permissions the caller may change or
// audit.
func answerACL(c *call) (any, error) {
	out := []map[string]any{}
	audit := c.anyPriv("/access", "Sys.Audit", "Permissions.Modify")
	for _, e := range c.world.access.ACL {
		if !audit && c.demand(apidoc.ModifyNeed(e.Path)) != nil {
			continue
		}
		down := 0
		if e.Propagate {
			down = 1
		}
		out = append(out, map[string]any{"path": e.Path, "type": e.Kind, "ugid": e.Who, "roleid": e.Role, "propagate": down})
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
