package generated_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/gen"
	"pvemcp/generated"
)

// The table has each method of the API once, in order, with what the overlay
// says about it.
func TestEffects(t *testing.T) {
	overlay, err := gen.DefaultOverlay()
	require.NoError(t, err)
	effects := generated.Effects()
	require.Len(t, effects, generated.Count)
	for i := range effects {
		e := &effects[i]
		if i > 0 {
			before := effects[i-1]
			assert.True(t, before.Path < e.Path || before.Path == e.Path && before.Verb < e.Verb, "%s %s", e.Verb, e.Path)
		}
		found, ok := generated.EffectOf(e.Verb, e.Path)
		require.True(t, ok)
		assert.Same(t, e, found)
		policy, known := overlay.Policy(string(e.Verb), e.Path)
		assert.Equal(t, policy, e.Policy, "%s %s", e.Verb, e.Path)
		assert.True(t, known || e.Verb == apidoc.GET, "%s %s", e.Verb, e.Path)
		endpoint, ok := snapshot(t).Endpoint(e.Verb, e.Path)
		require.True(t, ok)
		m, err := endpoint.Method()
		require.NoError(t, err)
		assert.Equal(t, !m.AllowToken, e.NoToken)
	}
	for _, unknown := range [...]string{"", "/", "/nodes/pve1", "/zzz", "/nodes/{node}/", "/version/x"} {
		_, ok := generated.EffectOf(apidoc.GET, unknown)
		assert.False(t, ok, unknown)
		_, ok = generated.ParamsSchema(apidoc.GET, unknown)
		assert.False(t, ok, unknown)
	}
	_, ok := generated.EffectOf(apidoc.DELETE, "/version")
	assert.False(t, ok)
}

// Look-up costs nothing but the search.
func TestLookupAllocatesNothing(t *testing.T) {
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_, _ = generated.EffectOf(apidoc.POST, "/nodes/{node}/qemu/{vmid}/config")
		_, _ = generated.ParamsSchema(apidoc.POST, "/nodes/{node}/qemu/{vmid}/config")
	}))
}

// The schemas are flat, say which parameters must be given, and take the same
// samples as the check.
func TestParamsSchemas(t *testing.T) {
	for _, e := range snapshot(t).Endpoints() {
		m, err := e.Method()
		require.NoError(t, err)
		text, ok := generated.ParamsSchema(e.Verb, e.Path)
		require.True(t, ok, e)
		for _, never := range [...]string{`"$defs"`, `"$ref"`, `"oneOf"`, `"anyOf"`, `"allOf"`, `"type":[`, "\n"} {
			assert.NotContains(t, text, never, e)
		}
		var s jsonschema.Schema
		require.NoError(t, json.Unmarshal([]byte(text), &s), e)
		resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
		require.NoError(t, err, e)
		args := make(map[string]any)
		for name := range m.Parameters.Properties {
			stem, indexed := strings.CutSuffix(name, "[n]")
			if indexed {
				for _, n := range [...]string{"0", "1"} {
					p, ok := m.Property(stem + n)
					require.True(t, ok, "%s %s", e, name)
					args[stem+n] = typedSample(t, m, name, p)
				}
				require.NotNil(t, s.Properties[stem+"0"], "%s %s", e, name)
				continue
			}
			p, _ := m.Property(name)
			require.NotNil(t, s.Properties[name], "%s %s", e, name)
			args[name] = typedSample(t, m, name, p)
		}
		for _, name := range m.PathParams() {
			assert.Contains(t, s.Required, name, e)
			if _, ok := args[name]; !ok {
				args[name] = map[bool]any{true: 1, false: "a"}[s.Properties[name].Type == "integer"]
			}
		}
		sent, err := json.Marshal(args)
		require.NoError(t, err)
		var read any
		require.NoError(t, json.Unmarshal(sent, &read))
		assert.NoError(t, resolved.Validate(read), e)
	}
}

func typedSample(t *testing.T, m *apidoc.Method, name string, p *apidoc.Property) any {
	if p.Type == apidoc.Array {
		items := p.Items
		if items == nil && len(p.OneOf) > 0 {
			items = p.OneOf[0].Items
		}
		return []any{typedSample(t, m, name, items)}
	}
	text := sample(t, m, name, p)
	switch p.Type {
	case apidoc.Integer, apidoc.Number:
		return json.Number(text)
	case apidoc.Boolean:
		return true
	}
	return text
}

// Bounds of indexed parameters are exact.
func TestIndexedBounds(t *testing.T) {
	text, ok := generated.ParamsSchema(apidoc.POST, "/nodes/{node}/qemu")
	require.True(t, ok)
	var s struct {
		PatternProperties map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	for key, takes := range map[string]bool{"net0": true, "net31": true, "net32": false, "net01": false, "scsi30": true, "scsi31": false, "ide3": true, "ide4": false, "unused255": true, "unused256": false} {
		found := false
		for pattern := range s.PatternProperties {
			found = found || regexp.MustCompile(pattern).MatchString(key)
		}
		assert.Equal(t, takes, found, key)
	}
}
