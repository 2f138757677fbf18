package gen

import (
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

// maxKeysShown is how many keys of a property string are told.
const maxKeysShown = 32

// grammarText gives the keys of a property string in short: what must be there
// first, then the rest in brackets, `[model=]e1000|virtio[,bridge=…,tag=1–4094]`.
// A key that may stand without its name has it in brackets. Keys that refine
// another (bps_rd, bps_wr_max) are told with it: `bps[_…]=N`.
func grammarText(keys map[string]*apidoc.Property) string {
	var must, may []string
	folded := make(map[string]bool)
	for name, k := range keys {
		if stem, ok := refines(name, keys); ok && k.Optional {
			folded[stem], folded[name] = true, true
		}
	}
	for _, name := range sortedNames(keys) {
		k := keys[name]
		if k.Alias != "" || k.KeyAlias != "" {
			continue
		}
		if _, part := refines(name, keys); part && folded[name] {
			continue
		}
		text := name
		if folded[name] {
			text += "[_…]"
		}
		text += "="
		if k.DefaultKey {
			text = "[" + text + "]"
		}
		text += valueHint(k)
		switch {
		case k.DefaultKey && !k.Optional:
			must = append([]string{text}, must...)
		case k.DefaultKey:
			may = append([]string{text}, may...)
		case k.Optional:
			may = append(may, text)
		default:
			must = append(must, text)
		}
	}
	more := ""
	if n := len(must) + len(may) - maxKeysShown; n > 0 && len(may) > n {
		may = may[:len(may)-n]
		more = fmt.Sprintf(",… (%d more keys)", n)
	}
	s := strings.Join(must, ",")
	switch {
	case len(may) == 0:
	case s == "":
		s = "[" + strings.Join(may, ",") + "]"
	default:
		s += "[," + strings.Join(may, ",") + "]"
	}
	return s + more
}

// refines gives the shorter key that a key belongs to.
func refines(name string, keys map[string]*apidoc.Property) (string, bool) {
	stem, _, ok := strings.Cut(name, "_")
	return stem, ok && keys[stem] != nil && keys[stem].Type == keys[name].Type
}

// valueHint tells a value of a property string in a word or two.
func valueHint(p *apidoc.Property) string {
	switch {
	case len(p.Enum) > 0 && len(p.Enum) <= 6:
		return strings.Join(p.Enum, "|")
	case p.Type == apidoc.Boolean:
		return "0|1"
	case p.Type == apidoc.Integer || p.Type == apidoc.Number:
		if p.Minimum != nil && p.Maximum != nil {
			return numberText(*p.Minimum) + "–" + numberText(*p.Maximum)
		}
		return "N"
	}
	return "…"
}
