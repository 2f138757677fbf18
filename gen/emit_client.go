package gen

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"pvemcp/apidoc"
)

// clientFile has the type that all methods hang on, and the one function that
// they all go through.
func clientFile(methods int) *jen.File {
	f := newFile()
	f.PackageComment(comment(fmt.Sprintf(`Package %s is a typed client for every method of Proxmox VE's API, with what
is known about each: what it may do to a cluster, and a JSON Schema of its
parameters.

It exists so that no path, parameter or result is spelt by hand anywhere else,
and so that an upgrade of Proxmox is a new run of pvegen and a diff to read.
Names: see the package gen.`, PackageName)))
	f.Commentf("// Count is the number of methods that [Client] has, one for each of the API's.")
	f.Const().Id("Count").Op("=").Lit(methods)

	f.Line()
	f.Comment(comment(`Caller makes one call of the API: verb, path below /api2/json with its values
escaped, p nil or a params struct that [pverest.EncodeParams] reads, and the
place where the answer's data goes, nil for none. [*pverest.Client] is one.`))
	f.Type().Id("Caller").Interface(
		jen.Id("Call").Params(jen.Id("ctx").Qual("context", "Context"), jen.List(jen.Id("verb"), jen.Id("path")).String(), jen.List(jen.Id("p"), jen.Id("out")).Any()).Error(),
	)
	f.Line()
	f.Comment("// The interface is that of the transport's client.")
	f.Var().Id("_").Id("Caller").Op("=").Parens(jen.Op("*").Qual(pverestPath, "Client")).Parens(jen.Nil())

	f.Line()
	f.Comment(comment(`Client has one method for each method of the API. Every error comes from its
Caller, or says which path value can't be sent. It may be used by many
goroutines if its Caller may.`))
	f.Type().Id("Client").Struct(jen.Id("caller").Id("Caller"))

	f.Line()
	f.Comment("// New makes a Client that calls through caller.")
	f.Func().Id("New").Params(jen.Id("caller").Id("Caller")).Op("*").Id("Client").Block(
		jen.Return(jen.Op("&").Id("Client").Values(jen.Dict{jen.Id("caller"): jen.Id("caller")})),
	)
	f.Line()
	f.Func().Params(jen.Id("c").Op("*").Id("Client")).Id("call").Params(
		jen.Id("ctx").Qual("context", "Context"), jen.List(jen.Id("verb"), jen.Id("template")).String(),
		jen.List(jen.Id("p"), jen.Id("out")).Any(), jen.Id("values").Op("...").String(),
	).Error().Block(
		jen.List(jen.Id("path"), jen.Err()).Op(":=").Qual(pverestPath, "ExpandPath").Call(jen.Id("template"), jen.Id("values").Op("...")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())),
		jen.Return(jen.Id("c").Dot("caller").Dot("Call").Call(jen.Id("ctx"), jen.Id("verb"), jen.Id("path"), jen.Id("p"), jen.Id("out"))),
	)
	return f
}

// writeMethod writes one method with its params struct and result types.
func writeMethod(f *jen.File, m *method) {
	f.Line()
	f.Comment(m.doc())
	f.Func().Params(jen.Id("c").Op("*").Id("Client")).Id(m.name).
		ParamsFunc(func(g *jen.Group) {
			g.Id("ctx").Qual("context", "Context")
			for _, a := range m.args {
				g.Id(a.name).Add(a.typ.code())
			}
			if m.hasParams() {
				g.Id("p").Op("*").Id(m.name + "Params")
			}
		}).
		ParamsFunc(func(g *jen.Group) {
			switch {
			case m.result == nil:
				g.Error()
			case scalarResult(m.result) != nil:
				g.Add(scalarResult(m.result).typ)
				g.Error()
			default:
				g.Id("out").Add(m.result.code())
				g.Err().Error()
			}
		}).
		BlockFunc(func(g *jen.Group) {
			scalar := scalarResult(m.result)
			switch {
			case m.result == nil:
				g.Return(m.callCode(jen.Nil()))
			case scalar != nil:
				g.Var().Id("out").Qual(pverestPath, scalar.lenient)
				g.Err().Op(":=").Add(m.callCode(jen.Op("&").Id("out")))
				g.Return(scalar.value(jen.Id("out").Dot("V")), jen.Err())
			default:
				g.Err().Op("=").Add(m.callCode(jen.Op("&").Id("out")))
				g.Return(jen.Id("out"), jen.Err())
			}
		})
	if m.hasParams() {
		writeParams(f, m)
	}
	for _, t := range m.types {
		writeResult(f, t)
	}
}

func (m *method) callCode(out jen.Code) *jen.Statement {
	return jen.Id("c").Dot("call").CallFunc(func(g *jen.Group) {
		g.Id("ctx")
		g.Lit(string(m.Verb))
		g.Lit(m.Path)
		if m.hasParams() {
			g.Id("p")
		} else {
			g.Nil()
		}
		g.Add(out)
		for _, a := range m.args {
			g.Add(a.text())
		}
	})
}

// text gives the expression for a path value as a string.
func (a arg) text() jen.Code {
	switch {
	case a.typ == goInt:
		return jen.Qual("strconv", "Itoa").Call(jen.Id(a.name))
	case a.typ.name == "VMID":
		return jen.Id(a.name).Dot("String").Call()
	case a.typ == goString:
		return jen.Id(a.name)
	}
	return jen.String().Call(jen.Id(a.name))
}

func (t goType) code() *jen.Statement {
	if t.named {
		return jen.Qual(apidocPath, t.name)
	}
	return jen.Id(t.name)
}

// scalar is an answer that is one plain value.
type scalar struct {
	lenient string // the type of pverest that reads it
	typ     *jen.Statement
	wrap    bool
}

func (s *scalar) value(v *jen.Statement) *jen.Statement {
	if s.wrap {
		return s.typ.Clone().Call(v)
	}
	return v
}

func scalarResult(s *shape) *scalar {
	if s == nil {
		return nil
	}
	switch s.kind {
	case shapeTask:
		return &scalar{"Str", jen.Qual(apidocPath, "UPID"), true}
	case ShapeString:
		return &scalar{"Str", jen.String(), false}
	case ShapeInt:
		return &scalar{"Int", jen.Int64(), false}
	case ShapeNumber:
		return &scalar{"Float", jen.Float64(), false}
	case ShapeBool:
		return &scalar{"Bool", jen.Bool(), false}
	}
	return nil
}

// doc is the comment of a method, in our words.
func (m *method) doc() string {
	text := fmt.Sprintf("%s is %s %s.", m.name, m.Verb, m.Path)
	if m.result != nil && m.result.kind == shapeTask {
		text += " It starts a task and gives its id."
	}
	text += " " + needs(m.Permission)
	if !m.AllowToken {
		text += " No API token may call it."
	}
	if m.Verb != apidoc.GET || m.policy.Class != apidoc.Read {
		text += fmt.Sprintf(" Class: %s.", m.policy.Class)
	}
	return comment(text)
}

// writeParams writes a params struct: what must be given first.
func writeParams(f *jen.File, m *method) {
	required := 0
	for _, p := range m.params {
		if p.required {
			required++
		}
	}
	doc := fmt.Sprintf("%sParams are the parameters of [Client.%s].", m.name, m.name)
	if required == 0 {
		doc += " All may be left out, and so may the struct."
	}
	f.Line()
	f.Comment(comment(doc))
	f.Type().Id(m.name + "Params").StructFunc(func(g *jen.Group) {
		for _, wanted := range [...]bool{true, false} {
			for _, p := range m.params {
				if p.required != wanted {
					continue
				}
				g.Comment(p.doc())
				g.Id(p.field).Add(p.code()).Tag(map[string]string{"pve": p.wire})
			}
		}
		if m.extra {
			g.Comment("further parameters by name")
			g.Id(extraField).Map(jen.String()).String().Tag(map[string]string{"pve": "*"})
		}
	})
}

func (p param) doc() string {
	text := p.wire + ": " + valueFacts(p.prop)
	if p.indexed {
		stem, _ := indexStem(p.wire)
		text = fmt.Sprintf("%s0, %s1, …: %s", stem, stem, valueFacts(p.prop))
	}
	return comment(text)
}

func (p param) code() *jen.Statement {
	switch {
	case p.indexed:
		return jen.Map(jen.Int()).Add(p.typ.code())
	case p.list:
		return jen.Index().Add(p.typ.code())
	case p.required:
		return p.typ.code()
	}
	return jen.Op("*").Add(p.typ.code())
}
