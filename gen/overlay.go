package gen

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"

	"pvemcp/apidoc"
)

//go:embed overlay.toml
var overlayTOML []byte

// DefaultOverlay gives the overlay that belongs to the newest snapshot. It is
// read anew at each call, so the caller may change what it gets.
func DefaultOverlay() (*Overlay, error) { return ReadOverlay(overlayTOML) }

// Overlay is what people have judged and corrected about Proxmox's API, to be
// laid over the schema. Keys are methods as [MethodKey] writes them. Its file
// form is described at the head of overlay.toml; [ReadOverlay] reads it.
type Overlay struct {
	Methods map[string]Entry  // every method that is not a GET
	Gets    map[string]Entry  // GETs that are not harmless, take secrets or tell them
	Names   map[string]string // method → Go name, where the derived one is bad
	Results map[string]Result // method → what upstream doesn't declare of its answer
	Fixes   map[string]Fix    // method → corrections of its parameters
}

// Entry is the judgement about one method and where it stands.
type Entry struct {
	apidoc.Policy
	Line int // in the overlay's file; 0 if it could not be told
}

// Fix corrects what the schema says about a method's parameters.
type Fix struct {
	Reason string
	Params map[string]ParamFix
}

// ParamFix corrects one parameter. What is empty stays as the schema has it;
// a parameter that the schema lacks is added.
type ParamFix struct {
	Type     string // a type word of the schema
	Required bool
}

// MethodKey writes a method as the overlay does: `POST /nodes/{node}/qemu`.
func MethodKey(verb, path string) string { return verb + " " + path }

// Policy gives the judgement about a method. One that the overlay does not
// know is a read if it is a GET and counts as destroy if not.
func (o *Overlay) Policy(verb, path string) (p apidoc.Policy, known bool) {
	key := MethodKey(verb, path)
	if e, ok := o.Methods[key]; ok {
		return e.Policy, true
	}
	if e, ok := o.Gets[key]; ok {
		return e.Policy, true
	}
	if verb == string(apidoc.GET) {
		return apidoc.Policy{Class: apidoc.Read}, false
	}
	return apidoc.Policy{Class: apidoc.Destroy}, false
}

// Restrict gives a copy that has entries for these methods alone.
func (o *Overlay) Restrict(methods []MethodInfo) *Overlay {
	keep := make(map[string]bool, len(methods))
	for _, m := range methods {
		keep[MethodKey(m.Verb, m.Path)] = true
	}
	return &Overlay{
		Methods: only(o.Methods, keep), Gets: only(o.Gets, keep), Names: only(o.Names, keep),
		Results: only(o.Results, keep), Fixes: only(o.Fixes, keep),
	}
}

func only[V any](all map[string]V, keep map[string]bool) map[string]V {
	kept := make(map[string]V)
	for k, v := range all {
		if keep[k] {
			kept[k] = v
		}
	}
	return kept
}

// MethodInfo is the little that [Overlay.Check] must know of a method.
type MethodInfo struct {
	Verb       string
	Path       string            // the template: /nodes/{node}/qemu
	Params     []string          // names as the schema has them, indexed ones as `scsi[n]`
	PathParams []string          // names in the path
	Defaults   map[string]string // defaults that are words or numbers; nil leaves them unchecked
}

// DriftKind says in what way overlay and schema disagree.
type DriftKind string

// The kinds of drift.
const (
	DriftNoClass   DriftKind = "no class"   // a method that is not a GET is not judged
	DriftNoMethod  DriftKind = "no method"  // an entry for a method that does not exist
	DriftNoParam   DriftKind = "no param"   // an entry names a parameter that the method lacks
	DriftByDefault DriftKind = "by default" // a rule takes a switch to be on (off) by default, and it isn't
)

// Drift is one disagreement between overlay and schema.
type Drift struct {
	Method string // as [MethodKey] writes it
	Kind   DriftKind
	Reason string // one sentence for people
}

// String gives the drift on one line.
func (d Drift) String() string { return d.Method + ": " + string(d.Kind) + ": " + d.Reason }

// Check compares the overlay with the methods of a schema and lists every
// disagreement: entries for methods or parameters that don't exist, rules that
// rest on another default than the schema's, and methods other than GET that
// have no class. The list is sorted; it is empty when all is well.
func (o *Overlay) Check(methods []MethodInfo) []Drift {
	known := make(map[string]*MethodInfo, len(methods))
	for i := range methods {
		known[MethodKey(methods[i].Verb, methods[i].Path)] = &methods[i]
	}
	var drift []Drift
	add := func(method string, kind DriftKind, format string, args ...any) {
		drift = append(drift, Drift{Method: method, Kind: kind, Reason: fmt.Sprintf(format, args...)})
	}
	table := func(name, method string) *MethodInfo {
		m := known[method]
		if m == nil {
			add(method, DriftNoMethod, "[%s] has an entry, but the schema has no such method", name)
		}
		return m
	}
	for method, e := range o.Methods {
		if m := table("methods", method); m != nil {
			o.checkEntry(m, e, func(k DriftKind, f string, a ...any) { add(method, k, f, a...) })
		}
	}
	for method, e := range o.Gets {
		if m := table("gets", method); m != nil {
			o.checkEntry(m, e, func(k DriftKind, f string, a ...any) { add(method, k, f, a...) })
		}
	}
	for method := range o.Names {
		table("names", method)
	}
	for method := range o.Results {
		table("results", method)
	}
	for method, fix := range o.Fixes {
		if m := table("fixes", method); m != nil {
			for name, p := range fix.Params {
				if p.Type == "" && !m.has(name) {
					add(method, DriftNoParam, "[fixes] corrects %q, which the method lacks", name)
				}
			}
		}
	}
	for method, m := range known {
		if _, judged := o.Methods[method]; !judged && m.Verb != string(apidoc.GET) {
			add(method, DriftNoClass, "[methods] must say what class it has")
		}
	}
	sort.Slice(drift, func(i, j int) bool { return driftLess(drift[i], drift[j]) })
	return drift
}

// driftLess orders by path, verb, kind and reason, like the overlay's file.
func driftLess(a, b Drift) bool {
	if a.Method != b.Method {
		return methodLess(a.Method, b.Method)
	}
	if a.Kind != b.Kind {
		return a.Kind < b.Kind
	}
	return a.Reason < b.Reason
}

// methodLess orders method keys by path, then by verb.
func methodLess(a, b string) bool {
	av, ap, _ := strings.Cut(a, " ")
	bv, bp, _ := strings.Cut(b, " ")
	if ap != bp {
		return ap < bp
	}
	return av < bv
}

func (m *MethodInfo) has(param string) bool {
	for _, list := range [][]string{m.Params, m.PathParams} {
		for _, p := range list {
			if p == param {
				return true
			}
		}
	}
	return false
}

func (o *Overlay) checkEntry(m *MethodInfo, e Entry, add func(DriftKind, string, ...any)) {
	param := func(key string, ref apidoc.ParamRef) {
		if !m.has(ref.Param()) {
			add(DriftNoParam, "`%s` (line %d) names %q, which the method lacks", key, e.Line, ref.Param())
		}
	}
	conds := func(key string, conds []apidoc.Condition) {
		for _, c := range conds {
			param(key, c.Param)
			m.checkDefault(key, e.Line, c, add)
		}
	}
	for _, r := range e.Raise {
		conds("raise", r.Conds)
	}
	for _, r := range e.Reach {
		conds("reach", r.Conds)
	}
	for _, refs := range refLists(&e.Refs) {
		for _, ref := range *refs.list {
			param(refs.key, ref)
		}
	}
	for _, ref := range e.Secrets {
		param("secrets", ref)
	}
}

// checkDefault finds rules that would be silently wrong because the schema's
// default for a switch is not what the rule takes it to be.
func (m *MethodInfo) checkDefault(key string, line int, c apidoc.Condition, add func(DriftKind, string, ...any)) {
	if m.Defaults == nil || c.Param.Param() != string(c.Param) {
		return // defaults inside property strings are not told
	}
	on := false
	switch strings.ToLower(m.Defaults[string(c.Param)]) {
	case "1", "on", "yes", "true":
		on = true
	}
	switch {
	case on && (c.Op == apidoc.OpTrue || c.Op == apidoc.OpNotTrue):
		add(DriftByDefault, "`%s` (line %d) asks `%s`, but %s is on by default: absent must count as on", key, line, c, c.Param)
	case !on && c.Op == apidoc.OpNotFalse:
		add(DriftByDefault, "`%s` (line %d) asks `%s`, but %s is not on by default", key, line, c, c.Param)
	}
}
