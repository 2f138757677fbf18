package render

import (
	"strconv"
	"strings"
)

// path leads to a value inside an item: keys and list positions, parted by dots.
// A key that has dots itself is found too, when it is whole.
type path struct {
	text  string
	parts []string
}

func newPath(s string) path { return path{s, strings.Split(s, ".")} }

// find gives the place and end of the value that p leads to from the value at i.
func (p path) find(b []byte, i int) (start, end int, ok bool) {
	if b[i] == '{' && len(p.parts) > 1 {
		if s, e, ok := child(b, i, p.text); ok {
			return s, e, true
		}
	}
	start = i
	for _, k := range p.parts {
		if b[start] != '{' && b[start] != '[' {
			return 0, 0, false
		}
		if start, end, ok = child(b, start, k); !ok {
			return 0, 0, false
		}
	}
	return start, end, true
}

// child finds one member or item of the value at i.
func child(b []byte, i int, key string) (start, end int, ok bool) {
	n := 0
	want := -1
	if b[i] == '[' {
		w, err := strconv.Atoi(key)
		if err != nil || w < 0 {
			return 0, 0, false
		}
		want = w
	}
	children(b, i, func(k []byte, s int) (int, bool) {
		e := valueEnd(b, s)
		if want >= 0 && n == want || want < 0 && (string(k[1:len(k)-1]) == key || unquote(k) == key) {
			start, end, ok = s, e, true
			return e, false
		}
		n++
		return e, true
	})
	return start, end, ok
}

// scalar gives the text of a string, number or literal; false for others.
func scalar(b []byte, start, end int) (string, bool) {
	switch b[start] {
	case '{', '[':
		return "", false
	case '"':
		return unquote(b[start:end]), true
	}
	return string(b[start:end]), true
}

type filter struct {
	path  path
	op    string
	value string
}

// parseFilter reads "key=value", "!=", "~", ">", "<", ">=", "<=".
func parseFilter(s string) (filter, error) {
	i := strings.IndexAny(s, "=!~<>")
	if i > 0 {
		for _, op := range [...]string{"!=", ">=", "<=", "=", "~", ">", "<"} {
			if v, ok := strings.CutPrefix(s[i:], op); ok {
				return filter{newPath(strings.TrimSpace(s[:i])), op, strings.TrimSpace(v)}, nil
			}
		}
	}
	return filter{}, &Error{Op: "filter", Kind: BadFilter, Subject: shorten(Line(s), 40),
		Valid: []string{"key=value", "key!=value", "key~substring", "key>number", "key<number"}}
}

// match tells whether the item at i passes, and whether it has the key at all.
func (f filter) match(b []byte, i int) (pass, has bool) {
	s, e, ok := f.path.find(b, i)
	if !ok {
		return f.op == "!=", false
	}
	v, ok := scalar(b, s, e)
	if !ok {
		v = string(b[s:e])
	}
	switch f.op {
	case "=":
		return sameValue(v, f.value), true
	case "!=":
		return !sameValue(v, f.value), true
	case "~":
		return strings.Contains(strings.ToLower(v), strings.ToLower(f.value)), true
	}
	c, ok := compareNumbers(v, f.value)
	if !ok {
		return false, true
	}
	switch f.op {
	case ">":
		return c > 0, true
	case "<":
		return c < 0, true
	case ">=":
		return c >= 0, true
	}
	return c <= 0, true
}

// sameValue compares as Proxmox means it: "1", 1 and true are one.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	if c, ok := compareNumbers(a, b); ok {
		return c == 0
	}
	return a == "true" && b == "1" || a == "false" && b == "0" || a == "1" && b == "true" || a == "0" && b == "false"
}

// compareNumbers compares two numbers exactly where both are whole.
func compareNumbers(a, b string) (int, bool) {
	x, err1 := strconv.ParseInt(a, 10, 64)
	y, err2 := strconv.ParseInt(b, 10, 64)
	if err1 == nil && err2 == nil {
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	}
	f, err1 := strconv.ParseFloat(a, 64)
	g, err2 := strconv.ParseFloat(b, 64)
	if err1 != nil || err2 != nil || f != f || g != g {
		return 0, false
	}
	switch {
	case f < g:
		return -1, true
	case f > g:
		return 1, true
	}
	return 0, true
}
