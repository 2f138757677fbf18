package apidoc

import (
	"sort"
	"strings"
)

// Routes finds methods by verb and path without their text: what
// [Schema.Lookup] does, for those who know the templates and need no more. It
// is much smaller than a schema and made in a fraction of the time.
type Routes struct{ s Schema }

// NewRoutes takes the templates with their verbs, as next gives them one after
// the other until it gives false.
func NewRoutes(next func(yield func(verb Verb, template string) bool)) *Routes {
	r := &Routes{s: Schema{root: &node{}}}
	next(func(verb Verb, template string) bool {
		n := r.s.root
		for segment := range strings.SplitSeq(strings.Trim(template, "/"), "/") {
			n = n.child(segment)
		}
		if vi := verb.index(); vi >= 0 && n.ends[vi] == nil {
			e := &Endpoint{Verb: verb, Path: template}
			n.ends[vi] = e
			r.s.endpoints = append(r.s.endpoints, e)
		}
		return true
	})
	sort.Slice(r.s.endpoints, func(i, j int) bool {
		a, b := r.s.endpoints[i], r.s.endpoints[j]
		return endpointLess(a.Path, a.Verb, b.Path, b.Verb)
	})
	return r
}

// child finds or makes the node of one segment.
func (n *node) child(segment string) *node {
	path := n.path + "/" + segment
	if strings.HasPrefix(segment, "{") {
		if n.wild == nil {
			n.wild = &node{segment: segment, param: strings.Trim(segment, "{}"), path: path}
		}
		return n.wild
	}
	if n.fixed == nil {
		n.fixed = map[string]*node{}
	}
	c := n.fixed[segment]
	if c == nil {
		c = &node{segment: segment, path: path}
		n.fixed[segment] = c
	}
	return c
}

// Lookup finds the template that a verb and a path mean, with the path's
// values; errors as of [Schema.Lookup].
func (r *Routes) Lookup(verb Verb, path string) (template string, values []PathValue, err error) {
	m, err := r.s.Lookup(verb, path)
	if err != nil {
		return "", nil, err
	}
	return m.Path, m.Values, nil
}
