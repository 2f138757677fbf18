package pvesim

import (
	"strings"

	"pvemcp/apidoc"
)

// permitted evaluates what the schema says about who may call a method; the
// error is the 403 that Proxmox answers.
func (c *call) permitted(p apidoc.Permission) error {
	if apidoc.EvalPermission(p, c.who.caller(c.world), c.params).OK {
		return nil
	}
	if !p.Declared || p.Check == nil {
		return deny("user != root@pam")
	}
	return c.denial(p.Check)
}

// denial words the refusal by an expression: of "and" the first part that
// fails, of "or" and of tests for the user in question nothing in particular.
func (c *call) denial(e *apidoc.Expr) error {
	caller := c.who.caller(c.world)
	fails := func(e *apidoc.Expr) (apidoc.Verdict, bool) {
		v := apidoc.EvalPermission(apidoc.Permission{Declared: true, Check: e}, caller, c.params)
		return v, !v.OK
	}
	switch e.Op {
	case apidoc.OpAnd:
		for _, a := range e.Args {
			if _, bad := fails(a); bad {
				return c.denial(a)
			}
		}
	case apidoc.OpPerm, apidoc.OpPermModify, apidoc.OpUserGroup:
		if v, _ := fails(e); len(v.Missing) > 0 {
			return c.lacks(v.Missing[0])
		}
	case apidoc.OpUserParam:
		if v, _ := fails(e); len(v.Missing) > 0 {
			return c.lacks(v.Missing[0])
		}
	}
	return &apiError{Status: 403, Message: "Permission check failed\n"}
}

// lacks is the 403 for an unmet demand: it names the path, and the first
// privilege that is missing, or all of those of which one would do.
func (c *call) lacks(n apidoc.Need) error {
	if n.Root {
		return deny("user != root@pam")
	}
	missing := n.Lacking(func(path, priv string) bool { return c.who.holds(c.world, path, priv) })
	switch {
	case n.Any:
		return deny("%s, %s", n.Path, strings.Join(n.Privs, "|"))
	case len(missing) > 0:
		return deny("%s, %s", n.Path, missing[0])
	}
	return deny("%s, %s", n.Path, strings.Join(n.Privs, ", "))
}

// demand is nil when the caller meets the need, else the 403 that Proxmox answers.
func (c *call) demand(n apidoc.Need) error {
	if c.root() || n.Met(func(path, priv string) bool { return c.who.holds(c.world, path, priv) }) {
		return nil
	}
	return c.lacks(n)
}
