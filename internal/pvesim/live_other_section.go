package pvesim

import (
	"slices"
	"strings"
)

// Section is an entry of one of Proxmox's section files that nothing else in
// the world depends on: it is kept as it was given, and shown again.
type Section struct {
	Kind    string `json:"kind,omitempty"` // path of its list below /cluster, such as acme/plugins
	ID      string `json:"id,omitempty"`
	Options Config `json:"options,omitempty"`
}

// sectionKind says how the entries of one kind are called and answered.
type sectionKind struct {
	path   string // of the list, below /cluster
	id     string // name of the parameter with the id
	lists  []string
	secret []string // options that no answer shows
	post   bool     // an entry is made by POST to its own path
}

var sectionKinds = []sectionKind{
	{path: "acme/plugins", id: "plugin"},
	{path: "jobs/realm-sync", id: "id", post: true},
	{path: "qemu/custom-cpu-models", id: "cputype"},
	{path: "notifications/endpoints/gotify", id: "name", secret: []string{"token"}},
	{path: "notifications/endpoints/sendmail", id: "name", lists: []string{"mailto", "mailto-user"}},
	{path: "notifications/endpoints/smtp", id: "name", lists: []string{"mailto", "mailto-user"}, secret: []string{"password"}},
	{path: "notifications/endpoints/webhook", id: "name", lists: []string{"header"}, secret: []string{"secret"}},
	{path: "notifications/matchers", id: "name", lists: []string{"match-calendar", "match-field", "match-severity", "target"}},
	{path: "sdn/controllers", id: "controller"},
	{path: "sdn/dns", id: "dns", secret: []string{"key"}},
	{path: "sdn/ipams", id: "ipam", secret: []string{"token"}},
}

func init() {
	for _, k := range sectionKinds {
		one := "/cluster/" + k.path + "/{" + k.param() + "}"
		register("GET /cluster/"+k.path, k.list)
		register("GET "+one, k.get)
		if k.post {
			register("POST "+one, k.create)
		} else {
			register("POST /cluster/"+k.path, k.create)
		}
		register("PUT "+one, k.update)
		register("DELETE "+one, k.remove)
	}
	register("GET /cluster/notifications/targets", notificationTargets)
	register("POST /cluster/notifications/targets/{name}/test", testTarget)
}

// param is the name of the id in the path.
func (k sectionKind) param() string {
	if k.id == "plugin" {
		return "id"
	}
	return k.id
}

// builtin are the entries that a fresh installation has.
func (k sectionKind) builtin() []object {
	switch k.path {
	case "notifications/endpoints/sendmail":
		return []object{append(mailToRoot(), member{"mailto-user", []string{"root@pam"}})}
	case "notifications/matchers":
		return []object{defaultMatcher()}
	case "sdn/ipams":
		return []object{{{"ipam", "pve"}, {"type", "pve"}}}
	}
	return nil
}

func (o object) text(key string) string {
	for _, m := range o {
		if m.key == key {
			s, _ := m.value.(string)
			return s
		}
	}
	return ""
}

func (k sectionKind) find(w *World, id string) *Section {
	for _, s := range w.Sections {
		if s.Kind == k.path && s.ID == id {
			return s
		}
	}
	return nil
}

// show is an entry as answers have it.
func (k sectionKind) show(s *Section) object {
	o := object{{k.id, s.ID}}
	s.Options.Each(func(key, v string) bool {
		switch {
		case slices.Contains(k.secret, key):
		case slices.Contains(k.lists, key):
			o.put(key, strings.Split(v, ","))
		case key == "disable" || key == "enabled" || key == "invert-match":
			o.put(key, atoi(v))
		default:
			o.put(key, v)
		}
		return true
	})
	if strings.HasPrefix(k.path, "notifications/") {
		o.put("origin", "user-created")
	}
	return o
}

func (k sectionKind) all(w *World) []object {
	var list []object
	for _, s := range w.Sections {
		if s.Kind == k.path {
			list = append(list, k.show(s))
		}
	}
	for _, o := range k.builtin() {
		if k.find(w, o.text(k.id)) == nil {
			list = append(list, o)
		}
	}
	return list
}

func (k sectionKind) list(c *call) (any, error) { return c.rows(k.all(c.world)), nil }

func (k sectionKind) missing(c *call) error {
	id := c.path[k.param()]
	switch {
	case strings.HasPrefix(k.path, "notifications/"):
		return noSuchTarget(c)
	case strings.HasPrefix(k.path, "sdn/"):
		return fail("sdn '%s' does not exist", id)
	case k.path == "acme/plugins":
		return fail("ACME plugin '%s' not defined", id)
	case k.path == "jobs/realm-sync":
		return refuse("id", "No such job '"+id+"'")
	}
	return fail("Custom cputype '%s' not found", id)
}

func (k sectionKind) get(c *call) (any, error) {
	for _, o := range k.all(c.world) {
		if o.text(k.id) == c.path[k.param()] {
			return c.one(append(o, member{"digest", k.digest(c.world)})), nil
		}
	}
	return nil, k.missing(c)
}

// digest is of all entries of the kind.
func (k sectionKind) digest(w *World) string {
	var b strings.Builder
	for _, s := range w.Sections {
		if s.Kind == k.path {
			b.WriteString(s.ID + "\n" + s.Options.Text())
		}
	}
	return digestOf(b.String())
}

func (k sectionKind) create(c *call) (any, error) {
	if err := c.quorum(strings.ReplaceAll(k.path, "/", "_")); err != nil {
		return nil, err
	}
	id := c.param(k.param())
	if k.find(c.world, id) != nil {
		return nil, fail("%s '%s' already exists", k.id, id)
	}
	s := &Section{Kind: k.path, ID: id}
	if err := c.store(&s.Options, k.param()); err != nil {
		return nil, err
	}
	c.world.Sections = append(c.world.Sections, s)
	return nil, nil
}

// update changes an entry; one that came with the installation becomes an own
// one by that.
func (k sectionKind) update(c *call) (any, error) {
	if err := c.quorum(strings.ReplaceAll(k.path, "/", "_")); err != nil {
		return nil, err
	}
	if err := c.sameDigest(k.digest(c.world)); err != nil {
		return nil, err
	}
	id := c.path[k.param()]
	s := k.find(c.world, id)
	if s == nil {
		for _, o := range k.builtin() {
			if o.text(k.id) != id {
				continue
			}
			s = &Section{Kind: k.path, ID: id}
			for _, m := range o {
				switch v := m.value.(type) {
				case string:
					if m.key != k.id && m.key != "origin" {
						s.Options.Set(m.key, v)
					}
				case []string:
					s.Options.Set(m.key, strings.Join(v, ","))
				}
			}
			c.world.Sections = append(c.world.Sections, s)
		}
	}
	if s == nil {
		return nil, k.missing(c)
	}
	changed := s.Options.Clone()
	if err := c.store(&changed, k.param()); err != nil {
		return nil, err
	}
	s.Options = changed
	return nil, nil
}

func (k sectionKind) remove(c *call) (any, error) {
	if err := c.quorum(strings.ReplaceAll(k.path, "/", "_")); err != nil {
		return nil, err
	}
	id := c.path[k.param()]
	s := k.find(c.world, id)
	if s == nil {
		return nil, k.missing(c)
	}
	if strings.HasPrefix(k.path, "notifications/endpoints/") {
		for _, m := range c.world.Sections {
			if m.Kind == "notifications/matchers" && slices.Contains(strings.Split(m.Options.Get("target"), ","), id) {
				return nil, &apiError{Status: 400, Message: "cannot delete '" + id + "', referenced by: " + m.ID + "\n"}
			}
		}
	}
	c.world.Sections = slices.DeleteFunc(c.world.Sections, func(x *Section) bool { return x == s })
	return nil, nil
}

func notificationTargets(c *call) (any, error) {
	var list []object
	for _, k := range sectionKinds {
		kind, is := strings.CutPrefix(k.path, "notifications/endpoints/")
		if !is {
			continue
		}
		for _, o := range k.all(c.world) {
			t := object{{"name", o.text("name")}, {"type", kind}, {"origin", o.text("origin")}}
			t.putIf("comment", o.text("comment"))
			list = append(list, t)
		}
	}
	return c.rows(list), nil
}

// testTarget sends nothing: it finds the target.
func testTarget(c *call) (any, error) {
	for _, k := range sectionKinds {
		if !strings.HasPrefix(k.path, "notifications/endpoints/") {
			continue
		}
		for _, o := range k.all(c.world) {
			if o.text("name") == c.path["name"] {
				return nil, nil
			}
		}
	}
	return nil, noSuchTarget(c)
}
