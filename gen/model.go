package gen

import (
	"fmt"
	"sort"
	"strings"

	"pvemcp/apidoc"
)

// method is all that is needed to write one method down.
type method struct {
	*apidoc.Method
	name   string        // Go name
	policy apidoc.Policy // what the overlay says, or what stands in for it
	args   []arg         // the path's parameters, in order
	params []param       // the others, sorted by name
	extra  bool          // further parameters may be given by name
	closed bool          // parameters that the schema doesn't list are refused
	result *shape        // nil: the method answers nothing
	types  []typeDecl    // the result's structs, outermost first
}

// arg is one parameter of a path.
type arg struct {
	wire, name string
	typ        goType
	prop       *apidoc.Property // nil where the schema does not describe it
}

// param is one parameter beyond the path.
type param struct {
	wire     string // as the schema has it: `net[n]`
	field    string
	prop     *apidoc.Property
	required bool
	indexed  bool
	typ      goType
	list     bool
}

// key is the method as the overlay names it.
func (m *method) key() string { return MethodKey(string(m.Verb), m.Path) }

// problems collects faults of the input, each with its place.
type problems []string

func (p *problems) add(place, format string, args ...any) {
	*p = append(*p, place+": "+fmt.Sprintf(format, args...))
}

// InputError lists everything in a schema or overlay that the generator can't
// place. Nothing was written.
type InputError struct{ Problems []string }

// Error gives one problem a line.
func (e *InputError) Error() string {
	const most = 50
	list, more := e.Problems, ""
	if len(list) > most {
		list, more = list[:most], fmt.Sprintf("\n… and %d more", len(e.Problems)-most)
	}
	return strings.Join(list, "\n") + more
}

// readModel decodes every method and decides all names and types.
func readModel(s *apidoc.Schema, o *Overlay) ([]*method, error) {
	var bad problems
	var methods []*method
	names := make(map[string]string)
	for _, e := range s.Endpoints() {
		decoded, err := e.Method()
		if err != nil {
			bad.add(e.String(), "%v", err)
			continue
		}
		m := newMethod(decoded, o, &bad)
		claim := func(name string) {
			if other, taken := names[name]; taken {
				bad.add(m.key(), "its Go name %s is that of %s too; give one of them a name in the overlay's [names]", name, other)
			}
			names[name] = m.key()
		}
		claim(m.name)
		if m.hasParams() {
			claim(m.name + "Params")
		}
		for _, t := range m.types {
			claim(t.name)
		}
		methods = append(methods, m)
	}
	if len(bad) > 0 {
		return nil, &InputError{bad}
	}
	sort.Slice(methods, func(i, j int) bool { return methodLess(methods[i].key(), methods[j].key()) })
	return methods, nil
}

func newMethod(decoded *apidoc.Method, o *Overlay, bad *problems) *method {
	m := &method{Method: decoded}
	m.name = methodName(m.Verb, m.Path)
	if n, ok := o.Names[m.key()]; ok {
		m.name = n
		if n == "" || exported(n) != n {
			bad.add(m.key(), "%q in the overlay's [names] is not an exported Go name", n)
		}
	}
	m.policy, _ = o.Policy(string(m.Verb), m.Path)

	props, variants := mergeVariants(m.Parameters)
	for name, fix := range o.Fixes[m.key()].Params {
		props[name] = fixed(props[name], fix)
	}
	inPath := make(map[string]bool)
	argNames := make(map[string]string)
	for _, name := range m.PathParams() {
		if other, taken := argNames[argument(name)]; taken && other != name {
			bad.add(m.key(), "{%s} and {%s} of the path have the same Go name", other, name)
		}
		argNames[argument(name)] = name
		if inPath[name] {
			bad.add(m.key(), "the path has {%s} twice", name)
		}
		inPath[name] = true
		m.args = append(m.args, arg{wire: name, name: argument(name), typ: argType(name, props[name]), prop: props[name]})
	}
	var rest []string
	for name := range props {
		if !inPath[name] {
			rest = append(rest, name)
		}
	}
	sort.Strings(rest)
	fields := fieldNames(rest, func(a, b string) {
		bad.add(m.key(), "parameters %q and %q have the same Go name", a, b)
	})
	for _, name := range rest {
		if !canBeTag(name) {
			bad.add(m.key(), "parameter %q has a name that no struct tag can hold", name)
		}
		p := param{wire: name, field: fields[name], prop: props[name]}
		_, p.indexed = indexStem(name)
		p.required = !p.indexed && !p.prop.Optional && !p.prop.Group && !variants[name]
		p.typ, p.list = paramType(p.prop)
		if p.indexed && p.list {
			bad.add(m.key(), "parameter %q is indexed and a list", name)
		}
		if p.prop.Type == apidoc.Object {
			bad.add(m.key(), "parameter %q is an object, which has no form on the wire", name)
		}
		m.params = append(m.params, p)
	}
	m.extra = m.Parameters.Extra == apidoc.ExtraAllowed || m.Parameters.AdditionalSchema != nil
	m.closed = refusesExtra(m.Parameters)
	if m.extra && fieldTaken(fields, extraField) {
		bad.add(m.key(), "it takes further parameters, but one is called %s already", extraField)
	}
	m.readResult(o, bad)
	return m
}

const extraField = "Extra"

func fieldTaken(fields map[string]string, name string) bool {
	for _, f := range fields {
		if f == name {
			return true
		}
	}
	return false
}

func (m *method) hasParams() bool { return len(m.params) > 0 || m.extra }

// mergeVariants flattens an object schema: its own properties, those of allOf,
// and those of the alternatives of oneOf. The second result names those that
// only some alternatives have or demand, which nobody can be made to give.
func mergeVariants(p *apidoc.Property) (props map[string]*apidoc.Property, loose map[string]bool) {
	props, loose = make(map[string]*apidoc.Property), make(map[string]bool)
	add := func(name string, q *apidoc.Property) {
		if have, ok := props[name]; ok {
			q = joined(have, q)
		}
		props[name] = q
	}
	for name, q := range p.Properties {
		add(name, q)
		if len(q.InstanceTypes) > 0 || len(q.OneOf) > 0 {
			loose[name] = true
		}
	}
	for _, part := range p.AllOf {
		more, moreLoose := mergeVariants(part)
		for name, q := range more {
			add(name, q)
		}
		for name := range moreLoose {
			loose[name] = true
		}
	}
	if len(p.OneOf) > 0 && p.TypeProperty != "" {
		if _, ok := props[p.TypeProperty]; !ok && p.TypePropertySchema != nil {
			add(p.TypeProperty, p.TypePropertySchema)
		}
	}
	count := make(map[string]int)
	for _, variant := range p.OneOf {
		more, moreLoose := mergeVariants(variant)
		for name, q := range more {
			add(name, q)
			if !q.Optional && !moreLoose[name] {
				count[name]++
			}
		}
	}
	for _, variant := range p.OneOf {
		for name := range variant.Properties {
			if count[name] < len(p.OneOf) {
				loose[name] = true
			}
		}
	}
	return props, loose
}

// refusesExtra tells whether an object schema or a part of it that always
// counts refuses what it does not declare.
func refusesExtra(p *apidoc.Property) bool {
	if p.Extra == apidoc.ExtraRefused {
		return true
	}
	for _, part := range p.AllOf {
		if refusesExtra(part) {
			return true
		}
	}
	return false
}

// joined describes a property that several alternatives declare: what they
// agree on stays, enums are put together, and limits that differ are dropped.
func joined(a, b *apidoc.Property) *apidoc.Property {
	j := *a
	j.Optional = a.Optional || b.Optional
	if a.Type != b.Type {
		j.Type = apidoc.String
	}
	if a.Format != b.Format {
		j.Format = ""
	}
	if a.Pattern != b.Pattern {
		j.Pattern = ""
	}
	if !samePointer(a.Default, b.Default) {
		j.Default = nil
	}
	if !samePointer(a.Minimum, b.Minimum) {
		j.Minimum = nil
	}
	if !samePointer(a.Maximum, b.Maximum) {
		j.Maximum = nil
	}
	if !samePointer(a.MinLength, b.MinLength) {
		j.MinLength = nil
	}
	if !samePointer(a.MaxLength, b.MaxLength) {
		j.MaxLength = nil
	}
	switch {
	case a.Enum == nil || b.Enum == nil:
		j.Enum = nil
	default:
		j.Enum = union(a.Enum, b.Enum)
	}
	if fmt.Sprint(sortedNames(a.Nested)) != fmt.Sprint(sortedNames(b.Nested)) {
		j.Nested = nil
	}
	return &j
}

func samePointer[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func union(a, b []string) []string {
	out := append([]string(nil), a...)
	seen := make(map[string]bool, len(a))
	for _, v := range a {
		seen[v] = true
	}
	for _, v := range b {
		if !seen[v] {
			out = append(out, v)
		}
	}
	return out
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// fixed applies the overlay's correction to a copy.
func fixed(p *apidoc.Property, fix ParamFix) *apidoc.Property {
	f := apidoc.Property{Optional: true}
	if p != nil {
		f = *p
	}
	if fix.Type != "" {
		f.Type = apidoc.Type(fix.Type)
	}
	if fix.Required {
		f.Optional = false
	}
	return &f
}

// info tells the overlay's check what it must know of the method.
func (m *method) info() MethodInfo {
	i := MethodInfo{Verb: string(m.Verb), Path: m.Path, PathParams: m.PathParams(), Defaults: make(map[string]string)}
	for _, p := range m.params {
		i.Params = append(i.Params, p.wire)
		if p.prop.Default != nil {
			i.Defaults[p.wire] = *p.prop.Default
		}
	}
	return i
}
