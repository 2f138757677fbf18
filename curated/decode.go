package curated

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"

	"pvemcp/apidoc"
)

// maxArguments bounds the text of a call's arguments, in bytes.
const maxArguments = 2 << 20

// maxArgumentDepth bounds their nesting.
const maxArgumentDepth = 32

// ArgError says what is wrong with an argument of a tool call.
type ArgError struct {
	Arg    string   // empty: the arguments as a whole
	Why    string   // what is wrong, and what is needed
	Valid  []string // nearest valid names or values, best first
	Unsure bool     // the caller may mean several things; Valid lists them
}

func (e *ArgError) Error() string {
	s := e.Why
	if e.Arg != "" {
		s = e.Arg + ": " + e.Why
	}
	if len(e.Valid) > 0 {
		s += "; valid: " + strings.Join(e.Valid, ", ")
	}
	return s
}

func badArg(arg, why string, args ...any) error {
	return &ArgError{Arg: arg, Why: fmt.Sprintf(why, args...)}
}

// argPlan knows the arguments of one In struct.
type argPlan struct {
	fields []argField
	byName map[string]*argField
	names  []string
}

type argField struct {
	name     string
	index    []int
	required bool
	enum     []string
	min, max *float64
}

var plans sync.Map // reflect.Type → *argPlan

func planOf[In any]() *argPlan {
	t := reflect.TypeFor[In]()
	if p, ok := plans.Load(t); ok {
		return p.(*argPlan)
	}
	p := &argPlan{byName: map[string]*argField{}}
	p.collect(t, nil)
	for i := range p.fields {
		p.byName[p.fields[i].name] = &p.fields[i]
		p.names = append(p.names, p.fields[i].name)
	}
	plans.Store(t, p)
	return p
}

func (p *argPlan) collect(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int{}, prefix...), i)
		if f.Anonymous {
			p.collect(f.Type, index)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		af := argField{name: name, index: index}
		for _, part := range strings.Split(f.Tag.Get("jsonschema"), ",") {
			key, v, _ := strings.Cut(part, "=")
			switch key {
			case "required":
				af.required = true
			case "enum":
				af.enum = append(af.enum, v)
			case "minimum", "maximum":
				if n, err := strconv.ParseFloat(v, 64); err == nil {
					if key == "minimum" {
						af.min = &n
					} else {
						af.max = &n
					}
				}
			}
		}
		p.fields = append(p.fields, af)
	}
}

// decode fills in (a pointer to the plan's struct) from a call's arguments. It
// is lenient in form, as models are: "100" for a number, "true" for a boolean,
// one string for a list; and strict in names: an unknown one is refused with
// the valid ones.
func (p *argPlan) decode(args json.RawMessage, in any) error {
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	if len(args) > maxArguments {
		return badArg("", "the arguments have %d bytes; %d are allowed", len(args), maxArguments)
	}
	if args[0] == '"' { // some clients send the object as a string
		var s string
		if json.Unmarshal(args, &s) == nil && strings.HasPrefix(strings.TrimSpace(s), "{") {
			args = json.RawMessage(s)
		}
	}
	if depth(args) > maxArgumentDepth {
		return badArg("", "the arguments are nested deeper than %d levels", maxArgumentDepth)
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(args, &given); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return badArg("", "the arguments are not valid JSON (at byte %d)", syntax.Offset)
		}
		return badArg("", "the arguments must be a JSON object")
	}
	v := reflect.ValueOf(in).Elem()
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f := p.byName[name]
		if f == nil {
			near := apidoc.Nearest(name, p.names, 3)
			if len(near) == 0 {
				near = p.names
			}
			return &ArgError{Arg: clip(name), Why: "unknown argument", Valid: near}
		}
		raw := bytes.TrimSpace(given[name])
		if string(raw) == "null" {
			continue
		}
		if err := f.assign(v.FieldByIndex(f.index), raw); err != nil {
			return err
		}
	}
	for i := range p.fields {
		f := &p.fields[i]
		if _, ok := given[f.name]; f.required && (!ok || v.FieldByIndex(f.index).IsZero()) {
			return badArg(f.name, "is needed")
		}
	}
	return nil
}

func (f *argField) assign(v reflect.Value, raw json.RawMessage) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.assign(v.Elem(), raw)
	case reflect.Bool:
		s, err := f.scalar(raw)
		if err != nil {
			return err
		}
		switch strings.ToLower(s) {
		case "true", "1", "yes", "on":
			v.SetBool(true)
		case "false", "0", "no", "off", "":
			v.SetBool(false)
		default:
			return badArg(f.name, "%q given where true or false is needed", clip(s))
		}
	case reflect.Int, reflect.Int64:
		s, err := f.scalar(raw)
		if err != nil {
			return err
		}
		n, err := wholeNumber(s)
		if err != nil {
			return badArg(f.name, "%q given where a whole number is needed", clip(s))
		}
		if f.min != nil && float64(n) < *f.min || f.max != nil && float64(n) > *f.max {
			return badArg(f.name, "%d is out of range%s", n, f.bounds())
		}
		v.SetInt(n)
	case reflect.Float64:
		s, err := f.scalar(raw)
		if err != nil {
			return err
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return badArg(f.name, "%q given where a number is needed", clip(s))
		}
		v.SetFloat(n)
	case reflect.String:
		s, err := f.text(raw)
		if err != nil {
			return err
		}
		if len(f.enum) > 0 && s != "" {
			if s, err = f.choice(s); err != nil {
				return err
			}
		}
		v.SetString(s)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 { // json.RawMessage
			v.SetBytes(append([]byte{}, raw...))
			return nil
		}
		return f.assignList(v, raw)
	case reflect.Map, reflect.Interface:
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber() // integers beyond 2^53 stay exact
		if raw[0] == '"' && v.Kind() == reflect.Map {
			var s string
			if json.Unmarshal(raw, &s) == nil && strings.HasPrefix(strings.TrimSpace(s), "{") {
				dec = json.NewDecoder(strings.NewReader(s))
				dec.UseNumber()
			}
		}
		if err := dec.Decode(v.Addr().Interface()); err != nil || dec.More() {
			return badArg(f.name, "an object is needed")
		}
	default:
		panic("argument " + f.name + " has a kind that no tool uses")
	}
	return nil
}

func (f *argField) bounds() string {
	switch {
	case f.min != nil && f.max != nil:
		return fmt.Sprintf(": %g to %g", *f.min, *f.max)
	case f.min != nil:
		return fmt.Sprintf(": at least %g", *f.min)
	}
	return fmt.Sprintf(": at most %g", *f.max)
}

func (f *argField) assignList(v reflect.Value, raw json.RawMessage) error {
	items := []json.RawMessage{raw}
	if raw[0] == '[' {
		items = nil
		if err := json.Unmarshal(raw, &items); err != nil {
			return badArg(f.name, "a list is needed")
		}
	} else if raw[0] == '"' {
		s, err := f.scalar(raw)
		if err != nil {
			return err
		}
		if strings.HasPrefix(strings.TrimSpace(s), "[") && json.Unmarshal([]byte(s), &items) != nil {
			return badArg(f.name, "a list is needed")
		}
	}
	list := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		if err := f.assign(list.Index(i), bytes.TrimSpace(item)); err != nil {
			return err
		}
	}
	v.Set(list)
	return nil
}

// choice takes a value of an enum in any case, and refuses others with the
// nearest.
func (f *argField) choice(s string) (string, error) {
	for _, e := range f.enum {
		if strings.EqualFold(e, s) {
			return e, nil
		}
	}
	return "", &ArgError{Arg: f.name, Why: fmt.Sprintf("%q is not a value of it", clip(s)), Valid: f.enum}
}

// scalar gives a JSON string, number or boolean as text.
func (f *argField) scalar(raw json.RawMessage) (string, error) {
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", badArg(f.name, "not a valid string")
		}
		return s, nil
	case '{', '[':
		var items []json.RawMessage // a list of one is meant as the one
		if json.Unmarshal(raw, &items) == nil && len(items) == 1 && len(items[0]) > 0 && items[0][0] != '[' {
			return f.scalar(items[0])
		}
		return "", badArg(f.name, "a single value is needed")
	}
	return string(raw), nil
}

// text is scalar, but a list becomes its items joined by commas.
func (f *argField) text(raw json.RawMessage) (string, error) {
	if raw[0] != '[' {
		return f.scalar(raw)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return "", badArg(f.name, "not a valid list")
	}
	parts := make([]string, len(items))
	for i, item := range items {
		item = bytes.TrimSpace(item)
		if item[0] == '[' || item[0] == '{' {
			return "", badArg(f.name, "a text or a list of texts is needed")
		}
		s, err := f.scalar(item)
		if err != nil {
			return "", err
		}
		parts[i] = s
	}
	return strings.Join(parts, ","), nil
}

// wholeNumber takes 100, "100", 100.0 and 1e3; integers stay exact.
func wholeNumber(s string) (int64, error) {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errors.New("not a whole number")
	}
	return int64(f), nil
}

// depth counts the deepest nesting of a JSON text without decoding it.
func depth(b []byte) int {
	d, deepest, inString := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if d++; d > deepest {
				deepest = d
			}
		case c == '}' || c == ']':
			d--
		}
	}
	return deepest
}

// splitList cuts a comma-separated argument; blanks around items vanish.
func splitList(s string) []string {
	var out []string
	for _, item := range strings.Split(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// clip shortens a word of the caller's for an error.
func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:57], "") + "…"
	}
	return s
}
