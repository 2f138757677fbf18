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
	b, err := json.Marshal(s)
	if err != nil {
		panic("schema of " + reflect.TypeFor[In]().Name() + ": " + err.Error())
	}
	return b
}
