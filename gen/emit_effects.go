package gen

import (
	"bytes"
	"fmt"
	"math"
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

// lookupFile has what finds a method in the sorted arrays.
func lookupFile() *jen.File {
	f := newFile()
	f.Line()
	f.Comment(comment("Effect is what is known about a method before it is called: what it may do, what it names, what in it is secret."))
	f.Type().Id("Effect").Struct(
		jen.Id("Verb").Qual(apidocPath, "Verb"),
		jen.Id("Path").String().Comment("template, such as /nodes/{node}/qemu"),
		jen.Id("NoToken").Bool().Comment("no API token may call it"),
		jen.Qual(apidocPath, "Policy"),
	)
	f.Line()
	f.Comment(comment("Effects lists all methods, sorted by path, then by verb in the order of the alphabet. It must not be changed."))
	f.Func().Id("Effects").Params().Index().Id("Effect").Block(jen.Return(jen.Id("effects").Index(jen.Op(":"))))

	f.Line()
	f.Comment(comment("EffectOf finds a method by verb and path template; false for one that this version of the API does not have. What it points to must not be changed."))
	f.Func().Id("EffectOf").Params(jen.Id("verb").Qual(apidocPath, "Verb"), jen.Id("template").String()).Params(jen.Op("*").Id("Effect"), jen.Bool()).Block(
		jen.List(jen.Id("i"), jen.Id("ok")).Op(":=").Id("find").Call(jen.Id("verb"), jen.Id("template")),
		jen.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Nil(), jen.False())),
		jen.Return(jen.Op("&").Id("effects").Index(jen.Id("i")), jen.True()),
	)
	at := func() *jen.Statement { return jen.Id("e") }
	f.Line()
	f.Func().Id("find").Params(jen.Id("verb").Qual(apidocPath, "Verb"), jen.Id("template").String()).Params(jen.Int(), jen.Bool()).Block(
		jen.Id("i").Op(":=").Qual("sort", "Search").Call(jen.Len(jen.Id("effects")), jen.Func().Params(jen.Id("i").Int()).Bool().Block(
			jen.Id("e").Op(":=").Op("&").Id("effects").Index(jen.Id("i")),
			jen.Return(at().Dot("Path").Op(">").Id("template").Op("||").Add(at()).Dot("Path").Op("==").Id("template").Op("&&").Add(at()).Dot("Verb").Op(">=").Id("verb")),
		)),
		jen.Return(jen.Id("i"), jen.Id("i").Op("<").Len(jen.Id("effects")).Op("&&").Id("effects").Index(jen.Id("i")).Dot("Path").Op("==").Id("template").Op("&&").Id("effects").Index(jen.Id("i")).Dot("Verb").Op("==").Id("verb")),
	)
	f.Line()
	f.Comment(comment("ParamsSchema gives the JSON Schema (draft 2020-12) of a method's parameters, those of the path among them, as JSON text; false for a method that this version of the API does not have. It is flat: one object, no references, no combinators, and wider than the API's own rules where these can't be said that way."))
	f.Func().Id("ParamsSchema").Params(jen.Id("verb").Qual(apidocPath, "Verb"), jen.Id("template").String()).Params(jen.String(), jen.Bool()).Block(
		jen.List(jen.Id("i"), jen.Id("ok")).Op(":=").Id("find").Call(jen.Id("verb"), jen.Id("template")),
		jen.If(jen.Op("!").Id("ok")).Block(jen.Return(jen.Lit(""), jen.False())),
		jen.Id("line").Op(":=").Id("schemas").Index(jen.Id("schemaAt").Index(jen.Id("i")), jen.Id("schemaAt").Index(jen.Id("i").Op("+").Lit(1)).Op("-").Lit(1)),
		jen.List(jen.Id("_"), jen.Id("schema"), jen.Id("_")).Op(":=").Qual("strings", "Cut").Call(jen.Id("line"), jen.Lit("\t")),
		jen.Return(jen.Id("schema"), jen.True()),
	)
	return f
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

// addSchemas writes the JSON Schemas as one text, and where each begins as an
// array: look-up decodes nothing.
func (o *Output) addSchemas(methods []*method) error {
	const data = "schemas.jsonl"
	var text bytes.Buffer
	starts := make([]jen.Code, 0, len(methods)+1)
	for _, m := range methods {
		schema, err := m.paramsSchema()
		if err != nil {
			return err
		}
		starts = append(starts, jen.Line().Lit(text.Len()))
		fmt.Fprintf(&text, "%s\t%s\n", m.key(), schema)
	}
	if text.Len() > math.MaxInt32 {
		return fmt.Errorf("%s: %d bytes are too many", data, text.Len())
	}
	starts = append(starts, jen.Line().Lit(text.Len()), jen.Line())
	o.Files[data] = text.Bytes()

	f := newFile()
	f.Anon("embed")
	f.Line()
	f.Comment("//go:embed " + data)
	f.Var().Id("schemas").String()
	f.Line()
	f.Comment("// schemaAt says where the line of each of the effects begins.")
	f.Var().Id("schemaAt").Op("=").Index(jen.Op("...")).Int32().Values(starts...)
	return o.add("schemas.gen.go", f)
}
