package apidoc

import "testing"

// benchParams is a create call with ten parameters.
var benchParams = Params{
	"vmid": {"100"}, "name": {"web-1"}, "memory": {"4096"}, "cores": {"4"}, "ostype": {"l26"}, "scsihw": {"virtio-scsi-single"},
	"scsi0": {"local-lvm:32,iothread=1,discard=on,ssd=1"}, "net0": {"virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20"},
	"agent": {"enabled=1"}, "tags": {"web;prod"},
}

func BenchmarkCheck10(b *testing.B) {
	m := mustMethod(b, "9.2", POST, "/nodes/{node}/qemu")
	path := []PathValue{{"node", "pve1"}}
	if fault := m.Check(path, benchParams); fault != nil {
		b.Fatal(fault)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Check(path, benchParams)
	}
}

// TestCheckAllocations holds the figure of the benchmark, which is not run by
// go test.
func TestCheckAllocations(t *testing.T) {
	m := mustMethod(t, "9.2", POST, "/nodes/{node}/qemu")
	path := []PathValue{{"node", "pve1"}}
	if n := testing.AllocsPerRun(100, func() { m.Check(path, benchParams) }); n > 50 {
		t.Errorf("%.0f allocations for ten parameters; at most 50 are allowed", n)
	}
}
