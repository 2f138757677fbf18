package apidoc

import (
	"fmt"
	"strconv"
	"strings"
)

// show quotes a value for a reason and cuts it to a readable length.
func show(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && s[cut]&0xC0 == 0x80 {
			cut--
		}
		return strconv.Quote(s[:cut]) + "…"
	}
	return strconv.Quote(s)
}

// shortName gives a parameter's name as it may stand in a message: names come
// from outside too.
func shortName(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] >= 0x7f || i == 60 {
			return show(s)
		}
	}
	return s
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// typeForm says what a value of a type looks like on the wire.
func typeForm(p *Property) string {
	switch p.Type {
	case Boolean:
		return "a boolean (1 or 0)"
	case Integer:
		return "an integer" + inRange(p)
	case Number:
		return "a number" + inRange(p)
	case String:
		return "a text"
	}
	return "a value of type " + string(p.Type)
}

func inRange(p *Property) string {
	if p.Minimum == nil && p.Maximum == nil {
		return ""
	}
	return " (" + rangeForm(p) + ")"
}

func rangeForm(p *Property) string {
	num := func(f *float64) string { return strconv.FormatFloat(*f, 'f', -1, 64) }
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		return num(p.Minimum) + " to " + num(p.Maximum)
	case p.Minimum != nil:
		return "at least " + num(p.Minimum)
	case p.Maximum != nil:
		return "at most " + num(p.Maximum)
	}
	return ""
}

// enumForm lists allowed values; long lists are cut, the nearest ones are said
// apart.
func enumForm(enum []string) string {
	const most = 160
	var b strings.Builder
	b.WriteString("one of ")
	for i, e := range enum {
		if b.Len()+len(e) > most && i >= 3 {
			fmt.Fprintf(&b, "… (%d in all)", len(enum))
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if e == "" {
			e = `""`
		}
		b.WriteString(e)
	}
	return b.String()
}

func patternForm(p *Property) string {
	text := p.Pattern
	if len(text) > 100 {
		text = text[:100] + "…"
	}
	return "the pattern " + text
}

// expected says in a few words what a missing parameter takes.
func expected(p *Property) string {
	switch {
	case len(p.Enum) > 0:
		return ": " + enumForm(p.Enum)
	case p.Format != "":
		if f := formatForm(p.Format); f != "" {
			return ": " + f
		}
	case p.Nested != nil:
		return ": " + grammarForm(p.Nested)
	}
	switch p.Type {
	case Boolean, Integer, Number:
		return ": " + typeForm(p)
	}
	return ""
}
