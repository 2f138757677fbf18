package render

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// block is a part of a document, made ready for rendering.
type block interface {
	name() string
	names() []string
	// pick restricts the block to these fields, or to its usual ones when fields
	// is nil; false when it has none of them.
	pick(fields []string) bool
	text(x *context, budget int) string
	members(x *context, budget int) []member
}

// member is one member of a JSON object; value is JSON.
type member struct{ name, value string }

func object(ms []member) string {
	b := []byte{'{'}
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(appendString(b, m.name), ':'), m.value...)
	}
	return string(append(b, '}'))
}

// context is what blocks need to know of Options.
type context struct {
	now   time.Time
	scope string
	limit int
}

// Render gives the whole answer within its budget. The error is an *Error of
// kind BadCursor, ForeignCursor, UnknownField, UnknownSort or BadFormat.
func (d *Doc) Render(o Options) (string, error) {
	if o.Format != "" && o.Format != Text && o.Format != JSON {
		return "", &Error{Op: "format", Kind: BadFormat, Subject: shorten(Line(o.Format), 40), Valid: []string{string(Text), string(JSON)}}
	}
	budget := o.budget()
	x := &context{now: o.now(), scope: o.Scope, limit: max(o.Limit, 0)}
	blocks := make([]block, 0, len(d.Blocks))
	for _, b := range d.Blocks {
		if l := b.lower(); l != nil {
			blocks = append(blocks, l)
		}
	}
	blocks, err := chooseFields(blocks, o.Fields)
	if err != nil {
		return "", err
	}
	if blocks, err = chooseRows(blocks, o, budget); err != nil {
		return "", err
	}
	if o.Format == JSON {
		return d.json(x, blocks, budget), nil
	}
	return d.plain(x, blocks, budget), nil
}

// chooseFields restricts the blocks to the fields asked for, in their order.
func chooseFields(blocks []block, fields []string) ([]block, error) {
	if len(fields) == 0 {
		for _, b := range blocks {
			b.pick(nil)
		}
		return blocks, nil
	}
	var valid []string
	for _, b := range blocks {
		valid = append(valid, b.names()...)
	}
	for _, b := range blocks {
		if n := b.name(); n != "" {
			valid = append(valid, n)
		}
	}
	seen := map[string]bool{}
	valid = slices.DeleteFunc(valid, func(v string) bool {
		dup := seen[v]
		seen[v] = true
		return dup
	})
	for _, f := range fields {
		if !seen[f] {
			return nil, &Error{Op: "fields", Kind: UnknownField, Subject: shorten(Line(f), 40), Valid: nearest(f, valid)}
		}
	}
	out := blocks[:0]
	for _, b := range blocks {
		if n := b.name(); n != "" && slices.Contains(fields, n) && !slices.Contains(b.names(), n) {
			b.pick(nil)
			out = append(out, b)
		} else if b.pick(fields) {
			out = append(out, b)
		}
	}
	return out, nil
}

// chooseRows puts the rows of all tables into their order, from the cursor on.
// With a cursor only its table is left.
func chooseRows(blocks []block, o Options, budget int) ([]block, error) {
	var ids, sorts []string
	var sorted *table
	name, _ := sortSpec(o.Sort)
	for _, b := range blocks {
		if t, ok := b.(*table); ok {
			ids = append(ids, t.id)
			sorts = append(sorts, t.names()...)
			if sorted == nil && o.Sort != "" && t.column(name) != nil {
				sorted = t
			}
		}
	}
	if o.Sort != "" && sorted == nil {
		e := &Error{Op: "sort", Kind: UnknownSort, Subject: shorten(Line(name), 40), Valid: nearest(name, sorts)}
		if len(sorts) == 0 {
			e.Do = "this answer has no list to sort; leave sort out"
		}
		return nil, e
	}
	var from *cursor
	if o.Cursor != "" {
		c, err := decodeCursor(o.Cursor, o.Scope, ids)
		if err != nil {
			return nil, err
		}
		from = &c
	}
	k := mostRows(budget, max(o.Limit, 0))
	for _, b := range blocks {
		t, ok := b.(*table)
		if !ok {
			continue
		}
		sort := ""
		if t == sorted {
			sort = o.Sort
		}
		if from == nil {
			t.prepare(sort, nil, k)
			continue
		}
		if t.id != from.table {
			continue
		}
		if from.sort != "" {
			col, dir := sortSpec(from.sort)
			c := t.column(col)
			if c == nil || !c.stable || t.key == nil {
				return nil, foreignCursor("it was made for a sort by " + shorten(Line(col), 40) + " that this list cannot be paged by")
			}
			if n, d := sortSpec(o.Sort); o.Sort != "" && (n != col || d != "" && d != dir) {
				return nil, foreignCursor("it was made for sort=" + from.sort)
			}
			sort = from.sort
		} else if sort != "" {
			return nil, foreignCursor("it was made without sort")
		}
		t.prepare(sort, from, k)
		if t.page.noGo != "" {
			return nil, foreignCursor(t.page.noGo)
		}
		return []block{t}, nil
	}
	return blocks, nil
}

// share divides avail among blocks that would take want: the small ones get
// all they want, the great ones the same.
func share(want []int, avail int) []int {
	order := make([]int, len(want))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return want[a] - want[b] })
	out := make([]int, len(want))
	for k, i := range order {
		out[i] = min(want[i], max(avail, 0)/(len(want)-k))
		avail -= out[i]
	}
	return out
}

// fit renders all blocks by do, within avail together as far as that can be.
func fit(blocks []block, avail int, do func(b block, budget int) string) []string {
	out := make([]string, len(blocks))
	want := make([]int, len(blocks))
	sum := 0
	for i, b := range blocks {
		out[i] = do(b, avail)
		want[i] = Estimate(out[i]) + 1
		sum += want[i]
	}
	if sum <= avail || len(blocks) == 1 {
		return out
	}
	for i, s := range share(want, avail) {
		if s < want[i] {
			out[i] = do(blocks[i], s-1)
		}
	}
	return out
}

// essentials are the lines that are kept whatever the size: cut only when they
// alone would take more than the budget allows.
type essentials struct{ summary, warnings, hints []string }

func (d *Doc) essentials(budget int, f Format) essentials {
	e := essentials{lines(d.Summary), lines(d.Warnings), lines(d.Hints)}
	room := budget - budget/8
	want := []int{cost(e.summary, f), cost(e.warnings, f), cost(e.hints, f)}
	if want[0]+want[1]+want[2] <= room {
		return e
	}
	s := share(want, room)
	e.summary = keep(e.summary, s[0], "summary line", f)
	e.warnings = keep(e.warnings, s[1], "warning", f)
	e.hints = keep(e.hints, s[2], "hint", f)
	return e
}

func lines(in []string) []string {
	out := make([]string, 0, len(in))
	for _, l := range in {
		if l = Line(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

// lineCost is what a line takes with what stands around it.
func lineCost(l string, f Format) int {
	if f == JSON {
		return Estimate(string(appendString(nil, l))) + 2
	}
	return Estimate(l) + 4
}

func cost(ls []string, f Format) int {
	n := 0
	for _, l := range ls {
		n += lineCost(l, f)
	}
	return n
}

// keep gives as many lines as fit, the first cut if it must be, and a count of the rest.
func keep(ls []string, budget int, noun string, f Format) []string {
	if cost(ls, f) <= budget {
		return ls
	}
	out := make([]string, 0, len(ls))
	left := budget - 12
	for i, l := range ls {
		if i == 0 && lineCost(l, f) > left && left > 8 {
			for n := left - 8; n > 0 && lineCost(l, f) > left; n = n * 3 / 4 {
				l = cutTokens(l, n) + "…"
			}
		}
		c := lineCost(l, f)
		if c > left {
			return append(out, FormatCount(len(ls)-i, noun)+" left out")
		}
		out = append(out, l)
		left -= c
	}
	return out
}

func (d *Doc) plain(x *context, blocks []block, budget int) string {
	e := d.essentials(budget, Text)
	var head, tail []string
	head = append(head, e.summary...)
	for _, w := range e.warnings {
		head = append(head, "! "+w)
	}
	for _, h := range e.hints {
		tail = append(tail, "hint: "+h)
	}
	build := func(avail int) string {
		parts := make([]string, 0, len(blocks)+2)
		if len(head) > 0 {
			parts = append(parts, strings.Join(head, "\n"))
		}
		for _, s := range fit(blocks, avail, func(b block, n int) string { return b.text(x, n) }) {
			if s != "" {
				parts = append(parts, s)
			}
		}
		if len(tail) > 0 {
			parts = append(parts, strings.Join(tail, "\n"))
		}
		return strings.Join(parts, "\n\n")
	}
	avail := budget - Estimate(strings.Join(head, "\n")) - Estimate(strings.Join(tail, "\n")) - 2
	out := build(avail)
	for try := 0; try < 4; try++ {
		over := Estimate(out) - budget
		if over <= 0 {
			return out
		}
		if avail -= over + 2*try; avail < 0 {
			break
		}
		out = build(avail)
	}
	return Cut(out, budget)
}

func (d *Doc) json(x *context, blocks []block, budget int) string {
	e := d.essentials(budget, JSON)
	var head, tail []member
	list := func(name string, ls []string) []member {
		if len(ls) == 0 {
			return nil
		}
		return []member{{name, string(List(ls).appendJSONWhole(nil))}}
	}
	head = list("summary", e.summary)
	tail = append(list("warnings", e.warnings), list("hints", e.hints)...)
	build := func(avail int) string {
		first := -1
		if len(blocks) > 0 {
			if _, ok := blocks[0].(*table); ok {
				first = 0
			}
		}
		got := make(map[block][]member, len(blocks))
		fit(blocks, avail, func(b block, n int) string {
			got[b] = b.members(x, n)
			return object(got[b])
		})
		out := slices.Clone(head)
		used := map[string]bool{"summary": true, "warnings": true, "hints": true}
		add := func(m member) {
			for used[m.name] {
				m.name += "_"
			}
			used[m.name] = true
			out = append(out, m)
		}
		if first >= 0 {
			for _, m := range got[blocks[first]] {
				add(m)
			}
		}
		for i, b := range blocks {
			switch {
			case i == first:
			case flat(b):
				for _, m := range got[b] {
					add(m)
				}
			default:
				add(member{b.name(), object(got[b])})
			}
		}
		return object(append(out, tail...))
	}
	avail := budget - Estimate(object(head)) - Estimate(object(tail)) - 2
	out := build(max(avail, 0))
	for try := 0; try < 6; try++ {
		over := Estimate(out) - budget
		if over <= 0 {
			return out
		}
		avail = max(avail-over-2*try, 0)
		out = build(avail)
	}
	if Estimate(out) <= budget {
		return out
	}
	// Nothing but totals: what remains is bounded by essentials.
	return object(append(append(head, member{"cut", `"nothing but this fits; raise max_tokens"`}), tail...))
}

// flat tells whether a block's members stand in the outermost object.
func flat(b block) bool {
	if k, ok := b.(*kv); ok {
		return k.id == ""
	}
	_, isTable := b.(*table)
	return !isTable
}

// appendJSONWhole adds a list of our own lines, uncut.
func (c Cell) appendJSONWhole(b []byte) []byte {
	b = append(b, '[')
	for i, s := range c.list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// Fits tells whether s is within the budget, reading no more of s than needed.
func Fits(s string, tokens int) bool {
	n, _ := estimate(s, tokens)
	return n <= tokens
}

// Cut gives s when it fits into so many tokens, otherwise its start and a last
// line that tells how much is missing. It is for texts that are no Doc, errors
// above all.
func Cut(s string, tokens int) string {
	if Fits(s, tokens) {
		return s
	}
	head := cutTokens(s, max(tokens-14, 0))
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i]
	}
	return head + "\n… " + strconv.Itoa(len(s)-len(head)) + " more bytes left out"
}

// cutTokens gives the longest beginning of s of at most so many tokens, ending
// between two characters.
func cutTokens(s string, tokens int) string {
	if tokens <= 0 {
		return ""
	}
	n, end := estimate(s, tokens)
	if n <= tokens {
		return s
	}
	lo, hi := 0, min(end, len(s))
	for lo < hi {
		m := (lo + hi + 1) / 2
		if Fits(s[:m], tokens) {
			lo = m
		} else {
			hi = m - 1
		}
	}
	for lo > 0 && lo < len(s) && s[lo]&0xc0 == 0x80 {
		lo--
	}
	return s[:lo]
}
