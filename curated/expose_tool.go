package curated

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"pvemcp/apidoc"
	"pvemcp/apidoc/words"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
)

// exposedReadArgs are what the tool of an endpoint takes beside the endpoint's
// own parameters, which win where they have the same name.
type exposedReadArgs struct {
	Filter string `json:"filter,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Fields string `json:"fields,omitempty"`
	Budget
}

func (a exposedReadArgs) options() render.Options {
	o := a.Budget.options()
	o.Fields, o.Limit, o.Cursor = splitList(a.Fields), a.Limit, a.Cursor
	return o
}

// exposedWriteArgs are the same for endpoints that do more than read.
type exposedWriteArgs struct {
	WriteArgs
	WaitArgs
	Budget
}

var (
	exposedReadSchema  = sync.OnceValue(schemaOf[exposedReadArgs])
	exposedWriteSchema = sync.OnceValue(schemaOf[exposedWriteArgs])
)

// exposedName derives a tool's name from verb and path, and from nothing else,
// so that it stays whatever else is exposed: the fixed words of the path, and
// the last parameter where the path ends with one.
func exposedName(m exposedMethod) string {
	parts := []string{"pve", strings.ToLower(string(m.verb))}
	segments := strings.Split(strings.Trim(m.template, "/"), "/")
	for i, s := range segments {
		if name, isParam := strings.CutPrefix(s, "{"); !isParam {
			parts = append(parts, s)
		} else if i == len(segments)-1 {
			parts = append(parts, strings.TrimSuffix(name, "}"))
		}
	}
	return strings.Join(parts, "_")
}

// exposed makes the tool of one method.
func (s *Server) exposed(m exposedMethod) *entry {
	policy, known := policyOf(m.verb, m.template)
	if !known {
		// As the gate counts it: a read of an older version, or anything.
		policy = &apidoc.Policy{Class: apidoc.Destroy}
		if m.verb.Reads() {
			policy.Class = apidoc.Read
		}
	}
	class := policy.Class
	for _, r := range policy.Raise {
		class = class.Raise(r.Class)
	}
	x := &exposedTool{exposedMethod: m, params: sync.OnceValue(func() *paramsSchema { return paramsSchemaOf(m) })}
	t := &entry{
		// None is declared idempotent: a PUT may grow a disk by an amount, a DELETE
		// may name a place in a list.
		name: exposedName(m), text: exposedText(m, policy.Class, class), toolset: "exposed", class: class,
	}
	if class == apidoc.Read && m.verb.Reads() {
		own := planOf[exposedReadArgs]()
		t.schema = func() json.RawMessage { return x.params().with(exposedReadSchema()) }
		t.call = func(ctx context.Context, c *Call, args json.RawMessage) (Answer, render.Options, error) {
			var in exposedReadArgs
			call, err := x.prepare(ctx, c, own, args, &in)
			if err != nil {
				return nil, in.options(), err
			}
			raw, err := c.read(ctx, call, splitList(in.Filter))
			if err != nil {
				return nil, in.options(), err
			}
			return raw, in.options(), nil
		}
		return t
	}
	own := planOf[exposedWriteArgs]()
	t.schema = func() json.RawMessage {
		flags := exposedWriteSchema()
		if s.gate.Approval() != gate.ByPlan {
			flags = without(flags, "plan") // nothing gives one
		}
		if class.Rank() < apidoc.Destroy.Rank() {
			flags = without(flags, "i_understand_data_loss") // no call of this method needs it
		}
		return x.params().with(flags)
	}
	t.call = func(ctx context.Context, c *Call, args json.RawMessage) (Answer, render.Options, error) {
		var in exposedWriteArgs
		call, err := x.prepare(ctx, c, own, args, &in)
		if err != nil {
			return nil, in.options(), err
		}
		d, err := c.write(ctx, call, in.WriteArgs, in.WaitArgs)
		if err != nil {
			return nil, in.options(), err
		}
		return d, in.options(), nil
	}
	return t
}

// exposedText is the sentence that the agent reads.
func exposedText(m exposedMethod, class, highest apidoc.Class) string {
	what := words.Summary(string(m.verb), m.template)
	if what == "" {
		what = "A method of older versions"
	}
	what = strings.TrimSuffix(what, ".")
	switch {
	case highest == apidoc.Read && m.verb.Reads():
		return fmt.Sprintf("%s (%s).", what, m)
	case highest == class:
		return fmt.Sprintf("%s (%s, class %s).", what, m, class)
	}
	return fmt.Sprintf("%s (%s, class %s, by some parameters %s).", what, m, class, highest)
}

// exposedTool turns the arguments of a tool into the call of its method.
type exposedTool struct {
	exposedMethod
	params func() *paramsSchema
}

// prepare takes the tool's own arguments out, puts the path together and holds
// the rest against the cluster's schema. What it gives is a call of exactly this
// method.
func (x *exposedTool) prepare(ctx context.Context, c *Call, own *argPlan, args json.RawMessage, in any) (*rawCall, error) {
	given, err := objectArgs(args)
	if err != nil {
		return nil, err
	}
	mine := map[string]any{}
	for _, name := range own.names {
		if v, ok := given[name]; ok && !x.params().has(name) {
			mine[name] = v
			delete(given, name)
		}
	}
	text, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	if err := own.decode(text, in); err != nil {
		return nil, err
	}
	segments := strings.Split(strings.Trim(x.template, "/"), "/")
	for i, s := range segments {
		name, isParam := strings.CutPrefix(s, "{")
		if !isParam {
			continue
		}
		name = strings.TrimSuffix(name, "}")
		if segments[i], err = pathArg(name, given[name]); err != nil {
			return nil, err
		}
		// Only what stands last may hold a slash: the name of a volume.
		if i < len(segments)-1 && strings.Contains(segments[i], "/") {
			return nil, badArg(name, "%q holds a slash, which separates the parts of a path", clip(segments[i]))
		}
		delete(given, name)
	}
	call, err := c.check(ctx, x.verb, apidoc.JoinPath(segments), given)
	if err != nil {
		return nil, err
	}
	if !sameShape(call.match.Path, x.template) {
		return nil, badArg("", "a value for the path leads to another method, %s; nothing was sent", call.match)
	}
	return call, nil
}

// objectArgs decodes a call's arguments as they are, with exact numbers.
func objectArgs(args json.RawMessage) (map[string]any, error) {
	if len(args) == 0 || string(args) == "null" {
		return map[string]any{}, nil
	}
	if !json.Valid(args) {
		return nil, badArg("", "the arguments are not valid JSON")
	}
	var in struct {
		Arguments map[string]any `json:"arguments"`
	}
	whole := slices.Concat([]byte(`{"arguments":`), args, []byte("}"))
	if err := planOf[struct {
		Arguments map[string]any `json:"arguments"`
	}]().decode(whole, &in); err != nil {
		return nil, err
	}
	if in.Arguments == nil {
		in.Arguments = map[string]any{}
	}
	return in.Arguments, nil
}

// pathArg gives the text of one value for the path.
func pathArg(name string, v any) (string, error) {
	text := ""
	switch v := v.(type) {
	case nil:
	case string:
		text = v
	case json.Number:
		text = v.String()
	default:
		return "", badArg(name, "a single value is needed")
	}
	switch text {
	case "":
		return "", badArg(name, "is needed")
	case ".", "..":
		return "", badArg(name, "%q has no meaning in a path and is not sent", text)
	}
	return text, nil
}

// sameShape tells whether two templates mean the same place: their parameters
// may have other names in another version.
func sameShape(a, b string) bool {
	x, y := strings.Split(a, "/"), strings.Split(b, "/")
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] && !(strings.HasPrefix(x[i], "{") && strings.HasPrefix(y[i], "{")) {
			return false
		}
	}
	return true
}
