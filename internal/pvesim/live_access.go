package pvesim

import (
	"slices"
	"strings"
)

func init() {
	register("POST /access/users", createUser)
	register("PUT /access/users/{userid}", updateUser)
	register("DELETE /access/users/{userid}", deleteUser)
	register("PUT /access/users/{userid}/unlock-tfa", func(c *call) (any, error) {
		if _, _, err := c.user(); err != nil {
			return nil, err
		}
		return 0, nil // nobody is locked out here
	})
	register("POST /access/groups", createGroup)
	register("PUT /access/groups/{groupid}", updateGroup)
	register("DELETE /access/groups/{groupid}", deleteGroup)
	register("PUT /access/password", changePassword)
	register("POST /access/tfa/{userid}", addFactor)
	register("PUT /access/tfa/{userid}/{id}", changeFactor)
	register("DELETE /access/tfa/{userid}/{id}", deleteFactor)
}

const userFile = "user_cfg"

// userGroups checks the groups that a call puts a user into.
func (c *call) userGroups() ([]string, error) {
	groups := c.list("groups")
	for _, g := range groups {
		if c.world.access.Groups[g] == nil {
			return nil, fail("no such group '%s'", g)
		}
	}
	return groups, nil
}

// fillUser takes what a call says about a user.
func (c *call) fillUser(u *User) error {
	for name, field := range map[string]*string{
		"comment": &u.Comment, "email": &u.Email, "firstname": &u.Firstname, "lastname": &u.Lastname, "keys": &u.Keys,
	} {
		if c.has(name) {
			*field = c.param(name)
		}
	}
	u.Enabled = c.flag("enable", u.Enabled)
	u.Expire = c.number("expire", u.Expire)
	if !c.has("groups") {
		return nil
	}
	groups, err := c.userGroups()
	if err != nil {
		return err
	}
	if c.flag("append", false) {
		groups = append(slices.Clone(u.Groups), groups...)
	}
	slices.Sort(groups)
	u.Groups = slices.Compact(groups)
	return nil
}

func createUser(c *call) (any, error) {
	const about = "create user failed"
	a, id := c.world.access, c.param("userid")
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	if a.Users[id] != nil {
		return nil, fail("%s: user '%s' already exists", about, id)
	}
	realm := id[strings.LastIndexByte(id, '@')+1:]
	if c.has("password") && a.realm(realm) == nil {
		return nil, fail("%s: auth domain '%s' does not exist", about, realm)
	}
	u := &User{Enabled: true, Password: c.param("password")}
	if err := c.fillUser(u); err != nil {
		return nil, prefixed(about, err)
	}
	a.Users[id] = u
	return nil, nil
}

func (a *Access) realm(id string) *Realm {
	for _, r := range a.Realms {
		if r.ID == id {
			return r
		}
	}
	return nil
}

func updateUser(c *call) (any, error) {
	const about = "update user failed"
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	_, u, err := c.user()
	if err != nil {
		return nil, prefixed(about, err)
	}
	changed := *u
	if err := c.fillUser(&changed); err != nil {
		return nil, prefixed(about, err)
	}
	*u = changed
	return nil, nil
}

// deleteUser takes with a user the tokens, the second factors and the entries
// of the ACL.
func deleteUser(c *call) (any, error) {
	const about = "delete user failed"
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	id, _, err := c.user()
	if err != nil {
		return nil, prefixed(about, err)
	}
	a := c.world.access
	for _, name := range a.tokensOf(id) {
		a.dropToken(id + "!" + name)
	}
	delete(a.Users, id)
	delete(a.TFA, id)
	a.dropACL(ACLUser, id)
	return nil, nil
}

// dropACL takes out every entry of a user, group or token.
func (a *Access) dropACL(kind, who string) {
	a.ACL = slices.DeleteFunc(a.ACL, func(e ACL) bool { return e.Kind == kind && e.Who == who })
}

func createGroup(c *call) (any, error) {
	const about = "create group failed"
	a, id := c.world.access, c.param("groupid")
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	if a.Groups[id] != nil {
		return nil, fail("%s: group '%s' already exists", about, id)
	}
	a.Groups[id] = &Group{Comment: c.param("comment")}
	return nil, nil
}

func updateGroup(c *call) (any, error) {
	const about = "update group failed"
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	g := c.world.access.Groups[c.path["groupid"]]
	if g == nil {
		return nil, fail("%s: group '%s' does not exist", about, c.path["groupid"])
	}
	if c.has("comment") {
		g.Comment = c.param("comment")
	}
	return nil, nil
}

func deleteGroup(c *call) (any, error) {
	const about = "delete group failed"
	a, id := c.world.access, c.path["groupid"]
	if err := c.quorum(userFile); err != nil {
		return nil, prefixed(about, err)
	}
	if a.Groups[id] == nil {
		return nil, fail("%s: group '%s' does not exist", about, id)
	}
	delete(a.Groups, id)
	a.dropACL(ACLGroup, id)
	for _, u := range a.Users {
		u.Groups = slices.DeleteFunc(slices.Clone(u.Groups), func(g string) bool { return g == id })
	}
	return nil, nil
}

// changePassword sets a user's password where the realm keeps it; whoever is
// not root@pam must give the own one again.
func changePassword(c *call) (any, error) {
	a, id := c.world.access, c.param("userid")
	u := a.Users[id]
	if u == nil {
		return nil, fail("no such user ('%s')", id)
	}
	if !c.root() {
		if !c.has("confirmation-password") {
			return nil, refuse("confirmation-password", "This parameter is required to authenticate.")
		}
		if own := a.Users[c.who.user]; own == nil || own.Password == "" || own.Password != c.param("confirmation-password") {
			return nil, &apiError{Status: 401, Message: "authentication failure\n"}
		}
	}
	realm := a.realm(id[strings.LastIndexByte(id, '@')+1:])
	switch {
	case realm == nil:
		return nil, fail("auth domain '%s' does not exist", id[strings.LastIndexByte(id, '@')+1:])
	case realm.Type != "pam" && realm.Type != "pve":
		return nil, fail("can't set password on auth type '%s'", realm.Type)
	}
	u.Password = c.param("password")
	return nil, nil
}

// addFactor adds a second factor. Of recovery keys, which are shown this once,
// a user has one set.
func addFactor(c *call) (any, error) {
	id, _, err := c.user()
	if err != nil {
		return nil, err
	}
	a := c.world.access
	switch c.param("type") {
	case "totp":
		if !c.has("totp") {
			return nil, refuse("totp", "missing 'totp' parameter")
		}
		name := "totp-" + hexOf(c.rng, 8)
		a.TFA[id] = append(slices.Clone(a.TFA[id]), name)
		return c.one(object{{"id", name}}), nil
	case "recovery":
		if slices.Contains(a.TFA[id], "recovery") {
			return nil, fail("recovery keys already set up")
		}
		a.TFA[id] = append(slices.Clone(a.TFA[id]), "recovery")
		keys := make([]string, 10)
		for i := range keys {
			keys[i] = hexOf(c.rng, 4) + "-" + hexOf(c.rng, 4) + "-" + hexOf(c.rng, 4) + "-" + hexOf(c.rng, 4)
		}
		return c.one(object{{"id", "recovery"}, {"recovery", keys}}), nil
	}
	return nil, c.notHere()
}

// factor gives the place of the second factor that the path names.
func (c *call) factor() (int, error) {
	i := slices.Index(c.world.access.TFA[c.path["userid"]], c.path["id"])
	if i < 0 {
		return 0, &apiError{Status: 404, Message: "No such tfa entry '" + c.path["id"] + "'\n"}
	}
	return i, nil
}

// changeFactor finds the factor; what could be changed of it, its description,
// the world does not keep.
func changeFactor(c *call) (any, error) {
	if _, err := c.factor(); err != nil {
		return nil, err
	}
	return nil, c.notHere()
}

func deleteFactor(c *call) (any, error) {
	i, err := c.factor()
	if err != nil {
		return nil, err
	}
	a, id := c.world.access, c.path["userid"]
	a.TFA[id] = slices.Delete(slices.Clone(a.TFA[id]), i, i+1)
	if len(a.TFA[id]) == 0 {
		delete(a.TFA, id)
	}
	return nil, nil
}

// notHere is the answer to what this cluster can't do.
func (c *call) notHere() error {
	return &apiError{Status: 501, Message: "Method '" + string(c.ep.Verb) + " " + c.ep.Path + "' not implemented in this simulated cluster\n"}
}
