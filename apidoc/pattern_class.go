package apidoc

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

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
		var hex string
		end := n
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
