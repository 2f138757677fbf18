package apidoc

import (
	"fmt"
	"strings"
)

// replacement is a part of the API that another part has taken the place of.
// The facts are from the differences of the published schemas and from the
// changelogs of Proxmox VE 8.0 and 9.0.
type replacement struct {
	verb  Verb   // "" for all
	old   string // template, or what it begins with
	new   string // "" when nothing took its place
	param string // the parameter of old that is meant; "" for the method
	// now says what to do instead, where new alone does not say it.
	now   string
	since string
}

var replacements = [...]replacement{
	{old: "/cluster/ha/groups", new: "/cluster/ha/rules", since: "9.0", now: "rules of type node-affinity take the place of HA groups"},
	{old: "/nodes/{node}/ceph/pools", new: "/nodes/{node}/ceph/pool", since: "8.0"},
	{old: "/nodes/{node}/ceph/configdb", new: "/nodes/{node}/ceph/cfg/db", since: "8.0"},
	{old: "/nodes/{node}/ceph/config", new: "/nodes/{node}/ceph/cfg/raw", since: "8.0"},
	{verb: POST, old: "/access/tfa", new: "/access/ticket", since: "8.0", now: "a login is completed by POST /access/ticket with tfa-challenge"},
	{old: "/nodes/{node}/scan/glusterfs", since: "9.0", now: "GlusterFS storages are not supported any more"},

	{old: "/", param: "maxfiles", since: "9.0", now: "use prune-backups, such as keep-last=3"},
	{old: "/", param: "notification-policy", since: "9.0", now: "use notification-mode and the matchers under /cluster/notifications"},
	{old: "/", param: "notification-target", since: "9.0", now: "use notification-mode and the matchers under /cluster/notifications"},
	{old: "/storage", param: "server2", since: "9.0", now: "GlusterFS storages are not supported any more"},
	{old: "/storage", param: "transport", since: "9.0", now: "GlusterFS storages are not supported any more"},
	{old: "/storage", param: "volume", since: "9.0", now: "GlusterFS storages are not supported any more"},
}

// within tells whether a template is a path or lies below it.
func within(template, root string) bool {
	rest, ok := strings.CutPrefix(template, root)
	return ok && (rest == "" || rest[0] == '/' || root == "/")
}

// MethodElsewhere says in a sentence or two what other versions know of a call
// that this schema lacks: which of the snapshots have it, and what there is
// instead here. It gives "" when no snapshot has it either.
func (s *Schema) MethodElsewhere(verb Verb, path string) string {
	if _, err := s.Lookup(verb, path); err == nil {
		return ""
	}
	template := ""
	in := s.others(func(o *Schema) bool {
		m, err := o.Lookup(verb, path)
		if err != nil {
			return false
		}
		if template == "" {
			template = m.Path
		}
		return true
	})
	if len(in) == 0 {
		return ""
	}
	text := s.notHere(string(verb)+" "+template, in)
	for _, r := range replacements {
		if r.param != "" || r.verb != "" && r.verb != verb {
			continue
		}
		switch {
		case within(template, r.old) && r.new == "":
			return text + "; " + r.now
		case within(template, r.old) && s.has(r.new):
			if r.now != "" {
				text += "; " + r.now
			}
			return fmt.Sprintf("%s; here there is %s", text, r.new)
		case r.new != "" && r.verb == "" && within(template, r.new) && s.has(r.old):
			return fmt.Sprintf("%s; here there is %s", text, r.old)
		}
	}
	return text
}

// ParamElsewhere is [Schema.MethodElsewhere] for a parameter that this schema's
// method does not have.
func (s *Schema) ParamElsewhere(verb Verb, template, param string) string {
	in := s.others(func(o *Schema) bool {
		e, ok := o.Endpoint(verb, template)
		if !ok {
			return false
		}
		m, err := e.Method()
		if err != nil {
			return false
		}
		_, ok = m.Property(param)
		return ok
	})
	if len(in) == 0 {
		return ""
	}
	text := s.notHere(param, in)
	for _, r := range replacements {
		if r.param == param && within(template, r.old) && s.newerThan(in[0]) {
			return text + "; " + r.now
		}
	}
	return text
}

// others lists the snapshots, newest first, that have what is asked for.
func (s *Schema) others(has func(*Schema) bool) []*Schema {
	var in []*Schema
	for i := len(snapshots) - 1; i >= 0; i-- {
		if o, err := Snapshot(snapshots[i]); err == nil && o != s && has(o) {
			in = append(in, o)
		}
	}
	return in
}

// notHere says that a thing is not in this version but in others.
func (s *Schema) notHere(thing string, in []*Schema) string {
	here := s.Version
	if here == "" {
		here = "this cluster's version"
	}
	// The version next to this one tells most: the oldest that has what came
	// later, the newest that had what is gone.
	next := in[len(in)-1]
	switch {
	case next.Version == s.Version:
		return fmt.Sprintf("%s is not in this cluster's build of %s; other builds of it have it", thing, here)
	case s.newerThan(in[0]):
		return fmt.Sprintf("%s is not in %s any more; %s had it", thing, here, in[0].Version)
	}
	return fmt.Sprintf("%s is not in %s; it came with a later version (it is in %s)", thing, here, next.Version)
}

func (s *Schema) newerThan(o *Schema) bool {
	a, ok1 := versionNumber(s.Version)
	b, ok2 := versionNumber(o.Version)
	return ok1 && ok2 && a > b
}

// has tells whether a path is in the schema, whatever its verbs.
func (s *Schema) has(template string) bool {
	for _, v := range Verbs {
		if _, ok := s.Endpoint(v, template); ok {
			return true
		}
	}
	return false
}
