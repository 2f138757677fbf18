package apidoc

import (
	"fmt"
	"strings"
)

// unknown notes a key that an object does not declare, with what was probably
// meant; in a member of an allOf it is only collected.
func (c *checker) unknown(p *Property, at, name string, collect unknowns) {
	if at == "" && c.isPathValue(name) {
		return // the server's router put it there; the schema forgot it
	}
	key := join(at, name)
	before := len(c.faults)
	if q, index := indexed(p.Properties, name); q != nil && index < 0 {
		base := strings.TrimRight(name, "0123456789")
		reason := "unknown parameter; " + base + " takes a number without leading zeros"
		if last, ok := lastIndex[base]; ok {
			reason = fmt.Sprintf("unknown parameter; %s goes from %s0 to %s%d", base, base, base, last)
		}
		c.fault(key, FaultUnknown, reason)
	} else {
		word := "unknown parameter"
		if c.inString {
			word = "unknown key"
		}
		c.fault(key, FaultUnknown, word)
		if c.suggested < maxSuggestions {
			c.suggest(name, suggestable(p, name))
		}
	}
	if collect != nil {
		collect[key] = c.faults[before]
		c.faults = c.faults[:before]
	}
}

func (c *checker) isPathValue(name string) bool {
	for _, pv := range c.pathValues {
		if pv.Name == name {
			return true
		}
	}
	return false
}

// suggestable lists names as one would write them instead of wrong: net[n] as
// net3 for nett3.
func suggestable(p *Property, wrong string) []string {
	number := wrong[len(strings.TrimRight(wrong, "0123456789")):]
	names := make([]string, 0, len(p.Properties))
	for name := range p.Properties {
		if base, ok := strings.CutSuffix(name, "[n]"); ok {
			if name = base + number; member(p.Properties, name) == nil {
				name = base + "0"
			}
		}
		names = append(names, name)
	}
	return names
}
