package render

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text renders the table within budget tokens, or in its shortest form when
// even that takes more.
func (t *table) text(x *context, budget int) string {
	if t.n == 0 || t.page.rest == 0 {
		return t.none()
	}
	can := min(len(t.page.seq), t.page.rest)
	if x.limit > 0 {
		can = min(can, x.limit)
	}
	// Format rows until they cannot fit in any layout; then look for the most
	// that fit with all that stands around them.
	texts := make([][]string, 0, 64)
	sum := 0
	for j := range can {
		r := t.row(j)
		line := make([]string, len(r))
		for c, v := range r {
			line[c] = shorten(v.text(x.now, true), maxCellText)
		}
		texts = append(texts, line)
		sum += Estimate(strings.Join(line, " "))
		if sum > budget+budget/3 {
			break
		}
	}
	whole := can == t.page.rest
	if whole && len(texts) == can {
		if s := t.page0(x, texts, can, nil); Estimate(s) <= budget {
			return s
		}
	}
	var groups []string
	if x.limit == 0 || can < x.limit {
		groups = groupText(t.counts(x), budget/3)
	}
	n := len(texts)
	if whole && n == can && n > 0 {
		n--
	}
	hint := n
	if sum > 0 {
		hint = min(n, n*budget/sum)
	}
	m := largest(n, hint, func(m int) bool { return Estimate(t.page0(x, texts, m, groups)) <= budget })
	s := t.page0(x, texts, m, groups)
	for len(groups) > 0 && m == 0 && Estimate(s) > budget {
		groups = groups[:len(groups)-1]
		s = t.page0(x, texts, m, groups)
	}
	return s
}

func (t *table) none() string {
	e := t.empty
	switch {
	case t.n > 0:
		e = "no rows after this cursor; " + strconv.Itoa(t.total) + " in all"
	case e == "":
		e = "none"
	}
	if t.heading != "" {
		return Line(t.heading) + ": " + Line(e)
	}
	return Line(e)
}

// page0 is the whole text with the first m rows of the page.
func (t *table) page0(x *context, texts [][]string, m int, groups []string) string {
	var b strings.Builder
	head := Line(t.heading)
	cols, lifted := t.shownColumns(texts[:m])
	if len(lifted) > 0 {
		if head != "" {
			head += "; "
		}
		head += "all shown: " + strings.Join(lifted, ", ")
	}
	if head != "" {
		b.WriteString(head + "\n")
	}
	for _, g := range groups {
		b.WriteString(g + "\n")
	}
	if m > 0 {
		b.WriteString(t.layout(texts[:m], cols))
	}
	if line := t.footer(x, m); line != "" {
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// footer is the one line that tells what is not shown and how to get it.
func (t *table) footer(x *context, m int) string {
	missing := m < t.page.rest
	if !missing && t.total == t.n && !t.page.later {
		return ""
	}
	out := strconv.Itoa(m) + " of " + strconv.Itoa(t.total) + " shown"
	if t.page.later {
		out = strconv.Itoa(m) + " more of " + strconv.Itoa(t.total) + " shown"
	}
	if t.page.later && !missing {
		return out + "; this is the end"
	}
	if t.page.ahead > 0 && m > 0 {
		out += " (the first " + strconv.Itoa(min(m, t.page.ahead)) + " out of turn, because they matter most)"
	}
	if len(t.narrow) > 0 {
		out += "; narrow: " + strings.Join(t.narrow, "=, ") + "="
	}
	if c := t.next(x.scope, m); c != "" {
		return out + "; more: cursor=" + c
	}
	if missing && t.page.noGo != "" {
		return out + "; " + t.page.noGo
	}
	return out
}

// shownColumns gives the columns to print, and those whose value is one for all
// rows where saying it once is shorter.
func (t *table) shownColumns(texts [][]string) (cols []int, lifted []string) {
	for c := range t.cols {
		empty, same := true, true
		for _, r := range texts {
			if r[c] != Unknown {
				empty = false
			}
			if r[c] != texts[0][c] {
				same = false
			}
		}
		switch {
		case t.asked || c == 0 || len(texts) == 0:
			cols = append(cols, c)
		case empty:
		case same && len(texts) >= 3 && !strings.ContainsAny(texts[0][c], ",;="):
			lifted = append(lifted, t.cols[c].head+"="+texts[0][c])
		default:
			cols = append(cols, c)
		}
	}
	return cols, lifted
}

// layout prints the rows parted by tabs, aligned with blanks, or, where no
// value has a blank in it, parted by single blanks: whichever is cheapest.
func (t *table) layout(texts [][]string, cols []int) string {
	rows := make([][]string, 0, len(texts)+1)
	head := make([]string, len(cols))
	for j, c := range cols {
		head[j] = Line(t.cols[c].head)
	}
	rows = append(rows, head)
	blanks := slices.ContainsFunc(head, hasBlank)
	for _, r := range texts {
		line := make([]string, len(cols))
		for j, c := range cols {
			line[j] = r[c]
			blanks = blanks || hasBlank(r[c])
		}
		rows = append(rows, line)
	}
	if len(cols) == 1 {
		return joined(rows, "")
	}
	if !blanks {
		// Padding can only add to this.
		return joined(rows, " ")
	}
	tabs, padded := joined(rows, "\t"), t.padded(rows, cols)
	if Estimate(padded) < Estimate(tabs) {
		return padded
	}
	return tabs
}

func hasBlank(s string) bool { return strings.IndexByte(s, ' ') >= 0 }

func joined(rows [][]string, sep string) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(strings.Join(r, sep))
		b.WriteByte('\n')
	}
	return b.String()
}

func (t *table) padded(rows [][]string, cols []int) string {
	width := make([]int, len(cols))
	for _, r := range rows {
		for j, s := range r {
			width[j] = max(width[j], utf8.RuneCountInString(s))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		for j, s := range r {
			pad := width[j] - utf8.RuneCountInString(s)
			right := t.cols[cols[j]].right
			if j > 0 {
				b.WriteString("  ")
			}
			if right {
				b.WriteString(strings.Repeat(" ", pad))
			}
			b.WriteString(s)
			if !right && j < len(r)-1 {
				b.WriteString(strings.Repeat(" ", pad))
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// members renders the table as members of a JSON object.
func (t *table) members(x *context, budget int) []member {
	can := 0
	if t.page.rest > 0 {
		can = min(len(t.page.seq), t.page.rest)
	}
	if x.limit > 0 {
		can = min(can, x.limit)
	}
	var rows []string
	sum := 0
	for j := range can {
		b := []byte{'{'}
		for c, v := range t.row(j) {
			if !v.Known() && !t.asked {
				continue
			}
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, t.cols[c].name), ':')
			b = v.appendJSON(b)
		}
		rows = append(rows, string(append(b, '}')))
		if sum += Estimate(rows[j]); sum > budget+budget/10 {
			break
		}
	}
	make := func(m int, groups []Group) []member {
		out := []member{{"total", strconv.Itoa(t.total)}, {"shown", strconv.Itoa(m)}}
		if len(groups) > 0 {
			out = append(out, member{"groups", groupJSON(groups, budget/3)})
		}
		out = append(out, member{"rows", "[" + strings.Join(rows[:m], ",") + "]"})
		if c := t.next(x.scope, m); c != "" {
			out = append(out, member{"cursor", string(appendString(nil, c))})
		}
		if m < t.page.rest {
			if len(t.narrow) > 0 {
				out = append(out, member{"narrow", string(List(t.narrow).appendJSON(nil))})
			}
			if t.page.noGo != "" {
				out = append(out, member{"no_cursor", string(appendString(nil, t.page.noGo))})
			}
		}
		return out
	}
	whole := can == t.page.rest
	if whole && len(rows) == can {
		if out := make(can, nil); Estimate(object(out)) <= budget {
			return out
		}
	}
	var groups []Group
	if x.limit == 0 || can < x.limit {
		groups = t.counts(x)
	}
	n := len(rows)
	if whole && n == can && n > 0 {
		n--
	}
	hint := n
	if sum > 0 {
		hint = min(n, n*budget/sum)
	}
	m := largest(n, hint, func(m int) bool { return Estimate(object(make(m, groups))) <= budget })
	out := make(m, groups)
	if m == 0 && Estimate(object(out)) > budget {
		out = make(0, nil)
	}
	return out
}

// groupJSON is {"status":{"running":3,…},…}; what does not fit is counted under "…".
func groupJSON(groups []Group, budget int) string {
	b := []byte{'{'}
	for k, g := range groups {
		if k > 0 {
			b = append(b, ',')
		}
		share := budget / (len(groups) - k)
		b = append(appendString(b, Line(g.By)), ":{"...)
		used := 8
		for i, c := range g.Counts {
			part := string(appendString(nil, shorten(Line(c.Value), 60))) + ":" + strconv.Itoa(c.N)
			if used += Estimate(part) + 1; used > share-6 && i > 0 {
				rest := 0
				for _, o := range g.Counts[i:] {
					rest += o.N
				}
				b = append(append(b, `,"…":`...), strconv.Itoa(rest)...)
				break
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, part...)
		}
		b = append(b, '}')
		budget -= used
	}
	return string(append(b, '}'))
}
