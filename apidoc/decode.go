package apidoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// decodeMethod decodes one method's text. What it does not understand is
// listed in Unknown, with its place; only text that is not JSON is an error.
func decodeMethod(e *Endpoint) (*Method, error) {
	dec := json.NewDecoder(bytes.NewReader(e.raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, unreadable("method "+e.String(), err)
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return nil, unreadable("method "+e.String()+" is not an object", nil)
	}
	d := &decoder{}
	m := &Method{Verb: e.Verb, Path: e.Path, era: e.era}
	for _, key := range sortedKeys(obj) {
		v := obj[key]
		switch key {
		case "method":
			if v != string(e.Verb) {
				d.odd("method", "is %v below verb %s", v, e.Verb)
			}
		case "name":
			m.Name = d.text(v, "name")
		case "description":
			m.Description = d.text(v, "description")
		case "protected":
			m.Protected = d.flag(v, "protected")
		case "allowtoken":
			m.AllowToken = d.flag(v, "allowtoken")
		case "expose_credentials":
			m.ExposeCredentials = d.flag(v, "expose_credentials")
		case "download_allowed":
			m.DownloadAllowed = d.flag(v, "download_allowed")
		case "proxyto":
			if v != nil {
				m.ProxyTo = d.text(v, "proxyto")
			}
		case "parameters":
			m.Parameters = d.property(v, "parameters")
		case "returns":
			m.Returns = d.property(v, "returns")
		case "permissions":
			m.Permission = d.permission(v, "permissions")
		default:
			d.odd(key, "never seen in a method")
		}
	}
	if m.Parameters == nil {
		m.Parameters = &Property{}
	}
	if m.Returns == nil {
		m.Returns = &Property{}
	}
	for _, u := range d.unknown {
		m.Unknown = append(m.Unknown, e.String()+": "+u)
	}
	return m, nil
}

// decoder turns loosely typed JSON into the model and notes what it can't place.
type decoder struct{ unknown []string }

func (d *decoder) odd(place, format string, args ...any) {
	d.unknown = append(d.unknown, place+": "+fmt.Sprintf(format, args...))
}

func (d *decoder) text(v any, place string) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "1"
		}
		return "0"
	}
	d.odd(place, "%T where a text is expected", v)
	return ""
}

// flag reads Perl's notion of a boolean: 1, "1", 0, "", null, true.
func (d *decoder) flag(v any, place string) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case json.Number:
		return v.String() != "0"
	case string:
		return v != "" && v != "0"
	}
	d.odd(place, "%T where 0 or 1 is expected", v)
	return false
}

func (d *decoder) number(v any, place string) *float64 {
	s := ""
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string: // an upstream slip, 37 times in 9.2
		s = v
	case nil:
		return nil
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		d.odd(place, "%v where a number is expected", v)
		return nil
	}
	return &f
}

func (d *decoder) count(v any, place string) *int {
	f := d.number(v, place)
	if f == nil {
		return nil
	}
	n := int(*f)
	return &n
}

func (d *decoder) texts(v any, place string) []string {
	list, ok := v.([]any)
	if !ok {
		// 7.4 has a bare string once where a list of privileges belongs.
		if s, ok := v.(string); ok {
			return []string{s}
		}
		d.odd(place, "%T where a list is expected", v)
		return nil
	}
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = d.text(item, place)
	}
	return out
}

func (d *decoder) properties(v any, place string) map[string]*Property {
	obj, ok := v.(map[string]any)
	if !ok {
		d.odd(place, "%T where named properties are expected", v)
		return nil
	}
	out := make(map[string]*Property, len(obj))
	for name, v := range obj {
		out[name] = d.property(v, place+"."+name)
	}
	return out
}

func (d *decoder) list(v any, place string) []*Property {
	items, ok := v.([]any)
	if !ok {
		d.odd(place, "%T where a list of schemas is expected", v)
		return nil
	}
	out := make([]*Property, len(items))
	for i, v := range items {
		out[i] = d.property(v, fmt.Sprintf("%s[%d]", place, i))
	}
	return out
}

func (d *decoder) property(v any, place string) *Property {
	p := &Property{}
	obj, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			d.odd(place, "%T where a schema is expected", v)
		}
		return p
	}
	for key, v := range obj {
		at := place + "." + key
		switch key {
		case "type":
			p.Type = Type(d.text(v, at))
			switch p.Type {
			case String, Integer, Number, Boolean, Array, Object, Null, Any:
			case "ip": // pve-sdn-dhcp-range; Proxmox's check accepts any text for it
			default:
				d.odd(at, "type %q never seen", p.Type)
			}
		case "optional":
			p.Optional = d.flag(v, at)
		case "description":
			p.Description = d.text(v, at)
		case "typetext":
			p.TypeText = d.text(v, at)
		case "format":
			switch v := v.(type) {
			case string:
				p.Format = v
			case map[string]any:
				p.Nested = d.properties(v, at)
			default:
				d.odd(at, "%T where a format's name or grammar is expected", v)
			}
		case "pattern":
			p.Pattern = d.text(v, at)
		case "enum":
			if v != nil { // null means that nothing is checked
				p.Enum = d.texts(v, at)
			}
		case "minimum":
			p.Minimum = d.number(v, at)
		case "maximum":
			p.Maximum = d.number(v, at)
		case "minLength":
			p.MinLength = d.count(v, at)
		case "maxLength":
			p.MaxLength = d.count(v, at)
		case "default":
			switch v.(type) {
			case nil:
			case map[string]any, []any:
				text, _ := json.Marshal(v)
				s := string(text)
				p.Default = &s
			default:
				s := d.text(v, at)
				p.Default = &s
			}
		case "requires":
			if name, ok := v.(string); ok {
				p.Requires = name
			} else {
				p.RequiresSchema = d.property(v, at)
			}
		case "alias":
			p.Alias = d.text(v, at)
		case "keyAlias":
			p.KeyAlias = d.text(v, at)
		case "default_key":
			p.DefaultKey = d.flag(v, at)
		case "renderer":
			p.Renderer = d.text(v, at)
		case "group":
			p.Group = d.flag(v, at)
		case "items":
			p.Items = d.property(v, at)
		case "properties":
			p.HasProperties = true
			p.Properties = d.properties(v, at)
		case "additionalProperties":
			if schema, ok := v.(map[string]any); ok {
				p.Extra, p.AdditionalSchema = ExtraSchema, d.property(schema, at)
			} else if d.flag(v, at) {
				p.Extra = ExtraAllowed
			} else {
				p.Extra = ExtraRefused
			}
		case "type-property":
			p.TypeProperty = d.text(v, at)
		case "instance-types":
			p.InstanceTypes = d.texts(v, at)
		case "instance-type":
			p.InstanceType = d.text(v, at)
		case "type-property-schema":
			p.TypePropertySchema = d.property(v, at)
		case "oneOf":
			p.OneOf = d.list(v, at)
		case "allOf":
			p.AllOf = d.list(v, at)
		case "title", "links", "verbose_description", "format_description":
			// prose and hyperlinks of the viewer
		case "max", "min":
			// upstream slips without effect
		default:
			d.odd(at, "key never seen in a schema")
		}
	}
	p.seal()
	return p
}

func (d *decoder) permission(v any, place string) Permission {
	obj, ok := v.(map[string]any)
	if !ok {
		if v != nil {
			d.odd(place, "%T where permissions are expected", v)
		}
		return Permission{}
	}
	perm := Permission{Declared: true}
	for _, key := range sortedKeys(obj) {
		v := obj[key]
		switch key {
		case "user":
			perm.User = d.text(v, place+".user")
			if perm.User != "all" && perm.User != "world" {
				d.odd(place+".user", "%q never seen", perm.User)
			}
		case "check":
			if v != nil {
				perm.Check = d.expr(v, place+".check")
			}
		case "description":
			perm.Description = d.text(v, place+".description")
		default:
			d.odd(place+"."+key, "never seen in permissions")
		}
	}
	return perm
}

func (d *decoder) expr(v any, place string) *Expr {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		d.odd(place, "%T where a permission expression is expected", v)
		return &Expr{Op: OpOr}
	}
	e := &Expr{Op: ExprOp(d.text(list[0], place))}
	rest := list[1:]
	take := func() (any, bool) {
		if len(rest) == 0 {
			return nil, false
		}
		v := rest[0]
		rest = rest[1:]
		return v, true
	}
	switch e.Op {
	case OpAnd, OpOr:
		for i, v := range rest {
			e.Args = append(e.Args, d.expr(v, fmt.Sprintf("%s[%d]", place, i+1)))
		}
		return e
	case OpPerm:
		if v, ok := take(); ok {
			e.Path = d.text(v, place)
		}
		if v, ok := take(); ok {
			e.Privs = d.texts(v, place)
		}
	case OpUserGroup:
		if v, ok := take(); ok {
			e.Privs = d.texts(v, place)
		}
	case OpUserParam:
		if v, ok := take(); ok {
			e.Param = d.text(v, place)
		}
	case OpPermModify:
		if v, ok := take(); ok {
			e.Path = d.text(v, place)
		}
	default:
		d.odd(place, "operator %q never seen", e.Op)
		return e
	}
	for len(rest) >= 2 {
		option, _ := take()
		value, _ := take()
		switch d.text(option, place) {
		case "any":
			e.Any = d.flag(value, place)
		case "require_param":
			e.RequireParam = d.text(value, place)
		case "groups_param":
			e.GroupsParam = d.text(value, place)
		default:
			d.odd(place, "option %v never seen", option)
		}
	}
	if len(rest) > 0 {
		d.odd(place, "%d values left over", len(rest))
	}
	return e
}

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
