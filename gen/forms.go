package gen

import (
	"strings"

	"pvemcp/apidoc"
)

// formWords says what form a string has, as shortly as its reader can use it:
// apidoc's words for the named format, without their detail in brackets unless
// that is an example. A format without words is told by its name; one that
// type and range say already is not told.
func formWords(p *apidoc.Property) string {
	if p.Format == "" || p.Type == apidoc.Integer && p.Format == "pve-vmid" {
		return ""
	}
	words := apidoc.FormatForm(p.Format)
	if words == "" {
		return p.Format
	}
	if i := strings.LastIndex(words, " ("); i > 0 && strings.HasSuffix(words, ")") && len(words) > 40 && !strings.HasPrefix(words[i:], " (such as ") {
		words = words[:i]
	}
	for _, article := range [...]string{"a ", "an "} {
		if rest, ok := strings.CutPrefix(words, article); ok {
			return rest
		}
	}
	return words
}
