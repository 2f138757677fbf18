package gen

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"pvemcp/apidoc"
)

// FuzzGenerate: whatever a schema holds, the generator gives Go that parses and
// declares nothing twice, or an error that is meant for people.
func FuzzGenerate(f *testing.F) {
	names, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		require.NoError(f, err)
		for _, file := range archive.Files {
			if file.Name == "schema.json" {
				f.Add(file.Data)
			}
		}
	}
	f.Add([]byte("[{\"path\":\"/{a-b}\",\"text\":\"{a-b}\",\"info\":{\"GET\":{\"method\":\"GET\",\"parameters\":{\"properties\":{\"`\":{\"type\":\"string\"},\"\\\"\":{\"type\":\"string\"}}}}}}]"))
	f.Add([]byte(`[{"path":"/{a-b}","text":"{a-b}","children":[{"path":"/{a-b}/{a_b}","text":"{a_b}","info":{"GET":{"method":"GET","returns":{"type":"object","properties":{"*/\n":{"type":"string","enum":["\n*/ func init() { panic(1) }"]}}}}}}]}]`))
	overlay, err := ReadOverlay(nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := apidoc.Parse(data, "")
		if err != nil {
			return
		}
		out, err := Generate(s, overlay, Options{AllowDrift: true})
		var input *InputError
		if errors.As(err, &input) {
			return
		}
		require.NoError(t, err)
		declared := make(map[string]string)
		for name, text := range out.Files {
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				for _, id := range declaredNames(d) {
					require.Empty(t, declared[id], "%s in %s", id, name)
					declared[id] = name
				}
				if fn, ok := d.(*ast.FuncDecl); ok {
					require.NotEqual(t, "init", fn.Name.Name)
					args := make(map[string]bool)
					for _, list := range []*ast.FieldList{fn.Type.Params, fn.Type.Results} {
						if list == nil {
							continue
						}
						for _, field := range list.List {
							for _, n := range field.Names {
								require.False(t, args[n.Name], "%s of %s", n.Name, fn.Name.Name)
								args[n.Name] = true
							}
						}
					}
				}
			}
		}
	})
}

// declaredNames gives what a declaration declares; methods with their receiver.
func declaredNames(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		typ := d.Recv.List[0].Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		return []string{typ.(*ast.Ident).Name + "." + d.Name.Name}
	case *ast.GenDecl:
		var names []string
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				names = append(names, t.Name.Name)
				if st, ok := t.Type.(*ast.StructType); ok {
					for _, f := range st.Fields.List {
						for _, n := range f.Names {
							names = append(names, t.Name.Name+"."+n.Name)
						}
					}
				}
			}
		}
		return names
	}
	return nil
}
