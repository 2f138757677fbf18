package curated

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
)

// schemaOf makes the JSON Schema of a tool's arguments: flat, without $defs,
// root combinators and lists of types, because some clients refuse those, and
// without a line that says nothing, because every client pays for it.
func schemaOf[In any]() json.RawMessage {
	r := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true, AllowAdditionalProperties: true}
	s := r.ReflectFromType(reflect.TypeFor[In]())
	s.Version = ""
	for _, name := range []string{"wait_seconds", "limit"} {
		if p, ok := s.Properties.Get(name); ok {
			p.Minimum, p.Maximum = "", "" // a wrong value is told; the range is not worth its tokens
		}
	}
	b, err := json.Marshal(s)
	if err != nil {
		panic("schema of " + reflect.TypeFor[In]().Name() + ": " + err.Error())
	}
	return b
}

// without takes a property out of a schema. One that does not have it stays as
// it is, in its order.
func without(schema json.RawMessage, name string) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	p, ok := s["properties"].(map[string]any)
	if _, has := p[name]; !ok || !has {
		return schema
	}
	delete(p, name)
	b, err := json.Marshal(s)
	if err != nil {
		return schema
	}
	return b
}
