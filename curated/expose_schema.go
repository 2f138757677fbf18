package curated

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// paramsSchema is the JSON Schema of a method's parameters, taken apart far
// enough to put more beside them. Clients get neither patternProperties nor
// additionalProperties, which some of them refuse: of indexed parameters the
// first is listed and tells of the others, and what is no parameter is told by
// the check, which goes by the cluster's own version.
type paramsSchema struct {
	names      map[string]bool
	properties json.RawMessage // an object
	required   []string
}

// paramsSchemaOf gives a method's parameters as they were generated, or, for a
// method that only older versions have, as its snapshot declares them.
func paramsSchemaOf(m exposedMethod) *paramsSchema {
	text, ok := generated.ParamsSchema(m.verb, m.template)
	if !ok {
		text = oldParams(m)
	}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		panic("parameters of " + m.String() + ": " + err.Error())
	}
	p := &paramsSchema{names: map[string]bool{}, properties: s.Properties, required: s.Required}
	if len(p.properties) == 0 {
		p.properties = json.RawMessage("{}")
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(p.properties, &names); err != nil {
		panic("parameters of " + m.String() + ": " + err.Error())
	}
	for name := range names {
		p.names[name] = true
	}
	return p
}

// has tells whether the method has a parameter of this name.
func (p *paramsSchema) has(name string) bool { return p.names[name] }

// with gives the schema of the tool: the method's parameters first, then those
// of more whose names it does not have.
func (p *paramsSchema) with(more json.RawMessage) json.RawMessage {
	var own struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(more, &own); err != nil {
		panic("own arguments: " + err.Error())
	}
	properties := slices.Clone(bytes.TrimSuffix(bytes.TrimSpace(p.properties), []byte("}")))
	dec := json.NewDecoder(bytes.NewReader(own.Properties))
	_, _ = dec.Token() // {
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			panic("own arguments can't be read")
		}
		if p.has(name) {
			continue
		}
		if len(properties) > 1 {
			properties = append(properties, ',')
		}
		properties = append(append(append(properties, strconv.Quote(name)...), ':'), value...)
	}
	out, err := json.Marshal(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
	}{"object", append(properties, '}'), p.required})
	if err != nil {
		panic("schema of a tool: " + err.Error())
	}
	return out
}

// oldParams describes the parameters of a method that the newest version does
// not have: names, types and limits.
func oldParams(m exposedMethod) string {
	type property struct {
		Type     string          `json:"type"`
		Items    json.RawMessage `json:"items,omitempty"`
		Enum     []string        `json:"enum,omitempty"`
		Minimum  *float64        `json:"minimum,omitempty"`
		Maximum  *float64        `json:"maximum,omitempty"`
		MaxChars *int            `json:"maxLength,omitempty"`
	}
	var s struct {
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
	}
	s.Properties = map[string]property{}
	for _, method := range oldMethods(m) {
		for _, name := range method.Parameters.Names() {
			p := method.Parameters.Properties[name]
			shown := property{Type: string(p.Type), Minimum: p.Minimum, Maximum: p.Maximum, MaxChars: p.MaxLength}
			switch p.Type {
			case apidoc.Integer, apidoc.Number, apidoc.Boolean:
			case apidoc.Array:
				shown.Items = json.RawMessage(`{"type":"string"}`)
			default:
				shown.Type, shown.Enum = "string", p.Enum
			}
			s.Properties[name] = shown
			if !p.Optional {
				s.Required = append(s.Required, name)
			}
		}
	}
	out, err := json.Marshal(s)
	if err != nil {
		panic("parameters of " + m.String() + ": " + err.Error())
	}
	return string(out)
}

// oldMethods gives the method as the newest snapshot that has it declares it;
// at most one.
func oldMethods(m exposedMethod) []*apidoc.Method {
	versions := apidoc.Snapshots()
	for i := len(versions) - 1; i >= 0; i-- {
		schema, err := apidoc.Snapshot(versions[i])
		if err != nil {
			continue
		}
		if e, ok := schema.Endpoint(m.verb, m.template); ok {
			if method, err := e.Method(); err == nil {
				return []*apidoc.Method{method}
			}
		}
	}
	return nil
}
