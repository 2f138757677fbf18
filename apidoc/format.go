package apidoc

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// format is a rule that Proxmox registers under a name.
type format struct {
	form  string                     // what is expected, for reasons
	ok    func(e era, s string) bool // the rule; nil accepts everything
	words func(e era) []string       // the values, where they are a closed set
}

// validator is what a named property string must hold beyond its grammar; it
// gives the reason, or "".
type validator func(e era, given map[string]value) string

// FormatError says why a value is not of a named format.
type FormatError struct {
	Format  string
	Value   string
	Reason  string
	Nearest []string
	Unknown bool // no format of that name exists
}

func (e *FormatError) Error() string {
	return Fault{Param: e.Format, Reason: e.Reason, Nearest: e.Nearest}.String()
}

// CheckFormat checks a value by a format's name as Proxmox 9.2 would, with the
// suffixes -list and -opt, property strings included. Errors are of type
// [*FormatError]; a name that is not registered refuses every value.
func CheckFormat(name, value string) error {
	c := checker{era: newestEra}
	f, known := c.formatKnown(wireText(value), name)
	if !known {
		return &FormatError{Format: name, Value: value, Reason: "no such format", Unknown: true}
	}
	if f == nil {
		return nil
	}
	return &FormatError{Format: name, Value: value, Reason: f.Reason, Nearest: f.Nearest}
}

// format checks a text by the format that a schema names. A format that this
// package does not know accepts everything: the cluster that published the
// schema knows it.
func (c *checker) format(s, name, at, param string) (Fault, bool) {
	f, _ := c.formatKnown(s, name)
	if f == nil {
		return Fault{}, true
	}
	f.Param = join(at, param)
	if f.Param == "" {
		f.Param = "_root"
	}
	return *f, false
}

func (c *checker) formatKnown(s, name string) (fault *Fault, known bool) {
	if name == "regex" {
		return nil, true
	}
	base, list, opt := name, false, false
	if b, ok := strings.CutSuffix(name, "-list"); ok {
		base, list = b, true
	} else if b, ok := strings.CutSuffix(name, "-opt"); ok {
		base, opt = b, true
	} else if name == "string-alist" && c.era.before(8, 0) {
		return nil, true
	}
	if f, ok := formats[base]; ok {
		switch {
		case opt && (s == "" || s == "0"):
			return nil, true
		case list:
			return c.formatList(s, base, f), true
		}
		if f.ok == nil || f.ok(c.era, s) {
			return nil, true
		}
		return c.formatFault(s, f, false), true
	}
	if grammar, ok := grammars()[base]; ok {
		if list || opt {
			return &Fault{Kind: FaultFormat, Reason: "a property string can't be given as a list"}, true
		}
		f, ok := c.propertyString(s, grammar, validators[base], "")
		if ok {
			return nil, true
		}
		return &f, true
	}
	return nil, false
}

func (c *checker) formatList(s, base string, f format) *Fault {
	if f.ok == nil {
		return nil
	}
	var fault *Fault
	eachListItem(s, func(item string) bool {
		if !f.ok(c.era, item) {
			fault = c.formatFault(item, f, true)
			return false
		}
		return true
	})
	return fault
}

func (c *checker) formatFault(s string, f format, item bool) *Fault {
	reason := show(s) + " is not " + f.form
	if item {
		reason = "item " + reason
	}
	fault := &Fault{Kind: FaultFormat, Reason: reason}
	if f.words != nil {
		if words := f.words(c.era); len(words) <= 40 {
			fault.Reason += "; " + enumForm(words)
		}
		if c.suggested++; c.suggested <= maxSuggestions {
			fault.Nearest = Nearest(s, f.words(c.era), 3)
		}
	}
	return fault
}

// eachListItem cuts a text into items as Proxmox does for -list formats until
// each says stop: at NUL characters if there are any (how repeated keys once
// came), else at commas, semicolons and white space.
func eachListItem(s string, each func(string) bool) {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.TrimRight(s, "\x00")
		for more := s != ""; more; {
			var item string
			item, s, more = strings.Cut(s, "\x00")
			if !each(item) {
				return
			}
		}
		return
	}
	for item := range strings.FieldsFuncSeq(s, isListSeparator) {
		if !each(item) {
			return
		}
	}
}

func isListSeparator(r rune) bool {
	return r == ',' || r == ';' || isSpace(r)
}

// perlSplit cuts at commas and drops empty items at the end.
func perlSplit(s string) []string {
	s = strings.TrimRight(s, ",")
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// formatForm says in a few words what a format takes, or "".
func formatForm(name string) string {
	base, list := strings.CutSuffix(name, "-list")
	if f, ok := formats[strings.TrimSuffix(base, "-opt")]; ok && f.form != "" {
		if list {
			return "a list, each " + f.form
		}
		return f.form
	}
	if grammar := grammars()[name]; grammar != nil {
		return grammarForm(grammar.Properties)
	}
	return ""
}

// FormatForm says in a few words, which are ours, what a named format takes
// (with -list and -opt); "" for a name that is not known.
func FormatForm(name string) string { return formatForm(name) }

// rx makes a test of a whole text up to one final newline. The pattern is RE2
// with the tokens <WD>, <ND>, <WS>, <AN> for Perl's Unicode classes (to be used
// inside brackets); it is compiled on first use.
func rx(expr string) func(era, string) bool {
	re := lazyRegexp(`\A(?:` + expr + `)\n?\z`)
	return func(_ era, s string) bool { return re().MatchString(s) }
}

func lazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		expr = strings.NewReplacer("<WD>", classWord, "<ND>", classDigit, "<WS>", classSpace,
			"<AN>", `\p{L}\p{Nd}\p{Nl}`+otherAlphabetic()).Replace(expr)
		return regexp.MustCompile(expr)
	})
}

// wordFile holds sections of words; see its head.
func section(name string) func() []string {
	return sync.OnceValue(func() []string {
		words := wordSections()[name]
		if len(words) == 0 {
			panic(fmt.Sprintf("apidoc: named/words.txt has no section %q", name))
		}
		return words
	})
}

// wordSet gives the words of a section for membership tests.
func wordSet(names ...string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			for _, w := range wordSections()[name] {
				set[w] = true
			}
		}
		return set
	})
}
