package apidoc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func parseSpec(t *testing.T, methods string) *Schema {
	t.Helper()
	s, err := Parse([]byte(`[{"path":"/a","text":"a","leaf":1,"info":{`+methods+`}}]`), "")
	require.NoError(t, err)
	return s
}

func TestDiffOfOneMethod(t *testing.T) {
	older := parseSpec(t, `"GET":{"method":"GET","name":"m","allowtoken":1,"description":"old prose","permissions":{"check":["perm","/",["VM.Monitor"]]},
		"parameters":{"additionalProperties":0,"properties":{"same":{"type":"string","description":"x"},"gone":{"type":"string"},"a":{"type":"string","optional":"1","enum":["x","y"]},"b":{"type":"integer","minimum":"1"}}},
		"returns":{"type":"null"}},"DELETE":{"method":"DELETE","name":"d"}`)
	newer := parseSpec(t, `"GET":{"method":"GET","name":"m","allowtoken":0,"description":"new prose","permissions":{"check":["perm","/",["VM.GuestAgent.Audit"]]},"protected":1,
		"parameters":{"additionalProperties":1,"properties":{"same":{"type":"string","description":"y"},"new":{"type":"string"},"a":{"type":"array","optional":1,"enum":["x","y"]},"b":{"type":"integer","minimum":1}}},
		"returns":{"type":"string"}},"POST":{"method":"POST","name":"p"}`)
	c, err := Diff(older, newer)
	require.NoError(t, err)
	assert.Equal(t, strings.TrimPrefix(`
methods: 1 added, 1 removed, 1 changed (1 of them in permissions)
+ POST /a
- DELETE /a
~ GET /a
    + new
    - gone
    ~ a: type "string" → "array"
    ~ permissions {"check":["perm","/",["VM.Monitor"]]} → {"check":["perm","/",["VM.GuestAgent.Audit"]]}
    ~ allowtoken 1 → 0
    ~ returns
    ~ parameters.additionalProperties
    ~ protected
`, "\n"), c.Text())
	m := c.Changed[0]
	assert.Equal(t, []string{"new"}, m.Added)
	assert.Equal(t, []string{"gone"}, m.Removed)
	assert.Equal(t, []ParamChange{{"a", []FactChange{{"type", `"string"`, `"array"`}}}}, m.Changed)

	// No difference is no change, and the other way round mirrors it.
	same, err := Diff(newer, newer)
	require.NoError(t, err)
	assert.Equal(t, "methods: 0 added, 0 removed, 0 changed (0 of them in permissions)\n", same.Text())
	back, err := Diff(newer, older)
	require.NoError(t, err)
	assert.Equal(t, c.Added, back.Removed)
	assert.Equal(t, c.Removed, back.Added)
}

// Parameters that a version declares in variants are compared like others.
func TestDiffSeesVariants(t *testing.T) {
	older := parseSpec(t, `"POST":{"method":"POST","parameters":{"properties":{"rule":{"type":"string"},"type":{"type":"string"},"old":{"type":"string"}}}}`)
	newer := parseSpec(t, `"POST":{"method":"POST","parameters":{"allOf":[{"properties":{"rule":{"type":"string"}}},{"type-property":"type","type-property-schema":{"type":"string"},
		"oneOf":[{"instance-type":"x","properties":{"strict":{"type":"boolean"}}}]}]}}`)
	c, err := Diff(older, newer)
	require.NoError(t, err)
	require.Len(t, c.Changed, 1)
	assert.Equal(t, []string{"strict"}, c.Changed[0].Added)
	assert.Equal(t, []string{"old"}, c.Changed[0].Removed)
	assert.Empty(t, c.Changed[0].Changed)
}

func TestDiffTellsLongListsByWhatMoved(t *testing.T) {
	long := `["aaaaaaaaaaaaaaaaaaaaaaaaaaa","bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","ccccccccccccccccccccccccccccc","dddddddddddddddd"`
	assert.Equal(t, "gained e", arrow(long+"]", long+`,"e"]`))
	assert.Equal(t, "lost e", arrow(long+`,"e"]`, long+"]"))
	assert.Equal(t, "(absent) → 1", arrow("", "1"))
}

// The snapshots differ by what is known about these versions.
func TestDiffOfSnapshots(t *testing.T) {
	older, err := Snapshot("8.4")
	require.NoError(t, err)
	newer, err := Snapshot("9.2")
	require.NoError(t, err)
	c, err := Diff(older, newer)
	require.NoError(t, err)
	// 8.4 to 9.0: 24 more, one less; 9.0 to 9.1: 18 more; 9.1 to 9.2: 29 more.
	assert.Len(t, c.Added, 24+18+29)
	assert.Len(t, c.Removed, 1)
	assert.Equal(t, len(older.Endpoints())+len(c.Added)-len(c.Removed), len(newer.Endpoints()))
	writes := 0
	for _, e := range c.Added {
		if e.Verb != GET {
			writes++
		}
	}
	assert.Equal(t, 34, writes)
	for _, m := range c.Changed {
		if m.New.String() == "POST /nodes/{node}/qemu/{vmid}/agent/exec" {
			assert.True(t, m.Permission, "VM.Monitor became VM.GuestAgent.*")
		}
	}

	oldest, err := Snapshot("7.4")
	require.NoError(t, err)
	c, err = Diff(oldest, older)
	require.NoError(t, err)
	// 8.0: 17 more, 8 less; then 34, 1, 18 less 2, 5. A method may have come
	// and gone in between, so the balance is what must be right.
	assert.Equal(t, 17-8+34+1+18-2+5, len(c.Added)-len(c.Removed))
	found := false
	for _, m := range c.Changed {
		if m.New.String() != "POST /nodes/{node}/qemu/{vmid}/agent/exec" {
			continue
		}
		for _, p := range m.Changed {
			if p.Name == "command" {
				found = true
				assert.Contains(t, p.Facts, FactChange{"type", `"string"`, `"array"`})
			}
		}
	}
	assert.True(t, found, "8.0 made the command of agent/exec a list")
}

// The published files, where they lie beside the repository, differ as the
// notes about them say.
func TestDiffOfPublishedFiles(t *testing.T) {
	read := func(name string) *Schema {
		data, err := os.ReadFile(filepath.Join("..", "..", "shared", "apidoc", name))
		if os.IsNotExist(err) {
			return nil
		}
		require.NoError(t, err)
		s, err := Parse(data, name)
		require.NoError(t, err)
		return s
	}
	for _, step := range []struct {
		older, newer                string
		added, removed, permissions int
	}{
		{"pve-8.4.0.json.gz", "pve-9.0.7.json.gz", 24, 1, 31},
		{"pve-9.0.7.json.gz", "pve-9.2.json.gz", 18 + 29, 0, -1},
	} {
		older, newer := read(step.older), read(step.newer)
		if older == nil || newer == nil {
			continue
		}
		c, err := Diff(older, newer)
		require.NoError(t, err)
		assert.Len(t, c.Added, step.added, step.newer)
		assert.Len(t, c.Removed, step.removed, step.newer)
		if step.permissions >= 0 {
			assert.Equal(t, step.permissions, c.PermissionChanges(), step.newer)
		}
	}
}
