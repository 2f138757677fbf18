package pvesim

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"pvemcp/apidoc"
)

// A world file is written by people, so a mistake in it must be answered with
// its place. encoding/json knows neither lines nor, for unknown keys, paths;
// hence the file is read into a tree of values with places first, and the tree
// into the structs of the format.

// WorldError is a fault in a world file.
type WorldError struct {
	Line, Column int    // from 1
	Path         string // such as guests[2].config
	Reason       string
}

func (e *WorldError) Error() string {
	path := e.Path
	if path == "" {
		path = "the file"
	}
	return fmt.Sprintf("world file, line %d, column %d: %s: %s", e.Line, e.Column, path, e.Reason)
}

// jsonNode is a value of a file with its place.
type jsonNode struct {
	line, column int
	path         string
	value        any   // nil, bool, json.Number, string, []*jsonNode or *jsonMembers
	now          int64 // what relative times count from
}

// child gives the member of that name, or the node itself where there is none:
// the place to point at.
func (n *jsonNode) child(key string) *jsonNode {
	if m, ok := n.value.(*jsonMembers); ok && m.values[key] != nil {
		return m.values[key]
	}
	return n
}

// item is child for lists.
func (n *jsonNode) item(i int) *jsonNode {
	if list, ok := n.value.([]*jsonNode); ok && i < len(list) {
		return list[i]
	}
	return n
}

// since sets what relative times count from, in the whole tree.
func (n *jsonNode) since(now int64) {
	n.now = now
	switch v := n.value.(type) {
	case []*jsonNode:
		for _, x := range v {
			x.since(now)
		}
	case *jsonMembers:
		for _, x := range v.values {
			x.since(now)
		}
	}
}

type jsonMembers struct {
	keys   []string
	values map[string]*jsonNode
}

func (n *jsonNode) fault(format string, args ...any) error {
	return &WorldError{Line: n.line, Column: n.column, Path: n.path, Reason: fmt.Sprintf(format, args...)}
}

// maxWorldDepth is more than the format has levels.
const maxWorldDepth = 32

// treeReader makes a tree of a text.
type treeReader struct {
	text []byte
	dec  *json.Decoder
	// line and from are where the last look-up of a place ended, since places
	// come in order.
	line int
	from int
	last int // start of the line
}

func readTree(text []byte) (*jsonNode, error) {
	r := &treeReader{text: text, dec: json.NewDecoder(bytes.NewReader(text)), line: 1}
	r.dec.UseNumber()
	root, err := r.value("", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); !errors.Is(err, io.EOF) {
		n := r.here("")
		return nil, n.fault("there is more after the end of the object")
	}
	return root, nil
}

// here gives a node at the next thing that is not blank or a separator.
func (r *treeReader) here(path string) *jsonNode {
	at := int(r.dec.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	for ; r.from < at; r.from++ {
		if r.text[r.from] == '\n' {
			r.line++
			r.last = r.from + 1
		}
	}
	return &jsonNode{line: r.line, column: at - r.last + 1, path: path}
}

func (r *treeReader) token(n *jsonNode) (json.Token, error) {
	t, err := r.dec.Token()
	if err == nil {
		return t, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line := 1 + bytes.Count(r.text[:min(int(syntax.Offset), len(r.text))], []byte("\n"))
		start := bytes.LastIndexByte(r.text[:max(min(int(syntax.Offset), len(r.text))-1, 0)], '\n') + 1
		return nil, &WorldError{Line: line, Column: max(int(syntax.Offset)-start, 1), Path: n.path, Reason: "not JSON: " + syntax.Error()}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, n.fault("the file ends in the middle")
	}
	return nil, n.fault("not JSON: %v", err)
}

func (r *treeReader) value(path string, depth int) (*jsonNode, error) {
	n := r.here(path)
	if depth > maxWorldDepth {
		return nil, n.fault("nested deeper than %d levels", maxWorldDepth)
	}
	t, err := r.token(n)
	if err != nil {
		return nil, err
	}
	d, ok := t.(json.Delim)
	if !ok {
		n.value = t
		return n, nil
	}
	if d == '[' {
		list := []*jsonNode{}
		for r.dec.More() {
			item, err := r.value(fmt.Sprintf("%s[%d]", path, len(list)), depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		n.value = list
	} else {
		m := &jsonMembers{values: map[string]*jsonNode{}}
		for r.dec.More() {
			at := r.here(path)
			t, err := r.token(at)
			if err != nil {
				return nil, err
			}
			key, ok := t.(string)
			if !ok {
				return nil, at.fault("a key is expected")
			}
			at.path = strings.TrimPrefix(path+"."+key, ".")
			if m.values[key] != nil {
				return nil, at.fault("the key stands here for the second time")
			}
			v, err := r.value(at.path, depth+1)
			if err != nil {
				return nil, err
			}
			m.keys = append(m.keys, key)
			m.values[key] = v
		}
		n.value = m
	}
	if _, err := r.token(n); err != nil {
		return nil, err
	}
	return n, nil
}

// kind names what a value is, for errors.
func (n *jsonNode) kind() string {
	switch n.value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []*jsonNode:
		return "a list"
	}
	return "an object"
}

// fromTree is implemented by what has a form of its own in the file.
type fromTree interface{ fromTree(n *jsonNode) error }

// into fills a value of the format's structs.
func (n *jsonNode) into(v reflect.Value) error {
	if n.value == nil {
		return n.fault("null has no meaning; leave the key out")
	}
	if f, ok := v.Addr().Interface().(fromTree); ok {
		return f.fromTree(n)
	}
	if f, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		s, isText := n.value.(string)
		if !isText {
			return n.fault("a text is expected, not %s", n.kind())
		}
		if err := f.UnmarshalText([]byte(s)); err != nil {
			return n.fault("%v", err)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return n.into(v.Elem())
	case reflect.String:
		s, ok := n.value.(string)
		if !ok {
			return n.fault("a text is expected, not %s", n.kind())
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := n.value.(bool)
		if !ok {
			return n.fault("true or false is expected, not %s", n.kind())
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		i, err := n.integer()
		if err != nil {
			return err
		}
		v.SetInt(i)
	case reflect.Uint32, reflect.Uint64:
		num, ok := n.value.(json.Number)
		if !ok {
			return n.fault("a whole number is expected, not %s", n.kind())
		}
		u, err := strconv.ParseUint(num.String(), 10, 64)
		if err != nil || v.OverflowUint(u) {
			return n.fault("%s is not a whole number that fits", num)
		}
		v.SetUint(u)
	case reflect.Float64:
		num, ok := n.value.(json.Number)
		if !ok {
			return n.fault("a number is expected, not %s", n.kind())
		}
		f, err := num.Float64()
		if err != nil {
			return n.fault("%s is not a number that fits", num)
		}
		v.SetFloat(f)
	case reflect.Slice:
		list, ok := n.value.([]*jsonNode)
		if !ok {
			return n.fault("a list is expected, not %s", n.kind())
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
		for i, item := range list {
			if err := item.into(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		m, ok := n.value.(*jsonMembers)
		if !ok {
			return n.fault("an object is expected, not %s", n.kind())
		}
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range m.keys {
			item := reflect.New(v.Type().Elem()).Elem()
			if err := m.values[k].into(item); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), item)
		}
	case reflect.Struct:
		m, ok := n.value.(*jsonMembers)
		if !ok {
			return n.fault("an object is expected, not %s", n.kind())
		}
		if d, ok := v.Addr().Interface().(interface{ defaults() }); ok {
			d.defaults()
		}
		fields := map[string]int{}
		var names []string
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			fields[name] = i
			names = append(names, name)
		}
		for _, k := range m.keys {
			i, known := fields[k]
			if !known {
				child := m.values[k]
				if near := apidoc.Nearest(k, names, 1); len(near) > 0 {
					return child.fault("unknown key; did you mean %q?", near[0])
				}
				return child.fault("unknown key; known are %s", strings.Join(names, ", "))
			}
			child, f := m.values[k], v.Field(i)
			switch v.Type().Field(i).Tag.Get("form") {
			case "time":
				t, err := child.moment(n.now)
				if err != nil {
					return err
				}
				f.SetInt(t)
				continue
			case "size":
				b, err := child.size()
				if err != nil {
					return err
				}
				f.SetInt(b)
				continue
			}
			if err := child.into(f); err != nil {
				return err
			}
		}
	default:
		return n.fault("this program can't read a %s", v.Type())
	}
	return nil
}

func (n *jsonNode) integer() (int64, error) {
	num, ok := n.value.(json.Number)
	if !ok {
		return 0, n.fault("a whole number is expected, not %s", n.kind())
	}
	i, err := strconv.ParseInt(num.String(), 10, 64)
	if err != nil {
		return 0, n.fault("%s is not a whole number that fits", num)
	}
	return i, nil
}
