package curated

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// GuestFilter holds the filters that every list of guests has. All given ones
// must hold; each takes several values separated by commas.
type GuestFilter struct {
	Node   string `json:"node,omitempty"`
	Status string `json:"status,omitempty"`
	Name   string `json:"name,omitempty" jsonschema:"description=part or glob"`
	Tag    string `json:"tag,omitempty"`
	Pool   string `json:"pool,omitempty"`
	VMIDs  string `json:"vmids,omitempty" jsonschema:"description=e.g. 100-199"`
}

// guestMatch is a GuestFilter made ready.
type guestMatch struct {
	nodes, statuses, names, tags, pools []string
	ids                                 []idRange
}

type idRange struct{ from, to int }

func (f GuestFilter) ready() (*guestMatch, error) {
	m := &guestMatch{nodes: splitList(f.Node), statuses: lowered(f.Status), names: lowered(f.Name), tags: lowered(f.Tag), pools: splitList(f.Pool)}
	for _, s := range m.statuses {
		if !slices.Contains(guestStatuses, s) {
			return nil, &ArgError{Arg: "status", Why: "unknown status " + strconv.Quote(clip(s)), Valid: guestStatuses}
		}
	}
	for _, p := range m.names {
		if _, err := path.Match(p, ""); err != nil {
			return nil, badArg("name", "%q is not a valid pattern", clip(p))
		}
	}
	for _, part := range splitList(f.VMIDs) {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, err1 := strconv.Atoi(strings.TrimSpace(from))
		b, err2 := strconv.Atoi(strings.TrimSpace(to))
		if err1 != nil || err2 != nil || a > b {
			return nil, badArg("vmids", "%q is neither a number nor a range such as 100-199", clip(part))
		}
		m.ids = append(m.ids, idRange{a, b})
	}
	return m, nil
}

// guestStatuses are what a guest's status can be, and two words of our own.
var guestStatuses = []string{"running", "stopped", "paused", "suspended", "prelaunch", "unknown", "template", "locked"}

func lowered(s string) []string { return splitList(strings.ToLower(s)) }

// keep tells whether a guest passes.
func (m *guestMatch) keep(r *resource) bool {
	if len(m.nodes) > 0 && !slices.Contains(m.nodes, r.Node.V) {
		return false
	}
	if len(m.statuses) > 0 && !slices.ContainsFunc(m.statuses, func(s string) bool {
		switch s {
		case "template":
			return r.Template.V
		case "locked":
			return r.Lock.V != ""
		}
		return s == strings.ToLower(r.Status.V)
	}) {
		return false
	}
	if len(m.names) > 0 && !slices.ContainsFunc(m.names, func(p string) bool { return nameMatches(p, strings.ToLower(r.Name.V)) }) {
		return false
	}
	if len(m.tags) > 0 && !slices.ContainsFunc(tagsOf(strings.ToLower(r.Tags.V)), func(t string) bool { return slices.Contains(m.tags, t) }) {
		return false
	}
	if len(m.pools) > 0 && !slices.ContainsFunc(m.pools, func(p string) bool { return r.Pool.V == p || strings.HasPrefix(r.Pool.V, p+"/") }) {
		return false
	}
	if len(m.ids) > 0 && !slices.ContainsFunc(m.ids, func(x idRange) bool { return int(r.Vmid.V) >= x.from && int(r.Vmid.V) <= x.to }) {
		return false
	}
	return true
}

// nameMatches takes a glob, or a part of the name where there is no wildcard.
func nameMatches(pattern, name string) bool {
	if strings.ContainsAny(pattern, "*?[") {
		ok, _ := path.Match(pattern, name)
		return ok
	}
	return strings.Contains(name, pattern)
}

// empty tells whether nothing was asked for.
func (m *guestMatch) empty() bool {
	return len(m.nodes)+len(m.statuses)+len(m.names)+len(m.tags)+len(m.pools)+len(m.ids) == 0
}

// checkNodes refuses a node that does not exist, which would otherwise look
// like an empty one.
func (m *guestMatch) checkNodes(all []resource) error {
	known := visibleNodes(all)
	for _, n := range m.nodes {
		if len(known) > 0 && !slices.Contains(known, n) {
			if _, err := apidoc.ParseNode(n); err != nil {
				return badArg("node", "%v", err)
			}
			return nodeError(n, known)
		}
	}
	return nil
}
