package curated

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
)

// readTools are the tools of the first issue: what the older server reads with,
// and the overview of what is wrong.
var readTools = []string{
	"pve_version", "pve_cluster_status", "pve_cluster_resources", "pve_nodes", "pve_node_info", "pve_vms", "pve_vm_info",
	"pve_containers", "pve_container_info", "pve_storage", "pve_storage_content", "pve_tasks", "pve_raw_get", "pve_health",
}

// readonlyBudget bounds the whole list of tools in readonly mode.
const readonlyBudget = 2500

// TestToolList holds what a client is shown against the budget, the rules for
// schemas and one golden file per tool.
func TestToolList(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := newRig(t, sharedSim(t, 3, 60), setup{protocol: protocol})
			list, err := r.session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Empty(t, list.NextCursor, "the list must come whole")
			whole := jsonOf(t, map[string]any{"tools": list.Tools})
			n := tokens(t, whole)
			t.Logf("%d tools, %d o200k tokens", len(list.Tools), n)
			assert.LessOrEqual(t, n, readonlyBudget)
			var names []string
			for _, tool := range list.Tools {
				names = append(names, tool.Name)
				b, err := json.MarshalIndent(tool, "", "  ")
				require.NoError(t, err)
				golden(t, filepath.Join("tools", tool.Name+".json"), string(b)+"\n")
			}
			for _, name := range readTools {
				assert.Contains(t, names, name)
			}
			assert.Len(t, names, len(slices.Compact(slices.Sorted(slices.Values(names)))), "a name stands twice")
		})
	}
}

// TestToolDeclarations holds every tool there is, whatever is offered, against
// what clients can read and what its class promises.
func TestToolDeclarations(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{options: func(o *Options) { o.Mode, o.Toolsets, o.Unlogged = gate.Full, Toolsets(), true }})
	list, err := r.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, len(registry()), "not all tools are offered")
	for _, tool := range list.Tools {
		t.Run(tool.Name, func(t *testing.T) {
			e := byName(tool.Name)
			require.NotNil(t, e)
			assert.Regexp(t, `^pve_[a-z_]+$`, tool.Name)
			assert.LessOrEqual(t, len(tool.Name), 32)
			assert.True(t, strings.HasSuffix(tool.Description, "."), "a sentence: %q", tool.Description)
			assert.Contains(t, Toolsets(), e.toolset)
			a := tool.Annotations
			require.NotNil(t, a)
			destructive := a.DestructiveHint == nil || *a.DestructiveHint // the protocol's default is true
			switch {
			case e.class == apidoc.Read:
				assert.True(t, a.ReadOnlyHint)
				assert.Nil(t, a.DestructiveHint, "says nothing about a tool that only reads")
				assert.False(t, a.IdempotentHint, "says nothing about a tool that only reads")
			case e.class.Rank() > apidoc.Change.Rank():
				assert.False(t, a.ReadOnlyHint)
				assert.True(t, destructive)
			default:
				assert.False(t, a.ReadOnlyHint)
				assert.False(t, destructive)
			}
			assert.Nil(t, a.OpenWorldHint, "the default is right: a cluster is outside of this program")
			var schema map[string]any
			require.NoError(t, json.Unmarshal([]byte(jsonOf(t, tool.InputSchema)), &schema))
			assert.Equal(t, "object", schema["type"])
			for key := range schema {
				assert.Contains(t, []string{"type", "properties", "required"}, key, "at the root")
			}
			props, _ := schema["properties"].(map[string]any)
			for name, p := range props {
				assert.Regexp(t, `^[a-z][a-z_]*$`, name)
				flatProperty(t, name, p)
			}
			if required, ok := schema["required"].([]any); ok {
				for _, name := range required {
					assert.Contains(t, props, name)
				}
			}
		})
	}
}

// flatProperty refuses what some clients can't read.
func flatProperty(t *testing.T, name string, p any) {
	t.Helper()
	prop, ok := p.(map[string]any)
	require.True(t, ok, name)
	kind, ok := prop["type"].(string)
	require.True(t, ok, "%s has no single type", name)
	assert.Contains(t, []string{"string", "integer", "number", "boolean", "array", "object"}, kind, name)
	for key := range prop {
		assert.NotContains(t, []string{"$ref", "$defs", "anyOf", "oneOf", "allOf", "not", "if", "patternProperties"}, key, name)
	}
	if kind == "array" {
		flatProperty(t, name+" items", prop["items"])
	}
}

// TestArgumentsOfOlderServer: whoever calls our tools as the server that they
// replace was called must get through. Types and requirements are those of its
// declarations.
func TestArgumentsOfOlderServer(t *testing.T) {
	older := map[string]map[string]string{
		"pve_version": {}, "pve_cluster_status": {}, "pve_nodes": {},
		"pve_cluster_resources": {"type": "string?vm,storage,node"},
		"pve_node_info":         {"node": "string"},
		"pve_vms":               {"node": "string?"},
		"pve_vm_info":           {"node": "string", "vmid": "integer"},
		"pve_containers":        {"node": "string?"},
		"pve_container_info":    {"node": "string", "vmid": "integer"},
		"pve_storage":           {"node": "string?"},
		"pve_storage_content":   {"node": "string", "storage": "string", "content": "string?images,backup,iso,vztmpl,rootdir,snippets"},
		"pve_tasks":             {"node": "string?", "limit": "integer?"},
		"pve_raw_get":           {"path": "string", "query": "object?"},
	}
	require.Len(t, older, 13)
	for name, wants := range older {
		tool := byName(name)
		require.NotNil(t, tool, name)
		var schema struct {
			Properties map[string]struct {
				Type string
				Enum []string
			}
			Required []string
		}
		require.NoError(t, json.Unmarshal(tool.schema(), &schema))
		for arg, want := range wants {
			kind, enum, optional := strings.Cut(want, "?")
			p, ok := schema.Properties[arg]
			require.True(t, ok, "%s lacks %s", name, arg)
			assert.Equal(t, kind, p.Type, "%s %s", name, arg)
			if optional {
				assert.NotContains(t, schema.Required, arg, name)
			}
			if enum != "" && len(p.Enum) > 0 {
				for _, v := range strings.Split(enum, ",") {
					assert.Contains(t, p.Enum, v, "%s %s", name, arg)
				}
			}
		}
		for _, arg := range schema.Required {
			assert.Contains(t, wants, arg, "%s newly requires %s", name, arg)
		}
	}
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	for name, a := range map[string]args{
		"pve_vm_info":         {"node": "pve2", "vmid": 116},
		"pve_container_info":  {"node": "pve2", "vmid": 100},
		"pve_storage_content": {"node": "pve1", "storage": "local", "content": "snippets"},
		"pve_tasks":           {"node": "pve1", "limit": 3},
		"pve_raw_get":         {"path": "/cluster/ha/status/current", "query": args{}},
	} {
		r.ok(name, a)
	}
}

func byName(name string) *entry {
	for _, e := range registry() {
		if e.name == name {
			return e
		}
	}
	return nil
}

// TestReadonlyOffersReadsAlone: in readonly nothing that changes something is
// listed, and calling it all the same says why.
func TestReadonlyOffersReadsAlone(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	for _, tool := range r.server.Offered() {
		assert.Equal(t, apidoc.Read, tool.Class, tool.Name)
	}
	for _, e := range registry() {
		if e.class != apidoc.Read && slices.Contains([]string{"core", "guests"}, e.toolset) {
			r.fails(e.name, args{}, "readonly", "PROXMOX_MODE=full")
		}
	}
	r.fails("pve_vm", args{}, `no tool "pve_vm"`, "pve_vms")
	r.fails(strings.Repeat("pve_", 5000), args{}, "no tool")
	assert.Equal(t, gate.ReadOnly, r.server.gate.Mode())
}

// TestToolsetUnknown: a server with a toolset that does not exist is not made.
func TestToolsetUnknown(t *testing.T) {
	_, err := New(Options{Toolsets: []string{"core", "gests"}})
	require.ErrorContains(t, err, `"gests"`)
	require.ErrorContains(t, err, "guests")
}

// TestInstructions: what a client tells the model at the start names tools that
// exist.
func TestInstructions(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	text := r.session.InitializeResult().Instructions
	require.NotEmpty(t, text)
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }) {
		if strings.HasPrefix(word, "pve_") {
			assert.NotNil(t, byName(word), word)
		}
	}
	assert.LessOrEqual(t, tokens(t, text), 150)
	assert.Equal(t, &mcp.Implementation{Name: "pve-mcp", Title: "Proxmox VE", Version: "test"}, r.session.InitializeResult().ServerInfo, fmt.Sprint(r.session.InitializeResult()))
}
