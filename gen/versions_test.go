package gen

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// sharedFiles lists the real schema files that lie beside the repository, if
// they do.
func sharedFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range [...]string{"../../shared/apidoc/*.json.gz", "../../shared/vectors/apidoc-*.json.gz"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

func snapshot(t *testing.T, version string) *apidoc.Schema {
	t.Helper()
	s, err := apidoc.Snapshot(version)
	require.NoError(t, err)
	return s
}

func defaultOverlay(t *testing.T) *Overlay {
	t.Helper()
	o, err := DefaultOverlay()
	require.NoError(t, err)
	return o
}

// The newest snapshot fits the overlay strictly: that is what `generated` is.
func TestNewestIsStrict(t *testing.T) {
	out, err := Generate(snapshot(t, apidoc.Newest), defaultOverlay(t), Options{})
	require.NoError(t, err)
	assert.Equal(t, 675, out.Methods)
	assert.Empty(t, out.Drift)
	require.NoError(t, out.Check("../generated"))
}

// Every version that we carry or that lies beside us can be generated from.
// For others than the newest the drift is listed, and each says something.
func TestEveryVersion(t *testing.T) {
	schemas := make(map[string]*apidoc.Schema)
	for _, v := range apidoc.Snapshots() {
		schemas["snapshot "+v] = snapshot(t, v)
	}
	for _, file := range sharedFiles(t) {
		// A published file that a snapshot was made of stands in its place.
		if v := strings.TrimPrefix(filepath.Base(file), "pve-"); len(v) > 3 {
			delete(schemas, "snapshot "+v[:3])
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := apidoc.Parse(data, filepath.Base(file))
		require.NoError(t, err)
		schemas[filepath.Base(file)] = s
	}
	o := defaultOverlay(t)
	for _, name := range sortedNames(schemas) {
		t.Run(name, func(t *testing.T) {
			out, err := Generate(schemas[name], o, Options{AllowDrift: true})
			require.NoError(t, err)
			assert.Equal(t, len(schemas[name].Endpoints()), out.Methods)
			methods := 0
			for _, file := range sortedNames(out.Files) {
				if !strings.HasSuffix(file, ".go") {
					continue
				}
				_, err := parser.ParseFile(token.NewFileSet(), file, out.Files[file], parser.SkipObjectResolution)
				assert.NoError(t, err)
				assert.LessOrEqual(t, bytes.Count(out.Files[file], []byte("\n")), 4000, "%s is long", file)
				methods += bytes.Count(out.Files[file], []byte("\nfunc (c *Client) "))
			}
			assert.Equal(t, out.Methods+1, methods, "one for each method, and call")
			if strings.Contains(name, "9.2") && !strings.Contains(name, "9.2.11") {
				// With prose or without, it is what was committed.
				assert.Empty(t, out.Drift)
				assert.NoError(t, out.Check("../generated"))
			} else {
				assert.NotEmpty(t, out.Drift)
				_, err := Generate(schemas[name], o, Options{})
				assert.ErrorAs(t, err, new(*DriftError))
			}
		})
	}
}

// An overlay of 8.4's methods tells of 9.2 exactly the writes that came since.
func TestUpgradeStopsGeneration(t *testing.T) {
	known := make(map[string]bool)
	var old []MethodInfo
	for _, e := range snapshot(t, "8.4").Endpoints() {
		known[e.String()] = true
		old = append(old, MethodInfo{Verb: string(e.Verb), Path: e.Path})
	}
	cut := defaultOverlay(t).Restrict(old)
	// What both have may differ in parameters; that is another kind of drift.
	_, err := Generate(snapshot(t, "9.2"), cut, Options{})
	var drift *DriftError
	require.ErrorAs(t, err, &drift)
	var missing []string
	for _, d := range drift.Drift {
		if d.Kind == DriftNoClass {
			missing = append(missing, d.Method)
		}
	}
	var want []string
	for _, e := range snapshot(t, "9.2").Endpoints() {
		if e.Verb != apidoc.GET && !known[e.String()] {
			want = append(want, e.String())
		}
	}
	assert.ElementsMatch(t, want, missing)
	assert.Len(t, missing, 34)
}

// Code of another version compiles too.
func TestOtherVersionCompiles(t *testing.T) {
	schema := snapshot(t, "8.4")
	for _, file := range sharedFiles(t) { // rather the one with variants
		if strings.Contains(file, "9.2.11") {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			schema, err = apidoc.Parse(data, "9.2.11")
			require.NoError(t, err)
		}
	}
	out, err := Generate(schema, defaultOverlay(t), Options{AllowDrift: true})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, out.Write(dir))

	// The files take the place of those in generated, by the build's overlay.
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	var replace []string
	have, err := listDir("../generated")
	require.NoError(t, err)
	for _, name := range have {
		if _, stays := out.Files[name]; !stays && ownFile(name) {
			replace = append(replace, fmt.Sprintf("%q: \"\"", filepath.Join(root, "generated", name)))
		}
	}
	for _, name := range sortedNames(out.Files) {
		replace = append(replace, fmt.Sprintf("%q: %q", filepath.Join(root, "generated", name), filepath.Join(dir, name)))
	}
	config := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"Replace": {`+strings.Join(replace, ",")+`}}`), 0o644))
	cmd := exec.Command("go", "build", "-overlay", config, "./generated")
	cmd.Dir = root
	text, err := cmd.CombinedOutput()
	require.NoError(t, err, string(text))
}

// The committed snapshots are what the published files become.
func TestFactsAreReproduced(t *testing.T) {
	versions := map[string]string{"pve-7.4.1.json.gz": "7.4", "pve-8.4.0.json.gz": "8.4", "pve-9.2.json.gz": "9.2"}
	for _, file := range sharedFiles(t) {
		version, ok := versions[filepath.Base(file)]
		if !ok {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		s, err := apidoc.Parse(data, "")
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, apidoc.WriteFacts(&b, s))
		want, err := os.ReadFile("../apidoc/facts/pve-" + version + ".json")
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, b.Bytes()), version)
	}
	// And a snapshot is its own facts, whether or not the files are there.
	for _, version := range apidoc.Snapshots() {
		var b bytes.Buffer
		require.NoError(t, apidoc.WriteFacts(&b, snapshot(t, version)))
		want, err := os.ReadFile("../apidoc/facts/pve-" + version + ".json")
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, b.Bytes()), version)
	}
}

// Every answer with declared properties, objects and lists of objects alike,
// has a struct, except where the overlay knows it to be a map.
func TestResultsHaveStructs(t *testing.T) {
	o := defaultOverlay(t)
	methods, err := readModel(snapshot(t, apidoc.Newest), o)
	require.NoError(t, err)
	declared, structs, raw := 0, 0, 0
	for _, m := range methods {
		has := len(m.Returns.Properties) > 0 || m.Returns.Items != nil && len(m.Returns.Items.Properties) > 0
		if has {
			declared++
			if r, ok := o.Results[m.key()]; !ok || !r.Replace || r.Shape.Kind != ShapeMap {
				assert.NotEmpty(t, m.types, m.key())
			}
		}
		if len(m.types) > 0 {
			structs++
		} else if m.result != nil && m.result.kind == ShapeAny {
			raw++
		}
	}
	assert.Equal(t, 263, declared)
	assert.GreaterOrEqual(t, structs, declared)
	t.Logf("%d methods: %d declare properties, %d have structs, %d answer with raw JSON", len(methods), declared, structs, raw)
}
