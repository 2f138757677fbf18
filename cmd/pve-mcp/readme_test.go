package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pvemcp/curated"
	"pvemcp/internal/settings"
)

var updateReadme = flag.Bool("update-readme", false, "write the tables of the README anew")

const readme = "../../README.md"

// The tables of the README come from the code; this fails when they are stale.
func TestReadmeTables(t *testing.T) {
	data, err := os.ReadFile(readme)
	require.NoError(t, err)
	want := string(data)
	want = between(t, want, "tools", toolTable())
	want = between(t, want, "settings", settingTable())
	if *updateReadme {
		require.NoError(t, os.WriteFile(readme, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(data), "run: go test ./cmd/pve-mcp -run Readme -update-readme")
}

func between(t *testing.T, text, mark, table string) string {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- /"+mark+" -->"
	i, j := strings.Index(text, begin), strings.Index(text, end)
	require.True(t, i >= 0 && j > i, "the README lacks the marks of %s", mark)
	return text[:i+len(begin)] + table + text[j:]
}

func toolTable() string {
	var b strings.Builder
	b.WriteString("| tool | toolset | class | what it does |\n|---|---|---|---|\n")
	for _, tool := range curated.Catalogue() {
		_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", tool.Name, tool.Toolset, tool.Class, tool.Text)
	}
	return b.String()
}

func settingTable() string {
	var b strings.Builder
	b.WriteString("| variable | values | default | what it says |\n|---|---|---|---|\n")
	for _, s := range settings.All() {
		_, _ = fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", s.Env(), strings.ReplaceAll(s.Values(), "|", `\|`), s.Default, s.Help)
	}
	return b.String()
}
