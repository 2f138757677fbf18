package gen

import (
	"bytes"
	"fmt"

	"github.com/dave/jennifer/jen"
)

// schemasName is the file that holds the JSON Schemas, one method a line.
const schemasName = "schemas.jsonl"

// schemasText has the JSON Schemas in the order of the effects. Look-up is a
// search in the text as it is: nothing is decoded, at start or later, and a
// new method is one line in a diff.
func schemasText(methods []*method) ([]byte, error) {
	var text bytes.Buffer
	for _, m := range methods {
		schema, err := m.paramsSchema()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&text, "%s\t%s\n", m.key(), schema)
	}
	return text.Bytes(), nil
}

// lookupFile has what finds a method in the two sorted tables.
func lookupFile() *jen.File {
	f := newFile()
	f.Anon("embed")
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
	f.Func().Id("EffectOf").Params(methodArgs()...).Params(jen.Op("*").Id("Effect"), jen.Bool()).Block(
		jen.Id("i").Op(":=").Qual("sort", "Search").Call(jen.Len(jen.Id("effects")), jen.Func().Params(jen.Id("i").Int()).Bool().Block(
			jen.Id("e").Op(":=").Op("&").Id("effects").Index(jen.Id("i")),
			jen.Return(jen.Id("e").Dot("Path").Op(">").Id("template").Op("||").Id("e").Dot("Path").Op("==").Id("template").Op("&&").Id("e").Dot("Verb").Op(">=").Id("verb")),
		)),
		jen.If(jen.Id("i").Op("==").Len(jen.Id("effects")).Op("||").Id("effects").Index(jen.Id("i")).Dot("Path").Op("!=").Id("template").
			Op("||").Id("effects").Index(jen.Id("i")).Dot("Verb").Op("!=").Id("verb")).Block(jen.Return(jen.Nil(), jen.False())),
		jen.Return(jen.Op("&").Id("effects").Index(jen.Id("i")), jen.True()),
	)

	f.Line()
	f.Comment("//go:embed " + schemasName)
	f.Var().Id("schemas").String()

	f.Line()
	f.Comment(comment("ParamsSchema gives the JSON Schema (draft 2020-12) of a method's parameters, those of the path among them, as JSON text; false for a method that this version of the API does not have. It is flat: one object, no references, no combinators, and wider than the API's own rules where these can't be said that way."))
	f.Func().Id("ParamsSchema").Params(methodArgs()...).Params(jen.String(), jen.Bool()).Block(
		jen.Id("rest").Op(":=").Id("schemas"),
		jen.For(jen.Id("rest").Op("!=").Lit("")).Block(
			jen.Comment("// The line around the middle is the one looked for, or tells on which side of it to go on."),
			jen.Id("middle").Op(":=").Len(jen.Id("rest")).Op("/").Lit(2),
			jen.Id("start").Op(":=").Qual("strings", "LastIndexByte").Call(jen.Id("rest").Index(jen.Op(":").Id("middle")), jen.LitRune('\n')).Op("+").Lit(1),
			jen.List(jen.Id("line"), jen.Id("after"), jen.Id("_")).Op(":=").Qual("strings", "Cut").Call(jen.Id("rest").Index(jen.Id("start").Op(":")), jen.Lit("\n")),
			jen.List(jen.Id("name"), jen.Id("schema"), jen.Id("_")).Op(":=").Qual("strings", "Cut").Call(jen.Id("line"), jen.Lit("\t")),
			jen.List(jen.Id("v"), jen.Id("path"), jen.Id("_")).Op(":=").Qual("strings", "Cut").Call(jen.Id("name"), jen.Lit(" ")),
			jen.Switch().Block(
				jen.Case(jen.Id("path").Op("==").Id("template").Op("&&").Id("v").Op("==").String().Call(jen.Id("verb"))).Block(
					jen.Return(jen.Id("schema"), jen.True())),
				jen.Case(jen.Id("path").Op("<").Id("template").Op("||").Id("path").Op("==").Id("template").Op("&&").Id("v").Op("<").String().Call(jen.Id("verb"))).Block(
					jen.Id("rest").Op("=").Id("after")),
				jen.Default().Block(
					jen.Id("rest").Op("=").Id("rest").Index(jen.Op(":").Id("start"))),
			),
		),
		jen.Return(jen.Lit(""), jen.False()),
	)
	return f
}

func methodArgs() []jen.Code {
	return []jen.Code{jen.Id("verb").Qual(apidocPath, "Verb"), jen.Id("template").String()}
}
