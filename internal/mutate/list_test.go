package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListFitsTheCode holds the committed list against the tree, which is
// faster than trying it: whoever changes code that an entry breaks learns it
// here, and moves the entry along.
func TestListFitsTheCode(t *testing.T) {
	root, err := moduleRoot(".")
	require.NoError(t, err)
	list, err := readBreakages(breakagesTOML)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(list), 15)
	tests := map[string]map[string]bool{}
	for _, b := range list {
		if _, err := b.broken(root); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if tests[b.Package] == nil {
			tests[b.Package] = testsIn(t, filepath.Join(root, filepath.FromSlash(b.Package)))
		}
		for _, name := range b.Tests {
			if !tests[b.Package][name] {
				t.Errorf("%s: there is no test %s in %s", b.Name, name, b.Package)
			}
		}
	}
}

// testsIn lists the top-level tests of a package's folder.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	names := map[string]bool{}
	set := token.NewFileSet()
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func TestReadBreakages(t *testing.T) {
	const whole = `[[breakage]]
name = "a"
why = "w"
file = "f.go"
old = "1"
package = "."
tests = ["TestA"]
`
	list, err := readBreakages(whole)
	require.NoError(t, err)
	require.Equal(t, []breakage{{Name: "a", Why: "w", File: "f.go", Old: "1", Package: ".", Tests: []string{"TestA"}}}, list)
	for text, want := range map[string]string{
		whole + whole: "stands twice",
		strings.Replace(whole, `"a"`, `"a b"`, 1):               "no name",
		strings.Replace(whole, `why = "w"`, "", 1):              "are needed",
		strings.Replace(whole, `["TestA"]`, "[]", 1):            "are needed",
		strings.Replace(whole, `why = "w"`, `new = "1"`, 1):     "are needed",
		whole + `new = "1"`:                                     "changes nothing",
		whole + `colour = "red"`:                                "unknown key",
		strings.Replace(whole, `"f.go"`, `"f_test.go"`, 1):      "tests are not what is broken",
		strings.Replace(whole, `[[breakage]]`, "[breakage]", 1): "breakage",
	} {
		_, err := readBreakages(text)
		require.ErrorContains(t, err, want, text)
	}
}
