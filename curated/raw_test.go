package curated

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/internal/pvesim"
)

// TestRawPaths: a path is taken in the forms in which people write it, or
// refused before anything is sent.
func TestRawPaths(t *testing.T) {
	r := newRig(t, startSim(t, 3, 60), setup{})
	want := r.ok("pve_raw_get", args{"path": "/nodes/pve1/qemu/149/config", "fields": "name,cores,memory"})
	for _, path := range []string{
		"/api2/json/nodes/pve1/qemu/149/config", "/api2/extjs/nodes/pve1/qemu/149/config",
		"/nodes/pve1/qemu/149/config/", "//nodes//pve1/qemu/149/config", "/nodes/pve1/qemu/149/config\n", " /nodes/pve1/qemu/149/config ",
	} {
		var got string
		asked := r.asked(func() { got = r.ok("pve_raw_get", args{"path": path, "fields": "name,cores,memory"}) })
		assert.Equal(t, want, got, "%q", path)
		assert.Equal(t, []string{"GET /nodes/pve1/qemu/149/config"}, asked, "%q", path)
	}
	for path, words := range map[string][]string{
		"":                                      {"path", "needed"},
		"/":                                     nil,
		"/api2/json":                            nil,
		"/nodes/pve1/../pve2/status":            {"path"},
		"/nodes/./pve1/status":                  {"path"},
		"/nodes/%2e%2e/status":                  nil,
		"/nodes/pve1/%2e%2e/version":            nil,
		"/version?x=1":                          {"parameters separately"},
		"/cluster/resources?type=vm":            {"parameters separately"},
		"/version#part":                         {"#"},
		"/nodes/pve1/sta\ntus":                  {"path"},
		"/nodes/pve1\x00/status":                {"path"},
		"/nodes/pve1\r\nHost: evil/status":      {"path"},
		"/nodes/pve1%0d%0aX: y/status":          nil,
		"/nodes/pve1%zz/status":                 {"path"},
		"https://pve1:8006/api2/json/version":   nil,
		"/nodes/pve1/qemu/abc/config":           {"vmid"},
		"/nodes/pve1/qemu/5/config":             {"vmid"},
		"/nodes/-bad-/status":                   {"node"},
		"/nodes/pve1/qemu/149/confg":            {"nearest", "/nodes/{node}/qemu/{vmid}/config"},
		"nodes/pve1/qemu/149/config":            {"path", "must begin with /"},
		"/nods":                                 {"/nodes"},
		"/" + strings.Repeat("a/", 5000):        nil,
		"/nodes/" + strings.Repeat("x", 100000): nil,
		"/nodes/pve1/qemu/149/status/start":     {"POST"},
		"/nodes/pve1/vzdump":                    {"POST"},
	} {
		var text string
		asked := r.asked(func() { text, _ = r.call("pve_raw_get", args{"path": path}) })
		if path == "/" || path == "/api2/json" {
			continue // the root lists what lies below it, or says that it is no method; both are harmless
		}
		assert.True(t, strings.HasPrefix(text, "Error: "), "%.60q: %s", path, text)
		assert.Empty(t, asked, "%.60q was sent", path)
		assert.Less(t, len(text), 900, "%.60q", path)
		for _, w := range words {
			assert.Contains(t, text, w, "%.60q", path)
		}
	}
}

// TestRawParameters: nothing that Proxmox would refuse is sent.
func TestRawParameters(t *testing.T) {
	r := newRig(t, startSim(t, 3, 60), setup{})
	r.ok("pve_raw_get", args{"path": "/version"}) // after that the cluster's version is known
	for _, c := range []struct {
		path  string
		query any
		words []string
	}{
		{"/cluster/resources", args{"typ": "vm"}, []string{"typ", "type"}},
		{"/cluster/resources", args{"type": "vms"}, []string{"type", "vm"}},
		{"/cluster/resources", args{"type": []string{"vm", "node"}}, []string{"type"}},
		{"/nodes/pve1/rrddata", args{}, []string{"timeframe"}},
		{"/nodes/pve1/rrddata", nil, []string{"timeframe"}},
		{"/nodes/pve1/rrddata", args{"timeframe": "minute"}, []string{"timeframe", "hour"}},
		{"/nodes/pve1/tasks", args{"limit": "many"}, []string{"limit", "integer"}},
		{"/nodes/pve1/tasks", args{"limit": -1}, []string{"limit"}},
		{"/nodes/pve1/tasks", args{"limit": 1.5}, []string{"limit"}},
		{"/nodes/pve1/tasks", args{"errors": "maybe"}, []string{"errors", "boolean"}},
		{"/nodes/pve1/tasks", args{"vmid": 5}, []string{"vmid"}},
		{"/nodes/pve1/storage/local/content", args{"vmid": "x", "contnt": "iso"}, []string{"vmid", "contnt", "content"}},
		{"/nodes/pve1/tasks", args{"limit": json.RawMessage(`{"a":1}`)}, []string{"limit"}},
		{"/version", args{"x": 1}, []string{"x"}},
		{"/version", "x=1", []string{"query", "object"}},
	} {
		asked := r.asked(func() { r.fails("pve_raw_get", args{"path": c.path, "query": c.query}, c.words...) })
		assert.Empty(t, asked, "%s %v", c.path, c.query)
	}
	for _, query := range []any{args{"limit": "3", "errors": true}, args{"limit": 3, "errors": 1}, `{"limit":3,"errors":"true"}`, args{"limit": 3.0, "errors": "yes", "vmid": nil}} {
		asked := r.asked(func() { r.ok("pve_raw_get", args{"path": "/nodes/pve1/tasks", "query": query}) })
		require.Len(t, asked, 1)
		assert.Regexp(t, `limit=3(&|$)`, asked[0])
	}
}

// TestRawRefusedReads: reads that run commands, open consoles or make a node
// fetch something are not sent in readonly mode, however they are written.
func TestRawRefusedReads(t *testing.T) {
	r := newRig(t, startSim(t, 3, 60), setup{})
	r.ok("pve_raw_get", args{"path": "/version"}) // after that the cluster's version is known
	for path, query := range map[string]args{
		"/nodes/pve2/qemu/116/agent/file-read":             {"file": "/etc/shadow"},
		"/nodes/pve2/qemu/116/agent/exec-status":           {"pid": 1},
		"/nodes/pve2/qemu/116/vncwebsocket":                {"port": 5900, "vncticket": "x"},
		"/nodes/pve2/lxc/100/vncwebsocket":                 {"port": 5900, "vncticket": "x"},
		"/nodes/pve2/vncwebsocket":                         {"port": 5900, "vncticket": "x"},
		"/nodes/pve2/qemu/116/mtunnelwebsocket":            {"socket": "/run/x", "ticket": "x"},
		"/nodes/pve2/query-url-metadata":                   {"url": "http://169.254.169.254/latest"},
		"/nodes/pve2/scan/nfs":                             {"server": "10.0.0.1"},
		"/nodes/pve2/scan/cifs":                            {"server": "10.0.0.1"},
		"/nodes/pve2/scan/pbs":                             {"server": "10.0.0.1", "username": "a@pbs", "password": "b"},
		"/nodes/pve2/scan/iscsi":                           {"portal": "10.0.0.1"},
		"/nodes/pve2/storage/local/import-metadata":        {"volume": "local:import/a.ova/a.ovf"},
		"/nodes/pve2/apt/changelog":                        {"name": "pve-manager"},
		"/nodes/pve2/storage/pbs/file-restore/list":        {"volume": "pbs:backup/ct/100/2026-11-28T01:03:00Z", "filepath": "/"},
		"/nodes/pve2/storage/pbs/file-restore/download":    {"volume": "pbs:backup/ct/100/2026-11-28T01:03:00Z", "filepath": "/"},
		"/api2/json/nodes/pve2/qemu/116/agent/file%2Dread": {"file": "/etc/shadow"},
		"/nodes%2Fpve2%2Fscan/nfs":                         {"server": "10.0.0.1"},
		"/nodes/pve2//scan/nfs/":                           {"server": "10.0.0.1"},
	} {
		var text string
		asked := r.asked(func() { text = r.fails("pve_raw_get", args{"path": path, "query": query}) })
		assert.Empty(t, asked, path)
		assert.Contains(t, text, "refused in readonly mode", path)
		assert.Contains(t, text, "Nothing was sent", path)
	}
}

// TestEveryReadOfTheSchema: the door and the gate agree about every GET of the
// API: what its class refuses is refused, all else may pass.
func TestEveryReadOfTheSchema(t *testing.T) {
	schema, err := apidoc.Snapshot(apidoc.Newest)
	require.NoError(t, err)
	g := newRig(t, sharedSim(t, 3, 60), setup{}).server.gate
	fill := strings.NewReplacer("{node}", "pve1", "{vmid}", "100", "{upid}", "UPID:pve1:00001000:00000000:6A000000:x::root@pam:", "{storage}", "local")
	refused := 0
	for _, ref := range schema.Endpoints() {
		if ref.Verb != apidoc.GET {
			continue
		}
		path := fill.Replace(ref.Path)
		for strings.Contains(path, "{") {
			i, j := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
			path = path[:i] + "x1" + path[j+1:]
		}
		in, err := gate.NewIntent(policyOf, "GET", path, nil)
		require.NoError(t, err, path)
		err = g.Authorize(t.Context(), in)
		if in.Class == apidoc.Read {
			assert.NoError(t, err, path)
			continue
		}
		refused++
		assert.Error(t, err, path)
	}
	assert.GreaterOrEqual(t, refused, 15, "too few reads count as dangerous")
}

// TestRawSecretsMasked: secrets that Proxmox gives in answers are hidden, all
// else is there.
func TestRawSecretsMasked(t *testing.T) {
	sim := startSim(t, 3, 60)
	sim.World().Change(func(w *pvesim.World) {
		w.Guest(116).Config.Set("cipassword", "hunter2-secret")
		w.Guest(116).Config.Set("ciuser", "admin")
	})
	r := newRig(t, sim, setup{})
	text := r.ok("pve_raw_get", args{"path": "/nodes/pve2/qemu/116/config"})
	assert.Contains(t, text, "admin")
	assert.NotContains(t, text, "hunter2")
	assert.NotContains(t, r.ok("pve_vm_info", args{"vmid": 116, "config": true}), "hunter2")
	for _, f := range []args{{"fields": "cipassword"}, {"filter": "cipassword=hunter2-secret"}, {"filter": "cipassword~hunter"}} {
		f["path"] = "/nodes/pve2/qemu/116/config"
		text, _ := r.call("pve_raw_get", f)
		assert.NotContains(t, text, `"hunter2`)
	}
	for _, path := range []string{"/nodes/pve2/qemu/116/pending", "/nodes/pve2/qemu/116/cloudinit"} {
		text, _ := r.call("pve_raw_get", args{"path": path})
		assert.NotContains(t, text, "hunter2", path)
	}
	fault(t, sim, pvesim.Fault{Kind: pvesim.FaultStatus, Status: 200, Reason: "OK", Path: "/storage/*", Body: `{"data":{"storage":"x","type":"cifs","username":"u","password":"hunter2-secret","keyring":"hunter2-key"}}`})
	text = r.ok("pve_raw_get", args{"path": "/storage/archive"})
	assert.Contains(t, text, `"username":"u"`)
	assert.NotContains(t, text, "hunter2")
}

// TestRawShape: lists are cut by item, with cursor, filter and fields; the
// answer is valid JSON in any case.
func TestRawShape(t *testing.T) {
	sim := sharedSim(t, 3, 60)
	r := newRig(t, sim, setup{})
	all := object(t, r.ok("pve_raw_get", args{"path": "/cluster/resources", "query": args{"type": "vm"}, "max_tokens": 300}))
	assert.Equal(t, "60", fmt.Sprint(all["total"]))
	assert.NotEmpty(t, all["cursor"])
	var ids []string
	a := args{"path": "/cluster/resources", "query": args{"type": "vm"}, "fields": "vmid", "limit": 7}
	for range 50 {
		page := object(t, r.ok("pve_raw_get", a))
		for _, item := range page["data"].([]any) {
			ids = append(ids, fmt.Sprint(item.(map[string]any)["vmid"]))
		}
		if page["cursor"] == nil {
			break
		}
		a["cursor"] = page["cursor"]
	}
	want := append(guestsWhere(sim, apidoc.QEMU, func(*pvesim.Guest) bool { return true }), guestsWhere(sim, apidoc.LXC, func(*pvesim.Guest) bool { return true })...)
	assert.ElementsMatch(t, want, ids, "every item once")
	running := object(t, r.ok("pve_raw_get", args{"path": "/cluster/resources", "filter": "type=qemu,status!=running", "fields": "vmid,status", "max_tokens": 4000}))
	for _, item := range running["data"].([]any) {
		assert.NotEqual(t, "running", item.(map[string]any)["status"])
	}
	assert.Len(t, running["data"], len(guestsWhere(sim, apidoc.QEMU, func(g *pvesim.Guest) bool { return g.State != pvesim.Running })))
	large := object(t, r.ok("pve_raw_get", args{"path": "/cluster/resources", "filter": "type=qemu,maxmem>17179869183", "fields": "vmid,maxmem", "max_tokens": 4000}))
	assert.Len(t, large["data"], len(guestsWhere(sim, apidoc.QEMU, func(g *pvesim.Guest) bool { return g.Memory() >= 16<<30 })))
	named := object(t, r.ok("pve_raw_get", args{"path": "/cluster/resources", "filter": "name~web", "fields": "name", "max_tokens": 4000}))
	for _, item := range named["data"].([]any) {
		assert.Contains(t, item.(map[string]any)["name"], "web")
	}
	r.fails("pve_raw_get", args{"path": "/cluster/resources", "filter": "name"}, "filter")
	r.fails("pve_raw_get", args{"path": "/cluster/resources", "cursor": "AAAA"}, "cursor")
	r.fails("pve_raw_get", args{"path": "/nodes", "cursor": all["cursor"]}, "cursor")
	for _, path := range []string{"/version", "/cluster/nextid", "/nodes", "/cluster/ha/groups", "/nodes/pve1/hosts", "/access/permissions", "/nodes/pve1/network", "/cluster/options"} {
		text, isError := r.call("pve_raw_get", args{"path": path})
		if !isError {
			object(t, text)
			assert.LessOrEqual(t, tokens(t, text), 2000, path)
		}
	}
}
