package curated

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/generated"
	"pvemcp/internal/pvesim"
)

// exposing is a server that offers endpoints as tools.
func exposing(t testing.TB, sim *pvesim.Server, mode gate.Mode, patterns string, change ...func(*Options)) *rig {
	t.Helper()
	r, _, _ := schemaRig(t, sim, append(change, func(o *Options) { o.Mode, o.Expose, o.Unlogged = mode, patterns, true })...)
	return r
}

// exposedTools lists the tools that patterns added, as a client sees them.
func exposedTools(t testing.TB, r *rig) map[string]map[string]any {
	t.Helper()
	list, err := r.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	out := map[string]map[string]any{}
	for _, tool := range list.Tools {
		if e := r.server.byName[tool.Name]; e.toolset == "exposed" {
			out[tool.Name] = object(t, jsonOf(t, tool))
		}
	}
	return out
}

func TestExposePatterns(t *testing.T) {
	for pattern, want := range map[string][]string{
		"GET /cluster/ha/resources":                     {"GET /cluster/ha/resources"},
		"GET /cluster/ha/resources/*":                   {"GET /cluster/ha/resources/{sid}"},
		"GET /cluster/ha/resources/{sid}":               {"GET /cluster/ha/resources/{sid}"},
		"get|post /cluster/ha/resources":                {"GET /cluster/ha/resources", "POST /cluster/ha/resources"},
		"POST /nodes/*/vzdump":                          {"POST /nodes/{node}/vzdump"},
		"POST /nodes/{n}/vzdump":                        {"POST /nodes/{node}/vzdump"},
		"GET /cluster/ha/status/**":                     {"GET /cluster/ha/status/current", "GET /cluster/ha/status/manager_status"},
		"GET /cluster/ha/sta*":                          {"GET /cluster/ha/status"},
		"GET /version,GET /version\n GET   /version/ ,": {"GET /version"},
		"GET /nodes/*/ceph/pools":                       {"GET /nodes/{node}/ceph/pools"}, // 7.4 alone
		"GET /pools, GET /version":                      {"GET /pools", "GET /version"},
	} {
		patterns, err := parseExpose(pattern)
		require.NoError(t, err, pattern)
		var got []string
		for i := range patterns {
			methods, err := patterns[i].find()
			require.NoError(t, err, pattern)
			for _, m := range methods {
				if !slices.Contains(got, m.String()) {
					got = append(got, m.String())
				}
			}
		}
		require.Equal(t, want, got, pattern)
	}
	for pattern, words := range map[string][]string{
		"/cluster/ha/**":           {`"/cluster/ha/**"`, "begins with its verb", "'GET /cluster/ha/**'"},
		"PATCH /version":           {"PATCH", "GET, POST, PUT and DELETE"},
		"GET":                      {"a path is needed"},
		"GET version":              {"a path is needed"},
		"GET /a b":                 {"a path is needed"},
		"GET /cluster/**/status":   {"must be the last segment"},
		"GET /cluster//ha":         {"is empty"},
		"GET /":                    {"is empty"},
		"GET /cluster/[a-z]":       {"only * and ** are wildcards"},
		"GET /cluster/ha/resorces": {"no method", "nearest: /cluster/ha/resources"},
		"GET /nodes/pve1/syslog":   {"no method", "a value in a path is written as *: 'GET /nodes/*/syslog'"},
		"DELETE /cluster/status":   {"no method", "the path takes GET"},
		"GET /version/**":          {"no method"},
		"GET /**":                  {"tools are allowed", "narrow"},
		"GET /version, GET /x":     {`"GET /x"`},
	} {
		_, err := New(Options{Mode: gate.Full, Unlogged: true, Expose: pattern})
		require.ErrorContains(t, err, "PROXMOX_EXPOSE: ", pattern)
		for _, w := range words {
			require.ErrorContains(t, err, w, pattern)
		}
	}
	for _, nothing := range []string{"", " ", ",", "\n,\n"} {
		tools, hidden, err := (&Server{}).expose(nothing)
		require.NoError(t, err)
		require.Empty(t, tools)
		require.Empty(t, hidden)
	}
}

func TestExposedReads(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			sim := simOf(t, "9.2")
			r := newRig(t, sim, setup{protocol: protocol, options: func(o *Options) { o.Expose = "GET /cluster/ha/**, POST /nodes/*/vzdump, GET /nodes/*/qemu/*/config" }})
			tools := exposedTools(t, r)
			require.Contains(t, tools, "pve_get_cluster_ha_resources")
			require.Contains(t, tools, "pve_get_cluster_ha_resources_sid")
			require.NotContains(t, tools, "pve_post_nodes_vzdump", "readonly lists no writes")
			for name, tool := range tools {
				require.Equal(t, true, tool["annotations"].(map[string]any)["readOnlyHint"], name)
			}
			r.fails("pve_post_nodes_vzdump", args{"node": "pve1"}, "is not offered", "readonly", "PROXMOX_MODE=full")

			// The same answer as through the raw door.
			list := args{"fields": "sid,state", "limit": 2}
			require.JSONEq(t, r.ok("pve_raw_get", args{"path": "/cluster/ha/resources", "fields": "sid,state", "limit": 2}), r.ok("pve_get_cluster_ha_resources", list))
			vms := object(t, r.ok("pve_raw_get", args{"path": "/cluster/resources", "query": args{"type": "vm"}, "filter": "type=qemu", "fields": "vmid,node", "limit": 1}))
			vm := vms["data"].([]any)[0].(map[string]any)
			require.Equal(t, []string{fmt.Sprintf("GET /nodes/%v/qemu/%v/config?current=1", vm["node"], vm["vmid"])}, r.asked(func() {
				r.ok("pve_get_nodes_qemu_config", args{"node": vm["node"], "vmid": fmt.Sprint(vm["vmid"]), "current": true, "fields": "cores"})
			}))

			// The same check.
			require.Empty(t, r.asked(func() {
				r.fails("pve_get_nodes_qemu_config", args{"node": "pve1"}, "vmid: is needed")
				r.fails("pve_get_nodes_qemu_config", args{"node": "pve1", "vmid": "abc"}, "was not sent", "vmid")
				r.fails("pve_get_nodes_qemu_config", args{"node": "pve1", "vmid": 100, "curent": true}, "curent", "did you mean current")
				r.fails("pve_get_nodes_qemu_config", args{"node": []string{"pve1", "pve2"}, "vmid": 100}, "node: a single value is needed")
				r.fails("pve_get_cluster_ha_resources", args{"limit": "many"}, "limit", "whole number")
			}))
		})
	}
}

// No value for the path leads anywhere else.
func TestExposedPathsStayWhereTheyAre(t *testing.T) {
	r := exposing(t, simOf(t, "9.2"), gate.Full, "GET /nodes/*/qemu/*/config, POST /nodes/*/qemu/*/status/start, GET /nodes/*/storage/*/content/*, GET /nodes/*/status")
	for _, node := range []string{"", ".", "..", "pve1/qemu/100/status/stop?", "pve1/../../access", "pve1%2fqemu", "%2e%2e", "pve1/", "/", "a b", "a\nb", "a\x00b", "pve1#", "pve1?x=1", "\xff", strings.Repeat("a", 100000)} {
		for _, tool := range []string{"pve_get_nodes_status", "pve_get_nodes_qemu_config", "pve_post_nodes_qemu_status_start"} {
			a := args{"node": node, "vmid": 100, "confirm": true}
			if tool == "pve_get_nodes_status" {
				a = args{"node": node}
			}
			if strings.HasPrefix(tool, "pve_get") {
				delete(a, "confirm")
			}
			for _, asked := range r.asked(func() { r.fails(tool, a) }) {
				require.Equal(t, "GET /version", asked, "%s %q", tool, node)
			}
		}
	}
	r.fails("pve_get_nodes_qemu_config", args{"node": "pve1", "vmid": "100/config"}, "holds a slash")
	// A volume's name holds a colon and a slash, and is one value.
	asked := r.asked(func() {
		r.call("pve_get_nodes_storage_content_volume", args{"node": "pve1", "storage": "local", "volume": "local:iso/x.iso"})
	})
	require.Len(t, asked, 1)
	require.Contains(t, asked[0], "/nodes/pve1/storage/local/content/local:iso/x.iso")
}

func TestExposedWritesPassTheGateOrAreRefused(t *testing.T) {
	sim := simOf(t, "9.2")
	r := exposing(t, sim, gate.Full, "POST /nodes/*/vzdump, DELETE /nodes/*/qemu/*, PUT /nodes/*/dns, POST /access/ticket, POST /nodes/*/qemu/*/agent/exec, GET /cluster/acme/meta, POST /pools")
	tools := exposedTools(t, r)
	require.Contains(t, tools, "pve_delete_nodes_qemu_vmid")
	r.fails("pve_post_access_ticket", args{}, "is not offered", "can't be called with an API token")
	r.fails("pve_post_nodes_qemu_agent_exec", args{}, "is not offered", "PROXMOX_SHELL")

	writes := func(f func()) []string {
		return slices.DeleteFunc(r.asked(f), func(s string) bool { return strings.HasPrefix(s, "GET ") })
	}
	pool := args{"poolid": "blue", "comment": "of the blue team"}
	with := func(a args, more ...string) args {
		out := args{}
		for k, v := range a {
			out[k] = v
		}
		for _, k := range more {
			out[k] = true
		}
		return out
	}
	require.Empty(t, writes(func() {
		r.fails("pve_post_pools", pool, "repeat with confirm=true")
		text := r.ok("pve_post_pools", with(pool, "dry_run", "confirm"))
		require.Contains(t, text, "Dry run")
		require.Contains(t, text, "/pools")
		r.fails("pve_post_pools", with(args{"poolid": "a b"}, "confirm"), "was not sent", "poolid")
		r.fails("pve_post_pools", with(args{"pool": "blue"}, "confirm"), "poolid")
	}))
	flags := []string{"confirm"}
	if slices.Contains(r.server.byName["pve_post_pools"].needs(), "i_understand_data_loss") {
		flags = append(flags, "i_understand_data_loss")
	}
	require.Equal(t, []string{"POST /pools"}, writes(func() { r.call("pve_post_pools", with(pool, flags...)) }))
	sent := sim.Requests()
	sent = slices.DeleteFunc(sent, func(q pvesim.RequestRecord) bool { return q.Verb != "POST" })
	require.Equal(t, "comment=of%20the%20blue%20team&poolid=blue", sent[0].Body, "our own arguments are not sent")

	gone := args{"node": "pve1", "vmid": 100}
	require.Empty(t, writes(func() {
		r.fails("pve_delete_nodes_qemu_vmid", gone, "confirm=true")
		r.fails("pve_delete_nodes_qemu_vmid", with(gone, "confirm"), "i_understand_data_loss=true")
	}))
	// A read that makes the cluster fetch something is more than a read.
	require.Empty(t, r.asked(func() {
		r.fails("pve_get_cluster_acme_meta", args{"directory": "https://ca.example/dir"}, "confirm=true")
	}))
}

// needs lists the flags that a tool declares.
func (t *entry) needs() []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(t.schema(), &s) != nil {
		return nil
	}
	var out []string
	for _, flag := range []string{"confirm", "dry_run", "i_understand_data_loss"} {
		if _, ok := s.Properties[flag]; ok {
			out = append(out, flag)
		}
	}
	return out
}

// An exposed method is checked by the cluster's version, whichever has it.
func TestExposedMethodsOfOtherVersions(t *testing.T) {
	const patterns = "GET /nodes/*/ceph/pools/*, GET /cluster/ha/rules"
	r := exposing(t, simOf(t, "9.2"), gate.ReadOnly, patterns)
	require.Empty(t, slices.DeleteFunc(r.asked(func() {
		r.fails("pve_get_nodes_ceph_pools_name", args{"node": "pve1", "name": "rbd"}, "not in 9.2 any more", "here there is /nodes/{node}/ceph/pool")
	}), func(s string) bool { return s == "GET /version" }))
	r.ok("pve_get_cluster_ha_rules", args{})

	r = exposing(t, simOf(t, "7.4"), gate.ReadOnly, patterns)
	asked := r.asked(func() { r.call("pve_get_nodes_ceph_pools_name", args{"node": "pve1", "name": "rbd"}) })
	require.Contains(t, asked, "GET /nodes/pve1/ceph/pools/rbd")
	r.fails("pve_get_cluster_ha_rules", args{}, "not in 7.4", "here there is /cluster/ha/groups")
}

// Every method of every version can be a tool: a name of its own, a flat
// schema, the method's parameters whole, and our own beside them.
func TestEveryMethodCanBeExposed(t *testing.T) {
	var methods []exposedMethod
	for _, e := range generated.Effects() {
		methods = append(methods, exposedMethod{e.Verb, e.Path})
	}
	require.Len(t, methods, 675)
	for _, v := range apidoc.Snapshots() {
		schema, err := apidoc.Snapshot(v)
		require.NoError(t, err)
		for _, e := range schema.Endpoints() {
			m := exposedMethod{e.Verb, e.Path}
			// A parameter that was only renamed is no other method.
			same := func(o exposedMethod) bool { return o.verb == m.verb && sameShape(o.template, m.template) }
			if !slices.ContainsFunc(methods, same) {
				methods = append(methods, m)
			}
		}
	}
	names := map[string]exposedMethod{}
	for _, e := range registry() {
		names[e.name] = exposedMethod{}
	}
	offered, refused := 0, 0
	for group := range slices.Chunk(methods, maxExposed) {
		patterns := make([]string, len(group))
		for i, m := range group {
			patterns[i] = m.String()
		}
		s, err := New(Options{Mode: gate.Full, Shell: gate.ShellFull, Expose: strings.Join(patterns, ","), Unlogged: true})
		require.NoError(t, err)
		s.MCP() // panics on a schema that it can't take
		refused += len(s.hidden)
		for _, m := range group {
			e := s.exposed(m)
			if e = s.byName[e.name]; e == nil {
				require.Contains(t, s.hidden, exposedName(m))
				continue
			}
			offered++
			_, twice := names[e.name]
			require.False(t, twice, "%s and %s are both %s", m, names[e.name], e.name)
			names[e.name] = m
			require.Regexp(t, `^pve_(get|post|put|delete)_[a-zA-Z0-9_-]+$`, e.name)
			require.LessOrEqual(t, len(e.name), 64)
			require.Contains(t, e.text, m.String())
			require.LessOrEqual(t, len(e.text), 260, e.text)
			require.Equal(t, 1, strings.Count(e.text, "\n")+1)

			var schema map[string]any
			require.NoError(t, json.Unmarshal(e.schema(), &schema))
			for key := range schema {
				require.Contains(t, []string{"type", "properties", "required"}, key, m)
			}
			props := schema["properties"].(map[string]any)
			for name, p := range props {
				flatProperty(t, name, p)
			}
			required, _ := schema["required"].([]any)
			for _, name := range required {
				require.Contains(t, props, name)
			}
			for _, name := range (&apidoc.Endpoint{Path: m.template}).PathParams() {
				require.Contains(t, required, name, m)
			}
			// What consent hangs on is never taken for a parameter of the API.
			for _, flag := range []string{"confirm", "dry_run", "i_understand_data_loss", "plan", "reason", "wait_seconds", "max_tokens"} {
				require.False(t, paramsSchemaOf(m).has(flag), "%s has %s", m, flag)
			}
			if e.class == apidoc.Read {
				require.NotContains(t, props, "confirm")
				continue
			}
			require.Contains(t, props, "confirm", m)
			require.Contains(t, props, "dry_run", m)
			if e.class.Rank() >= apidoc.Destroy.Rank() {
				require.Contains(t, props, "i_understand_data_loss", m)
			}
		}
	}
	require.Equal(t, len(methods), offered+refused)
	require.Less(t, refused, 30)
}

// Declarations as a client sees them.
func TestExposedGolden(t *testing.T) {
	r := exposing(t, simOf(t, "9.2"), gate.Full, "GET /cluster/ha/resources, POST /nodes/*/vzdump, DELETE /nodes/*/qemu/*")
	tools := exposedTools(t, r)
	require.Len(t, tools, 3)
	list, err := r.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range list.Tools {
		if tools[tool.Name] == nil {
			continue
		}
		b, err := json.MarshalIndent(tool, "", "  ")
		require.NoError(t, err)
		golden(t, filepath.Join("exposed", tool.Name+".json"), string(b)+"\n")
	}
}
