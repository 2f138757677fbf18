package pvesim

import (
	"sort"
	"strings"

	"pvemcp/apidoc"
)

// Access is who there is and who may do what: Proxmox's user.cfg, token.cfg
// and domains.cfg as one value. It is part of a World and guarded by its lock.
type Access struct {
	Users  map[string]*User    // by id with realm: u@pve
	Groups map[string]*Group   // by id
	Tokens map[string]*Token   // by full id: u@pve!name
	Roles  map[string]*Role    // by id
	Realms []*Realm            // in the order of domains.cfg
	ACL    []ACL               // entries; one for each path, who and role
	TFA    map[string][]string // user → ids of second factors
}

// User is an account.
type User struct {
	Enabled   bool
	Expire    int64 // seconds since 1970; 0 never
	Password  string
	Groups    []string
	Comment   string
	Email     string
	Firstname string
	Lastname  string
	Keys      string
}

// Group is a group of users; who is in it stands at the users.
type Group struct{ Comment string }

// Token is an API token of a user.
type Token struct {
	Secret  string
	Privsep bool  // has no more than its own ACL entries, within the user's
	Expire  int64 // seconds since 1970; 0 never
	Comment string
}

// Role is a set of privileges.
type Role struct {
	Privs   []string
	Special bool // came with Proxmox
}

// Realm is a source of users.
type Realm struct {
	ID, Type, Comment string
	Default           bool
	TFA               string
	Options           map[string]string // what else domains.cfg has
}

// The kinds of who in an ACL entry.
const (
	ACLUser  = "user"
	ACLGroup = "group"
	ACLToken = "token"
)

// ACL is one entry of the access control list.
type ACL struct {
	Path      string // "/", "/vms/100"
	Kind      string // ACLUser, ACLGroup or ACLToken
	Who       string
	Role      string
	Propagate bool
}

// NewAccess gives what a fresh installation has: the roles of the newest
// version, root@pam, and the realms pam and pve.
func NewAccess() *Access { return NewAccessFor(apidoc.Newest) }

// NewAccessFor is NewAccess with the roles of another version, such as "8.4".
func NewAccessFor(version string) *Access {
	a := &Access{
		Users:  map[string]*User{"root@pam": {Enabled: true}},
		Groups: map[string]*Group{},
		Tokens: map[string]*Token{},
		Roles:  map[string]*Role{},
		Realms: []*Realm{
			{ID: "pam", Type: "pam", Comment: "Linux PAM standard authentication"},
			{ID: "pve", Type: "pve", Comment: "Proxmox VE authentication server"},
		},
		TFA: map[string][]string{},
	}
	for name, privs := range apidoc.Roles(version) {
		a.Roles[name] = &Role{Privs: privs, Special: true}
	}
	return a
}

// Grant gives a role on a path, which goes down the tree. who is a user
// (u@pve), a token (u@pve!t) or a group with "@" in front (@admins).
func (a *Access) Grant(path, who, role string) {
	e := ACL{Path: path, Kind: ACLUser, Who: who, Role: role, Propagate: true}
	switch {
	case strings.HasPrefix(who, "@"):
		e.Kind, e.Who = ACLGroup, who[1:]
	case strings.Contains(who, "!"):
		e.Kind = ACLToken
	}
	a.ACL = append(a.ACL, e)
}

// inGroup tells whether a user is a member.
func (a *Access) inGroup(user, group string) bool {
	u := a.Users[user]
	if u == nil || a.Groups[group] == nil {
		return false
	}
	for _, g := range u.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// members lists the users of a group, sorted.
func (a *Access) members(group string) []string {
	out := []string{}
	for id := range a.Users {
		if a.inGroup(id, group) {
			out = append(out, id)
		}
	}
	sort.Strings(out)
	return out
}

// grants are the privileges on one path; the value says whether they go down
// the tree from there.
type grants map[string]bool

// aclView answers for one call what its caller may do. It keeps what it has
// worked out, so it lives no longer than the world's lock is held.
type aclView struct {
	access *Access
	world  *World
	byPath map[string][]ACL
	known  map[string]grants // user or token, blank, path
}

func newACLView(w *World) *aclView {
	v := &aclView{access: w.access, world: w, byPath: map[string][]ACL{}, known: map[string]grants{}}
	for _, e := range w.access.ACL {
		v.byPath[e.Path] = append(v.byPath[e.Path], e)
	}
	return v
}

// effective gives the privileges of a caller on a path. A token without
// privilege separation has those of its user; one with it has what both have.
func (v *aclView) effective(id identity, path string) grants {
	if id.root {
		return v.all()
	}
	own := v.of(id.user, false, path)
	if id.token == "" {
		return own
	}
	t := v.access.Tokens[id.name()]
	if t == nil {
		return nil
	}
	if !t.Privsep {
		return own
	}
	both := grants{}
	for p, down := range v.of(id.name(), true, path) {
		if _, ok := own[p]; ok {
			both[p] = down
		}
	}
	return both
}

func (v *aclView) all() grants {
	g := grants{}
	if r := v.access.Roles["Administrator"]; r != nil {
		for _, p := range r.Privs {
			g[p] = true
		}
	}
	return g
}

// of gives what a user, or a token by itself, holds on a path, its pool's
// privileges among them.
func (v *aclView) of(who string, token bool, path string) grants {
	if !token && who == "root@pam" {
		return v.all()
	}
	key := who + " " + path
	if g, ok := v.known[key]; ok {
		return g
	}
	g, blocked := v.along(who, token, path)
	if !blocked {
		if pool := v.world.poolOf(path); pool != "" {
			extra, _ := v.along(who, token, "/pool/"+pool)
			for p, down := range extra {
				if _, ok := g[p]; !ok {
					g[p] = down
				}
			}
		}
	}
	v.known[key] = g
	return g
}

// along walks from "/" to the path. The entries of a level replace what came
// from above; a user's own go before those of the user's groups; NoAccess
// takes everything away.
func (v *aclView) along(who string, token bool, path string) (g grants, blocked bool) {
	kind := ACLUser
	if token {
		kind = ACLToken
	}
	var roles map[string]bool // role → goes down
	for _, level := range levels(path) {
		final := level == path
		entries := v.byPath[level]
		own := pick(entries, final, func(e ACL) bool { return e.Kind == kind && e.Who == who })
		if own == nil && !token {
			own = pick(entries, final, func(e ACL) bool { return e.Kind == ACLGroup && v.access.inGroup(who, e.Who) })
		}
		if own != nil {
			roles = own
		}
	}
	if _, none := roles["NoAccess"]; none {
		return grants{}, true
	}
	g = grants{}
	for name, down := range roles {
		if r := v.access.Roles[name]; r != nil {
			for _, p := range r.Privs {
				g[p] = g[p] || down
			}
		}
	}
	return g, false
}

func pick(entries []ACL, final bool, mine func(ACL) bool) map[string]bool {
	var roles map[string]bool
	for _, e := range entries {
		if mine(e) && (final || e.Propagate) {
			if roles == nil {
				roles = map[string]bool{}
			}
			roles[e.Role] = e.Propagate
		}
	}
	return roles
}

// levels gives the path and all above it, from "/" down.
func levels(path string) []string {
	out := []string{"/"}
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			out = append(out, path[:i])
		}
	}
	if path != "/" {
		out = append(out, path)
	}
	return out
}

// pooled lists the ACL paths of what stands in pools, and of the pools.
func (v *aclView) pooled() []string {
	var out []string
	for _, p := range v.world.Pools {
		out = append(out, "/pool/"+string(p.ID))
		for _, id := range p.Storages {
			out = append(out, "/storage/"+string(id))
		}
	}
	for _, g := range v.world.Guests() {
		if g.Pool != "" {
			out = append(out, "/vms/"+g.ID.String())
		}
	}
	return out
}
