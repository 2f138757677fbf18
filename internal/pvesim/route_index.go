package pvesim

import (
	"sort"
	"strings"

	"pvemcp/apidoc"
)

// pathTree knows what stands below each path of a schema. Proxmox answers GET
// on a path that only leads further with a list of what follows; that list is
// the schema's own tree.
type pathTree struct{ below map[string][]string }

func newPathTree(s *apidoc.Schema) *pathTree {
	seen := map[string]map[string]bool{}
	for _, e := range s.Endpoints() {
		parts := strings.Split(strings.TrimPrefix(e.Path, "/"), "/")
		at := ""
		for _, p := range parts {
			if seen[at] == nil {
				seen[at] = map[string]bool{}
			}
			seen[at][p] = true
			at += "/" + p
		}
	}
	t := &pathTree{below: map[string][]string{}}
	for at, names := range seen {
		for name := range names {
			if !strings.HasPrefix(name, "{") {
				t.below[at] = append(t.below[at], name)
			}
		}
		sort.Strings(t.below[at])
	}
	return t
}

// index lists what follows a path template, each under the given key.
func (t *pathTree) index(template, key string) []map[string]any {
	out := []map[string]any{}
	for _, name := range t.below[template] {
		out = append(out, map[string]any{key: name})
	}
	return out
}

// answer gives the list for a call if its method is such an index: a GET whose
// result is an array of nothing but names, on a path that others follow.
func (t *pathTree) answer(c *call) ([]map[string]any, bool) {
	m := c.method
	if m.Verb != apidoc.GET || m.Returns.Type != apidoc.Array || len(t.below[m.Path]) == 0 {
		return nil, false
	}
	key := "name"
	if strings.HasSuffix(m.Path, "/snapshot/{snapname}") {
		key = "cmd"
	}
	if m.Returns.Items != nil {
		switch names := m.Returns.Items.Names(); {
		case len(names) == 1:
			key = names[0]
		case len(names) > 1:
			return nil, false
		}
	}
	list := t.index(m.Path, key)
	c.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list, true
}
