package gen

import (
	"go/token"
	"strings"
	"unicode"

	"pvemcp/apidoc"
)

// methodName derives a method's Go name from its verb and path; see the
// package comment for the rule.
func methodName(verb apidoc.Verb, path string) string {
	name, tail := exported(strings.ToLower(string(verb))), ""
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if !strings.HasPrefix(segment, "{") {
			name, tail = name+exported(segment), ""
			continue
		}
		if tail == "" {
			tail = "By"
		} else {
			tail += "And"
		}
		tail += exported(strings.Trim(segment, "{}"))
	}
	return name + tail
}

// exported makes an exported Go name of any text: what can't stand in a name
// separates words. A name that would begin with a digit gets an X in front.
func exported(name string) string {
	var b strings.Builder
	up := true
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z':
			if up {
				c -= 'a' - 'A'
			}
		case c >= 'A' && c <= 'Z':
		case c >= '0' && c <= '9':
			if b.Len() == 0 {
				b.WriteByte('X')
			}
		default:
			up = true
			continue
		}
		b.WriteByte(c)
		up = false
	}
	if b.Len() == 0 {
		return "X"
	}
	return b.String()
}

// argument makes a Go name for a function's argument. Keywords, and names that
// the generated methods use themselves, get "Arg" behind.
func argument(name string) string {
	n := exported(name)
	n = strings.ToLower(n[:1]) + n[1:]
	if token.IsKeyword(n) {
		return n + "Arg"
	}
	switch n {
	case "c", "ctx", "p", "out", "err", "string", "int", "error", "strconv", "context", "json", "apidoc", "pverest":
		return n + "Arg"
	}
	return n
}

// fieldNames gives each property its Go field name. The plain names are given
// out before the indexed ones. What still meets is told to clash.
func fieldNames(names []string, clash func(a, b string)) map[string]string {
	out := make(map[string]string, len(names))
	taken := make(map[string]string, len(names))
	for _, indexed := range [...]bool{false, true} {
		for _, name := range names {
			if stem, is := indexStem(name); is == indexed {
				goName := exported(stem)
				if _, used := taken[goName]; used && indexed {
					goName += "N"
				}
				if other, used := taken[goName]; used {
					clash(other, name)
				}
				taken[goName], out[name] = name, goName
			}
		}
	}
	return out
}

// indexStem splits `net[n]` into its stem and whether it is indexed.
func indexStem(name string) (string, bool) { return strings.CutSuffix(name, "[n]") }

// canBeTag tells whether a name can stand in the struct tags of parameters and
// answers and still mean itself: what encoding/json takes, less the comma, and
// none of the tags with a meaning of their own.
func canBeTag(name string) bool {
	if name == "" || name == "-" || name == "*" {
		return false
	}
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return true
}

// groupOf gives the name of the file that a path's methods belong to: the
// first two words of the path.
func groupOf(path string) string {
	var words []string
	for segment := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if strings.HasPrefix(segment, "{") {
			continue
		}
		if words = append(words, strings.ToLower(strings.Map(fileRune, segment))); len(words) == 2 {
			break
		}
	}
	if len(words) == 0 {
		return "root"
	}
	return strings.Join(words, "_")
}

func fileRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '_'
}
