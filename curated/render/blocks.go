package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type kv struct {
	id, heading string
	all, pairs  []Pair
	asked       bool
}

func (k *KV) lower() block { return &kv{id: k.ID, heading: k.Heading, all: k.Pairs} }

func (k *kv) name() string { return k.id }

func (k *kv) names() []string {
	out := make([]string, len(k.all))
	for i, p := range k.all {
		out[i] = p.Key
	}
	return out
}

func (k *kv) pick(fields []string) bool {
	k.pairs = nil
	if fields == nil {
		for _, p := range k.all {
			if !p.Extra && p.Value.Known() {
				k.pairs = append(k.pairs, p)
			}
		}
		return true
	}
	k.asked = true
	for _, f := range fields {
		for _, p := range k.all {
			if p.Key == f {
				k.pairs = append(k.pairs, p)
			}
		}
	}
	return len(k.pairs) > 0
}

// text gives as many pairs as fit; one that is long by itself is cut and told.
func (k *kv) text(x *context, budget int) string {
	if len(k.pairs) == 0 {
		return ""
	}
	var out []string
	left := budget
	if k.heading != "" {
		out = append(out, Line(k.heading))
		left -= Estimate(out[0]) + 1
	}
	all := make([]string, len(k.pairs))
	costs := make([]int, len(k.pairs))
	sum := 0
	for i, p := range k.pairs {
		all[i] = Line(p.Key) + ": " + p.Value.text(x.now, false)
		costs[i] = Estimate(all[i]) + 1
		sum += costs[i]
	}
	if sum <= left {
		return strings.Join(append(out, all...), "\n")
	}
	left -= 10
	// The short pairs whole, the long ones their share.
	for i, s := range share(costs, max(left, 0)) {
		if s < costs[i] && s >= 24 {
			n := utf8.RuneCountInString(all[i])
			all[i] = cutTokens(all[i], s-10) + "… (" + strconv.Itoa(n) + " characters)"
			costs[i] = Estimate(all[i]) + 1
		}
	}
	for i, l := range all {
		if costs[i] > left {
			out = append(out, FormatCount(len(all)-i, "key")+" left out; name the ones to see in fields")
			break
		}
		left -= costs[i]
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

func (k *kv) members(x *context, budget int) []member {
	var out []member
	left := budget - 12
	for i, p := range k.pairs {
		v := p.Value
		if v.kind == cellStr {
			// A lone long text may take half of what is there.
			v.str = shortenTold(Line(v.str), max(40, min(budget*2, 4000)))
		}
		m := member{Line(p.Key), string(v.appendJSONLong(nil))}
		c := Estimate(m.name) + Estimate(m.value) + 4
		if c > left {
			return append(out, member{"left_out", strconv.Itoa(len(k.pairs) - i)})
		}
		left -= c
		out = append(out, m)
	}
	return out
}

// appendJSONLong is appendJSON without the length limit of table cells.
func (c Cell) appendJSONLong(b []byte) []byte {
	if c.kind == cellStr {
		return appendString(b, c.str)
	}
	return c.appendJSON(b)
}

// lineBlock is a Log, a Fenced or a Lines.
type lineBlock struct {
	id, heading string
	lines       []string
	first       int  // lines from the start kept besides the last ones
	tail        bool // keep the end
	total       int
	narrow      []string
	fenced      bool
	whole       bool // one text in JSON, not an array
}

const maxLogLine = 600

func (l *Log) lower() block {
	b := &lineBlock{id: cmp.Or(l.ID, "log"), heading: l.Heading, lines: make([]string, len(l.Lines)), first: l.First,
		tail: true, total: max(l.Total, len(l.Lines)), narrow: l.Narrow, fenced: true}
	copy(b.lines, l.Lines)
	return b
}

func (f *Fenced) lower() block {
	text := strings.TrimRight(Clean(f.Text), "\n")
	b := &lineBlock{id: cmp.Or(f.ID, "text"), heading: f.Heading, tail: f.Tail, fenced: true, whole: true}
	if text != "" {
		b.lines = strings.Split(text, "\n")
	}
	if f.Tail {
		b.first = 1 << 30
	}
	b.total = len(b.lines)
	return b
}

func (l *Lines) lower() block {
	return &lineBlock{id: cmp.Or(l.ID, "lines"), heading: l.Heading, lines: lines(l.Lines), total: len(l.Lines), narrow: l.Narrow}
}

func (l *lineBlock) name() string              { return l.id }
func (l *lineBlock) names() []string           { return nil }
func (l *lineBlock) pick(fields []string) bool { return fields == nil }

func (l *lineBlock) line(i int) string {
	s := l.lines[i]
	if !l.fenced {
		return s
	}
	if len(s) > 16*maxLogLine {
		n := utf8.RuneCountInString(s)
		return shorten(strings.TrimRight(Line(s[:8*maxLogLine]), " "), maxLogLine) + " (" + strconv.Itoa(n) + " characters)"
	}
	if l.whole {
		return shortenTold(strings.TrimRight(s, " "), maxLogLine*4)
	}
	return shortenTold(strings.TrimRight(strings.ReplaceAll(Clean(s), "\n", " "), " "), maxLogLine)
}

// choose gives which lines fit into budget tokens: so many from the start, so
// many from the end. cost is what a line takes.
func (l *lineBlock) choose(budget int, cost func(s string) int) (head, tail []string) {
	n := len(l.lines)
	i, j := 0, n // lines[:i] and lines[j:] are taken
	left := budget
	take := func(k int) bool {
		s := l.line(k)
		c := cost(s)
		if c > left {
			if i > 0 || j < n || left < 16 {
				return false
			}
			s = cutTokens(s, left-12) + "… (cut)"
			c = left
		}
		left -= c
		if k == i {
			head = append(head, s)
			i++
		} else {
			tail = append(tail, s)
			j--
		}
		return true
	}
	startBudget := 0
	if l.tail {
		startBudget = budget / 3
	}
	for i < j && (!l.tail || i < l.first && budget-left < startBudget) {
		if !take(i) {
			break
		}
	}
	if l.tail {
		for i < j && take(j-1) {
		}
	}
	slices.Reverse(tail)
	return head, tail
}

func (l *lineBlock) text(x *context, budget int) string {
	if len(l.lines) == 0 {
		if l.heading == "" && !l.fenced {
			return ""
		}
		return strings.TrimPrefix(Line(l.heading)+": ", ": ") + "empty"
	}
	frame := 0
	if l.heading != "" {
		frame += Estimate(l.heading) + 1
	}
	if l.fenced {
		frame += 6
	}
	head, tail := l.choose(budget-frame, func(s string) int { return Estimate(s) + 1 })
	note := l.note(len(head), len(tail))
	if note != "" {
		head, tail = l.choose(budget-frame-Estimate(note)-14, func(s string) int { return Estimate(s) + 1 })
		note = l.note(len(head), len(tail))
	}
	body := head
	if left := len(l.lines) - len(head) - len(tail); left > 0 && len(head) > 0 && len(tail) > 0 {
		body = append(body, "… "+FormatCount(left, "line")+" left out …")
	}
	body = append(body, tail...)
	var b strings.Builder
	if l.heading != "" {
		b.WriteString(Line(l.heading) + "\n")
	}
	if len(body) > 0 {
		s := strings.Join(body, "\n")
		if l.fenced {
			s = fence(s)
		}
		b.WriteString(s + "\n")
	}
	if note != "" {
		b.WriteString(note + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// note is the line that tells which lines are shown, "" when all are.
func (l *lineBlock) note(head, tail int) string {
	n := head + tail
	if n == l.total {
		return ""
	}
	out := strconv.Itoa(n) + " of " + FormatCount(l.total, "line") + " shown"
	switch {
	case head > 0 && tail > 0 && n < len(l.lines):
		out += " (first " + strconv.Itoa(head) + ", last " + strconv.Itoa(tail) + ")"
	case tail > 0 && n < len(l.lines):
		out += " (the last)"
	case head > 0 && n < len(l.lines):
		out += " (the first)"
	}
	if len(l.narrow) > 0 {
		out += "; narrow: " + strings.Join(l.narrow, "=, ") + "="
	}
	return out
}

func (l *lineBlock) members(x *context, budget int) []member {
	head, tail := l.choose(budget-24, func(s string) int { return Estimate(string(appendString(nil, s))) + 1 })
	all := slices.Concat(head, tail)
	var v string
	if l.whole {
		v = string(appendString(nil, strings.Join(all, "\n")))
	} else {
		v = string(List(all).appendJSONWhole(nil))
		if len(all) == 0 {
			v = "[]"
		}
	}
	out := []member{{l.id, v}}
	if n := len(all); n < l.total {
		out = append(out, member{l.id + "_total", strconv.Itoa(l.total)})
		if len(head) > 0 && len(tail) > 0 {
			out = append(out, member{l.id + "_first", strconv.Itoa(len(head))})
		}
	}
	return out
}
