package pverest

import (
	"encoding"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"
)

// Values are wire parameters: names to one or, for arrays, several values.
type Values = url.Values

// PropertyStringer is a value that Proxmox takes as one "key=value,…" string,
// such as a network device or a disk.
type PropertyStringer interface {
	PropertyString() (string, error)
}

// EncodeParams turns a params struct into wire parameters. p is nil or a
// pointer to a struct whose exported fields carry the tag pve:"name":
//
//   - strings, integers, floats and booleans (as "1" and "0") of any named
//     type; a value field is required and always sent;
//   - a pointer is optional: nil is left out, a pointer to zero is sent;
//   - a slice is an array and goes as repeated keys. A nil or empty slice is
//     left out: a form can't say "empty list";
//   - a type with PropertyString or MarshalText (also on the pointer) goes as
//     the string that it gives; as an interface or pointer, nil is left out;
//   - a map with an integer key under a tag such as pve:"net[n]" goes as net0,
//     net1, …, its values as above; nil pointers in it are left out;
//   - map[string]string or Values under pve:"*" adds parameters by name, for
//     methods that take names which the schema doesn't list;
//   - an embedded struct's fields count as the struct's own; pve:"-" is skipped.
//
// The result is never nil. A value that can't be sent (NaN, a negative index, a
// failing PropertyString) is an error of KindBadCall with the parameter in
// Params; a struct that can't be understood (a field without a tag) is a
// mistake of its author and an ordinary error. The plan for a type is made
// once, so a call costs no look at tags.
func EncodeParams(p any) (Values, error) {
	out := Values{}
	if p == nil {
		return out, nil
	}
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("params of type %s must be given as a pointer", v.Type())
	}
	if v.IsNil() {
		return out, nil
	}
	v = v.Elem()
	plan, err := planFor(v.Type())
	if err != nil {
		return nil, err
	}
	for i := range plan {
		f := &plan[i]
		field := v.Field(f.index[0])
		if len(f.index) > 1 {
			field = v.FieldByIndex(f.index)
		}
		if f.optional && field.IsNil() {
			continue // most fields of most calls
		}
		if err := f.put(out, f.name, field); err != nil {
			return nil, err
		}
	}
	return out, nil
}

type fieldPlan struct {
	name  string
	index []int
	put   putFunc
	// optional: of a kind that can be nil, and nil means absent
	optional bool
}

// putFunc adds the value under the name.
type putFunc func(out Values, name string, v reflect.Value) error

// textFunc gives the one string of a scalar.
type textFunc func(v reflect.Value) (string, error)

type planEntry struct {
	plan []fieldPlan
	err  error
}

var plans sync.Map // reflect.Type → planEntry

func planFor(t reflect.Type) ([]fieldPlan, error) {
	if e, ok := plans.Load(t); ok {
		pe := e.(planEntry)
		return pe.plan, pe.err
	}
	plan, err := makePlan(t)
	e, _ := plans.LoadOrStore(t, planEntry{plan, err})
	pe := e.(planEntry)
	return pe.plan, pe.err
}

func makePlan(t reflect.Type) ([]fieldPlan, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("params of type %s: not a struct", t)
	}
	var plan []fieldPlan
	seen := map[string]string{}
	var walk func(t reflect.Type, at []int) error
	walk = func(s reflect.Type, at []int) error {
		for i := 0; i < s.NumField(); i++ {
			sf := s.Field(i)
			index := append(append([]int{}, at...), i)
			tag, tagged := sf.Tag.Lookup("pve")
			if sf.Anonymous && !tagged && sf.Type.Kind() == reflect.Struct {
				if err := walk(sf.Type, index); err != nil {
					return err
				}
				continue
			}
			if tag == "-" || !tagged && !sf.IsExported() {
				continue
			}
			where := t.String() + "." + sf.Name
			switch {
			case !sf.IsExported():
				return fmt.Errorf("params field %s has a pve tag but is not exported", where)
			case tag == "":
				return fmt.Errorf("params field %s has no pve tag", where)
			case seen[tag] != "":
				return fmt.Errorf("params fields %s and %s are both called %q", seen[tag], where, tag)
			}
			seen[tag] = where
			f := fieldPlan{name: tag, index: index}
			var err error
			switch {
			case tag == "*":
				f.put, err = putExtra(sf.Type)
			case strings.HasSuffix(tag, "[n]"):
				f.name = strings.TrimSuffix(tag, "[n]")
				f.put, err = putIndexed(sf.Type)
			default:
				f.put, err = putValue(sf.Type)
			}
			if err != nil {
				return fmt.Errorf("params field %s: %w", where, err)
			}
			switch sf.Type.Kind() {
			case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
				f.optional = true
			}
			plan = append(plan, f)
		}
		return nil
	}
	if err := walk(t, nil); err != nil {
		return nil, err
	}
	return plan, nil
}

var (
	propertyType = reflect.TypeFor[PropertyStringer]()
	textType     = reflect.TypeFor[encoding.TextMarshaler]()
	valuesType   = reflect.TypeFor[Values]()
	stringsType  = reflect.TypeFor[map[string]string]()
)

func badParam(name, why string) error {
	return &Error{Kind: KindBadCall, Message: "parameter can't be sent", Params: map[string]string{name: why}}
}

func putValue(t reflect.Type) (putFunc, error) {
	// A type's own methods come first, so that a pointer or a slice type may
	// have a string form of its own.
	if text := methodText(t); text != nil {
		nilable := t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t.Kind() == reflect.Map || t.Kind() == reflect.Slice
		return func(out Values, name string, v reflect.Value) error {
			if nilable && v.IsNil() {
				return nil
			}
			return putText(out, name, v, text)
		}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		put, err := putValue(t.Elem())
		if err != nil {
			return nil, err
		}
		return func(out Values, name string, v reflect.Value) error {
			if v.IsNil() {
				return nil
			}
			return put(out, name, v.Elem())
		}, nil
	case reflect.Slice:
		if k := t.Elem().Kind(); k == reflect.Slice || k == reflect.Map {
			return nil, fmt.Errorf("a list of %s has no wire form", t.Elem())
		}
		put, err := putValue(t.Elem())
		if err != nil {
			return nil, err
		}
		return func(out Values, name string, v reflect.Value) error {
			for i := 0; i < v.Len(); i++ {
				if err := put(out, name, v.Index(i)); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	text := scalarTextFunc(t)
	if text == nil {
		return nil, fmt.Errorf("type %s has no wire form", t)
	}
	return func(out Values, name string, v reflect.Value) error { return putText(out, name, v, text) }, nil
}

func putText(out Values, name string, v reflect.Value, text textFunc) error {
	s, err := text(v)
	if err != nil {
		return badParam(name, err.Error())
	}
	out[name] = append(out[name], s)
	return nil
}

// methodText gives the function that calls PropertyString or MarshalText, nil
// if the type has neither.
func methodText(t reflect.Type) textFunc {
	for _, m := range []struct {
		iface reflect.Type
		call  textFunc
	}{
		{propertyType, func(v reflect.Value) (string, error) { return v.Interface().(PropertyStringer).PropertyString() }},
		{textType, func(v reflect.Value) (string, error) {
			b, err := v.Interface().(encoding.TextMarshaler).MarshalText()
			return string(b), err
		}},
	} {
		call := m.call
		switch {
		case t.Implements(m.iface):
			return call
		case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(m.iface):
			return func(v reflect.Value) (string, error) {
				if v.CanAddr() {
					return call(v.Addr())
				}
				p := reflect.New(t)
				p.Elem().Set(v)
				return call(p)
			}
		}
	}
	return nil
}

func scalarTextFunc(t reflect.Type) textFunc {
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value) (string, error) { return v.String(), nil }
	case reflect.Bool:
		return func(v reflect.Value) (string, error) {
			if v.Bool() {
				return "1", nil
			}
			return "0", nil
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(v reflect.Value) (string, error) { return strconv.FormatInt(v.Int(), 10), nil }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(v reflect.Value) (string, error) { return strconv.FormatUint(v.Uint(), 10), nil }
	case reflect.Float32, reflect.Float64:
		bits := t.Bits()
		return func(v reflect.Value) (string, error) {
			f := v.Float()
			switch a := math.Abs(f); {
			case math.IsNaN(f) || math.IsInf(f, 0):
				return "", fmt.Errorf("%v is not a number that can be sent", f)
			case a != 0 && (a < 1e-9 || a >= 1e21):
				return strconv.FormatFloat(f, 'e', -1, bits), nil
			}
			return strconv.FormatFloat(f, 'f', -1, bits), nil
		}
	}
	return nil
}

func putIndexed(t reflect.Type) (putFunc, error) {
	if t.Kind() != reflect.Map {
		return nil, fmt.Errorf("an indexed parameter needs a map with an integer key, not %s", t)
	}
	var key func(v reflect.Value) (string, bool)
	switch t.Key().Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		key = func(v reflect.Value) (string, bool) { return strconv.FormatInt(v.Int(), 10), v.Int() >= 0 }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		key = func(v reflect.Value) (string, bool) { return strconv.FormatUint(v.Uint(), 10), true }
	default:
		return nil, fmt.Errorf("an indexed parameter needs a map with an integer key, not %s", t)
	}
	put, err := putValue(t.Elem())
	if err != nil {
		return nil, err
	}
	return func(out Values, name string, v reflect.Value) error {
		for it := v.MapRange(); it.Next(); {
			n, ok := key(it.Key())
			if !ok {
				return badParam(name+n, "an index can't be negative")
			}
			if err := put(out, name+n, it.Value()); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func putExtra(t reflect.Type) (putFunc, error) {
	add := func(out Values, k string, vs ...string) error {
		if k == "" {
			return badParam("*", "a parameter has no name")
		}
		if _, dup := out[k]; dup {
			return badParam(k, "given twice")
		}
		out[k] = append([]string(nil), vs...)
		return nil
	}
	switch {
	case t.ConvertibleTo(stringsType):
		return func(out Values, _ string, v reflect.Value) error {
			m := v.Convert(stringsType).Interface().(map[string]string)
			for _, k := range sortedKeys(m) {
				if err := add(out, k, m[k]); err != nil {
					return err
				}
			}
			return nil
		}, nil
	case t.ConvertibleTo(valuesType):
		return func(out Values, _ string, v reflect.Value) error {
			m := v.Convert(valuesType).Interface().(Values)
			for _, k := range sortedKeys(m) {
				if err := add(out, k, m[k]...); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	return nil, fmt.Errorf(`pve:"*" needs map[string]string or Values, not %s`, t)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
