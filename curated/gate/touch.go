package gate

import (
	"net/url"
	"sort"
	"strings"

	"pvemcp/apidoc"
)

// touches is what a call names, by all parameters that can name something.
type touches struct {
	guests []guestRef
	pools  []namedRef
	nodes  []namedRef
	scopes []scopeRef
	spared map[apidoc.VMID]bool
	// unread are parameters that name a guest in a form which is not understood.
	unread []namedRef
	// mass: the scope is that of a call for many guests, which spares and lists
	// them, not one for a node or a storage as such.
	mass bool
}

type guestRef struct {
	id    apidoc.VMID
	via   string // the parameter
	value string // what stands in it, when that is more than the number
	// created: the call makes a guest of that number, if there is none yet.
	created bool
}

type namedRef struct{ name, via string }

type scopeRef struct {
	scope apidoc.Scope
	node  apidoc.Node // of a node scope
	why   string
}

// touched reads what a call touches. Doubt counts as touching.
func (i *Intent) touched() touches {
	t := touches{spared: map[apidoc.VMID]bool{}}
	p := i.Params
	refs := i.Policy.Refs
	creates := strings.HasSuffix(i.Template, "/qemu") || strings.HasSuffix(i.Template, "/lxc")

	for _, v := range p["vmid"] {
		t.addGuests("vmid", v, creates)
	}
	for _, ref := range refs.Guests {
		if ref != "vmid" {
			t.each(ref, p, func(name, v string) { t.addGuests(name, v, ref == "newid") })
		}
	}
	for _, ref := range refs.Spared {
		for _, v := range ref.Values(p) {
			for _, item := range apidoc.ListItems(v) {
				if id, ok := readVMID(item); ok {
					t.spared[id] = true
				}
			}
		}
	}
	for _, ref := range refs.SIDs {
		t.each(ref, p, t.addSIDs)
	}
	for _, ref := range refs.Jobs {
		t.each(ref, p, func(name, v string) {
			for _, item := range apidoc.ListItems(v) {
				number, _, _ := strings.Cut(item, "-")
				t.addGuest(name, number, item, false)
			}
		})
	}
	for _, ref := range refs.Volumes {
		t.each(ref, p, t.addVolumes)
	}
	for _, ref := range refs.Pools {
		t.each(ref, p, func(name, v string) {
			for _, item := range apidoc.ListItems(v) {
				t.pools = append(t.pools, namedRef{item, name})
			}
		})
	}
	for _, v := range p["node"] {
		t.nodes = append(t.nodes, namedRef{v, "node"})
	}
	for _, ref := range refs.Nodes {
		t.each(ref, p, func(name, v string) {
			for _, item := range apidoc.ListItems(v) {
				node, _, _ := strings.Cut(item, ":")
				if name != "node" || !t.hasNode(node) {
					t.nodes = append(t.nodes, namedRef{node, name})
				}
			}
		})
	}
	t.addScopes(i)
	for _, ref := range refs.UPIDs {
		t.each(ref, p, t.addUPID)
	}
	return t
}

func (t *touches) hasNode(name string) bool {
	for _, n := range t.nodes {
		if n.name == name {
			return true
		}
	}
	return false
}

// each gives every value that a reference has, with the name of its parameter.
func (t *touches) each(ref apidoc.ParamRef, p map[string][]string, use func(name, value string)) {
	names := make([]string, 0, 1)
	for name := range p {
		if ref.Names(name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		for _, v := range ref.Values(map[string][]string{name: p[name]}) {
			use(name, v)
		}
	}
}

func (t *touches) addGuests(name, value string, created bool) {
	for _, item := range apidoc.ListItems(value) {
		t.addGuest(name, item, "", created)
	}
}

func (t *touches) addGuest(name, number, value string, created bool) {
	id, ok := readVMID(number)
	if !ok {
		t.unread = append(t.unread, namedRef{number, name})
		return
	}
	t.guests = append(t.guests, guestRef{id, name, value, created})
}

// addSIDs reads ids of HA resources: vm:100, ct:200, or the number alone.
func (t *touches) addSIDs(name, value string) {
	for _, item := range apidoc.ListItems(value) {
		_, number, ok := strings.Cut(item, ":")
		if !ok {
			number = item
		}
		t.addGuest(name, number, item, false)
	}
}

// addVolumes finds the owners of all volumes that a value may name: alone, in a
// property string, behind a `=`, with the storage or without.
func (t *touches) addVolumes(name, value string) {
	seen := map[apidoc.VMID]bool{}
	try := func(text string) {
		id, ok := apidoc.VolID(text).Owner()
		if !ok {
			id, ok = apidoc.VolID("any:" + text).Owner()
		}
		if ok && !seen[id] {
			seen[id] = true
			t.guests = append(t.guests, guestRef{id, name, text, false})
		}
	}
	try(value)
	for _, item := range apidoc.ListItems(value) {
		try(item)
		for rest, more := item, true; more; {
			if _, rest, more = strings.Cut(rest, "="); more {
				try(rest)
			}
		}
	}
}

// manyGuests are the kinds of tasks that work on many guests, as
// pve-behaviour's list of task types has them: stopping one may leave any of
// them halfway. The value says whether they do so in the whole cluster.
var manyGuests = map[string]bool{
	"startall": false, "stopall": false, "suspendall": false, "migrateall": false, "vzdump": false,
	"bulk-start": true, "bulk-shutdown": true, "bulk-suspend": true, "bulk-migrate": true,
}

// addUPID reads the guests from a task's id part: 100, 100@store,
// 100-scsi0>101-scsi1. Every number in it counts.
func (t *touches) addUPID(name, value string) {
	parts, err := apidoc.ParseUPID(strings.TrimSpace(value))
	if err != nil {
		t.unread = append(t.unread, namedRef{value, name})
		return
	}
	text := parts.ID
	if plain, err := url.PathUnescape(text); err == nil {
		text = plain
	}
	found := false
	for _, number := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		if id, err := apidoc.ParseVMID(number); err == nil {
			found = true
			t.guests = append(t.guests, guestRef{id, name, value, false})
		}
	}
	if everywhere, many := manyGuests[parts.Type]; many && !found {
		t.mass = true
		s := scopeRef{scope: apidoc.ScopeNode, node: parts.Node, why: "a task " + parts.Type + " works on many guests"}
		if everywhere {
			s.scope = apidoc.ScopeCluster
		}
		t.scopes = append(t.scopes, s)
	}
}

// addScopes reads whose guests a call reaches without naming them.
func (t *touches) addScopes(i *Intent) {
	if !i.judged {
		t.scopes = append(t.scopes, scopeRef{scope: apidoc.ScopeCluster, why: "nobody has judged this method, so it may touch any guest"})
		return
	}
	t.mass = len(i.Policy.Refs.Guests) > 0 || len(i.Policy.Refs.SIDs) > 0
	scopes := i.Policy.Reaches(i.Params)
	// A list of guests that is there and empty is not known to mean none.
	bare := make(map[string][]string, len(i.Params))
	for name, values := range i.Params {
		bare[name] = values
	}
	for _, ref := range i.Policy.Refs.Guests {
		items := 0
		for _, v := range ref.Values(i.Params) {
			items += len(apidoc.ListItems(v))
		}
		if items == 0 {
			delete(bare, ref.Param())
		}
	}
	if len(bare) < len(i.Params) {
	next:
		for _, s := range i.Policy.Reaches(bare) {
			for _, have := range scopes {
				if have == s {
					continue next
				}
			}
			scopes = append(scopes, s)
		}
	}
	for _, s := range scopes {
		ref := scopeRef{scope: s, why: "it reaches every guest of the " + string(s)}
		switch s {
		case apidoc.ScopeNode:
			if nodes := i.Params["node"]; len(nodes) > 0 {
				ref.node = apidoc.Node(nodes[0])
				break
			}
			ref.scope = apidoc.ScopeCluster
		case apidoc.ScopeStorage:
			ref.why = "which guests have something on a storage is not known without reading all their configurations, so every guest counts"
		}
		t.scopes = append(t.scopes, ref)
	}
}

// readVMID reads a guest's number more freely than Proxmox does, so that no
// spelling which it might take escapes.
func readVMID(s string) (apidoc.VMID, bool) {
	s = strings.TrimSpace(s)
	s = strings.TrimLeft(strings.TrimPrefix(s, "+"), "0")
	id, err := apidoc.ParseVMID(s)
	return id, err == nil
}
