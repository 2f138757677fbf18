package gen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"pvemcp/apidoc"
)

// maxEnumListed is how many allowed values a JSON Schema lists one by one;
// longer enums are of numbered names and become a pattern.
const maxEnumListed = 64

// paramsSchema writes the JSON Schema (draft 2020-12) of a method's
// parameters, those of the path among them. It is flat: one object, no
// references, no lists of types, no combinators. Where the API has variants,
// it is the widest of them; the exact rules are in the check of apidoc.
func (m *method) paramsSchema() ([]byte, error) {
	root := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	if len(m.args)+len(m.params) == 0 {
		root.Properties = nil
	}
	for _, a := range m.args {
		s := &jsonschema.Schema{Type: "string"}
		if a.prop != nil {
			s = valueSchema(a.prop)
		}
		root.Properties.Set(a.wire, s)
		root.Required = append(root.Required, a.wire)
	}
	for _, required := range [...]bool{true, false} {
		for _, p := range m.params {
			if p.required != required {
				continue
			}
			if p.indexed {
				m.addIndexed(root, p)
				continue
			}
			root.Properties.Set(p.wire, valueSchema(p.prop))
			if required {
				root.Required = append(root.Required, p.wire)
			}
		}
	}
	if m.closed {
		root.AdditionalProperties = jsonschema.FalseSchema
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(root); err != nil {
		return nil, fmt.Errorf("%s: JSON Schema: %w", m.key(), err)
	}
	// invopop's own marshaller escapes <, > and & all the same.
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	for _, c := range []string{"<", ">", "&"} {
		text = bytes.ReplaceAll(text, fmt.Appendf(nil, `\u%04x`, c[0]), []byte(c))
	}
	return text, nil
}

// addIndexed shows the first of the indexed parameters by name, for readers
// and for clients that know no patterns, and the others as a pattern.
func (m *method) addIndexed(root *jsonschema.Schema, p param) {
	stem, _ := indexStem(p.wire)
	first, last, bounded := apidoc.IndexBounds(m.Verb, m.Path, stem)
	shown := valueSchema(p.prop)
	note := fmt.Sprintf("also %s%d, …", stem, first+1)
	pattern := "^" + stem + "[0-9]+$"
	if bounded {
		if last == first {
			root.Properties.Set(fmt.Sprintf("%s%d", stem, first), shown)
			return
		}
		note = fmt.Sprintf("also %s%d … %s%d", stem, first+1, stem, last)
		pattern = "^" + stem + "(" + rangePattern(first, last) + ")$"
	}
	other := *shown
	other.Description = ""
	if shown.Description != "" {
		note = shown.Description + "; " + note
	}
	shown.Description = note
	root.Properties.Set(fmt.Sprintf("%s%d", stem, first), shown)
	if root.PatternProperties == nil {
		root.PatternProperties = make(map[string]*jsonschema.Schema)
	}
	root.PatternProperties[pattern] = &other
}

// valueSchema describes one value. Proxmox's property strings are strings
// here, with their grammar in the description; callers may give them as
// objects too, which the tools turn into strings before anything is checked.
func valueSchema(p *apidoc.Property) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch p.Type {
	case apidoc.Array:
		s.Type = "array"
		if p.Items != nil {
			s.Items = valueSchema(p.Items)
		} else if items := sharedItems(p.OneOf); items != nil {
			s.Items = valueSchema(items)
		} else {
			s.Items = &jsonschema.Schema{Type: "string"}
		}
	case apidoc.Integer, apidoc.Number, apidoc.Boolean, apidoc.String:
		s.Type = string(p.Type)
	default:
		s.Type = "string"
	}
	if s.Type == "integer" || s.Type == "number" {
		s.Minimum, s.Maximum = jsonNumber(p.Minimum), jsonNumber(p.Maximum)
	}
	if s.Type == "string" {
		s.MinLength, s.MaxLength = jsonLength(p.MinLength), jsonLength(p.MaxLength)
		if pattern, ok := ecmaPattern(p.Pattern); ok {
			s.Pattern = pattern
		}
	}
	setEnum(s, p.Enum)
	setDefault(s, p)
	var notes []string
	switch {
	case apidoc.Grammar(p) != nil:
		notes = append(notes, grammarText(apidoc.Grammar(p)))
	case s.Pattern == "" && s.Enum == nil && p.Format != "":
		if form := formWords(p); form != "" {
			notes = append(notes, form)
		}
	}
	if len(p.InstanceTypes) > 0 && p.TypeProperty != "" {
		notes = append(notes, "only for "+p.TypeProperty+" "+strings.Join(p.InstanceTypes, ", "))
	}
	if p.Requires != "" {
		notes = append(notes, "needs "+p.Requires)
	}
	s.Description = strings.Join(notes, "; ")
	return s
}

func setEnum(s *jsonschema.Schema, values []string) {
	if len(values) == 0 {
		return
	}
	if s.Type == "string" && len(values) > maxEnumListed {
		var alternatives []string
		for _, f := range families(values) {
			if f.first < 0 {
				alternatives = append(alternatives, quotePattern(f.stem))
			} else {
				alternatives = append(alternatives, quotePattern(f.stem)+"("+rangePattern(f.first, f.last)+")")
			}
		}
		if len(alternatives) <= maxEnumListed {
			s.Pattern = "^(" + strings.Join(alternatives, "|") + ")$"
			return
		}
	}
	for _, v := range values {
		typed, ok := typedValue(s.Type, v)
		if !ok {
			s.Enum = nil // an enum of texts on a number: nothing a client could use
			return
		}
		s.Enum = append(s.Enum, typed)
	}
}

func setDefault(s *jsonschema.Schema, p *apidoc.Property) {
	if p.Default == nil || len(*p.Default) > 200 {
		return
	}
	v, ok := typedValue(s.Type, *p.Default)
	if !ok || s.Enum != nil && !slices.Contains(s.Enum, v) || !inRange(*p.Default, p) {
		return // upstream names some defaults that it would refuse
	}
	s.Default = v
}

func inRange(text string, p *apidoc.Property) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err != nil || (p.Minimum == nil || f >= *p.Minimum) && (p.Maximum == nil || f <= *p.Maximum)
}

// typedValue gives a text as a value of the JSON type.
func typedValue(typ, text string) (any, bool) {
	switch typ {
	case "string":
		return text, true
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "number":
		f, err := strconv.ParseFloat(text, 64)
		return f, err == nil
	case "boolean":
		switch strings.ToLower(text) {
		case "1", "on", "yes", "true":
			return true, true
		case "0", "off", "no", "false":
			return false, true
		}
	}
	return nil, false
}

func jsonNumber(f *float64) json.Number {
	if f == nil {
		return ""
	}
	return json.Number(numberText(*f))
}

func jsonLength(n *int) *uint64 {
	if n == nil || *n < 0 {
		return nil
	}
	u := uint64(*n)
	return &u
}
