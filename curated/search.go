package curated

import (
	"context"

	"pvemcp/apidoc"
	"pvemcp/apidoc/words"
	"pvemcp/curated/gate"
	"pvemcp/curated/render"
)

// SearchArgs are the arguments of pve_api_search.
type SearchArgs struct {
	Query string `json:"query" jsonschema:"required"`
	Limit int    `json:"limit,omitempty"`
	Shape
}

func (a SearchArgs) options() render.Options {
	o := a.Shape.options()
	if o.MaxTokens == 0 {
		o.MaxTokens = 1000
	}
	return o
}

var searchTool = Tool[SearchArgs, doc]{
	Name: "pve_api_search", Toolset: "core", Class: apidoc.Read,
	Text: "Find API methods by words, e.g. 'grow a disk'.",
	Run: func(ctx context.Context, c *Call, in SearchArgs) (doc, error) {
		schema, err := c.schema(ctx)
		if err != nil {
			return doc{}, err
		}
		limit := in.Limit
		if limit <= 0 || limit > 50 {
			limit = 10
		}
		hits := words.Search(in.Query, words.Options{Limit: limit, Keep: func(verb, path string) bool {
			_, ok := schema.Endpoint(apidoc.Verb(verb), path)
			return ok
		}})
		return searchDoc(hits, in.Query, c.gate.Mode()), nil
	},
}

func searchDoc(hits []words.Hit, query string, mode gate.Mode) doc {
	d := &render.Doc{}
	if len(hits) == 0 {
		d.Summaryf("No API method fits %q. Try other words, or a path such as /nodes/{node}/qemu.", clip(render.Line(query)))
		return doc{Doc: d}
	}
	d.Add(&render.Table[words.Hit]{
		ID: "methods", Rows: hits, Order: true,
		Columns: []render.Column[words.Hit]{
			{Name: "verb", Cell: func(h *words.Hit) render.Cell { return render.Str(h.Verb) }},
			{Name: "path", Cell: func(h *words.Hit) render.Cell { return render.Str(h.Path) }},
			{Name: "summary", Cell: func(h *words.Hit) render.Cell { return render.Str(h.Summary) }},
		},
	})
	call := "pve_raw_get calls GETs"
	if mode == gate.Full {
		call += ", pve_raw_call the others"
	} else {
		call += "; the others need PROXMOX_MODE=full"
	}
	d.Hintf("pve_api_describe shows a method's parameters; %s.", call)
	return doc{Doc: d}
}

// Search gives the answer of pve_api_search for the newest version's methods,
// without a cluster: at most limit of them, best first.
func Search(query string, limit int) (string, error) {
	hits := words.Search(query, words.Options{Limit: limit})
	d := searchDoc(hits, query, gate.Full)
	return d.render(render.Options{MaxTokens: 1000})
}
