package pvesim

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// WriteWorld writes a world as a world file, which [ReadWorld] reads back into
// the same world. Secrets of tokens and passwords of users are in it. The
// caller must keep the world from changing meanwhile (see [World.View]).
func WriteWorld(out io.Writer, w *World) error {
	o, err := w.fileObject()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, appendObject(nil, o, nil), "", " "); err != nil {
		return fmt.Errorf("pvesim: writing a world: %w", err)
	}
	b.WriteByte('\n')
	_, err = out.Write(b.Bytes())
	return err
}

// stateJSON is the world as GET /__sim/state shows it: a world file.
func (w *World) stateJSON() any {
	o, err := w.fileObject()
	if err != nil {
		return map[string]string{"error": err.Error()}
	}
	return o
}

func (w *World) fileObject() (object, error) {
	v, err := shown(reflect.ValueOf(w.toFile()))
	if err != nil {
		return nil, err
	}
	o, ok := v.(object)
	if !ok {
		return nil, fmt.Errorf("pvesim: a world became a %T", v)
	}
	return o, nil
}

// shown is the opposite of jsonNode.into.
func shown(v reflect.Value) (any, error) {
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case Config:
			return configObject(&x, nil), nil
		case *Storage:
			return shown(reflect.ValueOf(x.toFile()))
		case encoding.TextMarshaler:
			if v.Kind() != reflect.Pointer || !v.IsNil() {
				b, err := x.MarshalText()
				return string(b), err
			}
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil, nil
		}
		return shown(v.Elem())
	case reflect.String:
		return v.String(), nil
	case reflect.Bool:
		if v.Bool() {
			return rawJSON("true"), nil
		}
		return rawJSON("false"), nil
	case reflect.Int, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint32, reflect.Uint64:
		return v.Uint(), nil
	case reflect.Float64:
		return rawJSON(strconv.FormatFloat(v.Float(), 'g', -1, 64)), nil
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			x, err := shown(v.Index(i))
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
		return list, nil
	case reflect.Map:
		keys := v.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		o := object{}
		for _, k := range keys {
			x, err := shown(v.MapIndex(k))
			if err != nil {
				return nil, err
			}
			o.put(k.String(), x)
		}
		return o, nil
	case reflect.Struct:
		o := object{}
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			name, options, _ := strings.Cut(tag.Get("json"), ",")
			f := v.Field(i)
			if name == "" || name == "-" || options == "omitempty" && empty(f) {
				continue
			}
			var x any
			var err error
			switch tag.Get("form") {
			case "time":
				x = shownTime(f.Int())
			case "size":
				x = shownSize(f.Int())
			default:
				x, err = shown(f)
			}
			if err != nil {
				return nil, err
			}
			o.put(name, x)
		}
		return o, nil
	}
	return nil, fmt.Errorf("pvesim: a world file can't hold a %s", v.Type())
}

// empty tells whether a field may be left out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	if c, ok := v.Interface().(Config); ok {
		return c.Len() == 0
	}
	return v.IsZero()
}
