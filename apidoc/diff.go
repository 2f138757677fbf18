package apidoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

// Changes is what differs between two versions of the API.
type Changes struct {
	Added, Removed []*Endpoint // sorted by path, then verb
	Changed        []MethodChange
}

// MethodChange is what differs in a method that both versions have.
type MethodChange struct {
	Old, New   *Endpoint
	Added      []string      // parameters that are new, sorted
	Removed    []string      // parameters that are gone, sorted
	Changed    []ParamChange // parameters that both have, sorted by name
	Permission bool          // who may call it changed, prose aside
	Token      bool          // whether an API token may call it changed
	Returns    bool          // the declared answer changed
	// Other names further keys of the method that changed (protected, proxyto,
	// and parameters.KEY for what holds for all parameters), sorted.
	Other []string
}

// ParamChange is what differs in one parameter.
type ParamChange struct {
	Name  string
	Facts []FactChange // sorted by key
}

// FactChange is one key of a parameter's schema, its values as JSON text; ""
// where a version does not have it.
type FactChange struct{ Key, Old, New string }

// Diff compares two versions of the API, prose aside: [WriteFacts] says what
// that is. The error names a method that can't be decoded.
func Diff(older, newer *Schema) (*Changes, error) {
	c := &Changes{}
	for _, e := range newer.Endpoints() {
		old, ok := older.Endpoint(e.Verb, e.Path)
		if !ok {
			c.Added = append(c.Added, e)
			continue
		}
		change, differs, err := diffMethod(old, e)
		if err != nil {
			return nil, err
		}
		if differs {
			c.Changed = append(c.Changed, change)
		}
	}
	for _, e := range older.Endpoints() {
		if _, ok := newer.Endpoint(e.Verb, e.Path); !ok {
			c.Removed = append(c.Removed, e)
		}
	}
	return c, nil
}

func diffMethod(older, newer *Endpoint) (MethodChange, bool, error) {
	c := MethodChange{Old: older, New: newer}
	a, textA, err := factsOf(older)
	if err != nil {
		return c, false, err
	}
	b, textB, err := factsOf(newer)
	if err != nil || bytes.Equal(textA, textB) {
		return c, false, err
	}
	differs := false
	for _, key := range eitherKeys(a, b) {
		if sameJSON(a[key], b[key]) {
			continue
		}
		differs = true
		switch key {
		case "parameters":
			c.diffParameters(a[key], b[key])
		case "permissions":
			c.Permission = true
		case "allowtoken":
			c.Token = true
		case "returns":
			c.Returns = true
		default:
			c.Other = append(c.Other, key)
		}
	}
	return c, differs, nil
}

func factsOf(e *Endpoint) (map[string]any, []byte, error) {
	text, err := methodFacts(e)
	if err != nil {
		return nil, nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var m map[string]any
	return m, text, dec.Decode(&m)
}

func (c *MethodChange) diffParameters(older, newer any) {
	a, _ := older.(map[string]any)
	b, _ := newer.(map[string]any)
	for _, key := range eitherKeys(a, b) {
		// Variants are compared below, by the parameters that they declare.
		if key != "properties" && key != "allOf" && key != "oneOf" && !sameJSON(a[key], b[key]) {
			c.Other = append(c.Other, "parameters."+key)
		}
	}
	have, want := make(map[string]any), make(map[string]any)
	declared(a, have)
	declared(b, want)
	for _, name := range eitherKeys(have, want) {
		old, was := have[name]
		now, is := want[name]
		switch {
		case !was:
			c.Added = append(c.Added, name)
		case !is:
			c.Removed = append(c.Removed, name)
		case !sameJSON(old, now):
			c.Changed = append(c.Changed, ParamChange{name, diffFacts(old, now)})
		}
	}
	sort.Strings(c.Other)
}

// declared collects the parameters of an object schema and of its variants.
func declared(schema map[string]any, into map[string]any) {
	if props, ok := schema["properties"].(map[string]any); ok {
		for name, p := range props {
			if _, there := into[name]; !there {
				into[name] = p
			}
		}
	}
	for _, key := range [...]string{"allOf", "oneOf"} {
		parts, _ := schema[key].([]any)
		for _, part := range parts {
			if m, ok := part.(map[string]any); ok {
				declared(m, into)
			}
		}
	}
	if name, ok := schema["type-property"].(string); ok {
		if _, there := into[name]; !there && schema["type-property-schema"] != nil {
			into[name] = schema["type-property-schema"]
		}
	}
}

func diffFacts(older, newer any) []FactChange {
	a, _ := older.(map[string]any)
	b, _ := newer.(map[string]any)
	var out []FactChange
	for _, key := range eitherKeys(a, b) {
		if !sameJSON(a[key], b[key]) {
			out = append(out, FactChange{key, jsonText(a, key), jsonText(b, key)})
		}
	}
	return out
}

func jsonText(m map[string]any, key string) string {
	v, ok := m[key]
	if !ok {
		return ""
	}
	text, _ := marshalPlain(v)
	return string(text)
}

// sameJSON compares values as Proxmox means them: "1" and 1 are one value.
func sameJSON(a, b any) bool {
	x, _ := marshalPlain(perlValue(a))
	y, _ := marshalPlain(perlValue(b))
	return bytes.Equal(x, y)
}

func perlValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			out[k] = perlValue(item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = perlValue(item)
		}
		return out
	}
	return v
}

func eitherKeys(a, b map[string]any) []string {
	keys := make([]string, 0, len(a)+len(b))
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// PermissionChanges counts the methods whose permissions changed.
func (c *Changes) PermissionChanges() int {
	n := 0
	for _, m := range c.Changed {
		if m.Permission {
			n++
		}
	}
	return n
}

// Text tells the changes to people: one line a method, and below a changed
// method one line for each thing that changed. The first line has the counts.
func (c *Changes) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "methods: %d added, %d removed, %d changed (%d of them in permissions)\n", len(c.Added), len(c.Removed), len(c.Changed), c.PermissionChanges())
	for _, e := range c.Added {
		fmt.Fprintf(&b, "+ %s\n", e)
	}
	for _, e := range c.Removed {
		fmt.Fprintf(&b, "- %s\n", e)
	}
	for _, m := range c.Changed {
		m.write(&b)
	}
	return b.String()
}

func (c *MethodChange) write(b *strings.Builder) {
	fmt.Fprintf(b, "~ %s\n", c.New)
	for _, name := range c.Added {
		fmt.Fprintf(b, "    + %s\n", name)
	}
	for _, name := range c.Removed {
		fmt.Fprintf(b, "    - %s\n", name)
	}
	for _, p := range c.Changed {
		for _, f := range p.Facts {
			fmt.Fprintf(b, "    ~ %s: %s %s\n", p.Name, f.Key, arrow(f.Old, f.New))
		}
	}
	if c.Permission {
		fmt.Fprintf(b, "    ~ permissions %s\n", arrow(rawKey(c.Old, "permissions"), rawKey(c.New, "permissions")))
	}
	if c.Token {
		fmt.Fprintf(b, "    ~ allowtoken %s\n", arrow(rawKey(c.Old, "allowtoken"), rawKey(c.New, "allowtoken")))
	}
	if c.Returns {
		b.WriteString("    ~ returns\n")
	}
	for _, key := range c.Other {
		fmt.Fprintf(b, "    ~ %s\n", key)
	}
}

func rawKey(e *Endpoint, key string) string {
	facts, _, err := factsOf(e)
	if err != nil {
		return ""
	}
	return jsonText(facts, key)
}

// arrow shows a change. Of long values only what is left without the rest that
// both share is shown.
func arrow(older, newer string) string {
	const long = 100
	if len(older) > long || len(newer) > long {
		if gone, come, ok := listChange(older, newer); ok {
			return strings.TrimSpace(gone + " " + come)
		}
	}
	return shown(older) + " → " + shown(newer)
}

func shown(s string) string {
	const most = 400
	switch {
	case s == "":
		return "(absent)"
	case len(s) > most:
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
	}
	return s
}

// listChange tells what a list of texts lost and gained.
func listChange(older, newer string) (gone, come string, ok bool) {
	var a, b []string
	if json.Unmarshal([]byte(older), &a) != nil || json.Unmarshal([]byte(newer), &b) != nil {
		return "", "", false
	}
	lost, won := without(a, b), without(b, a)
	if len(lost)+len(won) == 0 {
		return "", "", false
	}
	if len(lost) > 0 {
		gone = shown("lost " + strings.Join(lost, ", "))
	}
	if len(won) > 0 {
		come = shown("gained " + strings.Join(won, ", "))
	}
	return gone, come, true
}

func without(a, b []string) []string {
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	var out []string
	for _, s := range a {
		if !in[s] {
			out = append(out, s)
		}
	}
	return out
}
