package gen

import (
	"fmt"
	"reflect"

	"github.com/dave/jennifer/jen"

	"pvemcp/apidoc"
)

// effectsFile has the overlay's judgements as one array that the compiler lays
// out: nothing runs at start.
func effectsFile(methods []*method) *jen.File {
	f := newFile()
	f.Comment("// effects is sorted by path, then by verb in the order of the alphabet.")
	f.Var().Id("effects").Op("=").Index(jen.Lit(len(methods))).Id("Effect").ValuesFunc(func(g *jen.Group) {
		for _, m := range methods {
			g.Line().Add(m.effectCode())
		}
		g.Line()
	})
	return f
}

func (m *method) effectCode() jen.Code {
	fields := []jen.Code{
		jen.Id("Verb").Op(":").Lit(string(m.Verb)),
		jen.Id("Path").Op(":").Lit(m.Path),
	}
	if !m.AllowToken {
		fields = append(fields, jen.Id("NoToken").Op(":").True())
	}
	fields = append(fields, jen.Id("Policy").Op(":").Add(literal(reflect.ValueOf(m.policy), true)))
	return jen.Values(fields...)
}

// literal writes a value of apidoc's plain data types as Go: structs by field,
// zero values left out, so that new fields of a policy need nothing here.
// Within a list, the type of the items goes without saying.
func literal(v reflect.Value, typed bool) *jen.Statement {
	s := jen.Null()
	if typed && (v.Kind() == reflect.Struct) {
		s = typeCode(v.Type())
	}
	switch v.Kind() {
	case reflect.Struct:
		var fields []jen.Code
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				fields = append(fields, jen.Id(v.Type().Field(i).Name).Op(":").Add(literal(v.Field(i), true)))
			}
		}
		return s.Values(fields...)
	case reflect.Slice:
		elem := v.Type().Elem()
		lines := elem == reflect.TypeFor[apidoc.Rule]() || elem == reflect.TypeFor[apidoc.Reach]()
		var items []jen.Code
		for i := range v.Len() {
			item := literal(v.Index(i), false)
			if lines {
				item = jen.Line().Add(item)
			}
			items = append(items, item)
		}
		if lines {
			items = append(items, jen.Line())
		}
		return jen.Index().Add(typeCode(elem)).Values(items...)
	case reflect.String:
		return jen.Lit(v.String())
	case reflect.Bool:
		return jen.Lit(v.Bool())
	}
	panic(fmt.Sprintf("a policy holds a %s, which has no literal here", v.Type()))
}

func typeCode(t reflect.Type) *jen.Statement {
	if t.PkgPath() != "" {
		return jen.Qual(t.PkgPath(), t.Name())
	}
	return jen.Id(t.Name())
}
