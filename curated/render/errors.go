package render

import (
	"fmt"
	"slices"
	"strings"
)

// ErrKind says what is wrong with a request to render.
type ErrKind string

// The kinds of errors of this package.
const (
	BadCursor     ErrKind = "bad cursor"     // not made by this package, or damaged
	ForeignCursor ErrKind = "foreign cursor" // made for another tool, cluster or set of filters
	UnknownField  ErrKind = "unknown field"
	UnknownSort   ErrKind = "unknown sort"
	BadFilter     ErrKind = "bad filter"
	BadFormat     ErrKind = "bad format"
	BadJSON       ErrKind = "bad JSON" // what Raw was given is not one JSON value
)

// Error is the only error type that this package returns. Its text names the
// cause and what to do about it, in words that are meant for the agent.
type Error struct {
	Op      string   // what was attempted: "cursor", "fields", "sort", "filter", "format", "raw"
	Kind    ErrKind  // what is wrong
	Subject string   // the word that is wrong, cleaned and shortened
	Valid   []string // what would be right, nearest first; may be empty
	Do      string   // what to do about it
}

// Error gives one line: kind, subject, valid values (at most 12), what to do.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Kind))
	if e.Subject != "" {
		fmt.Fprintf(&b, " %q", e.Subject)
	}
	if len(e.Valid) > 0 {
		v := e.Valid
		more := ""
		if len(v) > 12 {
			more = fmt.Sprintf(" and %d more", len(v)-12)
			v = v[:12]
		}
		b.WriteString("; valid: " + strings.Join(v, ", ") + more)
	}
	if e.Do != "" {
		b.WriteString("; " + e.Do)
	}
	return b.String()
}

// Is makes errors.Is(err, &Error{Kind: k}) true for every error of that kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && (t.Op == "" || t.Op == e.Op)
}

// nearest sorts names by their distance from word, the nearest first.
func nearest(word string, names []string) []string {
	type cand struct {
		name string
		d    int
	}
	cs := make([]cand, 0, len(names))
	w := strings.ToLower(word)
	for _, n := range names {
		l := strings.ToLower(n)
		d := 2 * distance(w, l)
		if len(w) >= 2 && (strings.Contains(l, w) || strings.Contains(w, l) && len(l) >= 2) {
			d = min(d, 3)
		}
		cs = append(cs, cand{n, d})
	}
	slices.SortStableFunc(cs, func(a, b cand) int { return a.d - b.d })
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.name
	}
	return out
}

// distance is the number of single-byte edits between a and b; long words are
// cut, since only small distances matter.
func distance(a, b string) int {
	a, b = a[:min(len(a), 40)], b[:min(len(b), 40)]
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			c := prev[j-1]
			if a[i-1] != b[j-1] {
				c++
			}
			cur[j] = min(c, prev[j]+1, cur[j-1]+1)
		}
		prev, cur = cur, prev
	}
	return prev[len(b)]
}

func sortStrings(s []string) { slices.Sort(s) }
