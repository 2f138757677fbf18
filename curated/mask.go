package curated

import (
	"bytes"
	"encoding/json"
	"path"
)

// maskKeys replaces the values of all keys that match one of the globs, at any
// depth. What is not valid JSON is given back as it is; nothing else is changed.
func maskKeys(data json.RawMessage, globs []string) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return data
	}
	if !maskValue(v, globs) {
		return data
	}
	out, err := json.Marshal(v)
	if err != nil {
		return data
	}
	return out
}

// maskValue tells whether it changed anything.
func maskValue(v any, globs []string) bool {
	changed := false
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if matchesGlob(globs, key) {
				v[key] = "(hidden)"
				changed = true
			} else if maskValue(inner, globs) {
				changed = true
			}
		}
	case []any:
		for _, inner := range v {
			if maskValue(inner, globs) {
				changed = true
			}
		}
	}
	return changed
}

func matchesGlob(globs []string, key string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, key); ok {
			return true
		}
	}
	return false
}
