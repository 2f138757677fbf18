package pvesim

import (
	"regexp"
	"slices"
	"strings"
)

func init() {
	register("POST /access/users/{userid}/token/{tokenid}", createToken)
	register("PUT /access/users/{userid}/token/{tokenid}", updateToken)
	register("DELETE /access/users/{userid}/token/{tokenid}", deleteToken)
	register("POST /access/roles", createRole)
	register("PUT /access/roles/{roleid}", updateRole)
	register("DELETE /access/roles/{roleid}", deleteRole)
	register("PUT /access/acl", updateACL)
	register("POST /access/domains", createRealm)
	register("PUT /access/domains/{realm}", updateRealm)
	register("DELETE /access/domains/{realm}", deleteRealm)
	register("POST /access/domains/{realm}/sync", syncRealm)
}

// createToken shows the secret, this once.
func createToken(c *call) (any, error) {
	id, _, err := c.user()
	if err != nil {
		return nil, err
	}
	full := id + "!" + c.path["tokenid"]
	if c.world.access.Tokens[full] != nil {
		return nil, refuse("tokenid", "Token already exists.")
	}
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed("generating token failed", err)
	}
	t := &Token{Secret: uuid(c.rng), Privsep: c.flag("privsep", true), Expire: c.number("expire", 0), Comment: c.param("comment")}
	c.world.access.Tokens[full] = t
	return c.one(object{{"full-tokenid", full}, {"value", t.Secret}, {"info", c.tokenInfo(t)}}), nil
}

// tokenInfo shows what was given, as texts.
func (c *call) tokenInfo(t *Token) object {
	o := object{{"privsep", map[bool]string{true: "1", false: "0"}[t.Privsep]}}
	if c.has("expire") {
		o.put("expire", c.param("expire"))
	}
	o.putIf("comment", t.Comment)
	return o
}

func (c *call) theToken() (string, *Token, error) {
	id, _, err := c.user()
	if err != nil {
		return "", nil, err
	}
	full := id + "!" + c.path["tokenid"]
	t := c.world.access.Tokens[full]
	if t == nil {
		return "", nil, fail("no such token '%s' for user '%s'", c.path["tokenid"], id)
	}
	return full, t, nil
}

// updateToken gives what the token is now; with regenerate it has a new
// secret, which is shown.
func updateToken(c *call) (any, error) {
	full, t, err := c.theToken()
	if err != nil {
		return nil, err
	}
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed("updating token info failed", err)
	}
	for _, key := range c.list("delete") {
		switch key {
		case "comment":
			t.Comment = ""
		case "expire":
			t.Expire = 0
		case "privsep":
			t.Privsep = true
		}
	}
	t.Privsep, t.Expire = c.flag("privsep", t.Privsep), c.number("expire", t.Expire)
	if c.has("comment") {
		t.Comment = c.param("comment")
	}
	o := c.tokenInfo(t)
	if c.flag("regenerate", false) {
		t.Secret = uuid(c.rng)
		o = append(o, member{"full-tokenid", full}, member{"value", t.Secret})
	}
	return c.one(o), nil
}

func deleteToken(c *call) (any, error) {
	full, _, err := c.theToken()
	if err != nil {
		return nil, err
	}
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed("deleting token failed", err)
	}
	c.world.access.dropToken(full)
	return nil, nil
}

func (a *Access) dropToken(full string) {
	delete(a.Tokens, full)
	a.dropACL(ACLToken, full)
}

func createRole(c *call) (any, error) {
	const about = "create role failed"
	a, id := c.world.access, c.param("roleid")
	if strings.HasPrefix(strings.ToUpper(id), "PVE") {
		return nil, refuse("roleid", "cannot use role ID starting with the (case-insensitive) 'PVE' namespace")
	}
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	if a.Roles[id] != nil {
		return nil, fail("%s: role '%s' already exists", about, id)
	}
	privs := c.list("privs")
	slices.Sort(privs)
	a.Roles[id] = &Role{Privs: slices.Compact(privs)}
	return nil, nil
}

// ownRole is the role of the path, unless it came with Proxmox.
func (c *call) ownRole() (*Role, error) {
	if err := c.quorum(userFile); err != nil {
		return nil, err
	}
	r := c.world.access.Roles[c.path["roleid"]]
	switch {
	case r == nil:
		return nil, fail("role '%s' does not exist", c.path["roleid"])
	case r.Special:
		return nil, fail("auto-generated role '%s' cannot be modified", c.path["roleid"])
	}
	return r, nil
}

func updateRole(c *call) (any, error) {
	const about = "update role failed"
	r, err := c.ownRole()
	if err != nil {
		return nil, prefixed(about, err)
	}
	privs := c.list("privs")
	if c.flag("append", false) {
		privs = append(privs, r.Privs...)
	}
	slices.Sort(privs)
	r.Privs = slices.Compact(privs)
	return nil, nil
}

func deleteRole(c *call) (any, error) {
	if _, err := c.ownRole(); err != nil {
		return nil, prefixed("delete role failed", err)
	}
	a, id := c.world.access, c.path["roleid"]
	delete(a.Roles, id)
	a.ACL = slices.DeleteFunc(a.ACL, func(e ACL) bool { return e.Role == id })
	return nil, nil
}

// aclPath is every path that Proxmox takes for an entry (pve-access-control).
var aclPath = regexp.MustCompile(`^(?:/|/access(?:/groups(?:/[A-Za-z0-9._-]+)?|/realm(?:/[A-Za-z0-9._-]+)?)?|/nodes(?:/[A-Za-z0-9._-]+)?|` +
	`/pool(?:/[A-Za-z0-9._-]+){0,3}|/sdn(?:/(?:controllers|dns|fabrics|ipams|route-maps|prefix-lists)(?:/[A-Za-z0-9._-]+)?)?|` +
	`/sdn/zones(?:/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+(?:/[1-9][0-9]{0,3})?)?)?|/storage(?:/[A-Za-z0-9._-]+)?|` +
	`/vms(?:/[1-9][0-9]{2,})?|/mapping(?:/[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)?)?)$`)

// updateACL gives or takes roles on a path.
func updateACL(c *call) (any, error) {
	const about = "ACL update failed"
	if !c.has("users") && !c.has("groups") && !c.has("tokens") {
		const text = "either 'users', 'groups' or 'tokens' is required."
		return nil, &apiError{Status: 400, Message: paramsWrong, Errors: map[string]string{"users": text, "groups": text, "tokens": text}}
	}
	path := "/" + strings.Join(strings.FieldsFunc(c.param("path"), func(r rune) bool { return r == '/' }), "/")
	if !aclPath.MatchString(path) {
		return nil, refuse("path", "invalid ACL path '"+c.param("path")+"'")
	}
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	entries, err := c.aclEntries(path)
	if err != nil {
		return nil, prefixed(about, err)
	}
	a := c.world.access
	for _, e := range entries {
		a.ACL = slices.DeleteFunc(a.ACL, func(x ACL) bool {
			return x.Path == e.Path && x.Kind == e.Kind && x.Who == e.Who && x.Role == e.Role
		})
		if !c.flag("delete", false) {
			a.ACL = append(a.ACL, e)
		}
	}
	return nil, nil
}

// aclEntries are the entries that a call means, each checked.
func (c *call) aclEntries(path string) ([]ACL, error) {
	a := c.world.access
	var out []ACL
	for _, role := range c.list("roles") {
		if a.Roles[role] == nil {
			return nil, fail("role '%s' does not exist", role)
		}
		add := func(kind, who string) {
			out = append(out, ACL{Path: path, Kind: kind, Who: who, Role: role, Propagate: c.flag("propagate", true)})
		}
		for _, g := range c.list("groups") {
			if a.Groups[g] == nil {
				return nil, fail("group '%s' does not exist", g)
			}
			add(ACLGroup, g)
		}
		for _, u := range c.list("users") {
			if a.Users[u] == nil {
				return nil, fail("user '%s' does not exist", u)
			}
			add(ACLUser, u)
		}
		for _, full := range c.list("tokens") {
			if a.Tokens[full] == nil {
				user, name := splitUser(full)
				return nil, fail("no such token '%s' for user '%s'", name, user)
			}
			add(ACLToken, full)
		}
	}
	return out, nil
}

const realmFile = "domains_cfg"

func createRealm(c *call) (any, error) {
	const about = "add auth server failed"
	a, id, kind := c.world.access, c.param("realm"), c.param("type")
	if err := c.quorum(realmFile); err != nil {
		return nil, prefixed(about, err)
	}
	switch {
	case a.realm(id) != nil:
		return nil, fail("%s: domain '%s' already exists", about, id)
	case id == "pam" || id == "pve":
		return nil, fail("%s: unable to use reserved name '%s'", about, id)
	case kind == "pam" || kind == "pve":
		return nil, fail("%s: unable to create builtin type '%s'", about, kind)
	}
	for _, key := range realmNeeds[kind] {
		if !c.has(key) {
			return nil, fail("missing value for required option '%s'", key)
		}
	}
	r := &Realm{ID: id, Type: kind}
	c.fillRealm(r)
	a.Realms = append(a.Realms, r)
	return nil, nil
}

// realmNeeds are the options without which a type of realm can't be.
var realmNeeds = map[string][]string{"ad": {"server1", "domain"}, "ldap": {"server1", "base_dn", "user_attr"}, "openid": {"issuer-url", "client-id"}}

func (c *call) fillRealm(r *Realm) {
	options := map[string]string{}
	for k, v := range r.Options {
		options[k] = v
	}
	for _, k := range c.list("delete") {
		delete(options, k)
		switch k {
		case "comment":
			r.Comment = ""
		case "tfa":
			r.TFA = ""
		case "default":
			r.Default = false
		}
	}
	for _, k := range sortedKeys(c.params) {
		switch {
		case c.own(k) || k == "type" || k == "realm" || k == "password": // the password stands in a file of its own
		case k == "comment":
			r.Comment = c.param(k)
		case k == "tfa":
			r.TFA = c.param(k)
		case k == "default":
			r.Default = c.flag(k, false)
		default:
			options[k] = c.text(k)
		}
	}
	if r.Default {
		for _, other := range c.world.access.Realms {
			other.Default = other == r
		}
	}
	r.Options = options
}

func (c *call) theRealm(about string) (*Realm, error) {
	if err := c.quorum(realmFile); err != nil {
		return nil, prefixed(about, err)
	}
	r := c.world.access.realm(c.path["realm"])
	if r == nil {
		return nil, fail("%s: domain '%s' does not exist", about, c.path["realm"])
	}
	return r, nil
}

func updateRealm(c *call) (any, error) {
	const about = "update auth server failed"
	r, err := c.theRealm(about)
	if err != nil {
		return nil, err
	}
	if err := c.sameDigest(digestOf(r.ID + r.Type + r.Comment)); err != nil {
		return nil, prefixed(about, err)
	}
	c.fillRealm(r)
	return nil, nil
}

func deleteRealm(c *call) (any, error) {
	r, err := c.theRealm("delete auth server failed")
	if err != nil {
		return nil, err
	}
	a := c.world.access
	a.Realms = slices.DeleteFunc(a.Realms, func(x *Realm) bool { return x == r })
	return nil, nil
}

// syncRealm reads users from a directory; the one behind this world has
// nobody in it that is not known.
func syncRealm(c *call) (any, error) {
	r := c.world.access.realm(c.path["realm"])
	switch {
	case r == nil:
		return nil, fail("domain '%s' does not exist", c.path["realm"])
	case r.Type != "ldap" && r.Type != "ad":
		return nil, fail("Cannot sync users from '%s' realm type!", r.Type)
	}
	kind := "auth-realm-sync"
	if c.flag("dry-run", false) {
		kind += "-test"
	}
	return c.launch(kind, r.ID, func(k *worker) error {
		k.say("starting sync for realm " + r.ID)
		if err := k.rest(1); err != nil {
			return err
		}
		k.say("got data from server, updating users", "successfully updated "+c.path["realm"]+" configuration")
		return nil
	})
}
