package curated

import (
	"errors"
	"slices"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

// needWords says a demand, without what is held of it already: "VM.Audit on
// /vms/100". has nil says it whole.
func needWords(n apidoc.Need, has func(path, priv string) bool) string {
	var s string
	if n.Root {
		s = "being root@pam, which no token is"
	} else {
		privs := n.Privs
		if has != nil && !n.Any {
			if l := n.Lacking(has); len(l) > 0 {
				privs = l
			}
		}
		s = privWords(privs, n.Any) + " on " + n.Path
	}
	for _, a := range n.And {
		if has == nil || lacks(a, has) != met {
			s += " and " + needWords(a, has)
		}
	}
	for _, o := range n.Or {
		s += ", or " + needWords(o, has)
	}
	return s
}

// needsWords joins demands; of many it says how many there are.
func needsWords(needs []apidoc.Need, most int) string {
	var parts []string
	for i, n := range needs {
		if i == most {
			parts = append(parts, render.FormatCount(len(needs)-most, "more demand"))
			break
		}
		parts = append(parts, needWords(n, nil)+forParam(n))
	}
	return strings.Join(parts, "; ")
}

func forParam(n apidoc.Need) string {
	if n.Param == "" {
		return ""
	}
	return " (for " + render.Line(n.Param) + ")"
}

func privWords(privs []string, any bool) string {
	switch {
	case len(privs) == 1:
		return privs[0]
	case any:
		return "one of " + strings.Join(privs, ", ")
	}
	return strings.Join(privs[:max(len(privs)-1, 0)], ", ") + " and " + privs[max(len(privs)-1, 0)]
}

// permissionWords says who may call a method, as far as its schema tells.
func permissionWords(p apidoc.Permission) string {
	switch {
	case p.Declared && p.User == "world":
		return "anybody, even without a login"
	case !p.Declared, p.User != "all" && p.Check == nil:
		return "root@pam alone, which no token is"
	case p.User == "all":
		return "any user who is logged in; what the answer shows may hang on privileges"
	}
	return exprWords(p.Check, false)
}

// exprWords says a permission expression; inner ones that join others are put
// in brackets.
func exprWords(e *apidoc.Expr, inner bool) string {
	switch e.Op {
	case apidoc.OpAnd, apidoc.OpOr:
		parts := make([]string, 0, len(e.Args))
		for _, a := range e.Args {
			if words := exprWords(a, true); !slices.Contains(parts, words) {
				parts = append(parts, words)
			}
		}
		join := " and "
		if e.Op == apidoc.OpOr {
			join = ", or "
		}
		s := strings.Join(parts, join)
		if inner && len(parts) > 1 {
			return "(" + s + ")"
		}
		return s
	case apidoc.OpPerm:
		s := privWords(e.Privs, e.Any) + " on " + e.Path
		if e.RequireParam != "" {
			s += " (if " + e.RequireParam + " is given)"
		}
		return s
	case apidoc.OpPermModify:
		return "Permissions.Modify on " + e.Path + " (or, there, VM.Allocate below /vms, Datastore.Allocate below /storage, Pool.Allocate below /pool)"
	case apidoc.OpUserParam:
		if e.Param == "self" {
			return "being that user (a token never is)"
		}
		return e.Param + " on /access/realm/{realm of the user}"
	case apidoc.OpUserGroup:
		where := " on a group of the user or on /access/groups"
		switch e.GroupsParam {
		case "create":
			where = " on every group in groups, or on /access/groups"
		case "update":
			where = " on a group of the user and on every group in groups, or on /access/groups"
		}
		return privWords(e.Privs, true) + where
	}
	return "a demand that pve-mcp does not know (" + render.Line(string(e.Op)) + ")"
}

// shortError gives the kernel of an error for a side remark.
func shortError(err error) string {
	var rest *pverest.Error
	if errors.As(err, &rest) {
		if rest.Status > 0 && rest.Message != "" {
			return render.Line(rest.Message)
		}
		return string(rest.Kind)
	}
	return clip(render.Line(err.Error()))
}
