package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// maxImportant is how many rows may stand out of turn at the head of a first page;
// each costs four characters in the cursor.
const maxImportant = 12

// table is a Table without its type.
type table struct {
	id, heading, empty string
	n, total           int
	key                func(i int) string
	important          func(i int) int
	desc, order        bool
	all, cols          []column // all there are; those to show
	groupBy            []string
	groups             []Group
	narrow             []string

	asked bool     // columns were chosen by Options.Fields
	page  *walk    // made by prepare
	cells [][]Cell // of page.seq, as far as they were asked for
}

type column struct {
	name, head           string
	right, extra, stable bool
	cell                 func(i int) Cell
}

func (t *Table[T]) lower() block {
	b := &table{
		id: t.ID, heading: t.Heading, empty: t.Empty, n: len(t.Rows), total: max(t.Total, len(t.Rows)),
		desc: t.Desc, order: t.Order, groupBy: t.GroupBy, groups: t.Groups, narrow: t.Narrow,
	}
	rows := t.Rows
	if t.Key != nil {
		b.key = func(i int) string { return t.Key(&rows[i]) }
	}
	if t.Important != nil {
		b.important = func(i int) int { return t.Important(&rows[i]) }
	}
	for _, c := range t.Columns {
		b.all = append(b.all, column{
			name: c.Name, head: cmp.Or(c.Head, c.Name), right: c.Right, extra: c.Extra, stable: c.Stable,
			cell: func(i int) Cell { return c.Cell(&rows[i]) },
		})
	}
	return b
}

// walk is the order in which a table's rows are shown, and how to go on.
type walk struct {
	seq   []int // row indexes, as many as could ever fit
	ahead int   // how many at the head of seq stand out of turn
	rest  int   // rows from the cursor on, those of seq included
	key   func(i int) string
	desc  bool
	sort  string
	noGo  string // why there can be no cursor; "" when there can
	from  *cursor
	salt  byte
	later bool // a page after the first

	skipped []skippedRow // rows after the cursor that an earlier page showed
}

type skippedRow struct {
	hash uint32
	key  string
}

func (t *table) column(name string) *column {
	for i := range t.all {
		if t.all[i].name == name {
			return &t.all[i]
		}
	}
	return nil
}

func (t *table) name() string { return t.id }

func (t *table) names() []string {
	out := make([]string, len(t.all))
	for i, c := range t.all {
		out[i] = c.name
	}
	return out
}

func (t *table) pick(fields []string) bool {
	t.cols = nil
	if fields == nil {
		for _, c := range t.all {
			if !c.extra {
				t.cols = append(t.cols, c)
			}
		}
		return true
	}
	t.asked = true
	for _, f := range fields {
		if c := t.column(f); c != nil {
			t.cols = append(t.cols, *c)
		}
	}
	return len(t.cols) > 0
}

// sortSpec reads "column", "-column", "column:asc" and "column:desc".
func sortSpec(s string) (name, dir string) {
	if n, ok := strings.CutPrefix(s, "-"); ok {
		return n, "desc"
	}
	if n, d, ok := strings.Cut(s, ":"); ok && (d == "asc" || d == "desc") {
		return n, d
	}
	return s, ""
}

// prepare puts the rows into their order: one pass over all keys, and no more
// than k rows kept.
func (t *table) prepare(sort string, from *cursor, k int) {
	w := &walk{key: t.key, desc: t.desc, from: from, later: from != nil}
	t.page = w
	var nums []uint64 // keys that are plain numbers, for speed
	byIndex := func(i int) string { return "" }
	if w.key == nil {
		w.key, w.desc, w.noGo = byIndex, false, "these rows have no stable key, so this list has no cursor"
	}
	if t.order {
		w.key, w.desc, w.noGo = byIndex, false, "this ranking changes all the time, so it has no cursor"
	}
	if sort != "" {
		name, dir := sortSpec(sort)
		c := t.column(name)
		desc := dir == "desc"
		if dir == "" {
			for i := range t.n {
				if v := c.cell(i); v.Known() {
					desc = v.numeric()
					break
				}
			}
		}
		vals := make([]string, t.n)
		for i := range vals {
			v := c.cell(i)
			k := v.sortKey()
			if !v.Known() && !desc {
				k = "\xff"
			}
			if t.key != nil {
				k += keySep + t.key(i)
			}
			vals[i] = k
		}
		w.key, w.desc = func(i int) string { return vals[i] }, desc
		w.sort = name + ":asc"
		if desc {
			w.sort = name + ":desc"
		}
		switch {
		case t.key == nil:
		case !c.stable:
			w.noGo = "sorted by " + name + ", which changes all the time, so there is no cursor; sort by a fixed column to page"
		default:
			w.noGo = ""
		}
	} else if w.noGo == "" {
		keys := make([]string, t.n)
		nums = make([]uint64, t.n)
		for i := range keys {
			keys[i] = t.key(i)
			nums[i] = keyNumber(keys[i])
		}
		w.key = func(i int) string { return keys[i] }
	}
	order := func(a, b int) int {
		var c int
		if nums != nil && nums[a] != 0 && nums[b] != 0 {
			c = cmp.Compare(nums[a], nums[b])
		} else {
			c = compareKeys(w.key(a), w.key(b))
		}
		if w.desc {
			c = -c
		}
		if c == 0 {
			return a - b
		}
		return c
	}
	if from == nil {
		w.rest = t.n
		head := t.aheadRows(w, order, sort)
		out := func(i int) bool { return !slices.Contains(head, i) }
		if len(head) == 0 {
			out = nil
		}
		w.ahead = len(head)
		w.seq = slices.Concat(head, smallest(t.n, k, out, order))
		return
	}
	equal := 0
	w.salt = from.salt
	w.seq = smallest(t.n, k, func(i int) bool {
		key := w.key(i)
		yes, eq := from.after(key, w.desc)
		if eq {
			equal++
			yes = equal > from.dup
		}
		if yes && from.skips(key) {
			w.skipped = append(w.skipped, skippedRow{skipHash(from.salt, key), key})
			yes = false
		}
		if yes {
			w.rest++
		}
		return yes
	}, order)
}

// aheadRows gives the rows that matter most, for the head of a first page; none
// when the caller asked for another order. It also finds the salt under which
// no other row shares a hash with them.
func (t *table) aheadRows(w *walk, order func(a, b int) int, sort string) []int {
	if t.important == nil || sort != "" || t.order {
		return nil
	}
	imp := make([]int, t.n)
	for i := range imp {
		imp[i] = t.important(i)
	}
	limit := maxImportant
	if w.noGo != "" {
		limit = t.n
	}
	head := smallest(t.n, limit, func(i int) bool { return imp[i] > 0 }, func(a, b int) int {
		if c := imp[b] - imp[a]; c != 0 {
			return c
		}
		return order(a, b)
	})
	if len(head) == 0 || w.noGo != "" {
		return head
	}
	for salt := 0; salt < 256; salt++ {
		w.salt = byte(salt)
		hashes := map[uint32]bool{}
		for _, i := range head {
			hashes[skipHash(w.salt, w.key(i))] = true
		}
		clash := len(hashes) < len(head)
		for i := 0; i < t.n && !clash; i++ {
			clash = hashes[skipHash(w.salt, w.key(i))] && !slices.Contains(head, i)
		}
		if !clash {
			return head
		}
	}
	return nil
}

// next gives the cursor for going on after the first m rows of the page; "" at
// the end or when there can be none.
func (t *table) next(scope string, m int) string {
	w := t.page
	if w.noGo != "" || m >= w.rest || m >= len(w.seq) {
		return ""
	}
	c := cursor{table: t.id, sort: w.sort, salt: w.salt, dup: -1}
	if m <= w.ahead {
		c.start = m > 0 || w.from == nil
		if w.from != nil {
			c = *w.from
		}
	} else {
		last, next := w.key(w.seq[m-1]), w.key(w.seq[m])
		shown := 0
		if last == next {
			for _, i := range w.seq[w.ahead:m] {
				if w.key(i) == last {
					shown++
				}
			}
			if w.from != nil && w.from.dup > 0 && w.from.sep == last {
				shown += w.from.dup
			}
		}
		c.sep, c.dup = between(last, next, w.desc, shown)
	}
	c.skip = nil
	for _, s := range w.skipped {
		if yes, _ := c.after(s.key, w.desc); yes {
			c.skip = append(c.skip, s.hash)
		}
	}
	for _, i := range w.seq[:min(m, w.ahead)] {
		k := w.key(i)
		if c.start {
			c.skip = append(c.skip, skipHash(w.salt, k))
		} else if yes, _ := c.after(k, w.desc); yes {
			c.skip = append(c.skip, skipHash(w.salt, k))
		}
	}
	return c.encode(scope)
}

// row gives the cells of the j-th row of the page.
func (t *table) row(j int) []Cell {
	for len(t.cells) <= j {
		r := make([]Cell, len(t.cols))
		for c := range t.cols {
			r[c] = t.cols[c].cell(t.page.seq[len(t.cells)])
		}
		t.cells = append(t.cells, r)
	}
	return t.cells[j]
}

// counts gives every group with its values counted, the most frequent first.
func (t *table) counts(x *context) []Group {
	if t.page.later {
		return nil
	}
	out := make([]Group, 0, len(t.groupBy)+len(t.groups))
	for _, by := range t.groupBy {
		c := t.column(by)
		if c == nil {
			continue
		}
		m := map[string]int{}
		for i := range t.n {
			v := c.cell(i)
			if v.kind == cellStr && plain(v.str) {
				m[v.str]++
			} else {
				m[v.text(x.now, true)]++
			}
		}
		g := Group{By: by}
		for v, n := range m {
			g.Counts = append(g.Counts, Count{v, n})
		}
		out = append(out, g)
	}
	for _, g := range t.groups {
		out = append(out, Group{By: g.By, Counts: slices.Clone(g.Counts)})
	}
	for _, g := range out {
		slices.SortFunc(g.Counts, func(a, b Count) int {
			if c := b.N - a.N; c != 0 {
				return c
			}
			return compareKeys(a.Value, b.Value)
		})
	}
	return slices.DeleteFunc(out, func(g Group) bool { return len(g.Counts) == 0 })
}

// groupText gives the groups as lines of at most budget tokens together.
func groupText(groups []Group, budget int) []string {
	var out []string
	for k, g := range groups {
		share := budget / (len(groups) - k)
		b := "by " + Line(g.By) + ": "
		used := Estimate(b)
		for i, c := range g.Counts {
			part := shorten(Line(c.Value), 60) + " " + strconv.Itoa(c.N)
			if i > 0 {
				part = ", " + part
			}
			cost := Estimate(part)
			if used+cost > share-6 && i > 0 {
				b += ", " + strconv.Itoa(len(g.Counts)-i) + " more"
				break
			}
			b += part
			used += cost
		}
		if used <= share || k == 0 {
			out = append(out, b)
			budget -= used
		}
	}
	return out
}

// mostRows gives how many rows can be needed: a row costs two tokens at least, and
// one row more than shown is looked at for the cursor.
func mostRows(budget, limit int) int {
	k := budget/2 + 2
	if limit > 0 {
		k = min(k, limit+1)
	}
	return k
}

// largest gives the greatest m in 0..n for which fits is true, when it is true
// for every smaller one; hint is where to look first.
func largest(n, hint int, fits func(m int) bool) int {
	lo, hi := 0, n // fits(lo) is taken for granted
	step := max(1, n/16)
	for m := min(hint, n); m > lo && m <= hi; {
		if fits(m) {
			lo = m
			m += step
		} else {
			hi = m - 1
			m -= step
		}
		if m <= lo || m > hi {
			break
		}
	}
	for lo < hi {
		m := (lo + hi + 1) / 2
		if fits(m) {
			lo = m
		} else {
			hi = m - 1
		}
	}
	return lo
}
