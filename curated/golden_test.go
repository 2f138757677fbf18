package curated

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goldenCalls are calls whose whole answer is kept, as a reader would judge it.
var goldenCalls = []struct {
	name, tool string
	args       args
	token      string
}{
	{name: "version", tool: "pve_version"},
	{name: "cluster_status", tool: "pve_cluster_status"},
	{name: "cluster_resources", tool: "pve_cluster_resources"},
	{name: "cluster_resources_storage", tool: "pve_cluster_resources", args: args{"type": "storage"}},
	{name: "cluster_resources_sdn", tool: "pve_cluster_resources", args: args{"type": "sdn"}},
	{name: "cluster_resources_tag", tool: "pve_cluster_resources", args: args{"tag": "web", "status": "running"}},
	{name: "cluster_resources_node", tool: "pve_cluster_resources", args: args{"node": "pve1"}},
	{name: "cluster_resources_pool_token", tool: "pve_cluster_resources", token: poolToken},
	{name: "cluster_resources_blind", tool: "pve_cluster_resources", token: blindToken},
	{name: "nodes", tool: "pve_nodes"},
	{name: "nodes_json", tool: "pve_nodes", args: args{"format": "json"}},
	{name: "nodes_blind", tool: "pve_nodes", token: blindToken},
	{name: "node_info", tool: "pve_node_info", args: args{"node": "pve2"}},
	{name: "node_info_blind", tool: "pve_node_info", args: args{"node": "pve2"}, token: blindToken},
	{name: "node_info_unknown", tool: "pve_node_info", args: args{"node": "pve22"}},
	{name: "vms", tool: "pve_vms"},
	{name: "vms_running_page", tool: "pve_vms", args: args{"status": "running", "limit": 5, "sort": "mem"}},
	{name: "vms_json_fields", tool: "pve_vms", args: args{"format": "json", "fields": "vmid,name,maxmem,maxdisk", "limit": 3}},
	{name: "vms_none", tool: "pve_vms", args: args{"name": "no-such-*"}},
	{name: "vms_other_kind", tool: "pve_vms", args: args{"vmids": "100"}},
	{name: "vms_pool_token", tool: "pve_vms", token: poolToken},
	{name: "vms_blind", tool: "pve_vms", token: blindToken},
	{name: "vm_info", tool: "pve_vm_info", args: args{"vmid": 116}},
	{name: "vm_info_json", tool: "pve_vm_info", args: args{"vmid": 116, "format": "json"}},
	{name: "vm_info_config", tool: "pve_vm_info", args: args{"vmid": 116, "config": true}},
	{name: "vm_info_node", tool: "pve_vm_info", args: args{"vmid": 116, "node": "pve2"}},
	{name: "vm_info_wrong_node", tool: "pve_vm_info", args: args{"vmid": 116, "node": "pve1"}},
	{name: "vm_info_is_container", tool: "pve_vm_info", args: args{"vmid": 100, "node": "pve2"}},
	{name: "vm_info_unknown", tool: "pve_vm_info", args: args{"vmid": 1166}},
	{name: "vm_info_template", tool: "pve_vm_info", args: args{"vmid": 9000}},
	{name: "containers", tool: "pve_containers"},
	{name: "container_info", tool: "pve_container_info", args: args{"vmid": 100}},
	{name: "container_info_name", tool: "pve_container_info", args: args{"name": "dns03"}},
	{name: "container_info_is_vm", tool: "pve_container_info", args: args{"vmid": 116, "node": "pve2"}},
	{name: "storage", tool: "pve_storage"},
	{name: "storage_node", tool: "pve_storage", args: args{"node": "pve1"}},
	{name: "storage_blind", tool: "pve_storage", token: blindToken},
	{name: "storage_pool_token", tool: "pve_storage", token: poolToken},
	{name: "storage_content", tool: "pve_storage_content", args: args{"storage": "local", "node": "pve1"}},
	{name: "storage_content_pbs", tool: "pve_storage_content", args: args{"storage": "pbs"}},
	{name: "storage_content_vmid", tool: "pve_storage_content", args: args{"storage": "nfs-data", "vmid": 100}},
	{name: "storage_content_which_node", tool: "pve_storage_content", args: args{"storage": "local"}},
	{name: "storage_content_unknown", tool: "pve_storage_content", args: args{"storage": "nfsdata"}},
	{name: "storage_content_blind", tool: "pve_storage_content", args: args{"storage": "pbs"}, token: blindToken},
	{name: "tasks", tool: "pve_tasks", args: args{"limit": 12}},
	{name: "tasks_errors", tool: "pve_tasks", args: args{"status": "error", "limit": 8}},
	{name: "tasks_vmid", tool: "pve_tasks", args: args{"vmid": 116}},
	{name: "tasks_since", tool: "pve_tasks", args: args{"since": "12h", "node": "pve1"}},
	{name: "tasks_blind", tool: "pve_tasks", token: blindToken},
	{name: "tasks_blind_filter", tool: "pve_tasks", args: args{"type": "vzdump"}, token: blindToken},
	{name: "health", tool: "pve_health"},
	{name: "health_audit", tool: "pve_health", token: auditToken},
	{name: "health_pool_token", tool: "pve_health", token: poolToken},
	{name: "health_blind", tool: "pve_health", token: blindToken},
	{name: "raw_object", tool: "pve_raw_get", args: args{"path": "/nodes/pve1/dns", "fields": "search,dns1,dns2"}},
	{name: "raw_list", tool: "pve_raw_get", args: args{"path": "/cluster/resources", "query": args{"type": "vm"}, "filter": "status=stopped", "fields": "vmid,name,node", "limit": 4}},
	{name: "raw_unknown_path", tool: "pve_raw_get", args: args{"path": "/nodes/pve1/qemu/116/confg"}},
	{name: "raw_unknown_param", tool: "pve_raw_get", args: args{"path": "/cluster/resources", "query": args{"typ": "vm"}}},
	{name: "raw_refused", tool: "pve_raw_get", args: args{"path": "/nodes/pve1/qemu/116/agent/file-read", "query": args{"file": "/etc/shadow"}}},
	{name: "raw_forbidden", tool: "pve_raw_get", args: args{"path": "/nodes/pve1/syslog"}, token: blindToken},
	{name: "raw_scalar", tool: "pve_raw_get", args: args{"path": "/cluster/nextid"}},
}

// TestGolden holds every answer against its file, for each protocol. A file has
// the requests that the call cost, the size of the answer and the answer.
func TestGolden(t *testing.T) {
	for _, protocol := range protocols {
		sim := startSim(t, 3, 60)
		rigs := map[string]*rig{}
		for _, g := range goldenCalls {
			if rigs[g.token] == nil {
				rigs[g.token] = newRig(t, sim, setup{token: g.token, protocol: protocol})
			}
		}
		for _, g := range goldenCalls {
			t.Run(protocol+"/"+g.name, func(t *testing.T) {
				r := rigs[g.token].on(t)
				var text string
				var isError bool
				asked := r.asked(func() { text, isError = r.call(g.tool, g.args) })
				slices.Sort(asked)
				var b strings.Builder
				fmt.Fprintf(&b, "%s %s", g.tool, jsonOf(t, g.args))
				if g.token != "" {
					fmt.Fprintf(&b, " as %s", g.token)
				}
				for _, a := range asked {
					fmt.Fprintf(&b, "\n→ %s", a)
				}
				fmt.Fprintf(&b, "\n%d tokens, error: %v\n\n%s\n", tokens(t, text), isError, text)
				golden(t, filepath.Join("golden", g.name+".txt"), b.String())
			})
		}
	}
}

// golden compares with a file of testdata, or writes it.
func golden(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "run with -update, and read what it writes")
	require.Equal(t, string(want), got, "if this is meant, run with -update and read the difference")
}
