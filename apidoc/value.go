package apidoc

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// valueKind is what Proxmox's check sees of a parameter: it was written in
// Perl, where every scalar is a text and only JSON bodies bring other kinds.
type valueKind uint8

const (
	undefined   valueKind = iota // absent or JSON null
	textValue                    // any scalar; numbers too
	boolValue                    // JSON true or false; text is "1" or "0"
	listValue                    // a repeated key or a JSON array
	objectValue                  // a JSON object
)

// value is kept small: checks copy it into and out of maps all the time.
type value struct {
	kind valueKind
	text string
	in   *inside // of lists and objects
}

type inside struct {
	list   []value
	object map[string]value
}

func (v value) list() []value {
	if v.in == nil {
		return nil
	}
	return v.in.list
}

func textOf(s string) value { return value{kind: textValue, text: s} }

func listOf(items []value) value { return value{kind: listValue, in: &inside{list: items}} }

func objectOf(members map[string]value) value {
	return value{kind: objectValue, in: &inside{object: members}}
}

// true follows Perl: absent, "" and "0" are false; lists and objects are true.
func (v value) truthy() bool {
	switch v.kind {
	case undefined:
		return false
	case textValue, boolValue:
		return v.text != "" && v.text != "0"
	}
	return true
}

// word gives the value as Perl would join it into a text.
func (v value) word() string {
	switch v.kind {
	case textValue, boolValue:
		return v.text
	case listValue:
		return "ARRAY(0x0)"
	case objectValue:
		return "HASH(0x0)"
	}
	return ""
}

// wireText is a text as the server has it after decoding: each malformed part
// of UTF-8 has become one U+FFFD.
func wireText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			n = malformed(s[i:])
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// malformed gives the length of the longest start of s that could have become
// a character, at least 1.
func malformed(s string) int {
	c := s[0]
	want, lo, hi := 0, byte(0x80), byte(0xBF)
	switch {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c >= 0xE0 && c <= 0xEF:
		want = 2
		if c == 0xE0 {
			lo = 0xA0
		} else if c == 0xED {
			hi = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		want = 3
		if c == 0xF0 {
			lo = 0x90
		} else if c == 0xF4 {
			hi = 0x8F
		}
	}
	n := 1
	for n <= want && n < len(s) && s[n] >= lo && s[n] <= hi {
		n++
		lo, hi = 0x80, 0xBF
	}
	return n
}

// pathText is a path's value as the check sees it: bytes that were never
// decoded, so that no letter, digit or space class fits those beyond ASCII.
func pathText(s string) string {
	ascii := true
	for i := 0; i < len(s) && ascii; i++ {
		ascii = s[i] < utf8.RuneSelf
	}
	if ascii {
		return s
	}
	r := make([]rune, len(s))
	for i := range r {
		if r[i] = rune(s[i]); s[i] >= utf8.RuneSelf {
			r[i] = utf8.RuneError
		}
	}
	return string(r)
}

// sameAsPath compares a parameter with the path's bytes as the server does,
// where a byte equals the character of its number.
func sameAsPath(path, text string) bool {
	i := 0
	for _, r := range text {
		if i >= len(path) || rune(path[i]) != r {
			return false
		}
		i++
	}
	return i == len(path)
}

// jsonValue takes what encoding/json decoded, best with UseNumber.
func jsonValue(v any) value {
	switch v := v.(type) {
	case nil:
		return value{}
	case string:
		return textOf(wireText(v))
	case bool:
		if v {
			return value{kind: boolValue, text: "1"}
		}
		return value{kind: boolValue, text: "0"}
	case json.Number:
		return textOf(numberText(string(v)))
	case float64:
		return textOf(floatText(v))
	case []any:
		list := make([]value, len(v))
		for i, item := range v {
			list[i] = jsonValue(item)
		}
		return listOf(list)
	case []string:
		list := make([]value, len(v))
		for i, item := range v {
			list[i] = textOf(wireText(item))
		}
		return listOf(list)
	case map[string]any:
		object := make(map[string]value, len(v))
		for k, item := range v {
			object[k] = jsonValue(item)
		}
		return objectOf(object)
	}
	return textOf(fmt.Sprint(v))
}

// numberText gives a JSON number as Perl prints it: 2.0 is "2", 1e3 is "1000",
// 1e20 is "1e+20".
func numberText(s string) string {
	if !strings.ContainsAny(s, ".eE") {
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
		if n, err := strconv.ParseUint(s, 10, 64); err == nil {
			return strconv.FormatUint(n, 10)
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return s
	}
	return floatText(f)
}

func floatText(f float64) string {
	switch {
	case math.IsInf(f, 1):
		return "Inf"
	case math.IsInf(f, -1):
		return "-Inf"
	case math.IsNaN(f):
		return "NaN"
	case f == 0:
		return "0"
	}
	return strconv.FormatFloat(f, 'g', 15, 64)
}

// chomp drops one final newline: most of Proxmox's tests end in Perl's $,
// which stands before it too.
func chomp(s string) string { return strings.TrimSuffix(s, "\n") }

func isDigit(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9'
	}
	return unicode.Is(unicode.Nd, r)
}

// digits gives the length in bytes of the run of decimal digits (of any
// script) that s begins with.
func digits(s string) int {
	for i, r := range s {
		if !isDigit(r) {
			return i
		}
	}
	return len(s)
}

func allDigits(s string) bool { return s != "" && digits(s) == len(s) }

// digitsValue is what Perl takes a run of digits for: its leading ASCII digits.
func digitsValue(s string) float64 {
	n := 0
	for n < len(s) && '0' <= s[n] && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return 0
	}
	f, _ := strconv.ParseFloat(s[:n], 64) // too big becomes +Inf
	return f
}

func looksInteger(s string) bool {
	s = chomp(s)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return allDigits(s)
}

func looksNumber(s string) bool {
	s = chomp(s)
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	whole := digits(s)
	s = s[whole:]
	if strings.HasPrefix(s, ".") {
		frac := digits(s[1:])
		if whole+frac == 0 {
			return false
		}
		s = s[1+frac:]
	} else if whole == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return allDigits(s)
	}
	return s == ""
}

// numeric is the number that Perl sees in a text for which looksNumber holds.
func numeric(s string) float64 {
	ascii := func(i int) int {
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i
	}
	end := 0
	if s != "" && (s[0] == '+' || s[0] == '-') {
		end = 1
	}
	start := end
	end = ascii(end)
	whole := end - start
	if end < len(s) && s[end] == '.' {
		if e := ascii(end + 1); whole > 0 || e > end+1 {
			end = e
		}
	}
	if end == start {
		return 0
	}
	if end < len(s) && (s[end] == 'e' || s[end] == 'E') {
		e := end + 1
		if e < len(s) && (s[e] == '+' || s[e] == '-') {
			e++
		}
		if x := ascii(e); x > e {
			end = x
		}
	}
	f, _ := strconv.ParseFloat(strings.TrimSuffix(s[:end], "."), 64)
	return f
}

// characters counts code points.
func characters(s string) int { return utf8.RuneCountInString(s) }
