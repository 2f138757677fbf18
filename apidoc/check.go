package apidoc

import (
	"fmt"
	"sort"
	"strings"
)

// Params are parameters as they go over the wire: every value is a text, and a
// repeated key is a list. A key with an empty list is not sent at all.
type Params map[string][]string

// FaultKind tells apart why a parameter is refused.
type FaultKind string

// The kinds of faults.
const (
	FaultUnknown   FaultKind = "unknown"   // not a parameter of the method
	FaultMissing   FaultKind = "missing"   // required, but not given
	FaultRequires  FaultKind = "requires"  // needed by another parameter that was given
	FaultConflict  FaultKind = "conflict"  // contradicts the path or another parameter
	FaultType      FaultKind = "type"      // not of the declared type
	FaultFormat    FaultKind = "format"    // not of the named format
	FaultProperty  FaultKind = "property"  // fault inside a property string
	FaultPattern   FaultKind = "pattern"   // does not match the pattern
	FaultLength    FaultKind = "length"    // too short or too long
	FaultRange     FaultKind = "range"     // below the minimum or above the maximum
	FaultEnum      FaultKind = "enum"      // not one of the allowed values
	FaultVariant   FaultKind = "variant"   // no variant of the schema fits
	FaultMalformed FaultKind = "malformed" // the schema itself is unusable here
)

// Fault is one reason for which Proxmox would refuse a call.
type Fault struct {
	// Param is the key under which Proxmox reports it: the parameter's name,
	// "vms[0]" for an item, "oneOf[type].name" inside a variant, "_root" for
	// the whole. A fault inside a property string is on the parameter.
	Param   string
	Kind    FaultKind
	Reason  string   // in our words: what is expected, what is allowed
	Nearest []string // valid names or values close to the given one, best first
}

// String gives the fault as one line with its suggestion.
func (f Fault) String() string {
	return shortName(f.Param) + ": " + f.Text()
}

// Text is the reason with its suggestion, without the parameter's name.
func (f Fault) Text() string {
	if len(f.Nearest) == 0 {
		return f.Reason
	}
	return f.Reason + "; did you mean " + strings.Join(f.Nearest, " or ") + "?"
}

// CheckError lists everything for which Proxmox would refuse a call's
// parameters, sorted by parameter.
type CheckError struct {
	Verb   Verb
	Path   string // the method's template
	Faults []Fault
}

// maxFaultsShown bounds the message of an error; Faults has them all.
const maxFaultsShown = 12

func (e *CheckError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", e.Verb, e.Path)
	for i, f := range e.Faults {
		if i == maxFaultsShown {
			fmt.Fprintf(&b, "; and %d more", len(e.Faults)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// Params gives the names of the refused parameters, sorted, each once.
func (e *CheckError) Params() []string {
	var names []string
	for i, f := range e.Faults {
		if i == 0 || f.Param != e.Faults[i-1].Param {
			names = append(names, f.Param)
		}
	}
	return names
}

// Check decides as Proxmox's own parameter check would. values come from the
// request's path (see [Match]), params from query or body. It gives nil when
// Proxmox would accept the parameters; whether what they name exists, only the
// cluster knows.
//
// The rules are those of pve-common's JSONSchema and RESTHandler and of the
// formats that Proxmox's packages register, of the version that the method's
// schema is of.
func (m *Method) Check(values []PathValue, params Params) *CheckError {
	given := make(map[string]value, len(values)+len(params))
	for name, texts := range params {
		switch len(texts) {
		case 0:
		case 1:
			given[name] = textOf(wireText(texts[0]))
		default:
			if m.era.before(8, 0) { // repeated keys were joined by NUL then
				given[name] = textOf(wireText(strings.Join(texts, "\x00")))
				continue
			}
			list := make([]value, len(texts))
			for i, t := range texts {
				list[i] = textOf(wireText(t))
			}
			given[name] = listOf(list)
		}
	}
	return m.check(values, given)
}

// CheckJSON is [Method.Check] for a typed JSON body, as encoding/json decodes
// it (UseNumber keeps numbers exact). Proxmox takes true and false for
// booleans, prints numbers as texts, and treats null as absent.
func (m *Method) CheckJSON(values []PathValue, params map[string]any) *CheckError {
	given := make(map[string]value, len(values)+len(params))
	for name, v := range params {
		given[name] = jsonValue(v)
	}
	return m.check(values, given)
}

// CheckCall looks the method up and checks the parameters. The error is of
// type [*LookupError] (no such method), comes from [SplitPath] or the
// method's decoding, or is a [*CheckError]; the match is valid in the last
// case too.
func (s *Schema) CheckCall(verb Verb, path string, params Params) (Match, error) {
	match, err := s.Lookup(verb, path)
	if err != nil {
		return Match{}, err
	}
	m, err := match.Method()
	if err != nil {
		return Match{}, err
	}
	if fault := m.Check(match.Values, params); fault != nil {
		return match, fault
	}
	return match, nil
}

func (m *Method) check(values []PathValue, given map[string]value) *CheckError {
	c := checker{era: m.era, verb: m.Verb, path: m.Path}
	for _, pv := range values {
		if v, ok := given[pv.Name]; ok && (v.kind != textValue && v.kind != boolValue || !sameAsPath(pv.Value, v.text)) {
			c.fault(pv.Name, FaultConflict, fmt.Sprintf("the path already says %s; leave it out or give the same", show(pv.Value)))
		}
		given[pv.Name] = textOf(pathText(pv.Value))
	}
	if len(c.faults) == 0 {
		c.pathValues = values
		schema := m.Parameters
		if c.takesNothing(schema) {
			schema = noParameters
		}
		c.normalise(given, schema)
		c.value(objectOf(given), schema, "", "", "", false, nil)
	}
	if len(c.faults) == 0 {
		return nil
	}
	sort.SliceStable(c.faults, func(i, j int) bool { return c.faults[i].Param < c.faults[j].Param })
	return &CheckError{Verb: m.Verb, Path: m.Path, Faults: c.faults}
}

var noParameters = &Property{HasProperties: true, Extra: ExtraRefused}

// anythingGoes are methods that take unknown parameters although their schema
// forbids them: their declaration lacks the properties key, without which
// Proxmox looks at nothing. Published schemas drop an empty properties, so
// that these look like the methods that declare it; here they are told apart,
// by verdicts and by pve-firewall's and pve-manager's declarations.
var anythingGoes = map[string]bool{
	"/access/ticket":                              true,
	"/cluster/firewall":                           true,
	"/cluster/firewall/macros":                    true,
	"/cluster/firewall/options":                   true,
	"/cluster/notifications/matcher-field-values": true,
	"/cluster/qemu/custom-cpu-models":             true,
}

// takesNothing tells whether a method has no parameters and refuses any.
func (c *checker) takesNothing(p *Property) bool {
	return !p.HasProperties && p.Extra == ExtraRefused && p.AllOf == nil && p.OneOf == nil &&
		!(c.verb == GET && anythingGoes[c.path])
}

// normalise does what the server does to parameters in front of its check: a
// repeated key becomes a list text where the format is a list, and one text
// becomes a list where the type is an array.
func (c *checker) normalise(given map[string]value, schema *Property) {
	for name, v := range given {
		if v.kind != listValue && v.kind != textValue || !v.truthy() {
			continue
		}
		p := findProperty(schema, name, given)
		if p == nil {
			continue
		}
		switch {
		case v.kind == listValue && p.Type == String && strings.HasSuffix(p.Format, "-list"):
			words := make([]string, len(v.list()))
			for i, item := range v.list() {
				words[i] = item.word()
			}
			given[name] = textOf(strings.Join(words, ","))
		case v.kind == textValue && p.Type == Array:
			given[name] = listOf([]value{v})
		}
	}
}

// findProperty gives the schema of a parameter through the allOf and oneOf
// forms; a oneOf only by the type that is given, unless given is nil.
func findProperty(schema *Property, name string, given map[string]value) *Property {
	if p := member(schema.Properties, name); p != nil {
		return p
	}
	for _, part := range schema.AllOf {
		if p := findProperty(part, name, given); p != nil {
			return p
		}
	}
	if schema.TypeProperty == "" || schema.TypePropertySchema == nil {
		return nil
	}
	if name == schema.TypeProperty {
		return schema.TypePropertySchema
	}
	for _, variant := range schema.OneOf {
		if given != nil && given[schema.TypeProperty].word() != variant.InstanceType {
			continue
		}
		if p := findProperty(variant, name, given); p != nil {
			return p
		}
	}
	return nil
}
