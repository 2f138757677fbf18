package apidoc

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

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

// perlTranslator rewrites a Perl pattern for RE2 or, with backtrack set, for
// regexp2. It sets backtrack itself when it meets what RE2 can't express.
type perlTranslator struct {
	in        string
	at        int
	out       strings.Builder
	backtrack bool
	atom      int   // where the last atom begins in out, or -1
	groups    []int // where open groups begin in out
}

var errPattern = errors.New("beyond what can be translated")

func (t *perlTranslator) fail(what string) error {
	return fmt.Errorf("%s in pattern %.80q at byte %d: %w", what, t.in, t.at, errPattern)
}

func (t *perlTranslator) translate() (string, error) {
	t.atom = -1
	for t.at < len(t.in) {
		if err := t.one(); err != nil {
			return "", err
		}
	}
	if len(t.groups) > 0 {
		return "", t.fail("open group")
	}
	return t.out.String(), nil
}

func (t *perlTranslator) emit(atom string) {
	t.atom = t.out.Len()
	t.out.WriteString(atom)
}

func (t *perlTranslator) one() error {
	r, n := utf8.DecodeRuneInString(t.in[t.at:])
	switch r {
	case '\\':
		return t.escape()
	case '[':
		return t.class()
	case '(':
		return t.open()
	case ')':
		if len(t.groups) == 0 {
			return t.fail("unopened group")
		}
		t.atom = t.groups[len(t.groups)-1]
		t.groups = t.groups[:len(t.groups)-1]
		t.out.WriteByte(')')
	case '|':
		t.atom = -1
		t.out.WriteByte('|')
	case '^':
		t.atom = -1
		t.out.WriteByte('^')
	case '$':
		t.atom = -1
		t.end(t.in[t.at+1:])
	case '.':
		t.emit(".")
	case '*', '+', '?':
		return t.quantifier(string(r), 1)
	case '{':
		if quant, n, most := countedQuantifier(t.in[t.at:]); n > 0 && t.atom >= 0 {
			if most > 1000 {
				t.backtrack = true
			}
			return t.quantifier(quant, n)
		}
		t.emit(`\{`)
	default:
		t.emit(quoteRune(r))
	}
	t.at += n
	return nil
}

// end writes Perl's $. RE2 has no look-ahead, so there the newline is taken
// along, which is the same as long as nothing but ends follows.
func (t *perlTranslator) end(rest string) {
	if rest != "" && !strings.ContainsRune(")|$", rune(rest[0])) {
		t.backtrack = true
	}
	if t.backtrack {
		t.out.WriteString(`(?=\n?\z)`)
		return
	}
	t.out.WriteString(`(?:\n?\z)`)
}

// quantifier writes a quantifier of n input bytes; a "+" behind it makes it
// possessive, which is an atomic group in other words.
func (t *perlTranslator) quantifier(text string, n int) error {
	if t.atom < 0 {
		return t.fail("quantifier without an atom")
	}
	t.at += n
	lazy := ""
	if t.at < len(t.in) {
		switch t.in[t.at] {
		case '?':
			lazy, t.at = "?", t.at+1
		case '+':
			t.at++
			t.backtrack = true
			whole := t.out.String()
			t.out.Reset()
			t.out.WriteString(whole[:t.atom] + "(?>" + whole[t.atom:] + text + ")")
			return nil
		}
	}
	t.out.WriteString(text + lazy)
	t.atom = -1
	return nil
}

// countedQuantifier reads {n}, {n,}, {n,m} or {,m} (Perl reads the last as
// {0,m} since 5.34, which every Proxmox whose schema uses it has).
func countedQuantifier(s string) (quant string, length, most int) {
	end := strings.IndexByte(s, '}')
	if end < 0 || end > 24 {
		return "", 0, 0
	}
	low, high, comma := strings.Cut(strings.ReplaceAll(s[1:end], " ", ""), ",")
	if low == "" && high == "" {
		return "", 0, 0
	}
	number := func(s string) (int, bool) {
		if s == "" {
			return 0, true
		}
		n, err := strconv.ParseUint(s, 10, 16)
		return int(n), err == nil
	}
	a, ok1 := number(low)
	b, ok2 := number(high)
	switch {
	case !ok1 || !ok2:
		return "", 0, 0
	case !comma:
		return fmt.Sprintf("{%d}", a), end + 1, a
	case high == "":
		return fmt.Sprintf("{%d,}", a), end + 1, a
	}
	return fmt.Sprintf("{%d,%d}", a, b), end + 1, max(a, b)
}

func (t *perlTranslator) open() error {
	begin := t.out.Len()
	t.atom = -1
	rest := t.in[t.at:]
	if strings.HasPrefix(rest, "(*") {
		return t.fail("verb")
	}
	if !strings.HasPrefix(rest, "(?") {
		t.out.WriteByte('(')
		t.groups = append(t.groups, begin)
		t.at++
		return nil
	}
	for _, look := range [...]string{"(?=", "(?!", "(?<=", "(?<!", "(?>"} {
		if strings.HasPrefix(rest, look) {
			t.backtrack = true
			t.out.WriteString(look)
			t.groups = append(t.groups, begin)
			t.at += len(look)
			return nil
		}
	}
	if strings.HasPrefix(rest, "(?<") {
		end := strings.IndexByte(rest, '>')
		if end < 4 || strings.IndexFunc(rest[3:end], func(r rune) bool { return r > unicode.MaxASCII || !isIdent(byte(r)) }) >= 0 {
			return t.fail("group name")
		}
		t.out.WriteString("(?<" + rest[3:end+1])
		t.groups = append(t.groups, begin)
		t.at += end + 1
		return nil
	}
	i := 2
	reset := i < len(rest) && rest[i] == '^'
	if reset {
		i++
	}
	on, off, neg := "", "", false
	for ; i < len(rest) && rest[i] != ':' && rest[i] != ')'; i++ {
		switch c := rest[i]; {
		case c == '-':
			neg = true
		case c == 'u' || c == 'p' || c == 'a' && reset:
			if c == 'a' {
				return t.fail("flag a")
			}
		case c == 'i' || c == 's':
			if neg {
				off += string(c)
			} else {
				on += string(c)
			}
		case neg && (c == 'm' || c == 'x'):
		default:
			return t.fail("flag " + strconv.QuoteRune(rune(c)))
		}
	}
	if i >= len(rest) {
		return t.fail("open flags")
	}
	if reset {
		for _, f := range [...]string{"i", "s"} {
			if !strings.Contains(on, f) {
				off += f
			}
		}
	}
	flags := on
	if off != "" {
		flags += "-" + off
	}
	if rest[i] == ')' {
		if flags != "" {
			t.out.WriteString("(?" + flags + ")")
		}
		t.at += i + 1
		return nil
	}
	t.out.WriteString("(?" + flags + ":")
	t.groups = append(t.groups, begin)
	t.at += i + 1
	return nil
}

func isIdent(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (t *perlTranslator) escape() error {
	if t.at+1 >= len(t.in) {
		return t.fail("final backslash")
	}
	switch c := t.in[t.at+1]; c {
	case 'A':
		t.atom = -1
		t.out.WriteString(`\A`)
	case 'z':
		t.atom = -1
		t.out.WriteString(`\z`)
	case 'Z':
		t.atom = -1
		t.end(t.in[t.at+2:])
	case 'b', 'B':
		t.atom, t.backtrack = -1, true
		t.out.WriteString(`\` + string(c))
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if t.at+2 < len(t.in) && t.in[t.at+2] >= '0' && t.in[t.at+2] <= '9' {
			return t.fail("number behind a backslash")
		}
		t.backtrack = true
		t.emit(`(?:\` + string(c) + ")")
	default:
		set, r, n, err := t.classEscape(t.in[t.at:])
		if err != nil {
			return err
		}
		t.at += n
		if set == "" {
			t.emit(quoteRune(r))
		} else {
			t.emit("[" + set + "]")
		}
		return nil
	}
	t.at += 2
	return nil
}

// classEscape reads an escape that means a set of characters or one. A set
// that begins with ^ is a complement.
func (t *perlTranslator) classEscape(s string) (set string, r rune, n int, err error) {
	c, size := utf8.DecodeRuneInString(s[1:])
	n = 1 + size
	switch c {
	case 'd':
		return classDigit, 0, n, nil
	case 'w':
		return classWord, 0, n, nil
	case 's':
		return classSpace, 0, n, nil
	case 'D':
		return "^" + classDigit, 0, n, nil
	case 'W':
		return "^" + classWord, 0, n, nil
	case 'S':
		return "^" + classSpace, 0, n, nil
	case 'n':
		return "", '\n', n, nil
	case 'r':
		return "", '\r', n, nil
	case 't':
		return "", '\t', n, nil
	case 'f':
		return "", '\f', n, nil
	case 'e':
		return "", 0x1b, n, nil
	case 'a':
		return "", 7, n, nil
	case '0':
		for n < len(s) && n < 4 && s[n] >= '0' && s[n] <= '7' {
			r = r<<3 | rune(s[n]-'0')
			n++
		}
		return "", r, n, nil
	case 'x':
		hex, end := "", n
		if n < len(s) && s[n] == '{' {
			i := strings.IndexByte(s, '}')
			if i < 0 {
				return "", 0, 0, t.fail(`\x{`)
			}
			hex, end = s[n+1:i], i+1
		} else {
			for end < len(s) && end < n+2 && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
				end++
			}
			hex = s[n:end]
		}
		v := uint64(0)
		if hex != "" {
			if v, err = strconv.ParseUint(hex, 16, 21); err != nil {
				return "", 0, 0, t.fail(`\x`)
			}
		}
		return "", rune(v), end, nil
	}
	if c > unicode.MaxASCII || isIdent(byte(c)) && c != '_' {
		return "", 0, 0, t.fail("escape " + strconv.QuoteRune(c))
	}
	return "", c, n, nil
}

// posixClass gives Perl's [:name:] on decoded text.
func posixClass(name string) (string, bool) {
	switch name {
	case "alnum":
		return `\p{L}\p{Nd}\p{Nl}` + otherAlphabetic(), true
	case "alpha":
		return `\p{L}\p{Nl}` + otherAlphabetic(), true
	case "digit":
		return classDigit, true
	case "space":
		return classSpace, true
	case "word":
		return classWord, true
	case "xdigit":
		return classXDigit, true
	}
	return "", false
}

// otherAlphabetic lists what is alphabetic without being a letter by category.
var otherAlphabetic = sync.OnceValue(func() string {
	var b strings.Builder
	add := func(lo, hi, stride rune) {
		for r := lo; r <= hi; r += stride {
			b.WriteRune(r)
			if stride == 1 && r < hi {
				b.WriteByte('-')
				b.WriteRune(hi)
				return
			}
		}
	}
	for _, r := range unicode.Other_Alphabetic.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range unicode.Other_Alphabetic.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return b.String()
})

func (t *perlTranslator) class() error {
	var b strings.Builder
	b.WriteByte('[')
	i := t.at + 1
	if i < len(t.in) && t.in[i] == '^' {
		b.WriteByte('^')
		i++
	}
	first := true
	for {
		if i >= len(t.in) {
			return t.fail("open class")
		}
		if t.in[i] == ']' && !first {
			break
		}
		first = false
		if strings.HasPrefix(t.in[i:], "[:") {
			if end := strings.Index(t.in[i:], ":]"); end > 0 {
				set, ok := posixClass(t.in[i+2 : i+end])
				if !ok {
					return t.fail("class " + t.in[i:i+end+2])
				}
				b.WriteString(set)
				i += end + 2
				continue
			}
		}
		set, low, n, err := t.member(i)
		if err != nil {
			return err
		}
		i += n
		if set != "" {
			if set[0] == '^' {
				// A complement inside a class: only \D has a short name.
				if set != "^"+classDigit {
					return t.fail("complement inside a class")
				}
				set = `\P{Nd}`
			}
			b.WriteString(set)
			continue
		}
		b.WriteString(quoteClassRune(low))
		if i+1 < len(t.in) && t.in[i] == '-' && t.in[i+1] != ']' {
			set, high, n, err := t.member(i + 1)
			if err != nil {
				return err
			}
			if set == "" {
				if high < low {
					return t.fail("reversed range")
				}
				b.WriteString("-" + quoteClassRune(high))
				i += 1 + n
			}
		}
	}
	b.WriteByte(']')
	t.at = i + 1
	t.emit(b.String())
	return nil
}

func (t *perlTranslator) member(i int) (set string, r rune, n int, err error) {
	if t.in[i] == '\\' {
		if i+1 >= len(t.in) {
			return "", 0, 0, t.fail("final backslash")
		}
		if t.in[i+1] == 'b' {
			return "", '\b', 2, nil
		}
		return t.classEscape(t.in[i:])
	}
	r, n = utf8.DecodeRuneInString(t.in[i:])
	return "", r, n, nil
}

func quoteRune(r rune) string {
	if strings.ContainsRune(`\.+*?()|[]{}^$#`, r) {
		return `\` + string(r)
	}
	return controlRune(r)
}

func quoteClassRune(r rune) string {
	if strings.ContainsRune(`\]^-[&~`, r) {
		return `\` + string(r)
	}
	return controlRune(r)
}

func controlRune(r rune) string {
	if r < ' ' || r == 0x7f {
		return fmt.Sprintf(`\x%02x`, r)
	}
	return string(r)
}
