package pvesim

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	proxmox "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

// TestForeignClient drives the cluster with a client of other people, who
// wrote it against the real thing: what it decodes is what we answer.
func TestForeignClient(t *testing.T) {
	w := Generate(3, 60, 7)
	s := start(t, Options{World: w})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	api := proxmox.NewClient(s.URL()+"/api2/json", proxmox.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}), proxmox.WithAPIToken("root@pam!full", TokenSecret))

	version, err := api.Version(ctx)
	require.NoError(t, err)
	assert.Equal(t, "9.2", version.Release)

	nodes, err := api.Nodes(ctx)
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	total := map[apidoc.GuestKind]int{}
	for _, listed := range nodes {
		assert.Equal(t, "online", listed.Status)
		node, err := api.Node(ctx, listed.Node)
		require.NoError(t, err)
		want := w.Node(apidoc.Node(listed.Node))
		assert.EqualValues(t, want.Memory, node.Memory.Total)
		assert.Len(t, node.LoadAvg, 3)
		assert.Equal(t, want.CPUs, node.CPUInfo.CPUs)

		vms, err := node.VirtualMachines(ctx)
		require.NoError(t, err)
		total[apidoc.QEMU] += len(vms)
		for _, vm := range vms {
			g := w.Guest(apidoc.VMID(vm.VMID))
			require.NotNil(t, g)
			assert.Equal(t, g.ShownName(), vm.Name)
			assert.Equal(t, g.Up(), vm.Status == "running")
			assert.EqualValues(t, g.Memory(), vm.MaxMem)
		}
		containers, err := node.Containers(ctx)
		require.NoError(t, err)
		total[apidoc.LXC] += len(containers)

		storages, err := node.Storages(ctx)
		require.NoError(t, err)
		names := map[string]bool{}
		for _, st := range storages {
			names[st.Name] = true
		}
		assert.True(t, names["local"] && names["nfs-data"] && names["pbs"])
		assert.Equal(t, want.zfs(), names["local-zfs"])
	}
	assert.Equal(t, 60, total[apidoc.QEMU]+total[apidoc.LXC])
	assert.InDelta(t, 36, total[apidoc.QEMU], 5, "three VMs to two containers")

	vmGuest, ctGuest, withSnapshot := pickGuests(t, w)
	node, err := api.Node(ctx, string(vmGuest.Node))
	require.NoError(t, err)
	vm, err := node.VirtualMachine(ctx, int(vmGuest.ID))
	require.NoError(t, err)
	assert.Equal(t, vmGuest.Config.Get("name"), vm.VirtualMachineConfig.Name)
	assert.EqualValues(t, vmGuest.Memory()>>20, vm.VirtualMachineConfig.Memory)
	assert.Equal(t, vmGuest.Config.Get("scsi0"), vm.VirtualMachineConfig.SCSIs["scsi0"])
	assert.True(t, vm.IsRunning())
	os, err := vm.AgentOsInfo(ctx)
	require.NoError(t, err)
	assert.Equal(t, vmGuest.Agent.OS.PrettyName, os.PrettyName)
	nics, err := vm.AgentGetNetworkIFaces(ctx)
	require.NoError(t, err)
	assert.Len(t, nics, len(vmGuest.Agent.Interfaces)-1, "the client leaves lo out")

	snapNode, err := api.Node(ctx, string(withSnapshot.Node))
	require.NoError(t, err)
	snapVM, err := snapNode.VirtualMachine(ctx, int(withSnapshot.ID))
	require.NoError(t, err)
	snapshots, err := snapVM.Snapshots(ctx)
	require.NoError(t, err)
	assert.Len(t, snapshots, len(withSnapshot.Snapshots)+1, "the present is listed too")

	ctNode, err := api.Node(ctx, string(ctGuest.Node))
	require.NoError(t, err)
	ct, err := ctNode.Container(ctx, int(ctGuest.ID))
	require.NoError(t, err)
	assert.Equal(t, ctGuest.Config.Get("hostname"), ct.ContainerConfig.Hostname)
	interfaces, err := ct.Interfaces(ctx)
	require.NoError(t, err)
	assert.NotEmpty(t, interfaces)
	rrd, err := ct.RRDData(ctx, proxmox.TimeframeHour)
	require.NoError(t, err)
	assert.Len(t, rrd, 60)

	storage, err := node.Storage(ctx, "nfs-data")
	require.NoError(t, err)
	isos, err := storage.GetContent(ctx)
	require.NoError(t, err)
	assert.Len(t, isos, len(w.Storage("nfs-data").Place("").Volumes()))

	cluster, err := api.Cluster(ctx)
	require.NoError(t, err)
	assert.Equal(t, "lab", cluster.Name)
	resources, err := cluster.Resources(ctx)
	require.NoError(t, err)
	kinds := map[string]int{}
	for _, r := range resources {
		kinds[r.Type]++
	}
	assert.Equal(t, total[apidoc.QEMU], kinds["qemu"])
	assert.Equal(t, total[apidoc.LXC], kinds["lxc"])
	assert.Equal(t, 3, kinds["node"])
	assert.Equal(t, 5, kinds["pool"])
	next, err := cluster.NextID(ctx)
	require.NoError(t, err)
	assert.Nil(t, w.Guest(apidoc.VMID(next)))
	tasks, err := cluster.Tasks(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, tasks)
	for _, task := range tasks {
		if task.Type != "vzdump" {
			continue
		}
		require.NoError(t, task.Ping(ctx))
		assert.NotEmpty(t, task.ExitStatus)
		log, err := task.Log(ctx, 0, 100)
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(log[0], "INFO: starting new backup job"), log[0])
		break
	}
	// Not asked for: backup jobs and migration preconditions, in which this
	// client expects a text and a JSON boolean where 9.2 has an object and a 1.
	bare, err := cluster.GuestsNotInBackup(ctx)
	require.NoError(t, err)
	assert.NotEmpty(t, bare)
	ha, err := cluster.HAResources(ctx, "")
	require.NoError(t, err)
	assert.Len(t, ha, len(w.HA.Resources))
	pools, err := api.Pools(ctx)
	require.NoError(t, err)
	assert.Len(t, pools, 5)

	_, err = node.VirtualMachine(ctx, 99999)
	assert.ErrorContains(t, err, "Configuration file 'nodes/"+string(vmGuest.Node)+"/qemu-server/99999.conf' does not exist")
}
