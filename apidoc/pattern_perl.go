package apidoc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

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
