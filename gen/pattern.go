package gen

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
)

// perlGroup is a group with Perl's notation for "these flags, no others".
var perlGroup = regexp.MustCompile(`\(\?\^u?:`)

// ecmaPattern turns a Perl pattern into one that JSON Schema validators read
// alike (ECMA-262, in practice also RE2 and PCRE); ok is false for an empty
// pattern and for one whose meaning can't be kept. Proxmox tests ^pattern$
// without a group around it, so alternatives bind weaker than the anchors.
func ecmaPattern(perl string) (string, bool) {
	if perl == "" {
		return "", false
	}
	p := perlGroup.ReplaceAllString(perl, "(?:")
	// {,16} is a literal in RE2 and ECMA-262 and a repetition in new Perls.
	if strings.Contains(p, "(?^") || strings.Contains(p, "(?>") || strings.Contains(p, "{,") || strings.Contains(p, `\0`) || strings.Contains(p, "[[:") {
		return "", false
	}
	p = "^" + p + "$"
	tree, err := syntax.Parse(p, syntax.Perl)
	if err != nil || !portable(tree) {
		return "", false
	}
	return p, true
}

// portable refuses what other engines read otherwise.
func portable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL,
		syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat, syntax.OpConcat, syntax.OpAlternate, syntax.OpEmptyMatch:
	default:
		return false
	}
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase != 0 {
		return false
	}
	for _, sub := range re.Sub {
		if !portable(sub) {
			return false
		}
	}
	return true
}

// quotePattern makes a text literal in any engine, hyphens left as they are.
func quotePattern(s string) string { return regexp.QuoteMeta(s) }

// rangePattern matches the whole numbers from first to last, without leading
// zeros, as alternatives: 0 to 31 is [0-9]|[12][0-9]|3[01].
func rangePattern(first, last int) string {
	var parts []string
	for first <= last {
		// The largest block that begins here: d…d followed by free digits.
		block := 1
		for first%(block*10) == 0 && first+block*10-1 <= last && first > 0 {
			block *= 10
		}
		steps := (last - first + 1) / block
		digit := first / block % 10
		if steps > 10-digit {
			steps = 10 - digit
		}
		head := ""
		if lead := first / block / 10; lead > 0 {
			head = strconv.Itoa(lead)
		}
		part := head + class(digit, digit+steps-1)
		for b := block; b > 1; b /= 10 {
			part += "[0-9]"
		}
		parts = append(parts, part)
		first += steps * block
	}
	return strings.Join(parts, "|")
}

func class(from, to int) string {
	switch {
	case from == to:
		return strconv.Itoa(from)
	case from+1 == to:
		return fmt.Sprintf("[%d%d]", from, to)
	}
	return fmt.Sprintf("[%d-%d]", from, to)
}
