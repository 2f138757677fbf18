package curated

import (
	"context"
	"sort"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// WriteArgs are what every tool that changes something takes.
type WriteArgs struct {
	Confirm  bool `json:"confirm,omitempty"`
	DataLoss bool `json:"i_understand_data_loss,omitempty"`
	DryRun   bool `json:"dry_run,omitempty"`
	// Plan is the token of a dry run; it is listed only where one is needed.
	Plan   string `json:"plan,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// RawCallArgs are the arguments of pve_raw_call.
type RawCallArgs struct {
	Verb   string         `json:"verb" jsonschema:"required,enum=POST,enum=PUT,enum=DELETE"`
	Path   string         `json:"path" jsonschema:"required"`
	Params map[string]any `json:"params,omitempty"`
	WriteArgs
	WaitArgs
	Budget
}

func (a RawCallArgs) options() render.Options { return a.Budget.options() }

var rawCallTool = Tool[RawCallArgs, doc]{
	Name: "pve_raw_call", Toolset: "core", Class: apidoc.Access,
	Text: "POST, PUT or DELETE any API path, checked first; see pve_api_describe.",
	Run: func(ctx context.Context, c *Call, in RawCallArgs) (doc, error) {
		call, err := c.check(ctx, apidoc.Verb(in.Verb), in.Path, in.Params)
		if err != nil {
			return doc{}, err
		}
		return c.write(ctx, call, in.WriteArgs, in.WaitArgs)
	},
}

// write takes one checked call through the ladder. It is the way of every door
// that has no tool of its own.
func (c *Call) write(ctx context.Context, call *rawCall, w WriteArgs, wa WaitArgs) (doc, error) {
	ch := &change{title: string(call.match.Verb) + " " + call.path, steps: []*rawCall{call}}
	return c.carryOut(ctx, ch, w, wa)
}

// classText says a class in words.
func classText(c apidoc.Class) string {
	switch c {
	case apidoc.Change:
		return "change: nothing stops and nothing is lost"
	case apidoc.Disrupt:
		return "disrupt: a guest, node or service stops, moves or is cut off"
	case apidoc.Destroy:
		return "destroy: data may be lost for good"
	case apidoc.Access:
		return "access: changes who may do what"
	case apidoc.Shell:
		return "shell: runs commands or opens a console"
	}
	return string(c)
}

func sortedParams(p apidoc.Params) []string { return sortedNames(p) }

func sortedNames(p map[string][]string) []string {
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return naturalLess(names[i], names[j]) })
	return names
}
