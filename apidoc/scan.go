package apidoc

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// maxDepth bounds the nesting of a schema text. Published files stay under 40.
const maxDepth = 128

// A scanError tells where in a text something is wrong.
type scanError struct {
	offset int
	what   string
}

func (e *scanError) Error() string { return fmt.Sprintf("at byte %d: %s", e.offset, e.what) }

// blanks are eight spaces, of which the indentation of a published file is made:
// a third of its text.
const blanks = 0x2020202020202020

func skipSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\n', '\r', '\t':
			i++
		default:
			return i
		}
		for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == blanks {
			i += 8
		}
	}
	return i
}

// skipString takes the offset of an opening quote and gives the one behind the
// closing quote. Escapes are checked when a string is decoded.
func skipString(b []byte, i int) (int, error) {
	start := i
	for i++; i < len(b); i++ {
		for i+8 <= len(b) {
			marks := special(binary.LittleEndian.Uint64(b[i:]))
			if marks != 0 {
				i += bits.TrailingZeros64(marks) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			i++
		case c < 0x20:
			return 0, &scanError{i, "control character in a string"}
		}
	}
	return 0, &scanError{start, "the text ends within a string"}
}

// special marks, among eight bytes of a string, those that need a closer look:
// a quote, a backslash, a control character, and any with its highest bit set.
// The lowest mark is right; a subtraction's borrow may set wrong ones above it.
func special(w uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	return (w | (w - ones*0x20) | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs
}

// skipValue takes the offset of a value and gives the one behind it. It walks
// the text once, without decoding.
func skipValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return 0, &scanError{i, "the text ends where a value is expected"}
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{':
		return eachMember(b, i, depth, func(_ []byte, at int) (int, error) { return skipValue(b, at, depth+1) })
	case c == '[':
		return eachItem(b, i, depth, func(at int) (int, error) { return skipValue(b, at, depth+1) })
	case c == '-' || c >= '0' && c <= '9':
		j := i + 1
		for j < len(b) && (b[j] >= '0' && b[j] <= '9' || b[j] == '.' || b[j] == 'e' || b[j] == 'E' || b[j] == '+' || b[j] == '-') {
			j++
		}
		return j, nil
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word), nil
		}
	}
	return 0, &scanError{i, fmt.Sprintf("%q where a value is expected", b[i])}
}

// eachMember walks an object: visit gets the raw key (without quotes) and the
// offset of the value, and gives the offset behind it.
func eachMember(b []byte, i, depth int, visit func(key []byte, at int) (int, error)) (int, error) {
	if depth > maxDepth {
		return 0, &scanError{i, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	start := i
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i >= len(b) {
			return 0, &scanError{start, "the text ends within an object"}
		}
		if b[i] != '"' {
			return 0, &scanError{i, fmt.Sprintf("%q where a key is expected", b[i])}
		}
		end, err := skipString(b, i)
		if err != nil {
			return 0, err
		}
		key := b[i+1 : end-1]
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return 0, &scanError{i, "no colon behind a key"}
		}
		if i, err = visit(key, skipSpace(b, i+1)); err != nil {
			return 0, err
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return 0, &scanError{start, "the text ends within an object"}
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case '}':
			return i + 1, nil
		default:
			return 0, &scanError{i, fmt.Sprintf("%q where a comma or } is expected", b[i])}
		}
	}
}

// eachItem walks an array: visit gets the offset of an item and gives the one
// behind it.
func eachItem(b []byte, i, depth int, visit func(at int) (int, error)) (int, error) {
	if depth > maxDepth {
		return 0, &scanError{i, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	start := i
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = visit(i); err != nil {
			return 0, err
		}
		i = skipSpace(b, i)
		if i >= len(b) {
			return 0, &scanError{start, "the text ends within an array"}
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return i + 1, nil
		default:
			return 0, &scanError{i, fmt.Sprintf("%q where a comma or ] is expected", b[i])}
		}
	}
}
