package curated

import (
	"context"
	"encoding/json"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

// RawGetArgs are the arguments of pve_raw_get.
type RawGetArgs struct {
	Path   string         `json:"path" jsonschema:"required,description=e.g. /nodes/pve1/syslog"`
	Query  map[string]any `json:"query,omitempty"`
	Filter string         `json:"filter,omitempty" jsonschema:"description=key=value\\, key!=value\\, key~part\\, key>n; comma-separated"`
	Limit  int            `json:"limit,omitempty" jsonschema:"minimum=0"`
	Cursor string         `json:"cursor,omitempty"`
	Shape
}

func (a RawGetArgs) options() render.Options {
	o := a.Shape.options()
	o.Limit, o.Cursor = a.Limit, a.Cursor
	return o
}

var rawGetTool = Tool[RawGetArgs, Raw]{
	Name: "pve_raw_get", Toolset: "core", Class: apidoc.Read,
	Text: "GET any API path, checked against the schema first.",
	Run: func(ctx context.Context, c *Call, in RawGetArgs) (Raw, error) {
		call, err := c.check(ctx, apidoc.GET, in.Path, in.Query)
		if err != nil {
			return Raw{}, err
		}
		return c.read(ctx, call, splitList(in.Filter))
	},
}

// read makes one checked call that only reads.
func (c *Call) read(ctx context.Context, call *rawCall, filters []string) (Raw, error) {
	reply, err := c.rest.Do(ctx, pverest.Call{Verb: string(call.match.Verb), Path: call.path, Params: pverest.Values(call.params)})
	if err != nil {
		return Raw{}, call.failed(err)
	}
	return Raw{Data: c.mask(call.match, reply.Data), Filters: filters}, nil
}

// rawCall is a call that has passed the check.
type rawCall struct {
	match  apidoc.Match
	path   string // as it is sent
	params apidoc.Params
}

// maxPath bounds a path that is looked at, in bytes. The longest real ones hold
// the name of a volume.
const maxPath = 2000

// check finds the method, brings the arguments into wire form and holds them
// against the schema. Nothing is sent before it has passed, and what is sent
// is the path that was checked: it is built anew from the checked segments.
func (c *Call) check(ctx context.Context, verb apidoc.Verb, path string, args map[string]any) (*rawCall, error) {
	path = strings.TrimSpace(path)
	if len(path) > maxPath {
		return nil, badArg("path", "it has %d bytes; no path of the API comes near %d", len(path), maxPath)
	}
	for _, prefix := range []string{"/api2/json", "/api2/extjs"} {
		if rest, ok := strings.CutPrefix(path, prefix); ok && (rest == "" || rest[0] == '/') {
			path = rest
		}
	}
	if path == "" {
		return nil, badArg("path", "is needed, such as /cluster/status")
	}
	segments, err := apidoc.SplitPath(path)
	if err != nil {
		return nil, &ArgError{Arg: "path", Why: strings.TrimPrefix(err.Error(), "path ")}
	}
	for _, s := range segments {
		if s == "." || s == ".." {
			return nil, badArg("path", "the segment %q has no meaning in the API and is not sent", s)
		}
		if strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return nil, badArg("path", "control characters are not sent")
		}
	}
	call := &rawCall{path: apidoc.JoinPath(segments)}
	err = c.withSchema(ctx, func(schema *apidoc.Schema) error {
		match, err := schema.Lookup(verb, path)
		if err != nil {
			return err
		}
		method, err := match.Method()
		if err != nil {
			return err
		}
		if err := c.neverByToken(match); err != nil {
			return err
		}
		params, err := method.Wire(args)
		if err != nil {
			return err
		}
		if fault := method.Check(match.Values, params); fault != nil {
			return fault
		}
		call.match, call.params = match, params
		return nil
	})
	if err != nil {
		return nil, err
	}
	return call, nil
}

// mask replaces the values of secret keys in an answer, as the overlay names
// them for the method.
func (c *Call) mask(m apidoc.Match, data json.RawMessage) json.RawMessage {
	policy, ok := policyOf(m.Verb, m.Path)
	if !ok || len(policy.SecretFields) == 0 {
		return data
	}
	return maskKeys(data, policy.SecretFields)
}
