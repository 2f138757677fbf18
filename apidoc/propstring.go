package apidoc

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"
)

// Grammars of the property strings that schemas only name, in the form of the
// schemas themselves.
//
//go:embed named/grammars.json
var grammarFile []byte

// grammars maps the name of a format to its grammar as an object schema. Read
// on first use.
var grammars = sync.OnceValue(func() map[string]*Property {
	dec := json.NewDecoder(bytes.NewReader(grammarFile))
	dec.UseNumber()
	var raw map[string]any
	if err := dec.Decode(&raw); err != nil {
		panic("apidoc: named/grammars.json: " + err.Error())
	}
	d := &decoder{}
	out := make(map[string]*Property, len(raw))
	for name, v := range raw {
		out[name] = grammarSchema(d.properties(v, name))
	}
	if len(d.unknown) > 0 {
		panic("apidoc: named/grammars.json: " + d.unknown[0])
	}
	return out
})

// Grammar gives the keys of the property string that a property takes, written
// inline or only named; nil if it takes none. It must not be changed.
func Grammar(p *Property) map[string]*Property {
	if p.Nested != nil {
		return p.Nested
	}
	if p.Format == "" {
		return nil
	}
	if g := grammars()[p.Format]; g != nil {
		return g.Properties
	}
	return nil
}

// grammarSchema makes the object schema that the keys of a property string are
// checked against.
func grammarSchema(keys map[string]*Property) *Property {
	g := &Property{Properties: keys, HasProperties: true, Extra: ExtraRefused, defaultKey: DefaultKey(keys)}
	g.seal()
	return g
}

// seal notes what the check would otherwise look for in every call.
func (p *Property) seal() {
	p.sealed = true
	for _, name := range sortedKeys(p.Properties) {
		if q := p.Properties[name]; !q.silent() && !strings.HasSuffix(name, "[n]") {
			p.need = append(p.need, name)
		}
	}
	if p.Nested != nil {
		p.grammar = grammarSchema(p.Nested)
	}
}

// silent tells that a property's absence is no fault whatever else is given.
func (p *Property) silent() bool { return p.Optional && p.OneOf == nil && p.TypeProperty == "" }

// DefaultKey gives the key of a grammar that may be given without "key=", or "".
func DefaultKey(grammar map[string]*Property) string {
	for name, p := range grammar {
		if p.DefaultKey {
			return name
		}
	}
	return ""
}

// PropertyStringError says why a text is no property string of a grammar.
type PropertyStringError struct {
	Text   string
	Faults []Fault // Param is the inner key; "_root" for the text as a whole
}

func (e *PropertyStringError) Error() string {
	return fmt.Sprintf("%s: %s", show(e.Text), propertyReason(e.Faults))
}

// ParsePropertyString reads a text such as "virtio=BC:24:11:00:00:01,bridge=vmbr0"
// by a grammar (see [Grammar]) and checks every value. The result has aliases
// resolved and booleans as "1" and "0". Errors are of type
// [*PropertyStringError].
func ParsePropertyString(text string, grammar map[string]*Property) (map[string]string, error) {
	c := checker{era: newestEra}
	values, faults := c.propertyValues(wireText(text), grammarSchema(grammar), nil)
	if len(faults) > 0 {
		return nil, &PropertyStringError{Text: text, Faults: faults}
	}
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[k] = v.text
	}
	return out, nil
}

// propertyString checks a text by a grammar; ok is false with a fault for the
// whole parameter, which names the inner keys.
func (c *checker) propertyString(s string, grammar *Property, validate validator, key string) (Fault, bool) {
	_, faults := c.propertyValues(s, grammar, validate)
	if len(faults) == 0 {
		return Fault{}, true
	}
	if key == "" {
		key = "_root"
	}
	f := Fault{Param: key, Kind: FaultProperty, Reason: propertyReason(faults)}
	return f, false
}

func propertyReason(faults []Fault) string {
	const most = 6
	var b strings.Builder
	for i, f := range faults {
		if i == most {
			fmt.Fprintf(&b, "; and %d more", len(faults)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if f.Param == "_root" {
			b.WriteString(f.Text())
		} else {
			b.WriteString("key " + f.String())
		}
	}
	return b.String()
}

func (c *checker) propertyValues(s string, grammar *Property, validate validator) (map[string]value, []Fault) {
	given, reason := splitPropertyString(s, grammar, c.era)
	if reason != "" {
		return nil, []Fault{{Param: "_root", Kind: FaultProperty, Reason: reason}}
	}
	inner := checker{era: c.era, verb: c.verb, path: c.path, inString: true, suggested: c.suggested, depth: c.depth}
	if inner.depth < maxNesting {
		inner.depth++
		inner.object(given, grammar, "", "", nil)
	}
	c.suggested = inner.suggested
	if len(inner.faults) == 0 && validate != nil {
		if reason := validate(c.era, given); reason != "" {
			inner.faults = append(inner.faults, Fault{Param: "_root", Kind: FaultProperty, Reason: reason})
		}
	}
	if len(inner.faults) > 1 {
		sort.SliceStable(inner.faults, func(i, j int) bool { return inner.faults[i].Param < inner.faults[j].Param })
	}
	return given, inner.faults
}

// splitPropertyString cuts a text into keys and values. The reason is why it
// has no such form at all; what the values are worth is not looked at.
func splitPropertyString(s string, schema *Property, e era) (given map[string]value, reason string) {
	grammar, defaultKey := schema.Properties, schema.defaultKey
	given = make(map[string]value, strings.Count(s[:min(len(s), 1000)], ",")+1)
	bare := false
	for more := true; more; {
		var part string
		part, s, more = strings.Cut(s, ",")
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, text, assigned := strings.Cut(part, "=")
		if !assigned {
			switch {
			case bare:
				return nil, "two values without a key, the second is " + show(part)
			case defaultKey == "":
				return nil, show(part) + " needs a key; " + grammarForm(grammar)
			case given[defaultKey].truthy():
				return nil, show(part) + " stands without a key, which means " + defaultKey + ", but that is given too"
			}
			bare = true
			if grammar[defaultKey].Type == Boolean && !e.before(9, 0) {
				part = booleanWord(part)
			}
			given[defaultKey] = textOf(part)
			continue
		}
		text = chomp(text)
		if key == "" || text == "" || strings.IndexByte(text, '\n') >= 0 {
			return nil, show(part) + " is not key=value; key and value may not be empty"
		}
		if _, twice := given[key]; twice {
			return nil, "key " + show(key) + " is given twice"
		}
		p := grammar[key]
		if p != nil && p.Alias != "" {
			if p.KeyAlias != "" {
				if _, taken := given[p.KeyAlias]; taken {
					return nil, fmt.Sprintf("%s=… sets %s too, but that is given already", key, p.KeyAlias)
				}
				given[p.KeyAlias] = textOf(key)
			}
			if _, taken := given[p.Alias]; taken && !e.before(9, 2) {
				return nil, fmt.Sprintf("%s is another name for %s, which is given too", key, p.Alias)
			}
			key = p.Alias
			p = grammar[key]
		}
		if p != nil && p.Type == Boolean {
			text = booleanWord(text)
		}
		given[key] = textOf(text)
	}
	return given, ""
}

// booleanWord turns the words that property strings take for booleans into 1
// and 0; anything else stays.
func booleanWord(s string) string {
	word := chomp(s)
	if len(word) > 8 {
		return s
	}
	for _, yes := range [...]string{"1", "on", "yes", "true"} {
		if strings.EqualFold(word, yes) {
			return "1"
		}
	}
	for _, no := range [...]string{"0", "off", "no", "false", "o\ufb00"} {
		if strings.EqualFold(word, no) {
			return "0"
		}
	}
	return s
}

// grammarForm says which keys a property string has, the required ones first.
func grammarForm(grammar map[string]*Property) string {
	const most = 14
	var need, may []string
	bare := ""
	for name, p := range grammar {
		switch {
		case p.Alias != "":
			continue
		case p.DefaultKey:
			bare = name
		case !p.Optional:
			need = append(need, name)
		default:
			may = append(may, name)
		}
	}
	sort.Strings(need)
	sort.Strings(may)
	var parts []string
	if bare != "" {
		part := "[" + bare + "=]value"
		if grammar[bare].Optional {
			part = "[" + part + "]"
		}
		parts = append(parts, part)
	}
	for _, n := range need {
		parts = append(parts, n+"=…")
	}
	for i, n := range may {
		if len(parts) >= most {
			parts = append(parts, fmt.Sprintf("… (%d keys more)", len(may)-i))
			break
		}
		parts = append(parts, "["+n+"=…]")
	}
	return "a property string " + strings.Join(parts, ",")
}
