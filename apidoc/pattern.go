package apidoc

import (
	"regexp"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"
)

// Character classes as Perl has them on decoded text; RE2's and .NET's own
// \d, \w and \s mean other sets.
const (
	classDigit = `\p{Nd}`
	classSpace = "\\t-\\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
	// Alphabetic, marks, decimal digits, connectors and the two joiners.
	classWord = `\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}` + "\u200c\u200d" + classCircled
	// Letters by property that are no letters by category.
	classCircled = "\u24b6-\u24e9\U0001F130-\U0001F149\U0001F150-\U0001F169\U0001F170-\U0001F189"
	classXDigit  = "0-9A-Fa-f\uff10-\uff19\uff21-\uff26\uff41-\uff46"
)

// patternTime bounds a match by backtracking; RE2 needs no bound.
const patternTime = 100 * time.Millisecond

// pattern is a compiled Perl pattern. Without an engine it accepts everything:
// what this package can't decide must not refuse a call that Proxmox takes.
type pattern struct {
	re2       *regexp.Regexp
	backtrack *regexp2.Regexp
}

func (p *pattern) match(s string) bool {
	switch {
	case p.re2 != nil:
		return p.re2.MatchString(s)
	case p.backtrack != nil:
		ok, err := p.backtrack.MatchString(s)
		return ok || err != nil // an error means that time ran out
	}
	return true
}

var patterns sync.Map // the schema's text → *pattern

// schemaPattern gives the compiled form of a schema's pattern. Proxmox puts
// the text between ^ and $ without a group, so alternatives bind to one end
// only, and $ stands before a final newline too.
func schemaPattern(text string) *pattern {
	if p, ok := patterns.Load(text); ok {
		return p.(*pattern)
	}
	p, _ := compilePattern("^" + text + "$")
	actual, _ := patterns.LoadOrStore(text, p)
	return actual.(*pattern)
}

// compilePattern compiles a Perl pattern as it stands. The error says why it
// could not be translated; the pattern then accepts everything.
func compilePattern(perl string) (*pattern, error) {
	t := perlTranslator{in: perl}
	out, err := t.translate()
	if err == nil && !t.backtrack {
		re, err := regexp.Compile(out)
		if err == nil {
			return &pattern{re2: re}, nil
		}
		t.backtrack = true
	}
	if err == nil && t.backtrack {
		t = perlTranslator{in: perl, backtrack: true}
		if out, err = t.translate(); err == nil {
			re, err2 := regexp2.Compile(out)
			if err = err2; err == nil {
				re.MatchTimeout = patternTime
				return &pattern{backtrack: re}, nil
			}
		}
	}
	return &pattern{}, err
}
