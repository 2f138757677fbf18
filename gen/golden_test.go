package gen

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"pvemcp/apidoc"
)

var update = flag.Bool("update", false, "write the expected output of the specs in testdata anew")

// TestSpecs generates from each small schema in testdata and compares all that
// comes out with what the same archive holds:
//
//	schema.json    the input
//	overlay.toml   the overlay; an empty one if absent
//	out/FILE       what is generated. The files that hardly depend on the input
//	               (client.gen.go, lookup.gen.go) count only where they are there
//	error          or the error
func TestSpecs(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { runSpec(t, name) })
	}
}

func runSpec(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	require.NoError(t, err)
	input := make(map[string][]byte)
	expected := &txtar.Archive{Comment: archive.Comment}
	wanted := make(map[string]bool)
	for _, f := range archive.Files {
		input[f.Name] = f.Data
		if f.Name == "schema.json" || f.Name == "overlay.toml" {
			expected.Files = append(expected.Files, f)
		}
		wanted[f.Name] = true
	}
	expected.Files = append(expected.Files, outcome(t, input, wanted)...)
	got := txtar.Format(expected)
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o644))
		return
	}
	assert.Equal(t, string(txtar.Format(archive)), string(got))
}

func outcome(t *testing.T, input map[string][]byte, wanted map[string]bool) []txtar.File {
	overlay, err := ReadOverlay(input["overlay.toml"])
	require.NoError(t, err)
	schema, err := apidoc.Parse(input["schema.json"], "spec")
	if err != nil {
		return []txtar.File{{Name: "error", Data: []byte(err.Error() + "\n")}}
	}
	out, err := Generate(schema, overlay, Options{})
	if err != nil {
		return []txtar.File{{Name: "error", Data: []byte(err.Error() + "\n")}}
	}
	again, err := Generate(schema, overlay, Options{})
	require.NoError(t, err)
	require.Equal(t, out, again, "two runs must give the same")
	var files []txtar.File
	for _, name := range sortedNames(out.Files) {
		quiet := name == "client.gen.go" || name == "lookup.gen.go"
		if name := "out/" + name; !quiet || wanted[name] {
			files = append(files, txtar.File{Name: name, Data: out.Files[strings.TrimPrefix(name, "out/")]})
		}
	}
	return files
}
