package curated

import (
	"context"
	"encoding/json"
	"sync"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// Answer is what a tool gives: *render.Doc or [Raw].
type Answer interface {
	render(o render.Options) (string, error)
}

// doc makes *render.Doc an Answer.
type doc struct {
	*render.Doc
	// failure: what was asked for was tried and did not succeed.
	failure bool
}

// failed marks an answer that tells of a failure.
func failed(d *render.Doc) doc { return doc{d, true} }

func (d doc) render(o render.Options) (string, error) { return d.Doc.Render(o) }

// Raw is an answer of data whose meaning no tool knows.
type Raw struct {
	Data     json.RawMessage
	Filters  []string
	Warnings []string
	Hints    []string
}

func (r Raw) render(o render.Options) (string, error) {
	return render.Raw(r.Data, render.RawOptions{Options: o, Filters: r.Filters, Warnings: r.Warnings, Hints: r.Hints})
}

// Tool declares one tool: In is the struct of its arguments, Out what it gives.
type Tool[In any, Out Answer] struct {
	Name string
	// Text is the one sentence that the agent reads.
	Text    string
	Toolset string
	// Class is the highest class among the calls the tool can make. It decides
	// the annotations and whether the tool exists in readonly mode.
	Class apidoc.Class
	// Idempotent: a second call with the same arguments changes nothing more.
	Idempotent bool
	Run        func(ctx context.Context, c *Call, in In) (Out, error)
}

// entry is a Tool without its type parameters.
type entry struct {
	name, text, toolset string
	class               apidoc.Class
	idempotent          bool
	schema              func() json.RawMessage
	call                func(ctx context.Context, c *Call, args json.RawMessage) (Answer, render.Options, error)
}

// shaped is what every In embeds that lets the caller say how the answer looks.
type shaped interface{ options() render.Options }

func (t Tool[In, Out]) entry() *entry {
	plan := planOf[In]()
	return &entry{
		name: t.Name, text: t.Text, toolset: t.Toolset, class: t.Class, idempotent: t.Idempotent,
		schema: sync.OnceValue(schemaOf[In]),
		call: func(ctx context.Context, c *Call, args json.RawMessage) (Answer, render.Options, error) {
			var in In
			if err := plan.decode(args, &in); err != nil {
				return nil, render.Options{}, err
			}
			var o render.Options
			if s, ok := any(in).(shaped); ok {
				o = s.options()
			}
			out, err := t.Run(ctx, c, in)
			if err != nil {
				return nil, o, err
			}
			return out, o, nil
		},
	}
}

// shapeOptions is what those arguments come to.
type shapeOptions = render.Options

// Shape holds the arguments that say how an answer looks. In structs embed it.
type Shape struct {
	Format    string `json:"format,omitempty" jsonschema:"enum=text,enum=json"`
	Fields    string `json:"fields,omitempty"`
	MaxTokens int    `json:"max_tokens,omitempty"`
}

func (s Shape) options() render.Options {
	return render.Options{Format: render.Format(s.Format), Fields: splitList(s.Fields), MaxTokens: s.MaxTokens}
}

// Budget is all of Shape that tools need which change something: what they
// answer is short and has no columns.
type Budget struct {
	MaxTokens int `json:"max_tokens,omitempty"`
}

func (b Budget) options() render.Options { return render.Options{MaxTokens: b.MaxTokens} }

// Page adds what lists have.
type Page struct {
	Sort   string `json:"sort,omitempty"`
	Limit  int    `json:"limit,omitempty" jsonschema:"minimum=0"`
	Cursor string `json:"cursor,omitempty"`
	Shape
}

func (p Page) options() render.Options {
	o := p.Shape.options()
	o.Sort, o.Limit, o.Cursor = p.Sort, p.Limit, p.Cursor
	return o
}
