package render

import (
	"unicode/utf8"
)

// This file reads JSON as text, without recursion and without building values:
// an answer of Proxmox may be 10 MB or nested thousands deep, and most of it is
// never shown.

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func skipBlank(b []byte, i int) int {
	for i < len(b) && blank(b[i]) {
		i++
	}
	return i
}

// stringEnd gives the end of the string that starts at i, or -1 when it is not
// a valid one.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < 0x20:
			return -1
		case c == '\\':
			if i++; i >= len(b) {
				return -1
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if i+4 >= len(b) {
					return -1
				}
				for _, h := range b[i+1 : i+5] {
					if !(digit(h) || h >= 'a' && h <= 'f' || h >= 'A' && h <= 'F') {
						return -1
					}
				}
				i += 4
			default:
				return -1
			}
		}
	}
	return -1
}

// numberEnd gives the end of the number that starts at i, or -1.
func numberEnd(b []byte, i int) int {
	digits := func() bool {
		s := i
		for i < len(b) && digit(b[i]) {
			i++
		}
		return i > s
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}

// scalarEnd gives the end of the string, number or literal at i, or -1.
func scalarEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '-' || digit(c):
		return numberEnd(b, i)
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(w) && string(b[i:i+len(w)]) == w {
			return i + len(w)
		}
	}
	return -1
}

// checkJSON gives where b stops being one valid JSON value, or -1 when it is
// one.
func checkJSON(b []byte) (bad int) {
	var stack []byte // '{' or '['
	i := skipBlank(b, 0)
	value := true // a value is due; otherwise a comma or an end
	for {
		if value {
			if i >= len(b) {
				return i
			}
			if c := b[i]; c == '{' || c == '[' {
				stack = append(stack, c)
				i = skipBlank(b, i+1)
				if i < len(b) && b[i] == c+2 {
					i++
					stack = stack[:len(stack)-1]
					value = false
				} else if c == '{' {
					if i = keyEnd(b, i); i < 0 {
						return len(b)
					}
				}
			} else {
				e := scalarEnd(b, i)
				if e < 0 {
					return i
				}
				i, value = e, false
			}
			i = skipBlank(b, i)
			continue
		}
		if len(stack) == 0 {
			if i == len(b) {
				return -1
			}
			return i
		}
		if i >= len(b) {
			return i
		}
		top := stack[len(stack)-1]
		switch {
		case b[i] == top+2: // '}' is '{'+2, ']' is '['+2
			stack = stack[:len(stack)-1]
			i = skipBlank(b, i+1)
		case b[i] == ',':
			i = skipBlank(b, i+1)
			if top == '{' {
				if i = keyEnd(b, i); i < 0 {
					return len(b)
				}
				i = skipBlank(b, i)
			}
			value = true
		default:
			return i
		}
	}
}

// keyEnd gives the place after the key and its colon that start at i, or -1.
func keyEnd(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	if i = stringEnd(b, i); i < 0 {
		return -1
	}
	if i = skipBlank(b, i); i >= len(b) || b[i] != ':' {
		return -1
	}
	return i + 1
}

// valueEnd gives the end of the valid value at i, whatever its depth.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; {
		case c == '"':
			i = stringEnd(b, i)
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case blank(c) || c == ',' || c == ':':
			i++
			continue
		default:
			i = scalarEnd(b, i)
		}
		if i < 0 {
			return len(b)
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// children yields the members of the object or the items of the list at i: key
// (nil in a list, else with its quotes) and the value's place. It gives the end
// of the whole.
func children(b []byte, i int, yield func(key []byte, start int) (end int, more bool)) int {
	object := b[i] == '{'
	i++
	for {
		i = skipBlank(b, i)
		if i >= len(b) {
			return i
		}
		switch b[i] {
		case '}', ']':
			return i + 1
		case ',':
			i++
			continue
		}
		var key []byte
		if object {
			e := stringEnd(b, i)
			key = b[i:e]
			i = skipBlank(b, keyEnd(b, i))
		}
		end, more := yield(key, i)
		if !more {
			return end
		}
		i = end
	}
}

// unquote gives the text of a valid JSON string with its quotes.
func unquote(b []byte) string {
	b = b[1 : len(b)-1]
	simple := true
	for _, c := range b {
		if c == '\\' {
			simple = false
			break
		}
	}
	if simple {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			out = append(out, b[i])
			continue
		}
		i++
		switch b[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(b[i+1:])
			i += 4
			if r >= 0xd800 && r < 0xdc00 && i+6 < len(b) && b[i+1] == '\\' && b[i+2] == 'u' {
				if lo := hex4(b[i+3:]); lo >= 0xdc00 && lo < 0xe000 {
					r = 0x10000 + (r-0xd800)<<10 + (lo - 0xdc00)
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, b[i])
		}
	}
	return string(out)
}

func hex4(b []byte) (r rune) {
	for _, c := range b[:4] {
		r <<= 4
		switch {
		case digit(c):
			r |= rune(c - '0')
		default:
			r |= rune(c|0x20-'a') + 10
		}
	}
	return r
}
