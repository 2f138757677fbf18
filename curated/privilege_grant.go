package curated

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// grantLine gives the command that grants privileges on a path to our token.
func (s *Server) grantLine(path string, privs []string) string {
	return s.grantOn([]apidoc.Need{{Path: path, Privs: privs}}, nil)
}

// grantOn gives the commands that would meet demands. held, when given, is what
// the token has already: an entry on a path replaces all that its holder
// inherits there, so the role of the new entry has to repeat it.
func (s *Server) grantOn(needs []apidoc.Need, held *holdings) string {
	byPath := map[string][]string{}
	var paths []string
	add := func(n apidoc.Need) {
		if n.Root || n.Path == "" {
			return
		}
		if byPath[n.Path] == nil {
			paths = append(paths, n.Path)
		}
		privs := n.Privs
		if n.Any {
			privs = []string{mildest(n.Privs)}
		}
		for _, p := range privs {
			if !slices.Contains(byPath[n.Path], p) {
				byPath[n.Path] = append(byPath[n.Path], p)
			}
		}
	}
	for _, n := range needs {
		if held != nil && n.Root && len(n.Or) > 0 {
			n = n.Or[0]
		}
		add(n)
		for _, a := range n.And {
			if held == nil || lacks(a, held.has) != met {
				add(a)
			}
		}
	}
	const most = 3
	if len(paths) == 0 {
		return ""
	}
	var commands []string
	repeats, tooMany := false, false
	for i, path := range paths {
		if i == most {
			break
		}
		privs := byPath[path]
		if held != nil {
			if there, _ := held.on(path); len(there) > 0 {
				union := slices.Clone(privs)
				for p := range there {
					if !slices.Contains(union, p) {
						union = append(union, p)
					}
				}
				switch {
				case len(union) <= 12 || builtin(union) != "":
					repeats = repeats || len(union) > len(privs)
					privs = union
				default:
					tooMany = true
				}
			}
		}
		commands = append(commands, s.grantCommand(path, privs))
	}
	text := "To grant it, on a node as root: " + strings.Join(commands, "; ")
	var notes []string
	if n := len(paths) - most; n > 0 {
		notes = append(notes, "and likewise on "+render.FormatCount(n, "more path"))
	}
	if repeats {
		notes = append(notes, "the role repeats what is held there now, because an entry on a path replaces what is inherited from above")
	}
	if tooMany {
		notes = append(notes, "an entry on a path replaces what is inherited from above, so name the roles that are needed there too: --roles A,B")
	}
	if len(notes) > 0 {
		text += " (" + strings.Join(notes, "; ") + ")"
	}
	return text + "."
}

// grantCommand makes one entry of the access control list for the token and its
// user: a token has no more than its user has, and one without privilege
// separation has exactly that, whatever is granted to it.
func (s *Server) grantCommand(path string, privs []string) string {
	sort.Strings(privs)
	token := s.o.TokenID
	if token == "" {
		token = "USER@REALM!NAME"
	}
	who := fmt.Sprintf("--tokens '%s'", token)
	if user := userOf(token); user != "root@pam" {
		who = fmt.Sprintf("--users '%s' %s", user, who)
	}
	role, create := builtin(privs), ""
	if role == "" {
		role = roleName(path, privs)
		create = fmt.Sprintf("pveum role add %s --privs '%s'; ", role, strings.Join(privs, " "))
	}
	return fmt.Sprintf("%spveum acl modify %s %s --roles %s", create, shellWord(path), who, role)
}

// builtin gives a role that Proxmox comes with and that fits: the auditor's for
// privileges to look, else one that has exactly these.
func builtin(privs []string) string {
	roles := apidoc.Roles(apidoc.Newest)
	within := func(role string) bool {
		return !slices.ContainsFunc(privs, func(p string) bool { return !slices.Contains(roles[role], p) })
	}
	if within("PVEAuditor") {
		return "PVEAuditor"
	}
	best := ""
	for name, has := range roles {
		if len(has) == len(privs) && within(name) && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// roleName names a role of one's own. Names that begin with PVE are kept for
// Proxmox's, since 8.0.
func roleName(path string, privs []string) string {
	if len(privs) <= 2 {
		return "mcp-" + strings.Join(privs, "-")
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, strings.Trim(path, "/"))
	if name == "" {
		name = "root"
	}
	return fmt.Sprintf("mcp-%s-%d", name, len(privs))
}

// mildest chooses among privileges of which one is enough.
func mildest(privs []string) string {
	for _, p := range privs {
		if strings.HasSuffix(p, ".Audit") {
			return p
		}
	}
	for _, suffix := range []string{".Use", ".AllocateSpace", ".Rollback", ".Console"} {
		for _, p := range privs {
			if strings.HasSuffix(p, suffix) {
				return p
			}
		}
	}
	if len(privs) == 0 {
		return ""
	}
	return privs[0]
}

// shellWord quotes what a shell would not take as it is.
func shellWord(s string) string {
	s = render.Line(s)
	plain := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:@+", r))
	}
	if s != "" && !strings.ContainsFunc(s, plain) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
