package pvesim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
)

// Whoever judges what was done to a world wants to see what is different, not
// the whole. So the world is kept as it was before the first call that could
// change it, and GET /__sim/changes compares.

// maxRemembered is the number of guests up to which a world is remembered:
// for larger ones the first change would take seconds.
const maxRemembered = 5000

// remember keeps the world before the first change. The caller holds the
// world's lock.
func (s *Server) remember() {
	if s.before != nil || s.forgot {
		return
	}
	s.forgot = true
	if len(s.world.guests) > maxRemembered {
		return
	}
	if text, err := marshal(s.world.stateJSON()); err == nil {
		s.before = text
	}
}

// changes answers GET /__sim/changes.
func (s *Server) changes() *response {
	s.world.mu.RLock()
	now, err := marshal(s.world.stateJSON())
	before, asked := s.before, s.forgot
	s.world.mu.RUnlock()
	switch {
	case err != nil:
		return sayJSON(500, map[string]any{"error": err.Error()})
	case !asked:
		return sayJSON(200, object{})
	case before == nil:
		return sayJSON(501, map[string]any{"error": fmt.Sprintf("changes are not kept for worlds of more than %d guests; see GET /__sim/state", maxRemembered)})
	}
	old, err := decodeState(before)
	if err != nil {
		return sayJSON(500, map[string]any{"error": err.Error()})
	}
	is, err := decodeState(now)
	if err != nil {
		return sayJSON(500, map[string]any{"error": err.Error()})
	}
	delete(old, "now")
	delete(is, "now")
	d, _ := compare(old, is)
	if d == nil {
		d = map[string]any{}
	}
	return sayJSON(200, d)
}

func decodeState(text []byte) (map[string]any, error) {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}

// compare gives what differs between two values: of objects the members that
// do, of lists of things with names what was added, removed and changed, of
// everything else the value before and after.
func compare(old, now any) (difference any, differs bool) {
	a, isObject := old.(map[string]any)
	b, alsoObject := now.(map[string]any)
	if isObject && alsoObject {
		out := map[string]any{}
		for k, v := range b {
			if d, differs := compare(a[k], v); differs {
				out[k] = d
			}
		}
		for k, v := range a {
			if _, there := b[k]; !there {
				if d, differs := compare(v, nil); differs {
					out[k] = d
				}
			}
		}
		return out, len(out) > 0
	}
	x, xOK := named(old)
	y, yOK := named(now)
	if (xOK || old == nil) && (yOK || now == nil) && (xOK || yOK) {
		added, changed := map[string]any{}, map[string]any{}
		removed := []string{}
		for k, v := range y {
			was, there := x[k]
			if !there {
				added[k] = v
			} else if d, differs := compare(was, v); differs {
				changed[k] = d
			}
		}
		for k := range x {
			if _, there := y[k]; !there {
				removed = append(removed, k)
			}
		}
		sort.Strings(removed)
		out := map[string]any{}
		if len(added) > 0 {
			out["added"] = added
		}
		if len(removed) > 0 {
			out["removed"] = removed
		}
		if len(changed) > 0 {
			out["changed"] = changed
		}
		return out, len(out) > 0
	}
	p, _ := json.Marshal(old)
	q, _ := json.Marshal(now)
	if bytes.Equal(p, q) {
		return nil, false
	}
	out := map[string]any{}
	if old != nil {
		out["from"] = old
	}
	if now != nil {
		out["to"] = now
	}
	return out, true
}

// named gives the items of a list by what names each; false where that does
// not tell them apart.
func named(v any) (map[string]any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := map[string]any{}
	for _, item := range list {
		o, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		var key string
		switch {
		case o["upid"] != nil:
			key = keyText(o["upid"])
		case o["sid"] != nil:
			key = keyText(o["sid"])
		case o["id"] != nil && o["kind"] != nil && o["node"] == nil: // sections and mappings
			key = keyText(o["kind"]) + "/" + keyText(o["id"])
		case o["who"] != nil:
			key = keyText(o["path"]) + " " + keyText(o["who"]) + " " + keyText(o["role"])
		case o["name"] != nil:
			key = keyText(o["name"])
		case o["path"] != nil && o["type"] == nil:
			key = keyText(o["path"])
		case o["id"] != nil:
			key = keyText(o["id"])
		default:
			return nil, false
		}
		if _, twice := out[key]; twice {
			return nil, false
		}
		out[key] = item
	}
	return out, true
}

func keyText(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	}
	return ""
}
