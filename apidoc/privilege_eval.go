package apidoc

import (
	"slices"
	"strings"
)

// Caller is who a permission is evaluated for.
type Caller struct {
	// User without token: "u@pve"; "" is nobody.
	User UserID
	// Token: called with an API token. Such a caller is neither root@pam nor
	// "self", whoever owns the token.
	Token bool
	// Has says whether the caller holds a privilege on an ACL path.
	Has func(path, priv string) bool
	// Groups gives the groups of a user, and whether that user exists. nil
	// means that this cannot be known: tests that hang on it count as passed
	// over, and the verdict says so with Unsure.
	Groups func(UserID) (groups []string, exists bool)
}

// Verdict is what came out of evaluating a permission.
type Verdict struct {
	OK bool
	// Missing lists what the caller lacks, in the order in which Proxmox finds
	// it; all of it is needed. It is empty where no privilege would help, such
	// as a call that only the user in question may make.
	Missing []Need
	// Unsure: something could not be judged from here; OK false is then a
	// guess, and so is true.
	Unsure bool
}

// EvalPermission tells whether a caller passes what the schema says about a
// method's permission. params are the call's parameters in wire form, the
// path's values among them.
//
// The rules are those of Proxmox's RPCEnvironment: root@pam passes all, "world"
// takes anybody, "all" everybody who is authenticated whatever else is
// declared, no declaration means root@pam alone; "perm" wants all of its
// privileges unless "any" is set; "require_param" fails without the parameter;
// a path whose parameter was not given is looked up with a dash in its place.
func EvalPermission(p Permission, c Caller, params map[string][]string) Verdict {
	switch {
	case p.Declared && p.User == "world":
		return Verdict{OK: true}
	case c.User == "":
		return Verdict{Missing: []Need{{Root: true}}}
	case c.User == "root@pam" && !c.Token:
		return Verdict{OK: true}
	case !p.Declared:
		return Verdict{Missing: []Need{{Root: true}}}
	case p.User == "all":
		return Verdict{OK: true}
	case p.Check == nil:
		return Verdict{Missing: []Need{{Root: true}}}
	}
	return c.eval(p.Check, params)
}

func (c Caller) eval(e *Expr, params map[string][]string) Verdict {
	switch e.Op {
	case OpAnd:
		out := Verdict{OK: true}
		for _, a := range e.Args {
			v := c.eval(a, params)
			out.Unsure = out.Unsure || v.Unsure
			if !v.OK {
				out.OK = false
				out.Missing = append(out.Missing, v.Missing...)
			}
		}
		return out
	case OpOr:
		var out Verdict
		var ways []Need
		for _, a := range e.Args {
			v := c.eval(a, params)
			if v.OK {
				return Verdict{OK: true, Unsure: v.Unsure}
			}
			out.Unsure = out.Unsure || v.Unsure
			if len(v.Missing) > 0 {
				way := v.Missing[0]
				way.And = append(slices.Clone(way.And), v.Missing[1:]...)
				ways = append(ways, way)
			}
		}
		if len(ways) > 0 {
			way := ways[0]
			way.Or = append(slices.Clone(way.Or), ways[1:]...)
			out.Missing = []Need{way}
		}
		return out
	case OpPerm:
		if e.RequireParam != "" && len(params[e.RequireParam]) == 0 {
			return Verdict{}
		}
		return c.demand(Need{Path: e.Path, Privs: e.Privs, Any: e.Any}, params)
	case OpPermModify:
		path, _ := FillPath(e.Path, params)
		return c.demand(ModifyNeed(path), params)
	case OpUserParam:
		return c.userParam(e, params)
	case OpUserGroup:
		return c.userGroup(e, params)
	}
	return Verdict{Unsure: true}
}

func (c Caller) demand(n Need, params map[string][]string) Verdict {
	n.Path, _ = FillPath(n.Path, params)
	if n.Met(c.Has) {
		return Verdict{OK: true}
	}
	return Verdict{Missing: []Need{n}}
}

// userParam tests whether the user in question is the caller, or belongs to a
// realm whose users the caller may manage.
func (c Caller) userParam(e *Expr, params map[string][]string) Verdict {
	user := UserID(firstOf(params["userid"]))
	if e.Param == "self" {
		return Verdict{OK: !c.Token && user == c.User && user != ""}
	}
	realm := string(user)
	if i := strings.LastIndexByte(realm, '@'); i >= 0 {
		realm = realm[i+1:] // a name may hold an @ itself
	}
	return c.demand(Need{Path: "/access/realm/" + realm, Privs: []string{e.Param}}, nil)
}

// userGroup tests privileges on the groups of the user in question: on one of
// them for a user who exists, on all that are asked for where the call names
// groups; or on all groups at once (/access/groups).
func (c Caller) userGroup(e *Expr, params map[string][]string) Verdict {
	var out Verdict
	if e.GroupsParam != "" {
		var asked []string
		for _, v := range params["groups"] {
			asked = append(asked, ListItems(v)...)
		}
		passed := len(asked) > 0
		for _, g := range asked {
			n := Need{Path: "/access/groups/" + g, Privs: e.Privs, Any: true}
			if !n.Met(c.Has) {
				passed = false
				out.Missing = append(out.Missing, n)
			}
		}
		if e.GroupsParam == "create" && passed {
			return Verdict{OK: true}
		}
		if len(out.Missing) > 0 {
			return out
		}
	}
	if e.GroupsParam != "create" {
		switch {
		case c.Groups == nil:
			out.Unsure = true
		default:
			groups, exists := c.Groups(UserID(firstOf(params["userid"])))
			if exists && slices.ContainsFunc(groups, func(g string) bool {
				return Need{Path: "/access/groups/" + g, Privs: e.Privs, Any: true}.Met(c.Has)
			}) {
				return Verdict{OK: true}
			}
		}
	}
	n := Need{Path: "/access/groups", Privs: e.Privs, Any: true}
	if n.Met(c.Has) {
		return Verdict{OK: true}
	}
	out.Missing = append(out.Missing, n)
	return out
}

// ModifyNeed is what it takes to change the permissions of an ACL path: the
// privilege for that, or the one that allows to make such an object.
func ModifyNeed(path string) Need {
	n := Need{Path: path, Privs: []string{"Permissions.Modify"}}
	for prefix, priv := range map[string]string{
		"/storage/": "Datastore.Allocate",
		"/vms/":     "VM.Allocate",
		"/pool/":    "Pool.Allocate",
	} {
		if strings.HasPrefix(path, prefix) {
			n.Privs = append(n.Privs, priv)
			n.Any = true
		}
	}
	return n
}

// FillPath puts parameters into a path template: "/vms/{vmid}" becomes
// "/vms/100". ok is false when one was not given (or is empty); a dash then
// stands in its place, as in Proxmox, so that what is granted above it counts.
func FillPath(template string, params map[string][]string) (path string, ok bool) {
	if !strings.Contains(template, "{") {
		return template, true
	}
	var b strings.Builder
	ok = true
	rest := template
	for {
		before, after, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String(), ok
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			b.WriteString("{" + after)
			return b.String(), false
		}
		if v := params[name]; len(v) > 0 && v[0] != "" {
			b.WriteString(v[0])
		} else {
			b.WriteByte('-')
			ok = false
		}
		rest = tail
	}
}

func firstOf(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[0]
}
