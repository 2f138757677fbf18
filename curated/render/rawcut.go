package render

import (
	"strconv"
)

// limits say how much of a JSON value is shown; 0 never means 'all'.
type limits struct{ depth, items, keys, text int }

// steps are tried from the most generous on, until one fits.
var steps = [...]limits{
	{64, 1 << 30, 1 << 30, 1 << 30},
	{32, 1000, 2000, 2000},
	{16, 200, 400, 1000},
	{10, 100, 200, 500},
	{8, 50, 100, 300},
	{6, 30, 80, 200},
	{5, 20, 60, 160},
	{4, 12, 40, 120},
	{3, 8, 30, 100},
	{3, 4, 20, 80},
	{2, 4, 16, 60},
	{2, 2, 12, 50},
	{1, 2, 8, 40},
	{1, 1, 4, 24},
	{0, 1, 1, 16},
}

// atMost is l with its numbers bounded.
func (l limits) atMost(items, keys, text int) limits {
	return limits{l.depth, min(l.items, items), min(l.keys, keys), min(l.text, text)}
}

// shower writes a part of a JSON value, and remembers what it left out.
type shower struct {
	b    []byte
	out  []byte
	max  int // bytes of out at which it gives up
	lim  limits
	cut  struct{ depth, items, keys, text int }
	over bool
}

// value writes the value at i and gives its end in b; when it has given up, the
// end means nothing.
func (s *shower) value(i, depth int) int {
	if s.over || len(s.out) > s.max {
		s.over = true
		return i
	}
	switch s.b[i] {
	case '"':
		end := stringEnd(s.b, i)
		s.str(s.b[i:end])
		return end
	case '{', '[':
		if depth >= s.lim.depth {
			return s.tooDeep(i)
		}
		return s.composite(i, depth)
	}
	end := scalarEnd(s.b, i)
	if n := end - i; n > maxDigits {
		// No number that means anything; a text, so that nobody takes it for one.
		s.cut.text++
		s.out = appendString(s.out, string(s.b[i:i+20])+"… ("+strconv.Itoa(n)+" digits)")
		return end
	}
	s.out = append(s.out, s.b[i:end]...)
	return end
}

// maxDigits is the longest number shown whole.
const maxDigits = 100

func (s *shower) composite(i, depth int) int {
	object := s.b[i] == '{'
	limit := s.lim.items
	s.out = append(s.out, s.b[i])
	if object {
		limit = s.lim.keys
	}
	n, left := 0, 0
	end := children(s.b, i, func(key []byte, start int) (int, bool) {
		if s.over {
			return start, false
		}
		if n >= limit {
			left++
			return valueEnd(s.b, start), true
		}
		if n > 0 {
			s.out = append(s.out, ',')
		}
		n++
		if object {
			s.str(key)
			s.out = append(s.out, ':')
		}
		end := s.value(start, depth+1)
		return end, !s.over
	})
	if left > 0 {
		if n > 0 {
			s.out = append(s.out, ',')
		}
		if object {
			s.cut.keys += left
			s.out = append(s.out, `"…":`...)
			s.out = appendString(s.out, strconv.Itoa(left)+" more keys")
		} else {
			s.cut.items += left
			s.out = appendString(s.out, "… "+strconv.Itoa(left)+" more of "+strconv.Itoa(left+n))
		}
	}
	if object {
		s.out = append(s.out, '}')
	} else {
		s.out = append(s.out, ']')
	}
	return end
}

// tooDeep stands for an object or list below the greatest depth shown. Empty
// ones are shown as they are.
func (s *shower) tooDeep(i int) int {
	n := 0
	end := children(s.b, i, func(_ []byte, start int) (int, bool) {
		n++
		return valueEnd(s.b, start), true
	})
	object := s.b[i] == '{'
	switch {
	case n == 0 && object:
		s.out = append(s.out, "{}"...)
	case n == 0:
		s.out = append(s.out, "[]"...)
	case object:
		s.cut.depth++
		s.out = appendString(s.out, "{… "+FormatCount(n, "key")+"}")
	default:
		s.cut.depth++
		s.out = appendString(s.out, "[… "+FormatCount(n, "item")+"]")
	}
	return end
}

// str writes a string (given with its quotes), cleaned, and cut when too long.
func (s *shower) str(q []byte) {
	if len(q)-2 <= s.lim.text && plainQuoted(q) {
		s.out = append(s.out, q...)
		return
	}
	if s.lim.text >= 1<<29 && len(q) > s.max {
		s.over = true
		return
	}
	text := Clean(unquote(q))
	short := shortenTold(text, s.lim.text)
	if len(short) != len(text) {
		s.cut.text++
	}
	s.out = appendString(s.out, short)
}

// plainQuoted tells whether a JSON string is printable ASCII without escapes.
func plainQuoted(q []byte) bool {
	for _, c := range q {
		if c < 0x20 || c > 0x7e || c == '\\' {
			return false
		}
	}
	return true
}

// notes says in words what was left out.
func (s *shower) notes() []string {
	var out []string
	if n := s.cut.depth; n > 0 {
		out = append(out, FormatCount(n, "deeper part")+" only counted")
	}
	if n := s.cut.items; n > 0 {
		out = append(out, FormatCount(n, "list item")+" left out")
	}
	if n := s.cut.keys; n > 0 {
		out = append(out, FormatCount(n, "key")+" left out")
	}
	if n := s.cut.text; n > 0 {
		out = append(out, FormatCount(n, "long string")+" cut")
	}
	return out
}

// show writes the value at i under lim; false when it takes more than tokens.
func show(b []byte, i int, lim limits, fields []path, tokens int) (string, *shower, bool) {
	s := &shower{b: b, max: tokens*24 + 64, lim: lim}
	s.item(i, fields)
	if s.over {
		return "", s, false
	}
	out := string(s.out)
	return out, s, Fits(out, tokens)
}

// item writes the value at i, or only its fields.
func (s *shower) item(i int, fields []path) {
	if len(fields) == 0 || s.b[i] != '{' && s.b[i] != '[' {
		s.value(i, 0)
		return
	}
	s.out = append(s.out, '{')
	first := true
	for _, f := range fields {
		start, _, ok := f.find(s.b, i)
		if !ok {
			continue
		}
		if !first {
			s.out = append(s.out, ',')
		}
		first = false
		s.out = append(appendString(s.out, Line(f.text)), ':')
		s.value(start, 1)
	}
	s.out = append(s.out, '}')
}

// showFitting tries all steps; the last one gives something that fits into
// any budget that this package accepts, or a count.
func showFitting(b []byte, i int, fields []path, tokens int) (string, *shower) {
	var s *shower
	for k, lim := range steps {
		out, sh, ok := show(b, i, lim, fields, tokens)
		if s = sh; !ok {
			continue
		}
		if k == 0 {
			return out, s
		}
		// Between this step and the one before there may be room for more.
		lo, hi := lim, steps[k-1].atMost(4*lim.items, 4*lim.keys, 4*lim.text)
		for range 5 {
			mid := limits{hi.depth, (lo.items + hi.items) / 2, (lo.keys + hi.keys) / 2, (lo.text + hi.text) / 2}
			if o2, s2, ok := show(b, i, mid, fields, tokens); ok {
				lo, out, s = mid, o2, s2
			} else {
				hi.items, hi.keys, hi.text = mid.items, mid.keys, mid.text
			}
		}
		return out, s
	}
	s = &shower{b: b, lim: limits{text: 8}, max: 1 << 30}
	s.value(i, 0)
	return string(s.out), s
}
