package apidoc

import (
	"fmt"
	"slices"
	"strings"
)

// anyOf tries alternatives that no sibling selects; the first that fits
// counts, and if none does, all their faults.
func (c *checker) anyOf(v value, alternatives []*Property, at string) {
	var all []Fault
	for i, alt := range alternatives {
		try := checker{era: c.era, verb: c.verb, path: c.path, suggested: c.suggested, depth: c.depth}
		try.value(v, alt, "", fmt.Sprintf("%s.oneOf[%d]", at, i), "", false, nil)
		if len(try.faults) == 0 {
			return
		}
		all = append(all, try.faults...)
	}
	c.faults = append(c.faults, all...)
}

// allOf checks an object against every member; a key that all members do not
// know is unknown.
func (c *checker) allOf(v value, p *Property, at string, collect unknowns) {
	var common unknowns
	for i, part := range p.AllOf {
		found := unknowns{}
		c.value(v, part, "", at, "", false, found)
		if i == 0 {
			common = found
			continue
		}
		for key := range common {
			if _, ok := found[key]; !ok {
				delete(common, key)
			}
		}
	}
	for key, f := range common {
		if collect != nil {
			collect[key] = f
			continue
		}
		c.faults = append(c.faults, f)
		if !strings.Contains(f.Reason, ";") {
			name := strings.TrimPrefix(key, at+".")
			names := allNames(p, name)
			slices.Sort(names)
			c.suggest(name, slices.Compact(names))
		}
	}
}

// allNames lists the names that any part of a schema declares.
func allNames(p *Property, wrong string) []string {
	names := suggestable(p, wrong)
	for _, part := range p.AllOf {
		names = append(names, allNames(part, wrong)...)
	}
	for _, part := range p.OneOf {
		names = append(names, allNames(part, wrong)...)
	}
	return names
}

// variants checks an object whose schema is selected by one of its keys.
func (c *checker) variants(given map[string]value, p *Property, at string, collect unknowns) {
	key := p.TypeProperty
	t := given[key]
	allUnknown := func() {
		for name := range given {
			if name != key {
				c.unknown(&Property{}, at, name, collect)
			}
		}
	}
	if t.kind == undefined {
		allUnknown()
		if !p.Optional {
			c.fault(join(at, key), FaultMissing, "missing, but it says which parameters apply"+expected(p.TypePropertySchema))
		}
		return
	}
	before := len(c.faults)
	c.value(t, p.TypePropertySchema, at, key, "", false, nil)
	if len(c.faults) > before {
		allUnknown()
		return
	}
	for _, variant := range p.OneOf {
		if variant.InstanceType == t.word() {
			prefix := "oneOf[" + t.word() + "]"
			if at != "" {
				prefix = at + "." + prefix
			}
			c.variant(given, variant, prefix, at, key, collect)
			return
		}
	}
	c.fault(at, FaultVariant, show(t.word())+" is no variant of "+key)
}

// variant checks an object against the selected schema. Faults are keyed by
// the variant, unknown keys by the object that they stand in.
func (c *checker) variant(given map[string]value, p *Property, prefix, at, key string, collect unknowns) {
	if !p.HasProperties {
		return
	}
	found := unknowns{}
	c.object(given, p, prefix, key, found)
	for name, f := range found {
		plain := join(at, strings.TrimPrefix(name, prefix+"."))
		if c.isPathValue(plain) && at == "" {
			continue
		}
		if collect == nil {
			c.faults = append(c.faults, f)
			continue
		}
		f.Param = plain
		collect[plain] = f
	}
}
