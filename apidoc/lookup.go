package apidoc

import (
	"fmt"
	"net/url"
	"strings"
)

// PathValue is what a request's path says for one parameter of the template.
type PathValue struct{ Name, Value string }

// Match is the method that a verb and a path mean, with the path's values.
type Match struct {
	*Endpoint
	Values []PathValue
}

// LookupError says that a schema has no such method. Verbs holds what the path
// does take, if the path itself is known; otherwise Nearest holds the closest
// known paths, best first.
type LookupError struct {
	Verb    Verb
	Path    string
	Version string
	Verbs   []Verb
	Nearest []string
}

func (e *LookupError) Error() string {
	in := ""
	if e.Version != "" {
		in = " in " + e.Version
	}
	if len(e.Verbs) > 0 {
		known := make([]string, len(e.Verbs))
		for i, v := range e.Verbs {
			known[i] = string(v)
		}
		return fmt.Sprintf("%s is no method of %s%s; it takes %s", e.Verb, e.Path, in, strings.Join(known, ", "))
	}
	s := fmt.Sprintf("no API path %s%s", e.Path, in)
	if len(e.Nearest) > 0 {
		s += "; nearest: " + strings.Join(e.Nearest, ", ")
	}
	return s
}

// SplitPath cuts a request path as Proxmox does: it is percent-decoded as a
// whole, so an encoded slash separates too, then split at slashes; empty
// segments vanish. A query, a fragment, a path that does not begin with "/"
// and a bad escape are errors.
func SplitPath(path string) ([]string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("path %.80q: must begin with /", path)
	}
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		return nil, fmt.Errorf("path %.80q: %q may not stand in a path; give parameters separately, or write it as %%%02X", path, path[i], path[i])
	}
	if strings.IndexByte(path, '%') >= 0 {
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return nil, fmt.Errorf("path %.80q: %w", path, err)
		}
		path = decoded
	}
	segments := make([]string, 0, 8)
	for path != "" {
		var seg string
		seg, path, _ = strings.Cut(path, "/")
		if seg != "" {
			segments = append(segments, seg)
		}
	}
	return segments, nil
}

// JoinPath is the reverse of [SplitPath]: each segment escaped, so that
// exactly these arrive.
func JoinPath(segments []string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
}

// tails are the templates whose last parameter takes all that is left of the
// path, slashes included (fragmentDelimiter ” in Proxmox's source; the
// published schema does not show it).
func isTail(template string) bool {
	return strings.HasSuffix(template, "/storage/{storage}/content/{volume}") ||
		strings.HasSuffix(template, "/firewall/ipset/{name}/{cidr}")
}

// Lookup finds the method that a verb and a path with its values mean, such as
// GET /nodes/pve1/qemu/100/config. Errors: the path's form (see [SplitPath]),
// or [*LookupError] with the nearest known paths.
func (s *Schema) Lookup(verb Verb, path string) (Match, error) {
	segments, err := SplitPath(path)
	if err != nil {
		return Match{}, err
	}
	n, values := s.find(segments)
	vi := verb.index()
	if n != nil && vi >= 0 && n.ends[vi] != nil {
		return Match{n.ends[vi], values}, nil
	}
	miss := &LookupError{Verb: verb, Path: path, Version: s.Version}
	if n != nil {
		for i, e := range n.ends {
			if e != nil {
				miss.Verbs = append(miss.Verbs, Verbs[i])
			}
		}
	}
	if len(miss.Verbs) == 0 {
		miss.Nearest = s.nearest(verb, segments, 3)
	}
	return Match{}, miss
}

func (s *Schema) find(segments []string) (*node, []PathValue) {
	n := s.root
	var values []PathValue
	for i, seg := range segments {
		if next := n.fixed[seg]; next != nil {
			n = next
			continue
		}
		if n.wild == nil {
			return nil, nil
		}
		n = n.wild
		if isTail(n.path) && i < len(segments)-1 {
			seg = strings.Join(segments[i:], "/")
		}
		// A parameter matches ^\S+$ on bytes: no white space but one final
		// newline, which is dropped.
		seg = strings.TrimSuffix(seg, "\n")
		if seg == "" || strings.ContainsAny(seg, " \t\n\v\f\r") {
			return nil, nil
		}
		if values == nil {
			values = make([]PathValue, 0, 4)
		}
		values = append(values, PathValue{n.param, seg})
		if isTail(n.path) {
			return n, values
		}
	}
	return n, values
}
