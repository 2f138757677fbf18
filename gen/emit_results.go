package gen

import (
	"github.com/dave/jennifer/jen"
)

// code gives the Go type of a position in an answer.
func (s *shape) code() *jen.Statement {
	switch s.kind {
	case ShapeString, shapeTask:
		return jen.Qual(pverestPath, "Str")
	case ShapeInt:
		return jen.Qual(pverestPath, "Int")
	case ShapeNumber:
		return jen.Qual(pverestPath, "Float")
	case ShapeBool:
		return jen.Qual(pverestPath, "Bool")
	case ShapeList:
		return jen.Index().Add(s.elem.code())
	case ShapeMap:
		return jen.Map(jen.String()).Add(s.elem.code())
	case ShapeObject:
		return jen.Id(s.goName)
	}
	return jen.Qual("encoding/json", "RawMessage")
}

// writeResult writes a struct of an answer. Every field may be absent.
func writeResult(f *jen.File, t typeDecl) {
	f.Line()
	f.Comment(comment(t.name + " " + t.doc))
	indexed := false
	f.Type().Id(t.name).StructFunc(func(g *jen.Group) {
		for _, field := range t.shape.fields {
			if field.doc != "" {
				g.Comment(comment(field.doc))
			}
			g.Id(field.field).Add(field.code()).Tag(field.tag())
			indexed = indexed || field.indexed
		}
	})
	if !indexed {
		return
	}
	f.Line()
	f.Comment("UnmarshalJSON reads the object and collects its indexed keys.")
	f.Func().Params(jen.Id("r").Op("*").Id(t.name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Type().Id("plain").Id(t.name),
		jen.Return(jen.Qual(pverestPath, "UnmarshalIndexed").Call(jen.Id("data"), jen.Parens(jen.Op("*").Id("plain")).Call(jen.Id("r")))),
	)
}

func (f shapeField) code() *jen.Statement {
	switch {
	case f.indexed:
		return jen.Map(jen.Int()).Add(f.shape.code())
	case f.shape.kind == ShapeObject:
		return jen.Op("*").Add(f.shape.code())
	}
	return f.shape.code()
}

func (f shapeField) tag() map[string]string {
	if f.indexed {
		return map[string]string{"json": "-", "pve": f.wire}
	}
	return map[string]string{"json": f.wire + ",omitzero"}
}
