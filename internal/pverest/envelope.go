package pverest

import (
	"bytes"
	"encoding/json"
	"errors"
)

// envelope is the frame of every answer of Proxmox's API, its parts still as
// they came.
type envelope struct {
	data, message, errs, total, changes []byte
	hasData                             bool
}

var (
	errCut       = errors.New("the text ends before it is complete")
	errDeep      = errors.New("nested too deeply")
	errNotObject = errors.New("not a JSON object")
	errSyntax    = errors.New("not JSON")
)

// readEnvelope takes the frame apart in one pass over the bytes, without
// allocating and without recursion. It finds where each part ends by brackets
// and quotes, and bounds the nesting before any decoder sees it; whether the
// parts are JSON in every detail is for the decoder to say.
func readEnvelope(b []byte) (envelope, error) {
	var env envelope
	i := skipSpace(b, 0)
	switch {
	case i >= len(b):
		return env, errCut
	case b[i] != '{':
		return env, errNotObject
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return env, trailing(b, i+1)
	}
	for {
		if i >= len(b) {
			return env, errCut
		}
		if b[i] != '"' {
			return env, errSyntax
		}
		end, err := skipString(b, i)
		if err != nil {
			return env, err
		}
		key := b[i+1 : end-1]
		i = skipSpace(b, end)
		if i >= len(b) {
			return env, errCut
		}
		if b[i] != ':' {
			return env, errSyntax
		}
		i = skipSpace(b, i+1)
		end, err = skipValue(b, i)
		if err != nil {
			return env, err
		}
		value := b[i:end]
		switch string(key) {
		case "data":
			env.data, env.hasData = value, true
		case "message":
			env.message = value
		case "errors":
			env.errs = value
		case "total":
			env.total = value
		case "changes":
			env.changes = value
		}
		i = skipSpace(b, end)
		if i >= len(b) {
			return env, errCut
		}
		switch b[i] {
		case '}':
			return env, trailing(b, i+1)
		case ',':
			i = skipSpace(b, i+1)
		default:
			return env, errSyntax
		}
	}
}

func trailing(b []byte, i int) error {
	if skipSpace(b, i) < len(b) {
		return errSyntax
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isJSONSpace(b[i]) {
		i++
	}
	return i
}

// skipString gives the place behind the string that begins at i.
func skipString(b []byte, i int) (int, error) {
	for j := i + 1; ; {
		q := bytes.IndexByte(b[j:], '"')
		if q < 0 {
			return 0, errCut
		}
		end := j + q
		// The quote is part of the string after an odd number of backslashes.
		k := end
		for k > i+1 && b[k-1] == '\\' {
			k--
		}
		if (end-k)%2 == 0 {
			return end + 1, nil
		}
		j = end + 1
	}
}

// skipValue gives the place behind the value that begins at i.
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errCut
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipNested(b, i)
	case c == '-' || c >= '0' && c <= '9' || c == 't' || c == 'f' || c == 'n':
		j := i + 1
		for j < len(b) && !isJSONSpace(b[j]) && b[j] != ',' && b[j] != '}' && b[j] != ']' {
			j++
		}
		return j, nil
	}
	return 0, errSyntax
}

// structural marks the bytes that skipNested looks at.
var structural = [256]bool{'"': true, '{': true, '}': true, '[': true, ']': true}

func skipNested(b []byte, i int) (int, error) {
	var open [MaxDepth]byte
	depth := 0
	for i < len(b) {
		c := b[i]
		if !structural[c] {
			i++
			continue
		}
		switch c {
		case '"':
			// Most strings are short: a plain loop beats calls here.
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			if i >= len(b) {
				return 0, errCut
			}
			i++
			continue
		case '{', '[':
			if depth == MaxDepth {
				return 0, errDeep
			}
			open[depth] = c + 2 // both closing brackets stand two after their opening ones
			depth++
		default:
			if open[depth-1] != c {
				return 0, errSyntax
			}
			depth--
		}
		i++
		if depth == 0 {
			return i, nil
		}
	}
	return 0, errCut
}

// text reads a part that should be a string but may be anything.
func partText(part []byte) string {
	var s Str
	if len(part) == 0 || s.UnmarshalJSON(part) != nil {
		return ""
	}
	return s.V
}

// partErrors reads the errors object: parameter → fault.
func partErrors(part []byte) map[string]string {
	if len(part) == 0 {
		return nil
	}
	var m map[string]Str
	if json.Unmarshal(part, &m) != nil || len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v.V
	}
	return out
}
