package apidoc

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// WireError says that an argument has no form on the wire.
type WireError struct {
	Param  string
	Reason string
}

func (e *WireError) Error() string { return e.Param + ": " + e.Reason }

// Wire turns arguments as a person or a model writes them in JSON into what
// goes over the wire; decode them with UseNumber, so that big numbers stay
// exact. It is kind where the schema leaves no doubt:
//
//   - true, "yes" or "on" become 1 for a boolean, false, "no" or "off" 0;
//   - 100.0 and " 100 " become 100 for an integer;
//   - an object becomes a property string, a list inside it is joined by ";";
//   - a list becomes a list text, or repeated keys for an array, or the value
//     itself if it has one item and one text is wanted;
//   - null is left out.
//
// What it does not understand it passes on, so that [Method.Check] gives the
// reason. The error is a [*WireError]: the argument can't be written at all,
// such as an object where no property string is wanted, or a comma inside one.
func (m *Method) Wire(args map[string]any) (Params, error) {
	params := make(Params, len(args))
	for _, name := range sortedKeys(args) {
		p, ok := m.Property(name)
		if !ok {
			p = &Property{}
		}
		texts, err := wireValues(args[name], resolveVariant(p, args))
		if err != nil {
			return nil, &WireError{Param: name, Reason: err.Error()}
		}
		if texts != nil {
			params[name] = texts
		}
	}
	return params, nil
}

// resolveVariant gives the alternative of a property that the sibling selects.
func resolveVariant(p *Property, args map[string]any) *Property {
	if p.TypeProperty == "" || len(p.OneOf) == 0 {
		return p
	}
	instance, _ := args[p.TypeProperty].(string)
	for _, alt := range p.OneOf {
		if contains(alt.InstanceTypes, instance) {
			return alt
		}
	}
	return p.OneOf[0]
}

// wireValues gives the texts under one key; nil for a value that is not sent.
func wireValues(v any, p *Property) ([]string, error) {
	list, isList := asList(v)
	switch {
	case v == nil:
		return nil, nil
	case p.Format == "pve-command-batch" && isContainer(v):
		return asciiJSON(v)
	case !isList:
		if p.Type == Array {
			p = itemOf(p)
		}
		text, err := wireText1(v, p)
		return []string{text}, err
	case p.Type == Array:
		return wireItems(list, itemOf(p))
	case strings.HasSuffix(p.Format, "-list"):
		texts, err := wireItems(list, &Property{Type: String})
		return []string{strings.Join(texts, ",")}, err
	case len(list) == 1 && !isListOf(list[0]):
		return wireValues(list[0], p)
	}
	return wireItems(list, p)
}

func itemOf(p *Property) *Property {
	if p.Items != nil {
		return p.Items
	}
	return &Property{}
}

func wireItems(list []any, p *Property) ([]string, error) {
	texts := make([]string, 0, len(list))
	for i, item := range list {
		if item == nil {
			continue
		}
		if isListOf(item) {
			return nil, fmt.Errorf("item %d is a list inside a list, which has no form on the wire", i)
		}
		text, err := wireText1(item, p)
		if err != nil {
			return nil, fmt.Errorf("item %d: %w", i, err)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// wireText1 gives the text of one value that is no list.
func wireText1(v any, p *Property) (string, error) {
	if object, ok := v.(map[string]any); ok {
		grammar := Grammar(p)
		if grammar == nil {
			return "", fmt.Errorf("is a JSON object; %s is expected", wanted(p))
		}
		return EncodePropertyString(object, grammar)
	}
	return scalarText(v, p), nil
}

func wanted(p *Property) string {
	if p.Format != "" {
		if f := formatForm(p.Format); f != "" {
			return f
		}
	}
	if p.Type == Untyped {
		return "a text, number or boolean"
	}
	return typeForm(p)
}

// scalarText writes a scalar for a property's type.
func scalarText(v any, p *Property) string {
	switch v := v.(type) {
	case bool:
		if p.Type == String && len(p.Enum) > 0 {
			return boolEnum(v, p.Enum)
		}
		if v {
			return "1"
		}
		return "0"
	case string:
		switch p.Type {
		case Boolean:
			return booleanWord(strings.TrimSpace(v))
		case Integer, Number:
			return plainInteger(strings.TrimSpace(v), p.Type)
		}
		return v
	case json.Number:
		return plainInteger(string(v), Integer)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return strconv.FormatInt(int64(v), 10)
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// boolEnum finds the word of an enum that means true or false.
func boolEnum(v bool, enum []string) string {
	words := [...]string{"0", "off", "no", "false"}
	if v {
		words = [...]string{"1", "on", "yes", "true"}
	}
	for _, w := range words {
		if contains(enum, w) {
			return w
		}
	}
	return words[0]
}

// plainInteger writes 100.0 and 1e2 as 100; any other text stays.
func plainInteger(s string, t Type) string {
	if t != Integer || !strings.ContainsAny(s, ".eE") || !looksNumber(s) {
		return s
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return s
	}
	return strconv.FormatInt(int64(f), 10)
}

func isContainer(v any) bool {
	_, object := v.(map[string]any)
	return object || isListOf(v)
}

func isListOf(v any) bool {
	_, ok := asList(v)
	return ok
}

func asList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return list, true
	}
	return nil, false
}

func asciiJSON(v any) ([]string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// The format reads bytes; characters beyond ASCII must be escaped.
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []string{b.String()}, nil
}

// EncodePropertyString writes an object as a property string of a grammar: the
// default key first and bare, then the others sorted. Null and values that are
// left out alike are not written; booleans become 1 and 0, lists are joined by
// ";". Keys are not checked here. The error says which value can't stand in a
// property string: one with a comma or a newline, an empty one, an object.
func EncodePropertyString(object map[string]any, grammar map[string]*Property) (string, error) {
	bare := DefaultKey(grammar)
	keys := sortedKeys(object)
	sort.SliceStable(keys, func(i, j int) bool { return keys[i] == bare && keys[j] != bare })
	var parts []string
	for _, key := range keys {
		v := object[key]
		if v == nil {
			continue
		}
		if key == "" || strings.ContainsAny(key, "=,\n") {
			return "", fmt.Errorf("key %s can't stand in a property string", show(key))
		}
		text, err := innerText(v, grammar[key])
		if err != nil {
			return "", fmt.Errorf("key %s: %w", key, err)
		}
		if key == bare && !strings.Contains(text, "=") && strings.TrimSpace(text) != "" {
			parts = append(parts, text)
			continue
		}
		parts = append(parts, key+"="+text)
	}
	return strings.Join(parts, ","), nil
}

func innerText(v any, p *Property) (string, error) {
	if p == nil {
		p = &Property{}
	}
	var text string
	if list, ok := asList(v); ok {
		texts, err := wireItems(list, &Property{Type: String})
		if err != nil {
			return "", err
		}
		text = strings.Join(texts, ";")
	} else if _, ok := v.(map[string]any); ok {
		return "", fmt.Errorf("is a JSON object; property strings can't hold one another")
	} else {
		text = scalarText(v, p)
	}
	switch {
	case text == "":
		return "", fmt.Errorf("is empty, which a property string can't say; leave it out")
	case strings.ContainsAny(text, ",\n"):
		return "", fmt.Errorf("%s holds a comma or newline, which a property string can't say", show(text))
	}
	return text, nil
}
