package words

import "strings"

// pathScore is what a method gets whose path was given whole.
const pathScore = 100

// pathQuery is a query that is a path or a piece of one.
type pathQuery struct {
	verb   string   // "" when none was given
	parts  []string // what stands between the slashes
	rooted bool     // it began with a slash
}

// parsePath recognises a path, perhaps after a verb and perhaps with the
// /api2/json that stands before it on the wire. A query with blanks elsewhere,
// or without a slash, is none.
func parsePath(query string) (q pathQuery, ok bool) {
	f := strings.Fields(query)
	if len(f) == 2 {
		switch v := strings.ToUpper(f[0]); v {
		case "GET", "POST", "PUT", "DELETE":
			q.verb, f = v, f[1:]
		}
	}
	if len(f) != 1 || !strings.Contains(f[0], "/") {
		return q, false
	}
	path, _, _ := strings.Cut(f[0], "?")
	q.rooted = strings.HasPrefix(path, "/")
	path = strings.Trim(path, "/")
	for _, wire := range [...]string{"api2/json", "api2/extjs"} {
		path = strings.TrimPrefix(strings.TrimPrefix(path, wire), "/")
	}
	if path == "" {
		return q, false
	}
	q.parts = strings.Split(path, "/")
	return q, true
}

// scorePath scores the methods whose templates a path fits, and says whether
// there are any.
func (ix *index) scorePath(query string, scores []float32) (found bool) {
	q, ok := parsePath(query)
	if !ok {
		return false
	}
	var template []string
	for i := range ix.docs {
		d := &ix.docs[i]
		template = template[:0]
		for part := range strings.SplitSeq(d.Path[1:], "/") {
			template = append(template, part)
		}
		fit := q.fit(template)
		if q.verb != "" && q.verb != d.Verb {
			fit /= 2
		}
		scores[i] = pathScore * fit * (0.9 + 0.1*d.prior)
		found = found || fit > 0
	}
	return found
}

// fit says how well a template fits the path: 1 for the same path, less for one
// further down, less again for one that has the parts in its middle, 0 for none
// of these. A fixed part that is met as it stands counts for more than a
// placeholder that anything meets.
func (q pathQuery) fit(template []string) float32 {
	best := float32(0)
	for at := 0; at+len(q.parts) <= len(template); at++ {
		literal, ok := meet(q.parts, template[at:])
		if ok && literal > 0 {
			left := len(template) - at - len(q.parts)
			f := (0.5 + 0.5*float32(literal)/float32(len(q.parts))) / float32(1+left)
			if at > 0 {
				f *= 0.9
			}
			best = max(best, f)
		}
		if q.rooted {
			break
		}
	}
	return best
}

// meet compares the parts with the beginning of a template and counts those
// that are met by more than a placeholder.
func meet(parts, template []string) (literal int, ok bool) {
	for i, p := range parts {
		t := template[i]
		switch {
		case p == t:
			literal++
		case !strings.HasPrefix(t, "{"):
			return 0, false
		case strings.HasPrefix(p, "{"):
			literal++ // named otherwise, but meant as a placeholder
		}
	}
	return literal, true
}
