package render

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks may follow each other: real scripts need
// up to four; more only hide or smear text.
const maxMarks = 4

// maxTicks is the longest run of back-ticks kept inside a fence; the fence is
// one longer than the longest run.
const maxTicks = 8

// Line cleans untrusted text as [Clean] does and makes it one line: line ends
// and tabs become single blanks, blanks at the ends go.
func Line[T ~string](s T) string { return sanitise(string(s), true) }

// Clean cleans untrusted text and keeps its lines: terminal escape sequences,
// control, bidirectional, zero-width, tag, filler and unassigned characters are
// dropped, every kind of line end becomes "\n", every kind of blank an ordinary
// one, invalid UTF-8 becomes U+FFFD.
func Clean[T ~string](s T) string { return sanitise(string(s), false) }

// Fence cleans untrusted text and puts it between two lines of back-ticks, more
// of them than the text has in a row, so that it cannot close the fence. The
// result ends without a line end.
func Fence[T ~string](s T) string { return fence(Clean(s)) }

func fence(clean string) string {
	long, run := 0, 0
	for i := range len(clean) {
		if clean[i] == '`' {
			run++
			long = max(long, run)
		} else {
			run = 0
		}
	}
	if long > maxTicks {
		clean = shortenTicks(clean)
		long = maxTicks
	}
	f := strings.Repeat("`", max(3, long+1))
	return f + "\n" + strings.TrimRight(clean, "\n") + "\n" + f
}

func shortenTicks(s string) string {
	var b strings.Builder
	run := 0
	for i := range len(s) {
		if s[i] == '`' {
			if run++; run > maxTicks {
				continue
			}
		} else {
			run = 0
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// plain tells whether s is printable ASCII throughout, as nearly all values are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

func sanitise(s string, oneLine bool) string {
	if plain(s) {
		if oneLine {
			return strings.TrimSpace(s)
		}
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0x1b || r >= 0x80 && r <= 0x9f && n > 1 {
			i += escapeLen(s[i:], r, n)
			continue
		}
		i += n
		switch {
		case r == '\r' && i < len(s) && s[i] == '\n':
			continue
		case r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x2028 || r == 0x2029:
			r = '\n'
			if oneLine {
				r = ' '
			}
		case r == '\t':
			if oneLine {
				r = ' '
			}
		case r == utf8.RuneError && n == 1:
		case r == ' ' || unicode.Is(unicode.Zs, r) || r == 0x2800:
			r = ' '
		case !unicode.IsPrint(r) || invisible(r):
			continue
		}
		if r >= 0x300 && unicode.IsMark(r) {
			if marks++; marks > maxMarks {
				continue
			}
		} else {
			marks = 0
		}
		b.WriteRune(r)
	}
	if oneLine {
		return strings.TrimSpace(squeeze(b.String()))
	}
	return b.String()
}

// squeeze makes one blank of several.
func squeeze(s string) string {
	if !strings.Contains(s, "  ") {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if s[i] == ' ' && i > 0 && s[i-1] == ' ' {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// escapeLen gives the length of the terminal escape sequence at the start of s,
// whose first rune is r of n bytes. An unfinished sequence ends with its line, so
// that it can't swallow what follows.
func escapeLen(s string, r rune, n int) int {
	var kind byte
	i := n
	switch {
	case r == 0x1b:
		if i >= len(s) {
			return i
		}
		kind = s[i]
		if kind < 0x20 || kind > 0x7e {
			return i
		}
		i++
	case r == 0x9b:
		kind = '['
	case r == 0x9d:
		kind = ']'
	case r == 0x90 || r == 0x98 || r == 0x9e || r == 0x9f:
		kind = 'P'
	default:
		return n
	}
	switch kind {
	case '[': // parameters and intermediates, then one final byte
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
			i++
		}
		if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
			i++
		}
	case ']', 'P', 'X', '^', '_': // a string up to BEL or ST
		for j := i; j < len(s); j++ {
			switch {
			case s[j] == '\n' || s[j] == '\r':
				return i
			case s[j] == 7:
				return j + 1
			case s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\':
				return j + 2
			case s[j] == 0xc2 && j+1 < len(s) && s[j+1] == 0x9c:
				return j + 2
			case j-i > 4096:
				return i
			}
		}
	case ' ', '#', '%', '(', ')', '*', '+', '-', '.', '/':
		if i < len(s) && s[i] > 0x20 && s[i] < 0x7f {
			i++
		}
	}
	return i
}

// invisible are characters that count as printable in Unicode's tables but show nothing.
func invisible(r rune) bool {
	switch {
	case r == 0x34f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x180b && r <= 0x180f, r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}
