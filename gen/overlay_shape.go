package gen

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// ShapeKind is the kind of a value in an answer of Proxmox.
type ShapeKind string

// The kinds. Proxmox sends numbers as numbers or as text, and booleans as 1
// and 0, as text or as true and false; ShapeInt, ShapeNumber and ShapeBool
// mean all of these.
const (
	ShapeAny    ShapeKind = "any"
	ShapeString ShapeKind = "string"
	ShapeInt    ShapeKind = "int"
	ShapeNumber ShapeKind = "number"
	ShapeBool   ShapeKind = "bool"
	ShapeList   ShapeKind = "list"   // of Elem
	ShapeMap    ShapeKind = "map"    // from text to Elem
	ShapeObject ShapeKind = "object" // with Fields; it may have more
)

// Shape is the type of a value in an answer.
type Shape struct {
	Kind   ShapeKind
	Elem   *Shape  // of a list or a map
	Fields []Field // of an object, sorted by name
}

// Field is one key of an object. Any of them may be absent, or indexed when
// its name ends in `[n]`.
type Field struct {
	Name  string
	Shape Shape
}

// Result says what a method answers where the schema declares nothing, too
// little, or something wrong.
type Result struct {
	// Replace: the shape stands instead of the declared one. Otherwise, the
	// fields of the object (or of the list's objects) are added to those that
	// are declared, and win over those of the same name.
	Replace bool
	Shape   Shape
}

type rawResult struct {
	Replace bool           `toml:"replace"`
	Array   bool           `toml:"array"`
	Type    string         `toml:"type"`
	Fields  map[string]any `toml:"fields"`
}

func (r *overlayReader) result(at toml.Key, raw rawResult) Result {
	res := Result{Replace: raw.Replace}
	var err error
	switch {
	case (raw.Type == "") == (raw.Fields == nil):
		err = errors.New("a result has either `type` or `fields`")
	case raw.Type != "":
		res.Shape, err = parseShape(raw.Type)
	default:
		res.Shape, err = parseShape(raw.Fields)
	}
	if err != nil {
		r.fail(at, err)
	}
	if raw.Array {
		elem := res.Shape
		res.Shape = Shape{Kind: ShapeList, Elem: &elem}
	}
	return res
}

// parseShape reads a shape: the word of a scalar kind; `[]SHAPE` and
// `map[SHAPE]` in a word; a list of one shape; a table of fields.
func parseShape(v any) (Shape, error) {
	switch v := v.(type) {
	case string:
		return parseShapeWord(v)
	case []any:
		if len(v) != 1 {
			return Shape{}, fmt.Errorf("a list has one shape, that of its items; here are %d", len(v))
		}
		elem, err := parseShape(v[0])
		return Shape{Kind: ShapeList, Elem: &elem}, err
	case []map[string]any:
		if len(v) != 1 {
			return Shape{}, fmt.Errorf("a list has one shape, that of its items; here are %d", len(v))
		}
		elem, err := parseShape(v[0])
		return Shape{Kind: ShapeList, Elem: &elem}, err
	case map[string]any:
		s := Shape{Kind: ShapeObject}
		for name, f := range v {
			shape, err := parseShape(f)
			if err != nil {
				return Shape{}, fmt.Errorf("%s: %w", name, err)
			}
			s.Fields = append(s.Fields, Field{Name: name, Shape: shape})
		}
		sort.Slice(s.Fields, func(i, j int) bool { return s.Fields[i].Name < s.Fields[j].Name })
		return s, nil
	}
	return Shape{}, fmt.Errorf("%v is no shape", v)
}

func parseShapeWord(s string) (Shape, error) {
	if item, ok := strings.CutPrefix(s, "[]"); ok {
		elem, err := parseShapeWord(item)
		return Shape{Kind: ShapeList, Elem: &elem}, err
	}
	if item, ok := strings.CutPrefix(s, "map["); ok && strings.HasSuffix(item, "]") {
		elem, err := parseShapeWord(strings.TrimSuffix(item, "]"))
		return Shape{Kind: ShapeMap, Elem: &elem}, err
	}
	switch k := ShapeKind(s); k {
	case ShapeAny, ShapeString, ShapeInt, ShapeNumber, ShapeBool:
		return Shape{Kind: k}, nil
	}
	return Shape{}, fmt.Errorf("%q is no shape; known are any, string, int, number, bool, []SHAPE and map[SHAPE]", s)
}
