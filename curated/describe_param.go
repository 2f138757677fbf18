package curated

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
)

// declaredParam is a parameter of a method and for which variants it counts.
type declaredParam struct {
	name   string
	schema *apidoc.Property
	only   []string // values of the parameter that selects the variant; nil: always
	by     string   // that parameter
}

// declared lists all parameters of an object schema, those of its variants too,
// by name.
func declared(p *apidoc.Property) []declaredParam {
	byName := map[string]*declaredParam{}
	var walk func(p *apidoc.Property, by, only string)
	walk = func(p *apidoc.Property, by, only string) {
		for name, q := range p.Properties {
			d := byName[name]
			if d == nil {
				d = &declaredParam{name: name, schema: q}
				if only != "" {
					d.by = by
				}
				byName[name] = d
			} else if only == "" {
				d.by, d.only = "", nil
				continue
			}
			if d.by != "" && !slices.Contains(d.only, only) {
				d.only = append(d.only, only)
			}
			if len(q.InstanceTypes) > 0 && only == "" {
				d.only, d.by = q.InstanceTypes, q.TypeProperty
				if d.by == "" {
					d.by = "type"
				}
			}
		}
		for _, part := range p.AllOf {
			walk(part, by, only)
		}
		if p.TypeProperty != "" && p.TypePropertySchema != nil {
			if byName[p.TypeProperty] == nil {
				byName[p.TypeProperty] = &declaredParam{name: p.TypeProperty, schema: p.TypePropertySchema}
			}
		}
		for _, variant := range p.OneOf {
			walk(variant, p.TypeProperty, variant.InstanceType)
		}
	}
	walk(p, "", "")
	out := make([]declaredParam, 0, len(byName))
	for _, d := range byName {
		sort.Strings(d.only)
		out = append(out, *d)
	}
	sort.Slice(out, func(i, j int) bool { return naturalLess(out[i].name, out[j].name) })
	return out
}

// shownName writes an indexed parameter with its bounds: net[0-31].
func shownName(m *apidoc.Method, name string) string {
	if first, last, ok := apidoc.IndexBounds(m.Verb, m.Path, name); ok && strings.HasSuffix(name, "[n]") {
		return fmt.Sprintf("%s[%d-%d]", strings.TrimSuffix(name, "[n]"), first, last)
	}
	return name
}

// required tells whether a call without the parameter is refused.
func (d *declaredParam) required() bool {
	return !d.schema.Optional && !d.schema.Group && d.by == "" && !strings.HasSuffix(d.name, "[n]")
}

// howLong says how much room a form may take.
type howLong struct {
	enum    int // values of an enum
	keys    int // keys of a property string
	pattern int // characters of a pattern
}

var (
	short = howLong{enum: 12, keys: 7, pattern: 40}
	whole = howLong{enum: 1 << 30, keys: 1 << 30, pattern: 2000}
)

// form says what a property takes, in one line: type, range, values, default.
func form(p *apidoc.Property, l howLong) string {
	var parts []string
	add := func(s string) {
		if s != "" && !slices.Contains(parts, s) {
			parts = append(parts, s)
		}
	}
	grammar := apidoc.Grammar(p)
	switch {
	case len(p.Enum) > 0:
		add(enumWords(p.Enum, l.enum))
	case grammar != nil:
		if bare := apidoc.DefaultKey(grammar); len(grammar) == 1 && bare != "" {
			add("[" + bare + "=]" + form(grammar[bare], l))
		} else {
			add(grammarWords(grammar, l.keys))
		}
	case p.Format != "":
		add(formatWords(p, l))
	default:
		add(typeWords(p))
	}
	if p.Type == apidoc.Array && p.Items != nil {
		parts = []string{"a list, each " + form(p.Items, l)}
	}
	if p.Pattern != "" {
		add("pattern " + cutText(patternText(p.Pattern), l.pattern))
	}
	if p.Format != "pve-vmid" {
		add(rangeWords(p))
	}
	if p.Default != nil && *p.Default != "" {
		add("default " + cutText(render.Line(*p.Default), 40))
	}
	if p.Requires != "" {
		add("needs " + p.Requires)
	}
	return strings.Join(parts, ", ")
}

// typeWords says the type as far as it tells something.
func typeWords(p *apidoc.Property) string {
	if p.Type == apidoc.Untyped || p.Type == apidoc.Any {
		return "any value"
	}
	return string(p.Type)
}

func formatWords(p *apidoc.Property, l howLong) string {
	name := p.Format
	words := plainFormats[strings.TrimSuffix(name, "-list")]
	switch {
	case words != "" && strings.HasSuffix(name, "-list"):
		words = "list of " + words
	case words == "" || l.keys > 1000:
		words = apidoc.FormatForm(name)
	}
	switch {
	case words == "" && p.Type == apidoc.String:
		return name
	case words == "":
		return typeWords(p) + " (" + name + ")"
	}
	return words
}

// patternText shows a pattern without the shells that Perl puts around compiled
// ones.
func patternText(s string) string {
	s = render.Line(s)
	if inner, ok := strings.CutPrefix(s, "(?^:"); ok && strings.HasSuffix(inner, ")") {
		s = strings.TrimSuffix(inner, ")")
	}
	return strings.ReplaceAll(s, "(?^:", "(?:")
}

// plainFormats are the formats that everybody who uses Proxmox knows; their
// rules are told when one parameter is asked for.
var plainFormats = map[string]string{
	"pve-node": "node", "pve-vmid": "vmid", "pve-storage-id": "storage id", "pve-configid": "name", "pve-poolid": "pool",
	"pve-volume-id": "volid", "pve-userid": "user@realm", "pve-groupid": "group", "pve-roleid": "role", "pve-realm": "realm",
	"pve-iface": "interface", "pve-bridge-id": "bridge", "pve-tag": "tag", "pve-priv": "privilege", "pve-tokenid": "user@realm!token",
	"pve-sdn-fabric-id": "fabric id", "pve-storage-content": "content type", "address": "IP address or DNS name",
	"ip": "IP address", "ipv4": "IPv4 address", "ipv6": "IPv6 address", "email": "mail address",
	"pve-replication-job-id": "job id (vmid-number)", "pve-calendar-event": "calendar event (mon..fri 02:30)",
	"pve-fw-addr-spec": "addresses, range, alias or +ipset", "pve-fw-dport-spec": "ports or ICMP type",
	"pve-fw-sport-spec": "ports", "pve-sdn-route-map-id": "route map id", "pve-sdn-prefix-list-id": "prefix list id",
	"pve-ha-resource-id": "HA resource (vm:100)", "pve-ha-resource-or-vm-id": "HA resource (vm:100) or vmid", "string": "text",
	"pve-volume-id-or-qm-path": "volid", "pve-volume-id-or-absolute-path": "volid", "pve-lxc-mp-string": "volid or path",
	"pve-ipv4-config": "address/prefix|dhcp|manual", "pve-ipv6-config": "address/prefix|auto|dhcp|manual", "disk-size": "size",
	"mac-addr": "MAC address", "urlencoded": "percent-encoded text", "storage-pair": "source:target storage, or one target",
	"bridge-pair": "source:target bridge, or one target",
	"CIDR":        "address/prefix", "CIDRv4": "IPv4/prefix", "CIDRv6": "IPv6/prefix",
}

func rangeWords(p *apidoc.Property) string {
	num := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	var s string
	switch {
	case p.Minimum != nil && p.Maximum != nil:
		s = num(*p.Minimum) + ".." + num(*p.Maximum)
	case p.Minimum != nil:
		s = "≥ " + num(*p.Minimum)
	case p.Maximum != nil:
		s = "≤ " + num(*p.Maximum)
	}
	switch {
	case p.MinLength != nil && p.MaxLength != nil:
		s = joinWords(s, fmt.Sprintf("%d..%d characters", *p.MinLength, *p.MaxLength))
	case p.MaxLength != nil:
		s = joinWords(s, fmt.Sprintf("≤ %d characters", *p.MaxLength))
	case p.MinLength != nil:
		s = joinWords(s, fmt.Sprintf("≥ %d characters", *p.MinLength))
	}
	return s
}

func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// enumWords lists values; of many the first ones and how many there are.
func enumWords(enum []string, most int) string {
	if len(enum) <= most+2 {
		most = len(enum)
	}
	shown := make([]string, 0, most)
	for _, v := range enum[:most] {
		if v = render.Line(v); v == "" {
			v = `""`
		}
		shown = append(shown, v)
	}
	s := strings.Join(shown, "|")
	if rest := len(enum) - most; rest > 0 {
		s += fmt.Sprintf("|… (%d in all)", len(enum))
	}
	return s
}

// keysThatMatter are the keys of property strings that people set, before all
// others that are optional.
var keysThatMatter = []string{
	"bridge", "ip", "gw", "ip6", "gw6", "mp", "tag", "firewall", "macaddr", "name", "hwaddr", "media", "discard", "cache", "iothread", "ssd",
	"backup", "size", "import-from", "format", "ro", "quota", "replicate", "mapping", "pcie", "order", "keep-last", "keep-daily", "keep-weekly", "keep-monthly",
}

// grammarWords gives a property string in short: [file=]…,size=…
func grammarWords(grammar map[string]*apidoc.Property, most int) string {
	keys := grammarKeys(grammar)
	bare := apidoc.DefaultKey(grammar)
	var parts []string
	for i, key := range keys {
		p := grammar[key]
		if i >= most && p.Optional && len(keys) > most+1 {
			parts = append(parts, fmt.Sprintf("… (%d keys)", len(keys)))
			break
		}
		value := "<" + valueWord(p) + ">"
		part := key + "=" + value
		if key == bare {
			part = "[" + key + "=]" + value
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// grammarKeys lists the keys: the one that may stand without its name, the
// required, those that matter, the rest; aliases are left out.
func grammarKeys(grammar map[string]*apidoc.Property) []string {
	var keys []string
	for key, p := range grammar {
		if p.Alias == "" {
			keys = append(keys, key)
		}
	}
	rank := func(key string) int {
		p := grammar[key]
		switch i := slices.Index(keysThatMatter, key); {
		case p.DefaultKey:
			return 0
		case !p.Optional:
			return 1
		case i >= 0:
			return 2 + i
		}
		return 1000
	}
	sort.Slice(keys, func(i, j int) bool {
		if a, b := rank(keys[i]), rank(keys[j]); a != b {
			return a < b
		}
		return naturalLess(keys[i], keys[j])
	})
	return keys
}

// valueWord says in a word or two what a key takes.
func valueWord(p *apidoc.Property) string {
	switch {
	case len(p.Enum) > 0 && len(p.Enum) <= 4:
		return enumWords(p.Enum, 4)
	case len(p.Enum) > 0:
		return strings.TrimSuffix(enumWords(p.Enum, 2), fmt.Sprintf(" (%d in all)", len(p.Enum)))
	case p.Type == apidoc.Boolean:
		return "0|1"
	case plainFormats[p.Format] != "":
		return plainFormats[p.Format]
	case p.Type == apidoc.Integer || p.Type == apidoc.Number:
		return "number"
	}
	return "text"
}

func cutText(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
