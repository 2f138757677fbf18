package curated

import (
	"context"

	"pvemcp/apidoc"
	"pvemcp/generated"
	"pvemcp/internal/pverest"
)

// recorder is a door that opens to nowhere: it keeps the call that a generated
// method would make. So a change is written down once, in typed Go, and then
// shown in a dry run, judged, checked and at last sent, as the same thing.
type recorder struct {
	verb, path string
	params     pverest.Values
}

// Call keeps the call.
func (r *recorder) Call(_ context.Context, verb, path string, p, _ any) (err error) {
	r.verb, r.path = verb, path
	r.params, err = pverest.EncodeParams(p)
	return err
}

// plan records the call of one generated method and holds it against the
// schema. more are further parameters as the caller wrote them (JSON), which
// win; they are brought into wire form first.
func (c *Call) plan(ctx context.Context, more map[string]any, call func(api *generated.Client) error) (*rawCall, error) {
	r := &recorder{}
	if err := call(generated.New(r)); err != nil {
		return nil, err
	}
	schema, err := c.schema(ctx)
	if err != nil {
		return nil, err
	}
	verb := apidoc.Verb(r.verb)
	match, err := schema.Lookup(verb, r.path)
	if err != nil {
		return nil, err
	}
	method, err := match.Method()
	if err != nil {
		return nil, err
	}
	params := apidoc.Params(r.params)
	if params == nil {
		params = apidoc.Params{}
	}
	if len(more) > 0 {
		wire, err := method.Wire(more)
		if err != nil {
			return nil, err
		}
		for name, values := range wire {
			params[name] = values
		}
	}
	if fault := method.Check(match.Values, params); fault != nil {
		return nil, fault
	}
	return &rawCall{match: match, path: r.path, params: params}, nil
}
