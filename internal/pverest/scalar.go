package pverest

import (
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

// The lenient scalars take what Proxmox really sends for a declared type:
// numbers as strings, truth as 1, "1", true or "" (Perl's false), nothing at
// all. None of them ever fails a whole answer because of one odd value: what
// can't be read as the type (null, "N/A", an object) counts as absent, Set
// stays false. Decoding an Int, Float or Bool allocates nothing.

// Int is a whole number that knows whether it was there.
type Int struct {
	V   int64
	Set bool
}

// Float is a number that knows whether it was there.
type Float struct {
	V   float64
	Set bool
}

// Bool is a truth value that knows whether it was there.
type Bool struct {
	V   bool
	Set bool
}

// Str is a text that knows whether it was there.
type Str struct {
	V   string
	Set bool
}

// UnmarshalJSON reads a number or a numeric string, exactly over the whole
// range of int64. A fraction is cut off, a number beyond int64 becomes its
// nearest end, true is 1 and false 0. Anything else is absent; it never fails.
func (n *Int) UnmarshalJSON(b []byte) error {
	*n = Int{}
	switch s, _ := scalarText(b); {
	case len(s) == 0:
	case string(s) == "true":
		*n = Int{1, true}
	case string(s) == "false":
		*n = Int{0, true}
	default:
		n.V, n.Set = parseInt(s)
	}
	return nil
}

// UnmarshalJSON reads a finite number or a numeric string; true is 1 and
// false 0. Anything else is absent; it never fails.
func (n *Float) UnmarshalJSON(b []byte) error {
	*n = Float{}
	switch s, _ := scalarText(b); {
	case len(s) == 0:
	case string(s) == "true":
		*n = Float{1, true}
	case string(s) == "false":
		*n = Float{0, true}
	default:
		n.V, n.Set = parseFloat(s)
	}
	return nil
}

// UnmarshalJSON reads true/false, a number (0 is false), or one of the words
// 1, on, yes, true, 0, off, no, false in any case; the empty string is false.
// Anything else is absent; it never fails.
func (v *Bool) UnmarshalJSON(b []byte) error {
	*v = Bool{}
	s, quoted := scalarText(b)
	switch {
	case len(s) == 0:
		v.Set = quoted
	case isWord(s, "true"), isWord(s, "yes"), isWord(s, "on"):
		*v = Bool{true, true}
	case isWord(s, "false"), isWord(s, "no"), isWord(s, "off"):
		v.Set = true
	default:
		if f, ok := parseFloat(s); ok {
			*v = Bool{f != 0, true}
		}
	}
	return nil
}

// UnmarshalJSON reads a string; a number keeps its digits as they were sent,
// true is "1" and false "0" (as Proxmox writes them in strings), an object or
// a list is kept as its JSON text; null is absent. It fails only on text that
// is no JSON.
func (v *Str) UnmarshalJSON(b []byte) error {
	*v = Str{}
	b = trimSpace(b)
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		if plain, ok := plainString(b); ok {
			*v = Str{string(plain), true}
			return nil
		}
		if err := json.Unmarshal(b, &v.V); err != nil {
			return err
		}
		v.Set = true
	case 'n':
	case 't':
		*v = Str{"1", true}
	case 'f':
		*v = Str{"0", true}
	default:
		*v = Str{string(b), true}
	}
	return nil
}

// MarshalJSON gives the number, or null if it is absent.
func (n Int) MarshalJSON() ([]byte, error) {
	if !n.Set {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, n.V, 10), nil
}

// MarshalJSON gives the number, or null if it is absent or not finite.
func (n Float) MarshalJSON() ([]byte, error) {
	if !n.Set || math.IsNaN(n.V) || math.IsInf(n.V, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(n.V)
}

// MarshalJSON gives true or false, or null if it is absent.
func (v Bool) MarshalJSON() ([]byte, error) {
	if !v.Set {
		return []byte("null"), nil
	}
	return strconv.AppendBool(nil, v.V), nil
}

// MarshalJSON gives the string, or null if it is absent.
func (v Str) MarshalJSON() ([]byte, error) {
	if !v.Set {
		return []byte("null"), nil
	}
	return json.Marshal(v.V)
}

// IsZero reports absence, so that the tag option omitzero leaves absent ones out.
func (n Int) IsZero() bool { return !n.Set }

// IsZero reports absence, so that the tag option omitzero leaves absent ones out.
func (n Float) IsZero() bool { return !n.Set }

// IsZero reports absence, so that the tag option omitzero leaves absent ones out.
func (v Bool) IsZero() bool { return !v.Set }

// IsZero reports absence, so that the tag option omitzero leaves absent ones out.
func (v Str) IsZero() bool { return !v.Set }

// Or gives the value, or def if it is absent.
func (n Int) Or(def int64) int64 {
	if n.Set {
		return n.V
	}
	return def
}

// Or gives the value, or def if it is absent.
func (n Float) Or(def float64) float64 {
	if n.Set {
		return n.V
	}
	return def
}

// Or gives the value, or def if it is absent.
func (v Bool) Or(def bool) bool {
	if v.Set {
		return v.V
	}
	return def
}

// Or gives the value, or def if it is absent.
func (v Str) Or(def string) string {
	if v.Set {
		return v.V
	}
	return def
}

// String gives the digits, "" if absent.
func (n Int) String() string {
	if !n.Set {
		return ""
	}
	return strconv.FormatInt(n.V, 10)
}

// String gives the text, "" if absent.
func (v Str) String() string { return v.V }

// scalarText gives the text of a JSON scalar without quotes and surrounding
// white space, "" for null and for anything with escapes or structure.
func scalarText(b []byte) (text []byte, quoted bool) {
	b = trimSpace(b)
	if len(b) == 0 {
		return nil, false
	}
	switch b[0] {
	case '"':
		s, ok := plainString(b)
		if !ok {
			return nil, false
		}
		return trimSpace(s), true
	case 'n', '{', '[':
		return nil, false
	}
	return b, false
}

// plainString gives what stands between the quotes if that needs no unescaping.
func plainString(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil, false
	}
	s := b[1 : len(b)-1]
	ascii := true
	for _, c := range s {
		if c == '\\' || c == '"' || c < 0x20 {
			return nil, false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(s) {
		return nil, false
	}
	return s, true
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && isJSONSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isJSONSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isJSONSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isWord(s []byte, word string) bool {
	if len(s) != len(word) {
		return false
	}
	for i := range s {
		if s[i]|0x20 != word[i] {
			return false
		}
	}
	return true
}

// parseInt reads digits exactly and anything else numeric through parseFloat.
func parseInt(s []byte) (int64, bool) {
	d, neg := s, false
	if len(d) > 0 && (d[0] == '-' || d[0] == '+') {
		neg, d = d[0] == '-', d[1:]
	}
	if len(d) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range d {
		if c < '0' || c > '9' {
			f, ok := parseFloat(s)
			switch {
			case !ok:
				return 0, false
			case f >= math.MaxInt64:
				return math.MaxInt64, true
			case f <= math.MinInt64:
				return math.MinInt64, true
			}
			return int64(f), true
		}
		if n > (math.MaxUint64-9)/10 {
			n = math.MaxUint64
			break
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case neg && n >= 1<<63:
		return math.MinInt64, true
	case neg:
		return -int64(n), true
	case n > math.MaxInt64:
		return math.MaxInt64, true
	}
	return int64(n), true
}

// parseFloat takes decimal numbers alone: no hex, no underscores, no "inf",
// which strconv would take too.
func parseFloat(s []byte) (float64, bool) {
	if len(s) == 0 || len(s) > 400 {
		return 0, false
	}
	for _, c := range s {
		if (c < '0' || c > '9') && c != '+' && c != '-' && c != '.' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(string(s), 64)
	if err != nil {
		return 0, false
	}
	return f, true
}
