package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

const facts92 = "../../apidoc/facts/pve-9.2.json"

// run gives what the command prints and its error, as main would tell it.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetArgs(longFlags(args))
	root.SetOut(&out)
	root.SetErr(&out)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func TestCommittedCodeIsUpToDate(t *testing.T) {
	_, err := run(t, "-in", facts92, "-out", "../../generated", "-check")
	require.NoError(t, err)
}

func TestCheckFindsStaleCode(t *testing.T) {
	dir := t.TempDir()
	small := write(t, "small.json", `[{"path":"/version","text":"version","leaf":1,"info":{"GET":{"method":"GET","name":"version","allowtoken":1,"permissions":{"user":"all"},"parameters":{},"returns":{"type":"null"}}}}]`)
	overlay := write(t, "overlay.toml", "")
	args := []string{"-in", small, "-out", dir, "-overlay", overlay}
	_, err := run(t, append(args, "-check")...)
	require.ErrorContains(t, err, "version.gen.go: missing")
	_, err = run(t, args...)
	require.NoError(t, err)
	_, err = run(t, append(args, "-check")...)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "version.gen.go"), []byte("package generated\n"), 0o644))
	_, err = run(t, append(args, "-check")...)
	require.ErrorContains(t, err, "version.gen.go: differs from line 1 on")
}

func TestDriftIsListed(t *testing.T) {
	_, err := run(t, "-in", "../../apidoc/facts/pve-8.4.json", "-out", t.TempDir())
	require.ErrorContains(t, err, "no method")
	text, err := run(t, "-in", "../../apidoc/facts/pve-8.4.json", "-out", t.TempDir(), "-drift")
	require.NoError(t, err)
	assert.Contains(t, text, "POST /cluster/ha/rules: no method: ")
	assert.Regexp(t, `(?m)^605 methods, \d+ places`, text)
}

// What is not a schema is an error that says what it is and where.
func TestBadInput(t *testing.T) {
	big := write(t, "big.json", "")
	require.NoError(t, os.Truncate(big, apidoc.MaxText+1))
	whole, err := os.ReadFile(facts92)
	require.NoError(t, err)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":     {nil, "-in is missing"},
		"no file":     {[]string{"-in", filepath.Join(dir, "none.json")}, "none.json"},
		"empty":       {[]string{"-in", write(t, "empty.json", "")}, "the file is empty"},
		"foreign":     {[]string{"-in", write(t, "a.json", `{"openapi":"3.1.0"}`)}, "neither a JSON array nor"},
		"HTML":        {[]string{"-in", write(t, "a.html", `<!DOCTYPE html>`)}, "this is HTML"},
		"truncated":   {[]string{"-in", write(t, "cut.json", string(whole[:len(whole)/2]))}, "truncated"},
		"huge":        {[]string{"-in", big}, "larger than 32 MiB"},
		"deep":        {[]string{"-in", write(t, "deep.json", strings.Repeat("[", 1<<20))}, "deep.json"},
		"gzip":        {[]string{"-in", write(t, "bad.gz", "\x1f\x8b\x08\x00nonsense")}, "damaged"},
		"unknown":     {[]string{"-in", write(t, "odd.json", `[{"path":"/a","text":"a","info":{"GET":{"method":"GET","returns":{"type":"null","const":1}}}}]`)}, "GET /a: returns.const: key never seen"},
		"bad overlay": {[]string{"-in", facts92, "-overlay", write(t, "o.toml", "[methods]\n\"POST /a\" = { class = \"bad\" }\n")}, "overlay line 2"},
		"flag":        {[]string{"-inn", "x"}, "unknown flag"},
		"argument":    {[]string{"extra"}, "unknown command"},
		"http":        {[]string{"-in", "http://192.0.2.1:8006"}, "loopback"},
		"userinfo":    {[]string{"-in", "https://root:secret@192.0.2.1"}, "no user and no password"},
		"two checks":  {[]string{"-in", "https://192.0.2.1", "-insecure", "-ca", "x"}, "only one of"},
		"diff":        {[]string{"diff", "9.2", filepath.Join(dir, "none.json")}, "none.json"},
	} {
		t.Run(name, func(t *testing.T) {
			args := c.args
			if len(args) > 0 && args[0] == "-in" {
				args = append(args, "-out", dir)
			}
			_, err := run(t, args...)
			require.ErrorContains(t, err, c.want)
			assert.NotContains(t, err.Error(), "secret@")
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is written")
		})
	}
}

func TestFactsAndDiff(t *testing.T) {
	want, err := os.ReadFile(facts92)
	require.NoError(t, err)
	text, err := run(t, "facts", "-in", facts92)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	file := filepath.Join(t.TempDir(), "facts.json")
	_, err = run(t, "facts", "-in", facts92, "-out", file)
	require.NoError(t, err)
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got))

	// By version or by file.
	byVersion, err := run(t, "diff", "8.4", "9.2")
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(byVersion, "methods: 71 added, 1 removed, "), "%.80s", byVersion)
	byFile, err := run(t, "diff", "8.4", facts92)
	require.NoError(t, err)
	assert.Equal(t, byVersion, byFile)
}

// node serves a schema as a Proxmox node does.
func node(t *testing.T, text string) *httptest.Server {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/pve-docs/api-viewer/apidoc.js" {
			http.NotFound(w, r)
			return
		}
		_, _ = fmt.Fprintf(w, "const apiSchema = %s;\nlet method2cmd = {};\n", text)
	}))
	t.Cleanup(s.Close)
	return s
}

func TestReadFromNode(t *testing.T) {
	want, err := os.ReadFile(facts92)
	require.NoError(t, err)
	s := node(t, string(want))

	// Unknown certificates are refused, and the error has what to pass.
	_, err = run(t, "facts", "-in", s.URL)
	require.ErrorContains(t, err, "-fingerprint ")
	_, fingerprint, _ := strings.Cut(err.Error(), "-fingerprint ")
	fingerprint, _, _ = strings.Cut(fingerprint, ";")
	text, err := run(t, "facts", "-in", s.URL, "-fingerprint", fingerprint)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
	_, err = run(t, "facts", "-in", s.URL, "-fingerprint", "AA"+fingerprint[2:])
	require.ErrorContains(t, err, "not the one given")
	_, err = run(t, "facts", "-in", s.URL, "-insecure")
	require.NoError(t, err)
	_, err = run(t, "facts", "-in", s.URL+"/elsewhere", "-insecure")
	require.ErrorContains(t, err, "404")

	// A redirect is not followed, a node that never answers is left.
	away := httptest.NewServer(http.RedirectHandler(s.URL, http.StatusFound))
	defer away.Close()
	_, err = run(t, "facts", "-in", away.URL)
	require.ErrorContains(t, err, "302")
	hang := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	defer slow.Close()
	defer close(hang)
	_, err = run(t, "facts", "-in", slow.URL, "-timeout", "50ms")
	require.ErrorContains(t, err, "deadline exceeded")
}

// The process itself: errors go to standard error, with exit code 1.
func TestExitCode(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "pvegen.exe")
	text, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(text))
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, "-in", write(t, "foreign.json", "{}"), "-out", t.TempDir())
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	assert.Equal(t, 1, exit.ExitCode())
	assert.Empty(t, stdout.String())
	assert.True(t, strings.HasPrefix(stderr.String(), "pvegen: schema "), stderr.String())
}
