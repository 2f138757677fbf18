package curated

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// privilegeAge is for how long what the token holds is believed.
const privilegeAge = 60 * time.Second

// holdings is what the token may do, as GET /access/permissions told.
type holdings struct {
	mu     sync.Mutex
	at     time.Time
	paths  map[string]map[string]bool // ACL path → privilege → it goes down the tree
	groups map[apidoc.UserID][]string // of the users that were asked for
}

// privileges is the server's memory of what its token holds.
type privileges struct {
	mu  sync.Mutex
	now *holdings
}

// holdings reads what the token holds, once in [privilegeAge] or when older
// than maxAge. Any user who is logged in may ask for its own.
func (s *Server) holdings(ctx context.Context, maxAge time.Duration) (*holdings, error) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	if h := s.held.now; h != nil {
		if age := s.now().Sub(h.at); age >= 0 && age < min(maxAge, privilegeAge) {
			return h, nil
		}
	}
	told, err := s.api.GetAccessPermissions(ctx, nil)
	if err != nil {
		return nil, err
	}
	h := &holdings{at: s.now(), paths: make(map[string]map[string]bool, len(told)), groups: map[apidoc.UserID][]string{}}
	for path, privs := range told {
		h.paths[path] = make(map[string]bool, len(privs))
		for p, down := range privs {
			h.paths[path][p] = down.V
		}
	}
	s.held.now = h
	return h, nil
}

// forgetPrivileges makes the next question read anew, after a change of
// permissions.
func (s *Server) forgetPrivileges() {
	s.held.mu.Lock()
	s.held.now = nil
	s.held.mu.Unlock()
}

// on gives the privileges on an ACL path. Proxmox lists the paths that have
// entries or stand in pools, and only where the caller has something; on any
// other the privileges of the nearest path above count that go down the tree.
// exact is false for such: an entry that takes everything away looks the same.
func (h *holdings) on(path string) (privs map[string]bool, exact bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p, ok := h.paths[path]; ok {
		return p, true
	}
	for up := path; up != "/" && up != ""; {
		i := strings.LastIndexByte(up, '/')
		if up = up[:max(i, 0)]; up == "" {
			up = "/"
		}
		if p, ok := h.paths[up]; ok {
			privs = map[string]bool{}
			for name, down := range p {
				if down {
					privs[name] = true
				}
			}
			return privs, false
		}
	}
	return nil, false
}

func (h *holdings) has(path, priv string) bool {
	privs, _ := h.on(path)
	_, ok := privs[priv]
	return ok
}

// exact asks Proxmox about single paths whose privileges were only inferred,
// at most two of them.
func (s *Server) exact(ctx context.Context, h *holdings, paths []string) error {
	asked := 0
	for _, path := range paths {
		if _, known := h.on(path); known || unfilled(path) {
			continue
		}
		if asked++; asked > 2 {
			return nil
		}
		told, err := s.api.GetAccessPermissions(ctx, &generated.GetAccessPermissionsParams{Path: &path})
		if err != nil {
			return err
		}
		privs := map[string]bool{}
		for p, down := range told[path] {
			privs[p] = down.V
		}
		h.mu.Lock()
		h.paths[path] = privs
		h.mu.Unlock()
	}
	return nil
}

// judgement is what is known about a call and the token's right to make it.
type judgement struct {
	// missing is what the token surely lacks; all of it is needed.
	missing []apidoc.Need
	// open are demands that can't be judged from here.
	open []apidoc.Need
	// self: only the user in question may, and no token counts as its user.
	self bool
	// paths are the ACL paths that the demands are on.
	paths []string
}

// judge evaluates the permission of a method, and the demands that the schema
// does not show, for a call with these parameters (the path's values among
// them). config is the guest's present configuration, nil when not known.
func (s *Server) judge(ctx context.Context, h *holdings, m *apidoc.Method, version string, params apidoc.Params, config map[string]string) judgement {
	caller := apidoc.Caller{User: apidoc.UserID(userOf(s.o.TokenID)), Token: true, Has: h.has}
	if s.o.TokenID == "" {
		// Without a token's name nobody can be "self" anyway.
		caller.User = "token"
	}
	if m.Permission.Check != nil {
		if privs, ok := groupPrivs(m.Permission.Check); ok {
			caller.Groups = s.groupsOf(ctx, h, privs, params)
		}
	}
	var j judgement
	v := apidoc.EvalPermission(m.Permission, caller, params)
	needs := v.Missing
	if !v.OK && len(needs) == 0 && m.Permission.Check != nil && onlySelf(m.Permission.Check) {
		j.self = true
	}
	asking := apidoc.Asking{Verb: m.Verb, Path: m.Path, Params: params, Version: version, Zone: zoneOf}
	deleted := map[string]bool{}
	if config != nil {
		asking.Config = func(key string) string { return config[key] }
	} else {
		for _, value := range params["delete"] {
			for _, key := range apidoc.ListItems(value) {
				deleted[key] = true
			}
		}
	}
	needs = append(needs, apidoc.ExtraNeeds(asking)...)
	seen := map[string]bool{}
	for _, n := range needs {
		key := n.String()
		if seen[key] {
			continue
		}
		seen[key] = true
		j.paths = append(j.paths, pathsOf(n)...)
		switch lacks(n, h.has) {
		case met:
		case unmet:
			// What a deleted key needs hangs on what it is now: a disk or a CD-ROM.
			if deleted[n.Param] || v.Unsure && n.Param == "" && onGroups(n.Path) {
				j.open = append(j.open, n)
			} else {
				j.missing = append(j.missing, n)
			}
		case undecided:
			j.open = append(j.open, n)
		}
	}
	j.missing = withoutImplied(j.missing)
	if v.OK && m.Permission.Check != nil {
		j.paths = append(j.paths, exprPaths(m.Permission.Check, params)...)
	}
	return j
}

// withoutImplied drops demands for one of several privileges where another
// demand wants one of them anyway.
func withoutImplied(needs []apidoc.Need) []apidoc.Need {
	implied := func(n apidoc.Need) bool {
		if !n.Any || len(n.And) > 0 {
			return false
		}
		return slices.ContainsFunc(needs, func(o apidoc.Need) bool {
			return !o.Any && len(o.Or) == 0 && o.Path == n.Path &&
				slices.ContainsFunc(o.Privs, func(p string) bool { return slices.Contains(n.Privs, p) })
		})
	}
	var out []apidoc.Need
	for _, n := range needs {
		if !implied(n) {
			out = append(out, n)
		}
	}
	return out
}

// answerTo is an answer that may be unknown.
type answerTo uint8

const (
	met answerTo = iota
	unmet
	undecided
)

// lacks tells whether a demand is not met. What a demand on a path says whose
// parameter is not known can't be told.
func lacks(n apidoc.Need, has func(path, priv string) bool) answerTo {
	alone := n
	alone.And, alone.Or = nil, nil
	out := met
	switch {
	case unfilled(n.Path):
		out = undecided
	case !alone.Met(has):
		out = unmet
	}
	for _, a := range n.And {
		if l := lacks(a, has); l == unmet || l == undecided && out == met {
			out = l
		}
	}
	for _, o := range n.Or {
		switch lacks(o, has) {
		case met:
			return met
		case undecided:
			if out == unmet {
				out = undecided
			}
		}
	}
	return out
}

func unfilled(path string) bool { return strings.ContainsAny(path, "{}") }

func pathsOf(n apidoc.Need) []string {
	var out []string
	if n.Path != "" {
		out = append(out, n.Path)
	}
	for _, o := range n.And {
		out = append(out, pathsOf(o)...)
	}
	for _, o := range n.Or {
		out = append(out, pathsOf(o)...)
	}
	return out
}

func exprPaths(e *apidoc.Expr, params apidoc.Params) []string {
	var out []string
	if e.Path != "" {
		if path, ok := apidoc.FillPath(e.Path, params); ok {
			out = append(out, path)
		}
	}
	for _, a := range e.Args {
		out = append(out, exprPaths(a, params)...)
	}
	return out
}

// onGroups tells whether an ACL path is that of a group of users, or of all.
func onGroups(path string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(path, "/"), "access/groups")
	return ok && (rest == "" || rest[0] == '/')
}

// openParams puts placeholders for what a permission looks at and nobody has
// named yet, so that demands on it count as undecided.
func openParams(e *apidoc.Expr, params apidoc.Params) {
	if e == nil {
		return
	}
	names := []string{}
	if e.Op == apidoc.OpUserParam || e.Op == apidoc.OpUserGroup {
		names = append(names, "userid")
	}
	for rest := e.Path; ; {
		_, after, found := strings.Cut(rest, "{")
		name, tail, closed := strings.Cut(after, "}")
		if !found || !closed {
			break
		}
		names, rest = append(names, name), tail
	}
	for _, name := range names {
		if len(params[name]) == 0 {
			params[name] = []string{"{" + name + "}"}
		}
	}
	for _, a := range e.Args {
		openParams(a, params)
	}
}

// zoneOf: bridges made by hand are in the zone "localnetwork", and by custom
// called vmbr0, vmbr1; of another name it isn't known which zone it is in.
func zoneOf(bridge string) string {
	if strings.HasPrefix(bridge, "vmbr") || unfilled(bridge) {
		return "localnetwork"
	}
	return "{zone of " + bridge + "}"
}

// groupPrivs gives the privileges that a permission wants on a group of the
// user in question.
func groupPrivs(e *apidoc.Expr) ([]string, bool) {
	if e.Op == apidoc.OpUserGroup {
		return e.Privs, e.GroupsParam != "create"
	}
	for _, a := range e.Args {
		if privs, ok := groupPrivs(a); ok {
			return privs, true
		}
	}
	return nil, false
}

// groupsOf finds the groups of the user that a call is about. Where the token
// holds none of the privileges on any group they don't matter and nothing is
// asked; where they can't be read the answer is nil, which means unknown.
func (s *Server) groupsOf(ctx context.Context, h *holdings, privs []string, params apidoc.Params) func(apidoc.UserID) ([]string, bool) {
	none := func(apidoc.UserID) ([]string, bool) { return nil, false }
	h.mu.Lock()
	matters := false
	for path, held := range h.paths {
		if onGroups(path) {
			for _, p := range privs {
				_, ok := held[p]
				matters = matters || ok
			}
		}
	}
	h.mu.Unlock()
	if !matters || len(params["userid"]) == 0 || unfilled(params["userid"][0]) {
		return none
	}
	user := apidoc.UserID(params["userid"][0])
	h.mu.Lock()
	groups, known := h.groups[user]
	h.mu.Unlock()
	if !known {
		u, err := s.api.GetAccessUsersByUserid(ctx, user)
		if err != nil {
			return nil
		}
		for _, g := range u.Groups {
			groups = append(groups, g.V)
		}
		h.mu.Lock()
		h.groups[user] = groups
		h.mu.Unlock()
	}
	return func(id apidoc.UserID) ([]string, bool) { return groups, id == user }
}

// onlySelf tells whether a permission can be met by the user in question alone.
func onlySelf(e *apidoc.Expr) bool {
	if e.Op == apidoc.OpUserParam {
		return e.Param == "self"
	}
	for _, a := range e.Args {
		if onlySelf(a) && (e.Op == apidoc.OpAnd || len(e.Args) == 1) {
			return true
		}
	}
	return false
}

// paramsOf joins what the path says and what was given.
func paramsOf(match apidoc.Match, params apidoc.Params) apidoc.Params {
	out := make(apidoc.Params, len(params)+len(match.Values))
	for name, v := range params {
		out[name] = v
	}
	for _, v := range match.Values {
		out[v.Name] = []string{v.Value}
	}
	return out
}

// lacking tells what the token is known to lack for a call, one line each, for
// dry runs. It never says that nothing is lacking: note says how far the
// judgement goes, or why there is none.
func (c *Call) lacking(ctx context.Context, match apidoc.Match, params apidoc.Params) (missing []string, note string) {
	if err := c.neverByToken(match); err != nil {
		return []string{err.Error()}, ""
	}
	m, err := match.Method()
	if err != nil {
		return nil, "what it takes could not be read: " + err.Error()
	}
	schema, err := c.schema(ctx)
	if err != nil {
		return nil, "what it takes could not be read: " + err.Error()
	}
	h, err := c.holdings(ctx, privilegeAge)
	if err != nil {
		return nil, "what the token holds could not be read: " + shortError(err)
	}
	all := paramsOf(match, params)
	j := c.judge(ctx, h, m, schema.Version, all, c.presentConfig(ctx, match))
	for _, n := range j.missing {
		missing = append(missing, needWords(n, h.has)+forParam(n))
	}
	if j.self {
		missing = append(missing, "being the user in question, which no token is")
	}
	switch {
	case len(j.open) > 0:
		note = "can't be judged from here: " + needsWords(j.open, 3)
	case len(missing) == 0:
		note = "nothing is known to be missing"
	}
	return missing, note
}

// presentConfig reads a guest's configuration where what a change of it takes
// hangs on what is there now; nil when it does not or can't be read.
func (c *Call) presentConfig(ctx context.Context, match apidoc.Match) map[string]string {
	if match.Verb == apidoc.GET || !strings.HasSuffix(match.Path, "/{vmid}/config") {
		return nil
	}
	var node apidoc.Node
	var id apidoc.VMID
	for _, v := range match.Values {
		switch v.Name {
		case "node":
			node = apidoc.Node(v.Value)
		case "vmid":
			n, err := strconv.ParseUint(v.Value, 10, 32)
			if err != nil {
				return nil
			}
			id = apidoc.VMID(n)
		}
	}
	data, err := c.raw(func(api *generated.Client) error {
		if strings.Contains(match.Path, "/"+string(apidoc.LXC)+"/") {
			_, err := api.GetNodesLxcConfig(ctx, node, id, nil)
			return err
		}
		_, err := api.GetNodesQemuConfig(ctx, node, id, nil)
		return err
	})
	if err != nil {
		return nil
	}
	return flatten(data)
}
