package apidoc

import (
	"fmt"
	"strings"
)

// checker walks one set of parameters along a schema and notes faults under
// the keys that Proxmox would use.
type checker struct {
	era        era
	verb       Verb
	path       string
	pathValues []PathValue
	faults     []Fault
	inString   bool // inside a property string
	suggested  int
	depth      int
}

// maxSuggestions bounds the look-ups of near names in one check; they cost
// more than the check itself.
const maxSuggestions = 16

// maxNesting bounds nesting: a JSON body or a schema may be as deep as it likes.
const maxNesting = 64

func (c *checker) fault(param string, kind FaultKind, reason string) {
	if param == "" {
		param = "_root"
	}
	c.faults = append(c.faults, Fault{Param: param, Kind: kind, Reason: reason})
}

// suggest adds near names or values to the last fault.
func (c *checker) suggest(word string, candidates []string) {
	if c.suggested++; c.suggested <= maxSuggestions {
		c.faults[len(c.faults)-1].Nearest = Nearest(word, candidates, 3)
	}
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// unknowns collects keys that a member of an allOf does not know.
type unknowns map[string]Fault

// value checks one value (which may be absent) at the key at.name. instance is
// the value of the sibling that selects the variant, typed tells that the
// property names such a sibling. Keys that an object does not know go to
// collect if that is set.
func (c *checker) value(v value, p *Property, at, name, instance string, typed bool, collect unknowns) {
	if c.depth++; c.depth > maxNesting {
		c.depth--
		return
	}
	c.valueIn(v, p, at, name, instance, typed, collect)
	c.depth--
}

func (c *checker) valueIn(v value, p *Property, at, name, instance string, typed bool, collect unknowns) {
	optional := p.Optional || p.Group
	hasInstance := typed && instance != "" && instance != "0"
	switch {
	case len(p.OneOf) > 0 && p.TypePropertySchema == nil:
		if p.TypeProperty != "" {
			optional = true
			if hasInstance {
				for _, alt := range p.OneOf {
					if alt.InstanceTypes == nil {
						c.fault(join(at, name), FaultMalformed, "the schema does not say for which types this counts")
						return
					}
					if contains(alt.InstanceTypes, instance) {
						optional = alt.Optional
						c.value(v, alt, at, name, "", false, nil)
					}
				}
			}
		} else {
			c.anyOf(v, p.OneOf, join(at, name))
		}
	case hasInstance:
		if p.InstanceTypes == nil {
			c.fault(join(at, name), FaultMalformed, "the schema does not say for which types this counts")
			return
		}
		if !contains(p.InstanceTypes, instance) {
			optional = true
		}
	}
	if p.Alias != "" {
		return
	}
	if v.kind == undefined {
		if p.Type != Null && !optional {
			c.fault(join(at, name), FaultMissing, "missing, but required"+expected(p))
		}
		return
	}
	if reason := c.typeFault(v, p); reason != "" {
		c.fault(join(at, name), FaultType, reason)
		return
	}
	switch v.kind {
	case listValue:
		if p.Items != nil {
			for i, item := range v.list() {
				c.value(item, p.Items, "", fmt.Sprintf("%s[%d]", join(at, name), i), "", false, nil)
			}
		}
	case objectValue:
		switch {
		case p.HasProperties || p.Properties != nil || p.Extra == ExtraAllowed || p.Extra == ExtraSchema:
			c.object(v.in.object, p, join(at, name), "", collect)
		case len(p.AllOf) > 0:
			c.allOf(v, p, join(at, name), collect)
		case p.TypePropertySchema != nil:
			c.variants(v.in.object, p, join(at, name), collect)
		}
	default:
		if len(p.AllOf) > 0 || p.TypePropertySchema != nil {
			c.fault(join(at, name), FaultType, "must be a JSON object")
			return
		}
		c.scalar(v, p, at, name)
	}
}

// typeFault gives the reason why a value is not of the declared type, or "".
func (c *checker) typeFault(v value, p *Property) string {
	switch p.Type {
	case Untyped, Any:
		return ""
	case Null:
		return "must be left out"
	case Array:
		if v.kind != listValue {
			return "must be a list; give the key once for each item, " + show(v.word()) + " is none"
		}
		return ""
	case Object:
		if v.kind != objectValue {
			return "must be a JSON object"
		}
		return ""
	}
	switch v.kind {
	case listValue:
		return fmt.Sprintf("given %d times or as a list; one %s is expected", len(v.list()), p.Type)
	case objectValue:
		return fmt.Sprintf("is a JSON object; one %s is expected", p.Type)
	case boolValue:
		if p.Type == Boolean && !c.era.before(8, 0) {
			return ""
		}
		return fmt.Sprintf("is JSON true or false; %s is expected", typeForm(p))
	}
	ok := true
	switch p.Type {
	case Boolean:
		ok = v.text == "1" || v.text == "0"
	case Integer:
		ok = looksInteger(v.text)
	case Number:
		ok = looksNumber(v.text)
	}
	if ok {
		return ""
	}
	return show(v.text) + " is not " + typeForm(p)
}

// object checks the members of an object. but names a key that is never
// unknown: the one that selected the variant.
func (c *checker) object(given map[string]value, p *Property, at, but string, collect unknowns) {
	given = c.aliases(given, p, at)
	if p.sealed {
		for _, name := range p.need {
			c.declared(given, p.Properties[name], at, name)
		}
	} else {
		for name, q := range p.Properties {
			if !q.silent() && !strings.HasSuffix(name, "[n]") {
				c.declared(given, q, at, name)
			}
		}
	}
	for name, v := range given {
		q := member(p.Properties, name)
		if q != nil {
			if q.silent() {
				c.value(v, q, at, name, "", false, nil)
			}
			c.required(given, q, at, name)
			if len(q.OneOf) == 0 || knownVariant(q, given[q.TypeProperty].word()) {
				continue
			}
		}
		switch {
		case p.Extra == ExtraRefused:
			if name != but || name == "" {
				c.unknown(p, at, name, collect)
			}
		case p.Extra == ExtraSchema:
			c.value(v, p.AdditionalSchema, at, name, "", false, nil)
		}
	}
}

// declared checks a property that says something even when it is absent.
func (c *checker) declared(given map[string]value, q *Property, at, name string) {
	instance, typed := "", q.TypeProperty != ""
	if typed {
		instance = given[q.TypeProperty].word()
	}
	c.value(given[name], q, at, name, instance, typed, nil)
}

// nested gives the grammar that is written inline.
func (p *Property) nested() *Property {
	if p.grammar != nil {
		return p.grammar
	}
	return grammarSchema(p.Nested)
}

// aliases renames keys that are another name for a key. Only property strings
// have such keys in published schemas, and those come here resolved.
func (c *checker) aliases(given map[string]value, p *Property, at string) map[string]value {
	if c.inString {
		return given
	}
	copied := false
	for name := range given {
		q := p.Properties[name]
		if q == nil || q.Alias == "" || c.era.before(9, 1) {
			continue
		}
		if _, both := given[q.Alias]; both {
			c.fault(join(at, name), FaultConflict, "is another name for "+q.Alias+", which is given too")
			continue
		}
		if !copied {
			fresh := make(map[string]value, len(given))
			for k, v := range given {
				fresh[k] = v
			}
			given, copied = fresh, true
		}
		given[q.Alias] = given[name]
		delete(given, name)
	}
	return given
}

func (c *checker) required(given map[string]value, q *Property, at, name string) {
	if q.Requires != "" && given[q.Requires].kind == undefined {
		c.fault(join(at, q.Requires), FaultRequires, "must be given with "+join(at, name))
	}
	if q.RequiresSchema != nil {
		c.value(objectOf(given), q.RequiresSchema, "", at, "", false, nil)
	}
}

// knownVariant tells whether a property with alternatives counts for a type.
func knownVariant(q *Property, instance string) bool {
	for _, alt := range q.OneOf {
		if alt.InstanceTypes == nil || contains(alt.InstanceTypes, instance) {
			return true
		}
	}
	return false
}

// scalar runs the tests of a text in Proxmox's order; the first that fails
// is the fault.
func (c *checker) scalar(v value, p *Property, at, name string) {
	s := v.text
	switch {
	case p.Nested != nil:
		if f, ok := c.propertyString(s, p.nested(), nil, join(at, name)); !ok {
			c.faults = append(c.faults, f)
			return
		}
	case p.Format != "":
		if f, ok := c.format(s, p.Format, at, name); !ok {
			c.faults = append(c.faults, f)
			return
		}
	}
	key := func() string { return join(at, name) }
	if p.Pattern != "" && !schemaPattern(p.Pattern).match(s) {
		c.fault(key(), FaultPattern, show(s)+" does not fit "+patternForm(p))
		return
	}
	if p.MaxLength != nil && len(s) > *p.MaxLength {
		if n := characters(s); n > *p.MaxLength {
			c.fault(key(), FaultLength, fmt.Sprintf("has %d characters; at most %d are allowed", n, *p.MaxLength))
			return
		}
	}
	if p.MinLength != nil {
		if n := characters(s); n < *p.MinLength {
			c.fault(key(), FaultLength, fmt.Sprintf("has %s; at least %d are needed", count(n, "character"), *p.MinLength))
			return
		}
	}
	if (p.Maximum != nil || p.Minimum != nil) && looksNumber(s) {
		n := numeric(s)
		if p.Maximum != nil && n > *p.Maximum || p.Minimum != nil && n < *p.Minimum {
			c.fault(key(), FaultRange, show(s)+" is out of range; "+rangeForm(p))
			return
		}
	}
	if p.Enum != nil && !contains(p.Enum, s) {
		c.fault(key(), FaultEnum, show(s)+" is not allowed; "+enumForm(p.Enum))
		c.suggest(s, p.Enum)
	}
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}
