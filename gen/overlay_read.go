package gen

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"pvemcp/apidoc"
)

// rawOverlay is the file as TOML has it.
type rawOverlay struct {
	Methods map[string]rawEntry  `toml:"methods"`
	Gets    map[string]rawEntry  `toml:"gets"`
	Names   map[string]string    `toml:"names"`
	Results map[string]rawResult `toml:"results"`
	Fixes   map[string]rawFix    `toml:"fixes"`
}

type rawEntry struct {
	Class         string   `toml:"class"`
	Raise         []string `toml:"raise"`
	Reach         []string `toml:"reach"`
	Guests        []string `toml:"guests"`
	Spared        []string `toml:"spared"`
	SIDs          []string `toml:"sids"`
	Jobs          []string `toml:"jobs"`
	UPIDs         []string `toml:"upids"`
	Volumes       []string `toml:"volumes"`
	Pools         []string `toml:"pools"`
	Nodes         []string `toml:"target_nodes"`
	Storages      []string `toml:"storages"`
	Task          bool     `toml:"task"`
	HiddenTask    string   `toml:"hidden_task"`
	Secrets       []string `toml:"secrets"`
	ReturnsSecret bool     `toml:"returns_secret"`
	SecretFields  []string `toml:"secret_fields"`
	Reason        string   `toml:"reason"`
}

type rawFix struct {
	Reason string                 `toml:"reason"`
	Params map[string]rawParamFix `toml:"params"`
}

type rawParamFix struct {
	Type     string `toml:"type"`
	Required bool   `toml:"required"`
}

// OverlayError is a fault in an overlay's text and where it stands.
type OverlayError struct {
	Line int    // from 1; 0 if it could not be told
	Key  string // the table or key
	Err  error
}

// Error gives place and cause on one line.
func (e *OverlayError) Error() string {
	place := "overlay"
	if e.Line > 0 {
		place = fmt.Sprintf("overlay line %d", e.Line)
	}
	if e.Key != "" {
		place += ": " + e.Key
	}
	return place + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *OverlayError) Unwrap() error { return e.Err }

// ReadOverlay reads an overlay from its file form (TOML; described at the head
// of overlay.toml). It is strict: a key that it does not know, a class, rule,
// parameter or shape that it does not understand, or a thing said twice is an
// [*OverlayError] with its line; all that are found are joined. Whether the
// entries match a schema is not its business but [Overlay.Check]'s.
func ReadOverlay(data []byte) (*Overlay, error) {
	var raw rawOverlay
	meta, err := toml.Decode(string(data), &raw)
	if err != nil {
		line := 0
		if pe := (toml.ParseError{}); errors.As(err, &pe) {
			line = pe.Position.Line
		}
		return nil, &OverlayError{Line: line, Err: err}
	}
	r := overlayReader{lines: findLines(string(data))}
	for _, key := range meta.Undecoded() {
		if len(key) > 3 && key[0] == "results" && key[2] == "fields" {
			continue // what stands in a shape is read below
		}
		r.fail(key, errors.New("unknown key"))
	}
	o := &Overlay{
		Methods: r.entries("methods", raw.Methods),
		Gets:    r.entries("gets", raw.Gets),
		Names:   make(map[string]string),
		Results: make(map[string]Result),
		Fixes:   make(map[string]Fix),
	}
	for method, name := range raw.Names {
		r.method("names", method)
		o.Names[method] = name
	}
	for method, res := range raw.Results {
		r.method("results", method)
		o.Results[method] = r.result(toml.Key{"results", method}, res)
	}
	for method, fix := range raw.Fixes {
		r.method("fixes", method)
		o.Fixes[method] = r.fix(toml.Key{"fixes", method}, fix)
	}
	sort.Slice(r.faults, func(i, j int) bool {
		a, b := r.faults[i], r.faults[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Error() < b.Error()
	})
	if len(r.faults) > 0 {
		all := make([]error, len(r.faults))
		for i, f := range r.faults {
			all[i] = f
		}
		return nil, errors.Join(all...)
	}
	return o, nil
}

type overlayReader struct {
	lines  map[string]int
	faults []*OverlayError
}

// fail notes a fault at the key, or at the nearest table above it whose line
// is known.
func (r *overlayReader) fail(key toml.Key, err error) {
	line := 0
	for n := len(key); n > 0 && line == 0; n-- {
		line = r.lines[strings.Join(key[:n], "\x00")]
	}
	r.faults = append(r.faults, &OverlayError{Line: line, Key: key.String(), Err: err})
}

func (r *overlayReader) method(table, method string) {
	verb, path, ok := strings.Cut(method, " ")
	_, err := apidoc.ParseVerb(verb)
	if !ok || err != nil || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \t") {
		r.fail(toml.Key{table, method}, errors.New("a method is written `VERB /path`"))
		return
	}
	if get := verb == string(apidoc.GET); table == "methods" && get || table == "gets" && !get {
		r.fail(toml.Key{table, method}, errors.New("GETs stand in [gets], all others in [methods]"))
	}
}

func (r *overlayReader) entries(table string, raw map[string]rawEntry) map[string]Entry {
	out := make(map[string]Entry, len(raw))
	for method, e := range raw {
		r.method(table, method)
		out[method] = r.entry(table, toml.Key{table, method}, e)
	}
	return out
}

func (r *overlayReader) entry(table string, at toml.Key, raw rawEntry) Entry {
	e := Entry{Line: r.lines[strings.Join(at, "\x00")]}
	under := func(key string) toml.Key { return append(append(toml.Key{}, at...), key) }

	class := raw.Class
	if class == "" && table == "gets" {
		class = string(apidoc.Read)
	}
	var err error
	if e.Class, err = apidoc.ParseClass(class); err != nil {
		r.fail(under("class"), err)
	}
	switch {
	case table == "methods" && e.Class == apidoc.Read:
		r.fail(under("class"), errors.New("what is not a GET is at least a change"))
	case table == "gets" && e.Class != apidoc.Read && raw.Reason == "":
		r.fail(under("reason"), errors.New("a GET that is refused in readonly needs a reason"))
	}
	for _, text := range raw.Raise {
		rule, err := apidoc.ParseRule(text)
		switch {
		case err != nil:
			r.fail(under("raise"), err)
		case rule.String() != text:
			r.fail(under("raise"), fmt.Errorf("write %q instead of %q", rule, text))
		case rule.Class.Rank() <= e.Class.Rank():
			r.fail(under("raise"), fmt.Errorf("%q does not raise %s", text, e.Class))
		}
		e.Raise = append(e.Raise, rule)
	}
	for _, text := range raw.Reach {
		reach, err := apidoc.ParseReach(text)
		switch {
		case err != nil:
			r.fail(under("reach"), err)
		case reach.String() != text:
			r.fail(under("reach"), fmt.Errorf("write %q instead of %q", reach, text))
		}
		e.Reach = append(e.Reach, reach)
	}
	r.once(under("raise"), raw.Raise)
	r.once(under("reach"), raw.Reach)
	for _, refs := range refLists(&e.Refs) {
		*refs.list = r.refs(under(refs.key), refs.raw(&raw))
	}
	e.Secrets = r.refs(under("secrets"), raw.Secrets)
	r.once(under("secret_fields"), raw.SecretFields)
	e.SecretFields = raw.SecretFields
	e.Task, e.HiddenTask, e.ReturnsSecret, e.Reason = raw.Task, raw.HiddenTask, raw.ReturnsSecret, raw.Reason
	if e.Task && e.HiddenTask != "" {
		r.fail(under("hidden_task"), errors.New("a call whose answer is the id of a task hides none"))
	}
	return e
}

func (r *overlayReader) refs(at toml.Key, texts []string) []apidoc.ParamRef {
	r.once(at, texts)
	var refs []apidoc.ParamRef
	for _, text := range texts {
		ref, err := apidoc.ParseParamRef(text)
		if err != nil {
			r.fail(at, err)
		}
		refs = append(refs, ref)
	}
	return refs
}

func (r *overlayReader) once(at toml.Key, texts []string) {
	seen := make(map[string]bool, len(texts))
	for _, t := range texts {
		if t == "" {
			r.fail(at, errors.New("an empty entry"))
		} else if seen[t] {
			r.fail(at, fmt.Errorf("%q stands here twice", t))
		}
		seen[t] = true
	}
}

func (r *overlayReader) fix(at toml.Key, raw rawFix) Fix {
	f := Fix{Reason: raw.Reason, Params: make(map[string]ParamFix)}
	if raw.Reason == "" {
		r.fail(at, errors.New("a fix needs a reason"))
	}
	for name, p := range raw.Params {
		switch p.Type {
		case "", "string", "integer", "number", "boolean", "object", "array", "any":
		default:
			r.fail(at, fmt.Errorf("%s: %q is no type of the schema", name, p.Type))
		}
		f.Params[name] = ParamFix(p)
	}
	return f
}

// refList ties a list of [apidoc.Refs] to its key in the file.
type refList struct {
	key  string
	list *[]apidoc.ParamRef
	raw  func(*rawEntry) []string
}

// refLists lists the kinds of references; the one place that knows them all.
func refLists(r *apidoc.Refs) []refList {
	return []refList{
		{"guests", &r.Guests, func(e *rawEntry) []string { return e.Guests }},
		{"spared", &r.Spared, func(e *rawEntry) []string { return e.Spared }},
		{"sids", &r.SIDs, func(e *rawEntry) []string { return e.SIDs }},
		{"jobs", &r.Jobs, func(e *rawEntry) []string { return e.Jobs }},
		{"upids", &r.UPIDs, func(e *rawEntry) []string { return e.UPIDs }},
		{"volumes", &r.Volumes, func(e *rawEntry) []string { return e.Volumes }},
		{"pools", &r.Pools, func(e *rawEntry) []string { return e.Pools }},
		{"target_nodes", &r.Nodes, func(e *rawEntry) []string { return e.Nodes }},
		{"storages", &r.Storages, func(e *rawEntry) []string { return e.Storages }},
	}
}

// findLines notes on which line each table head and each key of the file
// stands, by the path of its keys joined with NUL. The decoder does not tell
// places of keys, and the overlay's own form is plain enough to find them:
// heads and keys begin a line.
func findLines(text string) map[string]int {
	lines := make(map[string]int)
	note := func(path []string, line int) {
		if key := strings.Join(path, "\x00"); lines[key] == 0 {
			lines[key] = line
		}
	}
	var table []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok && strings.Contains(head, "]") {
			if parts, _ := splitKeys(head); len(parts) > 0 {
				table = parts
				note(table, n)
			}
			continue
		}
		if parts, rest := splitKeys(line); len(parts) > 0 && strings.HasPrefix(rest, "=") {
			note(append(append([]string{}, table...), parts...), n)
		}
	}
	return lines
}

// splitKeys reads dotted TOML keys, bare or in double quotes without escapes,
// from the front of s, and gives what follows them.
func splitKeys(s string) (keys []string, rest string) {
	for {
		s = strings.TrimLeft(s, " \t")
		var key string
		if quoted, ok := strings.CutPrefix(s, `"`); ok {
			end := strings.IndexByte(quoted, '"')
			if end < 0 {
				return nil, s
			}
			key, s = quoted[:end], quoted[end+1:]
		} else {
			end := 0
			for end < len(s) && (s[end] == '_' || s[end] == '-' || s[end] >= '0' && s[end] <= '9' || s[end] >= 'A' && s[end] <= 'Z' || s[end] >= 'a' && s[end] <= 'z') {
				end++
			}
			if end == 0 {
				return nil, s
			}
			key, s = s[:end], s[end:]
		}
		keys = append(keys, key)
		s = strings.TrimLeft(s, " \t")
		if !strings.HasPrefix(s, ".") {
			return keys, s
		}
		s = s[1:]
	}
}
