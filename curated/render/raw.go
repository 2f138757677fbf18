package render

import (
	"encoding/json"
	"strconv"
)

// RawOptions says how [Raw] is to render. Format and Sort are not used: the form
// is JSON, and the order is the data's own, or by key when a list is cut.
type RawOptions struct {
	Options
	// Filters keep only the items of a list that match all of them: "key=value",
	// "key!=value", "key~substring" (case ignored), "key>n", "key<n", "key>=n",
	// "key<=n"; keys may be dotted paths. An item without the key matches only !=.
	Filters []string
	// Warnings and Hints as in Doc.
	Warnings []string
	Hints    []string
}

// rawKeys are the names under which Proxmox's lists carry an item's identity,
// the most specific first.
var rawKeys = [...]string{"upid", "volid", "id", "vmid", "sid", "userid", "full-tokenid", "tokenid", "roleid", "groupid", "realm", "poolid", "cidr", "pos", "iface", "devpath", "storage", "name", "node", "key"}

// Raw renders any JSON value within the budget, always as one valid JSON
// object: {"total":…,"shown":…,"data":…,"cursor":…,"notes":[…],"warnings":[…],"hints":[…]},
// where what does not apply is left out. total is the number of items of a
// list, matched the number that pass the filters. A list is cut by whole items, the rest is
// reached by cursor: by the items' own key where they have one, otherwise by
// position (a note says so). Objects are cut by depth, long strings by length
// (both told in place), numbers keep their digits. Options.Fields projects the
// items of a list, or an object, to dotted paths. data may be 10 MB and nested
// to any depth. The error is an *Error of kind BadJSON, BadFilter, UnknownField,
// BadCursor or ForeignCursor.
func Raw(data json.RawMessage, o RawOptions) (string, error) {
	if bad := checkJSON(data); bad >= 0 {
		return "", &Error{Op: "raw", Kind: BadJSON, Do: "the data stops being JSON at byte " + strconv.Itoa(bad) + " of " + strconv.Itoa(len(data))}
	}
	r := &raw{b: data, o: o, budget: o.budget()}
	for _, f := range o.Fields {
		r.fields = append(r.fields, newPath(f))
	}
	e := (&Doc{Warnings: o.Warnings, Hints: o.Hints}).essentials(r.budget/2, JSON)
	for _, p := range []struct {
		name  string
		lines []string
	}{{"warnings", e.warnings}, {"hints", e.hints}} {
		if len(p.lines) > 0 {
			r.tail = append(r.tail, member{p.name, string(List(p.lines).appendJSONWhole(nil))})
		}
	}
	start := skipBlank(data, 0)
	if data[start] == '[' {
		return r.list(start)
	}
	if len(o.Filters) > 0 {
		return "", &Error{Op: "filter", Kind: BadFilter, Subject: shorten(Line(o.Filters[0]), 40), Do: "filters work on lists, and this answer is not one; use fields"}
	}
	if o.Cursor != "" {
		return "", foreignCursor("this answer is not a list")
	}
	return r.single(start)
}

type raw struct {
	b      []byte
	o      RawOptions
	budget int
	fields []path
	tail   []member
}

// single renders a value that is no list.
func (r *raw) single(start int) (string, error) {
	if err := r.checkFields([]int{start}); err != nil {
		return "", err
	}
	left := r.budget - Estimate(object(r.tail)) - 8
	for {
		out, s := showFitting(r.b, start, r.fields, max(left, 8))
		ms := []member{{"data", out}}
		if n := s.notes(); len(n) > 0 {
			ms = append(ms, member{"notes", string(List(n).appendJSONWhole(nil))})
		}
		all := object(append(ms, r.tail...))
		over := Estimate(all) - r.budget
		if over <= 0 || left <= 8 {
			return all, nil
		}
		left -= over + 2
	}
}

// checkFields refuses a field that none of the items has, when there are items.
func (r *raw) checkFields(items []int) error {
	if len(items) == 0 {
		return nil
	}
	for _, f := range r.fields {
		found := false
		for _, i := range items {
			if _, _, ok := f.find(r.b, i); ok {
				found = true
				break
			}
		}
		if !found {
			return &Error{Op: "fields", Kind: UnknownField, Subject: shorten(Line(f.text), 40), Valid: nearest(f.text, r.keysOf(items)),
				Do: "name keys of the items, with dots for deeper ones"}
		}
	}
	return nil
}

// keysOf gives the keys of the first items, each once.
func (r *raw) keysOf(items []int) []string {
	var out []string
	seen := map[string]bool{}
	for _, i := range items[:min(len(items), 200)] {
		if r.b[i] != '{' {
			continue
		}
		children(r.b, i, func(k []byte, s int) (int, bool) {
			if n := shorten(Line(unquote(k)), 60); !seen[n] && len(out) < 200 {
				seen[n] = true
				out = append(out, n)
			}
			return valueEnd(r.b, s), true
		})
	}
	return out
}

// filter gives the items that pass all filters.
func (r *raw) filter(items []int) ([]int, error) {
	for _, text := range r.o.Filters {
		f, err := parseFilter(text)
		if err != nil {
			return nil, err
		}
		var pass []int
		any := len(items) == 0
		for _, i := range items {
			ok, has := f.match(r.b, i)
			any = any || has
			if ok {
				pass = append(pass, i)
			}
		}
		if !any {
			return nil, &Error{Op: "filter", Kind: BadFilter, Subject: shorten(Line(f.path.text), 40), Valid: nearest(f.path.text, r.keysOf(items)),
				Do: "no item has this key"}
		}
		items = pass
	}
	return items, nil
}

// keys gives each item's own key, when all have one and no two the same.
func (r *raw) keys(items []int) (name string, keys []string) {
	if len(items) == 0 || r.b[items[0]] != '{' {
		return "", nil
	}
next:
	for _, k := range rawKeys {
		if _, _, ok := child(r.b, items[0], k); !ok {
			continue
		}
		keys := make([]string, len(items))
		seen := make(map[string]struct{}, len(items))
		for n, i := range items {
			if r.b[i] != '{' {
				return "", nil
			}
			s, e, ok := child(r.b, i, k)
			if !ok || r.b[s] == 'n' {
				continue next
			}
			v, ok := scalar(r.b, s, e)
			if !ok || len(v) > 1000 {
				continue next
			}
			if _, dup := seen[v]; dup {
				continue next
			}
			seen[v] = struct{}{}
			keys[n] = v
		}
		return k, keys
	}
	return "", nil
}

// list renders a list: all of it as it is, or cut, a page of it in the order of
// its keys.
func (r *raw) list(start int) (string, error) {
	var all []int
	children(r.b, start, func(_ []byte, s int) (int, bool) {
		all = append(all, s)
		return valueEnd(r.b, s), true
	})
	items, err := r.filter(all)
	if err != nil {
		return "", err
	}
	if err := r.checkFields(items); err != nil {
		return "", err
	}
	limit := len(items)
	if r.o.Limit > 0 {
		limit = min(limit, r.o.Limit)
	}
	if r.o.Cursor == "" && limit == len(items) {
		if out, ok := r.page(items, nil, len(all), len(items), ""); ok {
			return out, nil
		}
	}
	// Identity is looked for in all items, so that filters don't change it.
	name, keys := r.keys(all)
	t := &table{id: "raw:" + name, n: len(items), total: len(items)}
	note := "items have no key of their own; the cursor is a position, which shifts when items come or go"
	if name != "" {
		note = ""
		at := make(map[int]string, len(all))
		for n, i := range all {
			at[i] = keys[n]
		}
		t.key = func(i int) string { return at[items[i]] }
	} else {
		t.key = strconv.Itoa
	}
	var from *cursor
	if r.o.Cursor != "" {
		c, err := decodeCursor(r.o.Cursor, r.o.Scope, []string{t.id})
		if err != nil {
			return "", err
		}
		from = &c
	}
	t.prepare("", from, mostRows(r.budget, max(r.o.Limit, 0)))
	w := t.page
	seq := make([]int, len(w.seq))
	for j, i := range w.seq {
		seq[j] = items[i]
	}
	out, _ := r.page(seq, t, len(all), len(items), note)
	return out, nil
}

// page renders as many of the items as fit. With a table it is a page of a walk
// and always succeeds; without one it succeeds only when all fit uncut.
func (r *raw) page(items []int, t *table, total, matched int, note string) (string, bool) {
	can := len(items)
	if t != nil {
		can = min(can, t.page.rest)
		if r.o.Limit > 0 {
			can = min(can, r.o.Limit)
		}
	}
	texts := make([]string, 0, 64)
	sum := 0
	for _, i := range items[:can] {
		s, _, ok := show(r.b, i, steps[0], r.fields, r.budget)
		if !ok {
			break
		}
		texts = append(texts, s)
		if sum += Estimate(s); sum > r.budget+r.budget/10 {
			break
		}
	}
	if t == nil && len(texts) < can {
		return "", false
	}
	build := func(texts []string, notes []string) string {
		m := len(texts)
		ms := []member{{"total", strconv.Itoa(total)}}
		if matched != total || len(r.o.Filters) > 0 {
			ms = append(ms, member{"matched", strconv.Itoa(matched)})
		}
		if m < matched {
			ms = append(ms, member{"shown", strconv.Itoa(m)})
		}
		b := []byte{'['}
		for k, s := range texts {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(b, s...)
		}
		ms = append(ms, member{"data", string(append(b, ']'))})
		if t != nil {
			if c := t.next(r.o.Scope, m); c != "" {
				ms = append(ms, member{"cursor", string(appendString(nil, c))})
				if note != "" {
					notes = append(notes, note)
				}
			}
		}
		if len(notes) > 0 {
			ms = append(ms, member{"notes", string(List(notes).appendJSONWhole(nil))})
		}
		return object(append(ms, r.tail...))
	}
	if t == nil {
		out := build(texts, nil)
		return out, Fits(out, r.budget)
	}
	m := largest(len(texts), len(texts)*r.budget/max(sum, 1), func(m int) bool { return Fits(build(texts[:m], nil), r.budget) })
	if m > 0 || can == 0 {
		return build(texts[:m], nil), true
	}
	// Not even one item fits: one, cut inside.
	left := r.budget - Estimate(build(nil, nil)) - 16
	for {
		s, sh := showFitting(r.b, items[0], r.fields, max(left, 8))
		out := build([]string{s}, sh.notes())
		over := Estimate(out) - r.budget
		if over <= 0 || left <= 8 {
			return out, true
		}
		left -= over + 2
	}
}
