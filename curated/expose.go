package curated

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/generated"
)

// maxExposed bounds the tools that patterns may add: each costs every session
// its declaration.
const maxExposed = 60

// exposePattern is one part of PROXMOX_EXPOSE, such as "GET|POST /cluster/ha/**".
type exposePattern struct {
	text     string
	verbs    []apidoc.Verb
	segments []string // of the path; "*" and "{x}" for one, "**" at the end for all below
}

// parseExpose reads PROXMOX_EXPOSE: patterns separated by commas or line ends.
// The error says which is not one, and what one looks like.
func parseExpose(setting string) ([]exposePattern, error) {
	var out []exposePattern
	for _, text := range strings.FieldsFunc(setting, func(r rune) bool { return r == ',' || r == '\n' }) {
		text = strings.Join(strings.Fields(text), " ")
		if text == "" {
			continue
		}
		p, err := parseExposePattern(text)
		if err != nil {
			return nil, fmt.Errorf("PROXMOX_EXPOSE: %q: %w", clip(text), err)
		}
		out = append(out, p)
	}
	return out, nil
}

func parseExposePattern(text string) (exposePattern, error) {
	p := exposePattern{text: text}
	verbs, rest, _ := strings.Cut(text, " ")
	if strings.HasPrefix(verbs, "/") {
		return p, errors.New("a pattern begins with its verb, as in 'GET /cluster/ha/**'")
	}
	for _, v := range strings.Split(verbs, "|") {
		verb, err := apidoc.ParseVerb(strings.ToUpper(v))
		if err != nil {
			return p, err
		}
		p.verbs = append(p.verbs, verb)
	}
	if !strings.HasPrefix(rest, "/") || strings.Contains(rest, " ") {
		return p, errors.New("behind the verb a path is needed, as in 'GET /cluster/ha/**'")
	}
	p.segments = strings.Split(strings.Trim(rest, "/"), "/")
	for i, s := range p.segments {
		switch {
		case s == "":
			return p, errors.New("a segment of the path is empty")
		case s == "**" && i < len(p.segments)-1:
			return p, errors.New("** stands for all that lies below a path and must be the last segment; * stands for one segment")
		case strings.ContainsAny(s, `?[]\`):
			return p, fmt.Errorf("%q: only * and ** are wildcards", s)
		}
	}
	return p, nil
}

// matches tells whether a method is meant.
func (p *exposePattern) matches(verb apidoc.Verb, template string) bool {
	if !slices.Contains(p.verbs, verb) {
		return false
	}
	have := strings.Split(strings.Trim(template, "/"), "/")
	for i, want := range p.segments {
		if want == "**" {
			return len(have) > i
		}
		if i >= len(have) || !segmentMatches(want, have[i]) {
			return false
		}
	}
	return len(have) == len(p.segments)
}

// segmentMatches holds one segment of a pattern against one of a template. A
// parameter is meant by "*" and by any name in braces.
func segmentMatches(want, have string) bool {
	if strings.HasPrefix(have, "{") {
		return want == "*" || strings.HasPrefix(want, "{") && strings.HasSuffix(want, "}")
	}
	ok, err := path.Match(want, have)
	return ok && err == nil
}

// exposedMethod is one method that a pattern means.
type exposedMethod struct {
	verb     apidoc.Verb
	template string
}

func (m exposedMethod) String() string { return string(m.verb) + " " + m.template }

// find lists the methods that a pattern means: those of the newest version, or,
// where that has none, those of the newest that has. The error names what is
// near.
func (p *exposePattern) find() ([]exposedMethod, error) {
	var found []exposedMethod
	for _, e := range generated.Effects() {
		if p.matches(e.Verb, e.Path) {
			found = append(found, exposedMethod{e.Verb, e.Path})
		}
	}
	versions := apidoc.Snapshots()
	for i := len(versions) - 1; i >= 0 && len(found) == 0; i-- {
		schema, err := apidoc.Snapshot(versions[i])
		if err != nil {
			return nil, err
		}
		for _, e := range schema.Endpoints() {
			if p.matches(e.Verb, e.Path) {
				found = append(found, exposedMethod{e.Verb, e.Path})
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("PROXMOX_EXPOSE: %q: no method of the API matches%s", clip(p.text), p.near())
	}
	return found, nil
}

// near says what lies near to a pattern that matches nothing.
func (p *exposePattern) near() string {
	schema, err := apidoc.Snapshot(apidoc.Newest)
	if err != nil {
		return ""
	}
	segments := slices.Clone(p.segments)
	for i, s := range segments {
		if strings.ContainsAny(s, "*{") {
			segments[i] = "x"
		}
	}
	if segments[len(segments)-1] == "x" && p.segments[len(segments)-1] == "**" {
		segments = segments[:len(segments)-1]
	}
	where := apidoc.JoinPath(segments)
	var miss *apidoc.LookupError
	match, err := schema.Lookup(p.verbs[0], where)
	if err == nil && p.segments[len(p.segments)-1] == "**" {
		return "; below that path there is nothing"
	}
	if err == nil {
		return fmt.Sprintf("; a value in a path is written as *: '%s'", starred(match.String()))
	}
	if !errors.As(err, &miss) {
		return ""
	}
	if len(miss.Verbs) > 0 {
		verbs := make([]string, len(miss.Verbs))
		for i, v := range miss.Verbs {
			verbs[i] = string(v)
		}
		return "; the path takes " + strings.Join(verbs, ", ")
	}
	if len(miss.Nearest) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(miss.Nearest, ", ")
}

// starred writes a template as a pattern.
func starred(template string) string {
	segments := strings.Split(template, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = "*"
		}
	}
	return strings.Join(segments, "/")
}

// expose makes the tools of PROXMOX_EXPOSE. hidden holds why methods that were
// meant are not offered, by the names that their tools would have.
func (s *Server) expose(setting string) (tools []*entry, hidden map[string]string, err error) {
	patterns, err := parseExpose(setting)
	if err != nil {
		return nil, nil, err
	}
	seen := map[exposedMethod]bool{}
	var methods []exposedMethod
	for i := range patterns {
		found, err := patterns[i].find()
		if err != nil {
			return nil, nil, err
		}
		for _, m := range found {
			if !seen[m] {
				seen[m] = true
				methods = append(methods, m)
			}
		}
	}
	sort.SliceStable(methods, func(i, j int) bool { return methods[i].template < methods[j].template })
	hidden = map[string]string{}
	for _, m := range methods {
		t := s.exposed(m)
		if why := s.notOffered(m, t.class); why != "" {
			hidden[t.name] = why
			continue
		}
		tools = append(tools, t)
	}
	if len(tools) > maxExposed {
		return nil, nil, fmt.Errorf("PROXMOX_EXPOSE: %d methods match, and %d tools are allowed; narrow the patterns, as in 'GET /cluster/ha/**'", len(tools), maxExposed)
	}
	return tools, hidden, nil
}

// notOffered says why a method is no tool here; "" when it is one.
func (s *Server) notOffered(m exposedMethod, class apidoc.Class) string {
	effect, known := generated.EffectOf(m.verb, m.template)
	switch {
	case known && effect.NoToken:
		return fmt.Sprintf("%s can't be called with an API token", m)
	case (class != apidoc.Read || !m.verb.Reads()) && s.gate.Mode() != gate.Full:
		return fmt.Sprintf("%s is more than a read and the server runs readonly; only its user can change that (PROXMOX_MODE=full)", m)
	case known && effect.Class == apidoc.Shell && s.gate.Shell() == gate.ShellOff,
		known && effect.Class == apidoc.Shell && s.gate.Shell() == gate.ShellRead && !m.verb.Reads():
		return fmt.Sprintf("%s runs commands or opens a console, and shells are closed; only the server's user can open them (PROXMOX_SHELL)", m)
	}
	return ""
}
