package curated

import (
	"context"
	"encoding/json"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
	"pvemcp/internal/pverest"
)

// WriteArgs are what every tool that changes something takes.
type WriteArgs struct {
	Confirm  bool `json:"confirm,omitempty"`
	DataLoss bool `json:"i_understand_data_loss,omitempty"`
	DryRun   bool `json:"dry_run,omitempty"`
}

func (w WriteArgs) consent() gate.Consent {
	return gate.Consent{Confirm: w.Confirm, DataLoss: w.DataLoss}
}

// RawCallArgs are the arguments of pve_raw_call.
type RawCallArgs struct {
	Verb   string         `json:"verb" jsonschema:"required,enum=POST,enum=PUT,enum=DELETE"`
	Path   string         `json:"path" jsonschema:"required"`
	Params map[string]any `json:"params,omitempty"`
	WriteArgs
	Shape
}

func (a RawCallArgs) options() render.Options { return a.Shape.options() }

var rawCallTool = Tool[RawCallArgs, doc]{
	Name: "pve_raw_call", Toolset: "core", Class: apidoc.Access,
	Text: "POST, PUT or DELETE any API path, checked first; see pve_api_describe.",
	Run: func(ctx context.Context, c *Call, in RawCallArgs) (doc, error) {
		call, err := c.check(ctx, apidoc.Verb(in.Verb), in.Path, in.Params)
		if err != nil {
			return doc{}, err
		}
		return c.write(ctx, call, in.WriteArgs)
	},
}

// write takes one checked call through the ladder: dry run, consent, the call
// itself. It is the way of every door that has no tool of its own.
func (c *Call) write(ctx context.Context, call *rawCall, w WriteArgs) (doc, error) {
	in, err := c.gate.Judge(string(call.match.Verb), call.path, call.params)
	if err != nil {
		return doc{}, err
	}
	if w.DryRun {
		return c.dryRun(ctx, call, in)
	}
	granted, err := c.gate.Grant(ctx, in, w.consent())
	if err != nil {
		return doc{}, err
	}
	reply, err := c.rest.Do(granted, pverest.Call{Verb: string(call.match.Verb), Path: call.path, Params: pverest.Values(call.params)})
	if err != nil {
		return doc{}, call.failed(err)
	}
	return c.outcome(call, in, reply), nil
}

// outcome tells what Proxmox answered. A task's id is no success: the task has
// only been started.
func (c *Call) outcome(call *rawCall, in *gate.Intent, reply pverest.Reply) doc {
	d := &render.Doc{}
	var text string
	isText := json.Unmarshal(reply.Data, &text) == nil
	switch {
	case isText && strings.HasPrefix(text, "UPID:"):
		d.Summaryf("Task started by %s; it has not ended yet.", in)
		kv := &render.KV{}
		kv.Set("upid", render.Str(text))
		d.Add(kv)
		d.Hintf("pve_tasks shows how it ends; only exit status OK or WARNINGS is success.")
	case string(reply.Data) == "null":
		d.Summaryf("Proxmox accepted %s (no answer beyond that).", in)
	case isText:
		d.Summaryf("Proxmox accepted %s and answered: %s", in, render.Line(text))
	default:
		d.Summaryf("Proxmox accepted %s.", in)
		data := reply.Data
		if !in.Policy.ReturnsSecret { // a secret that the call exists to make is shown, once
			data = c.mask(call.match, data)
		}
		d.Add(&render.Fenced{ID: "answer", Text: string(data)})
	}
	return doc{d}
}

// dryRun says what a call would do. Nothing is sent but reads.
func (c *Call) dryRun(_ context.Context, call *rawCall, in *gate.Intent) (doc, error) {
	d := &render.Doc{}
	d.Summaryf("Dry run: nothing was changed. The call would be %s", in)
	kv := &render.KV{ID: "params", Heading: "Parameters"}
	names := make([]string, 0, len(call.params))
	for name := range call.params {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return naturalLess(names[i], names[j]) })
	for _, name := range names {
		value := strings.Join(call.params[name], " ")
		if in.Policy.Secret(name) {
			value = "(hidden)"
		}
		kv.Set(name, render.Str(value))
	}
	if len(kv.Pairs) > 0 {
		d.Add(kv)
	}
	effect := &render.KV{ID: "effect"}
	effect.Set("class", render.Str(classText(in.Class)))
	if raised := in.Policy.RaisedBy(in.Params); len(raised) > 0 {
		texts := make([]string, len(raised))
		for i, r := range raised {
			texts[i] = r.String()
		}
		effect.Set("because", render.Str(strings.Join(texts, "; ")))
	}
	flags := "confirm=true"
	if in.Class.Rank() >= apidoc.Destroy.Rank() {
		flags += " and i_understand_data_loss=true"
	}
	effect.Set("needs", render.Str(flags))
	d.Add(effect)
	return doc{d}, nil
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
