package curated

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/apidoc/words"
	"pvemcp/curated/render"
)

// methodText is what there is to tell about a method, before it is cut.
type methodText struct {
	m       *apidoc.Method
	history []versioned
	always  []apidoc.Need // what the schema does not show and any call wants
	demands map[string][]paramDemand
	rows    []paramRow
	inPath  []declaredParam
	token   string
	warning string
	head    []render.Block // what stands above the parameters
}

// paramRow is one parameter in a list.
type paramRow struct {
	d       declaredParam
	key     string
	name    string
	takes   string
	demands []paramDemand
}

// fill makes the rows, those that matter first.
func (t *methodText) fill() {
	inPath := t.m.PathParams()
	all := declared(t.m.Parameters)
	ranks := make(map[string]int, len(all))
	var rest []declaredParam
	for i := range all {
		d := &all[i]
		ranks[d.name] = rankOf(t.m, d)
		if !slices.Contains(inPath, d.name) {
			rest = append(rest, *d)
		}
	}
	for _, name := range inPath {
		for _, d := range all {
			if d.name == name {
				t.inPath = append(t.inPath, d)
			}
		}
	}
	sort.SliceStable(rest, func(i, j int) bool { return ranks[rest[i].name] < ranks[rest[j].name] })
	for i, d := range rest {
		t.rows = append(t.rows, paramRow{d: d, key: render.Key(i), name: shownName(t.m, d.name), takes: t.takes(&d, short), demands: t.demands[d.name]})
	}
}

// takes is the form of a parameter and what it hangs on.
func (t *methodText) takes(d *declaredParam, l howLong) string {
	s := form(d.schema, l)
	if d.by != "" {
		s += ", only for " + d.by + "=" + cutText(strings.Join(d.only, "|"), 60)
	}
	return s
}

// above makes what stands above the parameters.
func (t *methodText) above() (blocks []render.Block) {
	m := t.m
	add := func(b render.Block) { blocks = append(blocks, b) }
	if lines := t.accessLines(); len(lines) > 0 {
		add(&render.Lines{ID: "access", Lines: lines})
	}
	if p, ok := policyOf(m.Verb, m.Path); ok && len(p.Raise) > 0 {
		add(&render.Lines{ID: "raised", Lines: prefixed("becomes ", raiseLines(p))})
	}
	if lines := changeLines(t.history); len(lines) > 0 {
		for i, l := range lines {
			lines[i] = cutText(l, 420)
		}
		add(&render.Lines{ID: "versions", Lines: lines})
	}
	if len(t.inPath) > 0 {
		parts := make([]string, 0, len(t.inPath))
		for i := range t.inPath {
			name, takes := t.inPath[i].name, form(t.inPath[i].schema, short)
			if takes != name && takes != string(apidoc.String) {
				name += " (" + takes + ")"
			}
			parts = append(parts, name)
		}
		add(&render.Lines{ID: "path", Lines: []string{"in the path: " + strings.Join(parts, ", ")}})
	}
	return blocks
}

// doc tells the method with k parameters in detail.
func (t *methodText) doc(k int) *render.Doc {
	m := t.m
	d := &render.Doc{}
	op := string(m.Verb) + " " + m.Path
	if s := words.Summary(string(m.Verb), m.Path); s != "" {
		op += ": " + s
	}
	d.Summaryf("%s", op)
	d.Summaryf("%s", t.factWords())
	if t.warning != "" {
		d.Warnf("%s", t.warning)
	}
	d.Add(t.head...)
	t.addRows(d, k)
	d.Add(&render.Lines{ID: "answer", Lines: []string{"answer: " + resultWords(m)}})
	if k < len(t.rows) {
		d.Hintf("param=NAME shows one parameter whole.")
	}
	return d
}

// addRows puts the first k parameters as a table and the others by name.
func (t *methodText) addRows(d *render.Doc, k int) {
	if len(t.rows) == 0 {
		d.Add(&render.Lines{ID: "parameters", Lines: []string{"no parameters" + map[bool]string{true: " but those"}[len(t.inPath) > 0]}})
		return
	}
	if k > 0 {
		columns := []render.Column[paramRow]{
			{Name: "name", Stable: true, Cell: func(r *paramRow) render.Cell {
				if r.d.required() {
					return render.Str(r.name + "*")
				}
				return render.Str(r.name)
			}},
			{Name: "takes", Cell: func(r *paramRow) render.Cell { return render.Str(r.takes) }},
		}
		if len(t.demands) > 0 {
			columns = append(columns, render.Column[paramRow]{Name: "needs", Cell: func(r *paramRow) render.Cell { return render.Str(briefDemands(r.demands)) }})
		}
		columns = append(columns,
			render.Column[paramRow]{Name: "required", Extra: true, Cell: func(r *paramRow) render.Cell { return render.Bool(r.d.required()) }},
			render.Column[paramRow]{Name: "type", Extra: true, Cell: func(r *paramRow) render.Cell { return render.Str(r.d.schema.Type) }},
			render.Column[paramRow]{Name: "default", Extra: true, Cell: func(r *paramRow) render.Cell { return render.Str(deref(r.d.schema.Default)) }},
		)
		heading := render.FormatCount(len(t.rows), "parameter")
		if t.rows[0].d.required() {
			heading += " (* required)"
		}
		d.Add(&render.Table[paramRow]{
			ID: "parameters", Heading: heading, Rows: t.rows, Columns: columns,
			Key: func(r *paramRow) string { return r.key },
		})
	}
	if rest := t.rows[k:]; len(rest) > 0 {
		heading := "the others:"
		if k == 0 {
			heading = render.FormatCount(len(rest), "parameter") + ":"
		}
		d.Add(&render.Lines{ID: "others", Heading: heading, Lines: otherLines(rest)})
	}
}

// otherLines names parameters, together with what they want.
func otherLines(rows []paramRow) []string {
	var order []string
	by := map[string][]string{}
	for i := range rows {
		r := &rows[i]
		label := briefDemands(r.demands)
		if by[label] == nil {
			order = append(order, label)
		}
		by[label] = append(by[label], r.name)
	}
	sort.SliceStable(order, func(i, j int) bool { return len(by[order[i]]) > len(by[order[j]]) })
	out := make([]string, 0, len(order))
	for _, label := range order {
		line := strings.Join(by[label], ", ")
		switch {
		case label != "":
			line = label + ": " + line
		case len(order) > 1:
			line = "nothing more: " + line
		}
		out = append(out, line)
	}
	return out
}

// briefDemands says what a parameter wants without the paths, which its value
// shows.
func briefDemands(demands []paramDemand) string {
	var parts []string
	byWhat := map[string][]string{}
	var order []string
	for _, d := range demands {
		w := briefNeed(d.need)
		if byWhat[d.what] == nil {
			order = append(order, d.what)
		}
		if !slices.Contains(byWhat[d.what], w) {
			byWhat[d.what] = append(byWhat[d.what], w)
		}
	}
	for _, what := range order {
		s := strings.Join(byWhat[what], "+")
		if what != "" {
			s = what + " " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func briefNeed(n apidoc.Need) string {
	if n.Root {
		return "root@pam only"
	}
	switch {
	case n.Any && len(n.Privs) > 2:
		return mildest(n.Privs)
	case n.Any:
		return strings.Join(n.Privs, "|")
	}
	return strings.Join(n.Privs, "+")
}

// factWords say what the method is, in one line.
func (t *methodText) factWords() string {
	m := t.m
	var parts []string
	policy, known := policyOf(m.Verb, m.Path)
	class := classOf(m.Verb, m.Path)
	switch {
	case !known && m.Verb != apidoc.GET:
		parts = append(parts, "class destroy, because nobody has judged this method yet")
	case known && m.Verb == apidoc.GET && class != apidoc.Read:
		parts = append(parts, fmt.Sprintf("class %s: %s", class, policy.Reason))
	default:
		parts = append(parts, "class "+string(class))
	}
	switch {
	case !m.AllowToken:
		parts = append(parts, "no token may call it")
	case !m.Permission.Declared:
	default:
		parts = append(parts, "tokens may call it")
	}
	if m.ProxyTo == "node" {
		parts = append(parts, "runs on the node in its path")
	}
	if known {
		for _, r := range policy.Reach {
			s := "reaches every guest of the " + string(r.Scope)
			if len(r.Conds) > 0 {
				conds := make([]string, len(r.Conds))
				for i, c := range r.Conds {
					conds[i] = conditionWords(string(c.Param), c.Op, []string{c.Value})
				}
				s += " if " + strings.Join(conds, " and ")
			}
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "; ")
}

// accessLines say who may call it and what the token lacks.
func (t *methodText) accessLines() []string {
	line := "needs " + permissionWords(t.m.Permission)
	switch {
	case t.m.Permission.User == "world":
		line = "open to " + permissionWords(t.m.Permission)
	case t.m.Permission.User == "all" && len(t.always)+len(t.demands) > 0:
		line = "open to any user who is logged in, as far as its schema tells"
	case t.m.Permission.User == "all":
		line = "open to any user who is logged in; its code may ask for more"
	}
	var extra []string
	for _, n := range t.always {
		if w := needWords(n, nil); !strings.Contains(line, w) {
			extra = append(extra, w)
		}
	}
	if len(extra) > 0 {
		line += "; its code also wants " + strings.Join(extra, "; ")
	}
	out := []string{line}
	if t.token != "" {
		out = append(out, t.token)
	}
	return out
}

func prefixed(prefix string, lines []string) []string {
	for i, l := range lines {
		lines[i] = prefix + l
	}
	return lines
}

// param tells one parameter whole.
func (t *methodText) param(name string) (*render.Doc, error) {
	all := declared(t.m.Parameters)
	at := slices.IndexFunc(all, func(d declaredParam) bool { return d.name == name })
	if at < 0 {
		if p, ok := t.m.Property(name); ok {
			at = slices.IndexFunc(all, func(d declaredParam) bool { return d.schema == p })
		}
	}
	if at < 0 { // net, or net99: told as net[n]
		base := strings.TrimRight(strings.TrimSuffix(name, "[n]"), "0123456789")
		at = slices.IndexFunc(all, func(d declaredParam) bool { return d.name == base+"[n]" })
		if at >= 0 && base != name && !strings.HasSuffix(name, "[n]") {
			return nil, badArg("param", "%s is out of bounds; there is %s", clip(render.Line(name)), shownName(t.m, base+"[n]"))
		}
	}
	if at < 0 {
		return nil, t.noParam(name, all)
	}
	d := &all[at]
	p := d.schema
	out := &render.Doc{}
	shown := shownName(t.m, d.name)
	need := "optional"
	switch {
	case slices.Contains(t.m.PathParams(), d.name):
		need = "in the path"
	case d.required():
		need = "required"
	}
	out.Summaryf("%s of %s %s (%s)", shown, t.m.Verb, t.m.Path, need)
	if t.warning != "" {
		out.Warnf("%s", t.warning)
	}
	if text := render.Line(p.Description); text != "" {
		out.Summaryf("Proxmox says: %s", cutText(text, 500))
	}
	kv := &render.KV{}
	kv.Set("type", render.Str(p.Type))
	takes := t.takes(d, whole)
	if len(p.Enum) > 60 {
		takes = t.takes(d, short)
	}
	if apidoc.Grammar(p) != nil {
		takes = t.takes(d, howLong{enum: 8, keys: 10, pattern: 200})
	}
	kv.Set("takes", render.Str(takes))
	if demands := t.demands[d.name]; len(demands) > 0 {
		parts := make([]string, 0, len(demands))
		for _, dem := range demands {
			parts = append(parts, dem.words())
		}
		kv.Set("needs", render.Str(strings.Join(parts, "; ")))
	}
	if lines := paramHistory(t.history, d.name); len(lines) > 0 {
		kv.Set("versions", render.Str(strings.Join(lines, "; ")))
	}
	if policy, ok := policyOf(t.m.Verb, t.m.Path); ok {
		if policy.Secret(strings.Replace(d.name, "[n]", "0", 1)) {
			kv.Set("secret", render.Str("never shown or logged"))
		}
		var raises []string
		for _, line := range raiseLines(&apidoc.Policy{Raise: rulesOn(policy.Raise, d.name)}) {
			raises = append(raises, "the call becomes "+line)
		}
		kv.Set("raises", render.Str(strings.Join(raises, "; ")))
	}
	out.Add(kv)
	if grammar := apidoc.Grammar(p); grammar != nil {
		addKeys(out, grammar)
	}
	if len(p.Enum) > 60 {
		addValues(out, p.Enum)
	}
	return out, nil
}

// noParam is the error for a name that the method does not have.
func (t *methodText) noParam(name string, all []declaredParam) error {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	why := fmt.Sprintf("%s %s has no parameter %q", t.m.Verb, t.m.Path, clip(render.Line(name)))
	for _, h := range slices.Backward(t.history) {
		if h.m != nil {
			if _, ok := h.m.Property(name); ok {
				why += "; " + h.version + " has it"
				break
			}
		}
	}
	return &ArgError{Arg: "param", Why: why, Valid: apidoc.Nearest(name, names, 5)}
}

// rulesOn picks the rules that look at a parameter.
func rulesOn(rules []apidoc.Rule, name string) []apidoc.Rule {
	var out []apidoc.Rule
	for _, r := range rules {
		if slices.ContainsFunc(r.Conds, func(c apidoc.Condition) bool { return c.Param.Param() == name }) {
			out = append(out, r)
		}
	}
	return out
}

// addKeys lists the keys of a property string.
func addKeys(d *render.Doc, grammar map[string]*apidoc.Property) {
	keys := grammarKeys(grammar)
	order := make(map[string]int, len(keys))
	for i, k := range keys {
		order[k] = i
	}
	heading := fmt.Sprintf("a text of key=value parts with commas, %s (* required", render.FormatCount(len(keys), "key"))
	if bare := apidoc.DefaultKey(grammar); bare != "" {
		heading += "; " + bare + "= may be left out"
	}
	d.Add(&render.Table[string]{
		ID: "keys", Heading: heading + "); an object does as well", Rows: keys,
		Key: func(k *string) string { return render.Key(order[*k]) },
		Columns: []render.Column[string]{
			{Name: "key", Stable: true, Cell: func(k *string) render.Cell {
				if !grammar[*k].Optional {
					return render.Str(*k + "*")
				}
				return render.Str(*k)
			}},
			{Name: "takes", Cell: func(k *string) render.Cell {
				return render.Str(form(grammar[*k], howLong{enum: 40, keys: 20, pattern: 120}))
			}},
		},
	})
	if lines := aliasLines(grammar); len(lines) > 0 {
		d.Add(&render.Lines{ID: "aliases", Lines: lines})
	}
}

// aliasLines tell the other names of keys.
func aliasLines(grammar map[string]*apidoc.Property) []string {
	short := map[string][]string{} // NAME=X for two keys at once
	var plain []string
	for key, p := range grammar {
		switch {
		case p.Alias == "":
		case p.KeyAlias != "":
			two := p.KeyAlias + "=NAME," + p.Alias + "=X"
			short[two] = append(short[two], key)
		default:
			plain = append(plain, key+" for "+p.Alias)
		}
	}
	var out []string
	for what, keys := range short {
		slices.Sort(keys)
		out = append(out, "NAME=X stands for "+what+" with the names "+strings.Join(keys, ", "))
	}
	slices.Sort(out)
	if len(plain) > 0 {
		slices.Sort(plain)
		out = append(out, "also taken: "+strings.Join(plain, ", "))
	}
	return out
}

// addValues lists the values of a long enum, to be paged.
func addValues(d *render.Doc, values []string) {
	type value struct {
		at   int
		text string
	}
	rows := make([]value, len(values))
	for i, v := range values {
		rows[i] = value{i, v}
	}
	d.Add(&render.Table[value]{
		ID: "values", Heading: render.FormatCount(len(values), "value"), Rows: rows,
		Key: func(v *value) string { return render.Key(v.at) },
		Columns: []render.Column[value]{
			{Name: "value", Stable: true, Cell: func(v *value) render.Cell { return render.Str(v.text) }},
		},
	})
}
