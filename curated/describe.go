package curated

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
	"pvemcp/apidoc/words"
	"pvemcp/curated/render"
	"pvemcp/generated"
)

// DescribeArgs are the arguments of pve_api_describe.
type DescribeArgs struct {
	Method string `json:"method" jsonschema:"required,description=e.g. PUT /nodes/pve1/qemu/100/config"`
	Param  string `json:"param,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Shape
}

func (a DescribeArgs) options() render.Options {
	o := a.Shape.options()
	o.Cursor = a.Cursor
	return o
}

// describeTokens is what an answer takes at most unless the caller allows more.
const describeTokens = 1500

var describeTool = Tool[DescribeArgs, described]{
	Name: "pve_api_describe", Toolset: "core", Class: apidoc.Read,
	Text: "Describe one API method, or one of its parameters whole.",
	Run: func(ctx context.Context, c *Call, in DescribeArgs) (described, error) {
		out, err := c.describe(ctx, in)
		out.asked = in.MaxTokens > 0
		return out, err
	},
}

// described is the answer of pve_api_describe: a document, or a method whose
// parameters are told in as much detail as there is room for.
type described struct {
	doc    *render.Doc
	method *methodText
	asked  bool // the caller has said how long the answer may be
}

func (d described) render(o render.Options) (string, error) {
	if o.MaxTokens == 0 {
		o.MaxTokens = render.DefaultTokens
	}
	if !d.asked {
		o.MaxTokens = min(o.MaxTokens, describeTokens)
	}
	if d.method == nil {
		return d.doc.Render(o)
	}
	n := len(d.method.rows)
	if o.Cursor != "" || o.Format == render.JSON || len(o.Fields) > 0 {
		return d.method.doc(n).Render(o)
	}
	// The most parameters in detail with which the whole still fits; the others
	// by name.
	text := func(k, budget int) (string, error) {
		p := o
		p.MaxTokens, p.Limit = budget, k
		return d.method.doc(k).Render(p)
	}
	var failed error
	k := sort.Search(n, func(i int) bool {
		t, err := text(i+1, 1<<20)
		if err != nil {
			failed = err
		}
		return !render.Fits(t, o.MaxTokens)
	})
	if failed != nil {
		return "", failed
	}
	return text(k, o.MaxTokens)
}

// describe finds what is asked for: a method, a parameter of it, or what words
// may mean.
func (c *Call) describe(ctx context.Context, in DescribeArgs) (described, error) {
	verb, path, ok := splitOp(in.Method)
	if !ok {
		return c.describeWords(ctx, in.Method)
	}
	schema, err := c.schema(ctx)
	if err != nil {
		return described{}, err
	}
	if verb == "" {
		var found []apidoc.Match
		for _, v := range apidoc.Verbs {
			if m, err := schema.Lookup(v, path); err == nil {
				found = append(found, m)
			}
		}
		switch len(found) {
		case 0:
			verb = apidoc.GET // for the error
		case 1:
			verb = found[0].Verb
		default:
			return described{doc: verbsDoc(path, found)}, nil
		}
	}
	match, elsewhere, err := lookupAnywhere(schema, verb, path)
	if err != nil {
		return described{}, err
	}
	m, err := match.Method()
	if err != nil {
		return described{}, err
	}
	match.Values = slices.DeleteFunc(slices.Clone(match.Values), func(v apidoc.PathValue) bool { return unfilled(v.Value) })
	t := &methodText{m: m, history: history(m.Verb, m.Path)}
	if elsewhere != "" {
		t.warning = fmt.Sprintf("The cluster's version (%s) does not have this method; it is told as %s has it.", schema.Version, elsewhere)
	}
	version := schema.Version
	if elsewhere != "" {
		version = elsewhere
	}
	t.always, t.demands = hiddenDemands(m, version, match.Values)
	if in.Param != "" {
		d, err := t.param(strings.TrimSpace(in.Param))
		return described{doc: d}, err
	}
	t.fill()
	if elsewhere == "" {
		t.token = c.tokenWords(ctx, match, m, version, t.always)
	}
	t.head = t.above()
	return described{method: t}, nil
}

// splitOp takes "VERB /path" or a path apart, leniently; ok is false for what
// are other words.
func splitOp(s string) (verb apidoc.Verb, path string, ok bool) {
	s = strings.TrimSpace(s)
	head, rest, _ := strings.Cut(s, " ")
	if v, err := apidoc.ParseVerb(strings.ToUpper(strings.TrimSuffix(head, ":"))); err == nil {
		verb, s = v, strings.TrimSpace(rest)
		if s != "" && !strings.HasPrefix(s, "/") && !strings.Contains(s, " ") {
			s = "/" + s
		}
	}
	for _, prefix := range []string{"/api2/json", "/api2/extjs"} {
		if rest, cut := strings.CutPrefix(s, prefix); cut && strings.HasPrefix(rest, "/") {
			s = rest
		}
	}
	s, _, _ = strings.Cut(s, "?")
	return verb, s, strings.HasPrefix(s, "/") && len(s) > 1 && !strings.Contains(s, " ")
}

// lookupAnywhere finds a method in the cluster's schema, or else in a snapshot,
// newest first; elsewhere is then that snapshot's version.
func lookupAnywhere(schema *apidoc.Schema, verb apidoc.Verb, path string) (match apidoc.Match, elsewhere string, err error) {
	match, err = schema.Lookup(verb, path)
	var miss *apidoc.LookupError
	if err == nil || !errors.As(err, &miss) {
		return match, "", err
	}
	versions := apidoc.Snapshots()
	for _, v := range slices.Backward(versions) {
		if v == schema.Version {
			continue
		}
		if s, failed := apidoc.Snapshot(v); failed == nil {
			if m, failed := s.Lookup(verb, path); failed == nil {
				return m, v, nil
			}
		}
	}
	return match, "", err
}

// describeWords answers words that are no path with the methods they may mean.
func (c *Call) describeWords(ctx context.Context, query string) (described, error) {
	schema, err := c.schema(ctx)
	if err != nil {
		return described{}, err
	}
	hits := words.Search(query, words.Options{Limit: 8, Keep: func(verb, path string) bool {
		_, ok := schema.Endpoint(apidoc.Verb(verb), path)
		return ok
	}})
	if len(hits) == 0 {
		return described{}, badArg("method", "%q is neither a method such as GET /nodes/{node}/qemu nor words that one could be found by", clip(render.Line(query)))
	}
	d := searchDoc(hits, query, c.gate.Mode())
	d.Summary = append([]string{"That names no method; these may be meant:"}, d.Summary...)
	return described{doc: d.Doc}, nil
}

// verbsDoc lists the methods of one path.
func verbsDoc(path string, found []apidoc.Match) *render.Doc {
	d := &render.Doc{}
	d.Summaryf("%s has %s; name one, such as %s %s.", render.Line(path), render.FormatCount(len(found), "method"), found[0].Verb, render.Line(path))
	d.Add(&render.Table[apidoc.Match]{
		ID: "methods", Rows: found, Order: true,
		Columns: []render.Column[apidoc.Match]{
			{Name: "verb", Cell: func(m *apidoc.Match) render.Cell { return render.Str(m.Verb) }},
			{Name: "class", Cell: func(m *apidoc.Match) render.Cell { return render.Str(classOf(m.Verb, m.Path)) }},
			{Name: "summary", Cell: func(m *apidoc.Match) render.Cell { return render.Str(words.Summary(string(m.Verb), m.Path)) }},
		},
	})
	return d
}

// classOf gives the class of the plain call; of a method that nobody has judged
// what counts for it.
func classOf(verb apidoc.Verb, template string) apidoc.Class {
	if p, ok := policyOf(verb, template); ok {
		return p.Class
	}
	if verb == apidoc.GET {
		return apidoc.Read
	}
	return apidoc.Destroy
}

// tokenWords tells what the token lacks on the path that was given. It asks the
// cluster only where the path names something and a privilege is wanted.
func (c *Call) tokenWords(ctx context.Context, match apidoc.Match, m *apidoc.Method, version string, always []apidoc.Need) string {
	var never *TokenError
	if errors.As(c.neverByToken(match), &never) {
		return "no token can call it; the way round: " + never.Way
	}
	concrete := len(match.Values) == len(m.PathParams())
	if !concrete || m.Permission.User == "world" || m.Permission.User == "all" && len(always) == 0 {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := c.holdings(ctx, privilegeAge)
	if err != nil {
		return "what the token holds could not be read: " + shortError(err)
	}
	params := paramsOf(match, nil)
	openParams(m.Permission.Check, params)
	j := c.judge(ctx, h, m, version, params, nil)
	var parts []string
	for _, n := range j.missing {
		parts = append(parts, needWords(n, h.has))
	}
	if j.self {
		parts = append(parts, "being the user in question")
	}
	if len(parts) == 0 {
		return "nothing is known to be missing for the call as such"
	}
	return "the token lacks " + strings.Join(parts, "; ")
}

// resultWords says what a method answers.
func resultWords(m *apidoc.Method) string {
	effect, known := generated.EffectOf(m.Verb, m.Path)
	secret := ""
	if known && effect.ReturnsSecret {
		secret = "; it holds a new secret, shown once"
	}
	if known && effect.Task {
		return "a task id (UPID)" + secret
	}
	r := m.Returns
	switch r.Type {
	case apidoc.Null:
		return "nothing"
	case apidoc.Untyped, apidoc.Any:
		return "not declared" + secret
	case apidoc.Array:
		if r.Items == nil {
			return "a list" + secret
		}
		if fields := fieldWords(r.Items); fields != "" {
			return "a list of objects: " + fields + secret
		}
		if r.Items.Type == apidoc.Untyped {
			return "a list" + secret
		}
		return "a list of " + string(r.Items.Type) + "s" + secret
	case apidoc.Object:
		if fields := fieldWords(r); fields != "" {
			return "an object: " + fields + secret
		}
		return "an object" + secret
	}
	return "one " + string(r.Type) + secret
}

func fieldWords(p *apidoc.Property) string {
	fields := declared(p)
	var always, maybe []string
	for i := range fields {
		if f := &fields[i]; f.schema.Optional {
			maybe = append(maybe, f.name+"?")
		} else {
			always = append(always, f.name)
		}
	}
	return cutList(append(always, maybe...), 24)
}
