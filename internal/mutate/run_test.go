package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module writes a small module whose one function a test holds in part.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.24\n",
		"m.go":   "package m\n\nvar tasks = 2 + 1\n\nvar unheld = 7\n\nfunc wait() {\n\tfor i := 0; i < 1; i++ {\n\t}\n}\n",
		"m_test.go": `package m

import "testing"

func TestTasks(t *testing.T) {
	wait()
	if tasks != 3 {
		t.Fatal(tasks)
	}
}

func TestSkipped(t *testing.T) { t.Skip() }

func TestBroken(t *testing.T) { t.Fatal("always") }
`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// entry writes one breakage of that module.
func entry(name, old, text, test string) string {
	return "[[breakage]]\nname = \"" + name + "\"\nwhy = \"w\"\nfile = \"m.go\"\nold = '" + old + "'\nnew = '" + text + "'\npackage = \".\"\ntests = [\"" + test + "\"]\n"
}

// TestVerdicts tries each way in which a breakage can end.
func TestVerdicts(t *testing.T) {
	dir := module(t)
	before, err := os.ReadFile(filepath.Join(dir, "m.go"))
	require.NoError(t, err)
	list := entry("held", "2 + 1", "2 - 1", "TestTasks") +
		entry("open", "unheld = 7", "unheld = 8", "TestTasks") +
		entry("gone", "3 + 1", "3 - 1", "TestTasks") +
		entry("twice", " = ", " := ", "TestTasks") +
		entry("uncompilable", "2 + 1", "2 + one", "TestTasks") +
		entry("hangs", "i < 1", "i < 1 || true", "TestTasks") +
		entry("skips", "2 + 1", "2 - 1", "TestSkipped") +
		entry("fails-anyway", "2 + 1", "2 - 1", "TestBroken") +
		entry("no-such-test", "2 + 1", "2 - 1", "TestNothing")
	var out bytes.Buffer
	require.Equal(t, 1, run(context.Background(), []string{"-timeout", "5s"}, list, dir, &out))
	text := out.String()
	for name, want := range map[string]string{
		"held": "noticed", "open": "SURVIVED", "gone": "STALE", "twice": "STALE", "uncompilable": "FAULTY does not compile",
		"hangs": "FAULTY timed out", "skips": "FAULTY skip", "fails-anyway": "FAULTY fail", "no-such-test": "FAULTY missing",
	} {
		verdict, detail, _ := strings.Cut(want, " ")
		line := ""
		for l := range strings.SplitSeq(text, "\n") {
			if f := strings.Fields(l); len(f) > 2 && f[1] == name {
				line = l
			}
		}
		require.True(t, strings.HasPrefix(line, verdict), "%s: %s", name, text)
		require.Contains(t, line, detail, name)
	}
	require.True(t, strings.HasSuffix(text, "\n1 passed, 8 failed\n"), text)
	after, err := os.ReadFile(filepath.Join(dir, "m.go"))
	require.NoError(t, err)
	require.Equal(t, before, after, "the tree is not touched")

	out.Reset()
	require.Equal(t, 0, run(context.Background(), []string{"-only", "held"}, list, dir, &out))
	require.True(t, strings.HasSuffix(out.String(), "\n1 passed, 0 failed\n"), out.String())
}

func TestArguments(t *testing.T) {
	list := entry("held", "2 + 1", "2 - 1", "TestTasks")
	dir := module(t)
	for want, args := range map[string][]string{
		"there is no breakage \"helt\"": {"-only", "held,helt"},
		"not defined: -what":            {"-what"},
	} {
		var out bytes.Buffer
		require.Equal(t, 2, run(context.Background(), args, list, dir, &out))
		require.Contains(t, out.String(), want)
	}
	var out bytes.Buffer
	require.Equal(t, 0, run(context.Background(), []string{"-list"}, list, dir, &out))
	require.Contains(t, out.String(), "held")
	out.Reset()
	require.Equal(t, 2, run(context.Background(), nil, "name = 1", dir, &out))

	ended, cancel := context.WithCancel(context.Background())
	cancel()
	out.Reset()
	require.Equal(t, 1, run(ended, nil, list, dir, &out))
	require.Contains(t, out.String(), "interrupted after 0 of 1")
}
