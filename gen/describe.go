package gen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// maxEnumShown is how many allowed values a comment lists.
const maxEnumShown = 12

// valueFacts says in short what the schema holds a value to: type, range, allowed
// values, form, default. No prose of Proxmox's goes in.
func valueFacts(p *apidoc.Property) string {
	var parts []string
	switch {
	case p.Type == apidoc.Array && p.Items != nil:
		parts = append(parts, "list of "+valueFacts(p.Items))
	case p.Type == apidoc.Array:
		parts = append(parts, "list")
	case p.Type == apidoc.Untyped || p.Type == apidoc.Any:
		parts = append(parts, "any")
	case len(p.Enum) > 0:
		parts = append(parts, "one of "+enumText(p.Enum))
	case apidoc.Grammar(p) != nil:
		parts = append(parts, "string "+grammarText(apidoc.Grammar(p)))
	case formWords(p) != "":
		parts = append(parts, string(p.Type)+", "+formWords(p))
	default:
		parts = append(parts, string(p.Type))
	}
	if r := rangeText(p.Minimum, p.Maximum); r != "" {
		parts = append(parts, r)
	}
	if r := lengthText(p.MinLength, p.MaxLength); r != "" {
		parts = append(parts, r)
	}
	if p.Default != nil && len(*p.Default) <= 60 && printable(*p.Default) {
		parts = append(parts, "default "+quoteEmpty(*p.Default))
	}
	if p.Requires != "" {
		parts = append(parts, "needs "+p.Requires)
	}
	if len(p.InstanceTypes) > 0 && p.TypeProperty != "" {
		parts = append(parts, "for "+p.TypeProperty+" "+strings.Join(p.InstanceTypes, ", "))
	}
	return strings.Join(parts, "; ")
}

func printable(s string) bool {
	for _, r := range s {
		if r < ' ' || r > '~' || r == '`' {
			return false
		}
	}
	return true
}

func quoteEmpty(s string) string {
	if s == "" || strings.TrimSpace(s) != s {
		return strconv.Quote(s)
	}
	return s
}

func rangeText(lo, hi *float64) string {
	switch {
	case lo != nil && hi != nil:
		return numberText(*lo) + " to " + numberText(*hi)
	case lo != nil:
		return "from " + numberText(*lo)
	case hi != nil:
		return "up to " + numberText(*hi)
	}
	return ""
}

func lengthText(lo, hi *int) string {
	switch {
	case lo != nil && *lo > 0 && hi != nil:
		return fmt.Sprintf("%d to %d characters", *lo, *hi)
	case lo != nil && *lo > 0:
		return fmt.Sprintf("at least %d characters", *lo)
	case hi != nil:
		return fmt.Sprintf("up to %d characters", *hi)
	}
	return ""
}

func numberText(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// enumText lists values; numbered ones (unused0 … unused255) are drawn together.
func enumText(values []string) string {
	var shown []string
	for _, f := range families(values) {
		shown = append(shown, f.String())
	}
	for i, s := range shown {
		shown[i] = quoteEmpty(s)
	}
	if n := len(shown) - maxEnumShown; n > 1 {
		shown = append(shown[:maxEnumShown:maxEnumShown], fmt.Sprintf("… (%d more)", n))
	}
	return strings.Join(shown, ", ")
}

// family is one value, or a run of values that differ in the number at their end.
type family struct {
	stem        string
	first, last int // both -1: stem is the value
}

func (f family) String() string {
	if f.first < 0 {
		return f.stem
	}
	return fmt.Sprintf("%s%d–%d", f.stem, f.first, f.last)
}

// families finds runs of at least four, in the order of the values.
func families(values []string) []family {
	var out []family
	for i := 0; i < len(values); {
		stem, n := numbered(values[i])
		j := i + 1
		for n >= 0 && j < len(values) && values[j] == stem+strconv.Itoa(n+j-i) {
			j++
		}
		if j-i >= 4 {
			out = append(out, family{stem, n, n + j - i - 1})
			i = j
			continue
		}
		out = append(out, family{values[i], -1, -1})
		i++
	}
	return out
}

func numbered(s string) (string, int) {
	stem := strings.TrimRight(s, "0123456789")
	digits := s[len(stem):]
	n, err := strconv.Atoi(digits)
	if stem == "" || err != nil || len(digits) > 1 && digits[0] == '0' {
		return s, -1
	}
	return stem, n
}

// resultDoc says in short what a field of an answer is.
func resultDoc(p *apidoc.Property) string {
	switch p.Renderer {
	case "bytes":
		return "in bytes"
	case "duration":
		return "in seconds"
	case "timestamp", "timestamp_gmt":
		return "seconds since 1970"
	case "fraction_as_percentage":
		return "a fraction: 1 is all"
	}
	if len(p.Enum) > 0 {
		return "one of " + enumText(p.Enum)
	}
	return ""
}

// needs says in a sentence who may call a method, as far as the schema tells.
func needs(p apidoc.Permission) string {
	var parts []string
	switch {
	case !p.Declared:
		return "Only root@pam may call it."
	case p.User == "world":
		return "Anybody may call it, without a login."
	case p.User == "all":
		parts = append(parts, "Any user who is logged in may call it.")
	}
	if p.Check != nil {
		parts = append(parts, "Needs "+exprText(p.Check, false)+".")
	}
	if len(parts) == 0 {
		return "Who may call it is decided by the method itself."
	}
	return strings.Join(parts, " ")
}

func exprText(e *apidoc.Expr, inner bool) string {
	joint := " and "
	switch e.Op {
	case apidoc.OpOr:
		joint = " or "
		fallthrough
	case apidoc.OpAnd:
		var parts []string
		for _, a := range e.Args {
			parts = append(parts, exprText(a, len(e.Args) > 1))
		}
		s := strings.Join(parts, joint)
		if inner && len(parts) > 1 {
			s = "(" + s + ")"
		}
		return s
	case apidoc.OpPerm:
		s := privsText(e.Privs, e.Any) + " on " + e.Path
		if e.RequireParam != "" {
			s += " (if " + e.RequireParam + " is given)"
		}
		return s
	case apidoc.OpUserGroup:
		return privsText(e.Privs, true) + " on a group of the user"
	case apidoc.OpUserParam:
		if e.Param == "self" {
			return "to be the user in question"
		}
		return e.Param + " on the user's realm"
	case apidoc.OpPermModify:
		return "the right to change permissions on " + e.Path
	}
	return string(e.Op)
}

func privsText(privs []string, any bool) string {
	if any && len(privs) > 1 {
		return "one of " + strings.Join(privs, ", ")
	}
	return strings.Join(privs, ", ")
}
