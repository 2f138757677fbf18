package pvesim

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

func num(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

// small is a world that a test can know by heart.
func small(t testing.TB, more string) *World {
	t.Helper()
	w, err := ReadWorld(strings.NewReader(`{
	"cluster": "c", "nodes": [{"name": "n1", "ip": "192.0.2.1"}, {"name": "n2", "online": false, "offline_since": "-1h"}, {"name": "n3", "online": false, "offline_since": "-1m"}],
	"storages": [{"id": "nas", "type": "nfs", "content": ["images", "backup", "iso"], "size": "1T", "options": {"path": "/mnt/pve/nas", "prune-backups": "keep-last=1"}, "volumes": [
		{"id": "nas:iso/a.iso", "size": "1M"},
		{"id": "nas:backup/vzdump-qemu-100-2026_11_29-01_00_00.vma.zst", "size": "2G", "created": "-1d", "notes": "first\nsecond"},
		{"id": "nas:backup/vzdump-qemu-100-2026_11_28-01_00_00.vma.zst", "size": "2G", "created": "-2d"},
		{"id": "nas:backup/vzdump-qemu-100-2026_10_28-01_00_00.vma.zst", "size": "2G", "created": "-33d", "protected": true}]},
		{"id": "lvm", "type": "lvmthin", "content": ["images"], "size": "1T", "nodes": ["n1"]}, {"id": "off", "type": "dir", "content": ["images"], "disabled": true}, {"id": "dead", "type": "nfs", "content": ["images"], "offline": true}],
	"pools": [{"id": "dev"}],
	"guests": [
		{"id": 100, "node": "n1", "state": "running", "pool": "dev", "config": {"name": "web", "memory": 2048, "cores": 2, "sockets": 2, "agent": 1, "tags": "a;b", "scsi0": "lvm:vm-100-disk-0,size=8G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "cipassword": "$5$x", "net1": "virtio,bridge=vmbr0"}, "pending": {"memory": 4096}, "deleting": {"net1": 1}},
		{"id": 101, "node": "n1", "state": "paused", "config": {"lock": "backup", "scsi0": "nas:101/vm-101-disk-0.raw,size=8G"}},
		{"id": 102, "kind": "lxc", "node": "n1", "state": "running", "config": {"hostname": "ct", "rootfs": "lvm:vm-102-disk-0,size=4G"}, "agent": {"interfaces": [{"name": "eth0", "mac": "bc:24:11:00:00:09", "addresses": ["192.0.2.9/24"]}]}},
		{"id": 103, "node": "n2", "state": "running", "config": {"name": "lost", "tags": "x"}},
		{"id": 104, "node": "n3", "state": "running", "config": {"name": "fresh"}},
		{"id": 105, "node": "n1", "config": {"name": "tmpl", "template": 1, "scsi0": "lvm:base-105-disk-0,size=4G"}}],
	"unreported": [],
	"tasks": [
		{"node": "n1", "type": "qmstart", "id": "100", "start": "-5h", "seconds": 3, "status": "OK"},
		{"node": "n1", "type": "qmstart", "id": "101", "start": "-4h", "seconds": 3, "status": "VM is locked (backup)", "user": "ops@pve!tt"},
		{"node": "n1", "type": "vzdump", "start": "-3h", "seconds": 60, "status": "WARNINGS: 2", "log": ["one", "two", "three"]},
		{"node": "n1", "type": "qmstop", "id": "100", "start": "-2h", "seconds": 9, "status": "unexpected status", "log": ["gone"]},
		{"node": "n1", "type": "qmclone", "id": "100", "start": "-1m", "user": "ops@pve"}],
	"backup_jobs": [{"id": "j1", "options": {"vmid": "100,999", "storage": "nas"}}],
	"ha": {"resources": [{"sid": "ct:102"}]},
	"users": [{"id": "ops@pve"}, {"id": "dev@pve"}],
	"tokens": [{"id": "root@pam!full", "privsep": false}, {"id": "ops@pve!tt", "privsep": false}, {"id": "dev@pve!tt", "privsep": false}, {"id": "root@pam!sep"}],
	"acl": [{"path": "/pool/dev", "who": "dev@pve", "role": "PVEVMUser"}, {"path": "/vms/101", "who": "root@pam!sep", "role": "PVEAuditor"}]`+more+`}`), GeneratedEpoch)
	require.NoError(t, err)
	return w
}

func byKey(t testing.TB, envelope map[string]any, key string) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, r := range rowsOf(t, envelope) {
		out[fmt.Sprint(r[key])] = r
	}
	return out
}

func TestResourcesAreAsProxmoxShowsThem(t *testing.T) {
	s := start(t, Options{World: small(t, "")})
	_, _, all := get(t, s, "/cluster/resources")
	r := byKey(t, all, "id")

	assert.Equal(t, "running", r["qemu/100"]["status"])
	assert.Equal(t, "a;b", r["qemu/100"]["tags"])
	assert.EqualValues(t, 4, num(r["qemu/100"]["maxcpu"]), "cores × sockets")
	assert.EqualValues(t, 2<<30, num(r["qemu/100"]["maxmem"]), "what is active, not what is pending")
	assert.EqualValues(t, 8<<30, num(r["qemu/100"]["maxdisk"]))
	assert.EqualValues(t, 0, num(r["qemu/100"]["disk"]), "always 0 for VMs")

	assert.Equal(t, "paused", r["qemu/101"]["status"], "here, and only here, the status is QEMU's own")
	assert.Equal(t, "VM 101", r["qemu/101"]["name"])
	assert.Equal(t, "backup", r["qemu/101"]["lock"])
	_, _, list := get(t, s, "/nodes/n1/qemu")
	assert.Equal(t, "running", byKey(t, list, "vmid")["101"]["status"])
	_, _, current := get(t, s, "/nodes/n1/qemu/101/status/current")
	assert.Equal(t, "paused", current["data"].(map[string]any)["qmpstatus"])

	assert.Equal(t, "started", r["lxc/102"]["hastate"])
	assert.Equal(t, map[string]any{"id": "qemu/103", "type": "qemu", "vmid": json.Number("103"), "node": "n2", "status": "unknown", "tags": "x"}, r["qemu/103"], "of a node that is long gone")
	assert.Equal(t, "running", r["qemu/104"]["status"], "for five minutes the last figures stay")
	assert.EqualValues(t, 1, num(r["qemu/105"]["template"]))

	assert.Equal(t, map[string]any{"id": "node/n2", "type": "node", "node": "n2", "status": "offline"}, r["node/n2"])
	assert.Equal(t, "online", r["node/n1"]["status"])
	assert.NotContains(t, r, "storage/n1/off", "disabled storages are not listed")
	assert.Equal(t, "unknown", r["storage/n1/dead"]["status"])
	assert.NotContains(t, r["storage/n1/dead"], "maxdisk")
	assert.Equal(t, "available", r["storage/n1/nas"]["status"])
	assert.Contains(t, r, "storage/n3/nas", "shared storages once per node")
	assert.NotContains(t, r, "storage/n2/lvm")
	assert.Equal(t, "pool", r["/pool/dev"]["type"])

	for kind, want := range map[string]int{"vm": 6, "node": 3, "storage": 7, "sdn": 0} {
		_, _, some := get(t, s, "/cluster/resources?type="+kind)
		assert.Len(t, rowsOf(t, some), want, kind)
	}
	status, _, _ := get(t, s, "/nodes/n2/qemu")
	assert.Equal(t, 595, status)
}

func TestListsShowWhatTheCallerMaySee(t *testing.T) {
	s := start(t, Options{World: small(t, "")})
	guests := func(token string) []string {
		_, _, e := getAs(t, s, token, "/cluster/resources?type=vm")
		ids := []string{}
		for id := range byKey(t, e, "vmid") {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		return ids
	}
	assert.Len(t, guests("root@pam!full"), 6)
	assert.Equal(t, []string{"100"}, guests("dev@pve!tt"), "a pool's members")
	assert.Equal(t, []string{"101"}, guests("root@pam!sep"), "a separated token's own entry")
	assert.Empty(t, guests("ops@pve!tt"))
	_, _, e := getAs(t, s, "dev@pve!tt", "/nodes/n1/qemu")
	assert.Len(t, rowsOf(t, e), 1)
	_, _, e = getAs(t, s, "dev@pve!tt", "/nodes")
	assert.NotContains(t, byKey(t, e, "node")["n1"], "maxmem")
	_, _, e = getAs(t, s, "dev@pve!tt", "/nodes/n1/storage")
	assert.Empty(t, rowsOf(t, e))
	_, _, e = getAs(t, s, "ops@pve!tt", "/nodes/n1/tasks?source=all")
	assert.Len(t, rowsOf(t, e), 2, "one's own and those of one's user")
	_, _, e = getAs(t, s, "ops@pve!tt", "/cluster/tasks")
	assert.Empty(t, rowsOf(t, e), "tokens see none of theirs there")
	assert.EqualValues(t, 0, num(e["total"]))
}

func TestTaskListsFilterAndPage(t *testing.T) {
	w := small(t, "")
	s := start(t, Options{World: w})
	kinds := func(query string) (string, int64) {
		_, _, e := get(t, s, "/nodes/n1/tasks?"+query)
		var out []string
		for _, r := range rowsOf(t, e) {
			out = append(out, fmt.Sprint(r["type"], r["id"]))
		}
		return strings.Join(out, " "), num(e["total"])
	}
	epoch := GeneratedEpoch.Unix()
	for query, want := range map[string]string{
		"":                                    "qmstop100 vzdump qmstart101 qmstart100",
		"source=active":                       "qmclone100",
		"source=all":                          "qmclone100 qmstop100 vzdump qmstart101 qmstart100",
		"limit=2":                             "qmstop100 vzdump",
		"start=1&limit=2":                     "vzdump qmstart101",
		"start=9":                             "",
		"limit=0":                             "qmstop100 vzdump qmstart101 qmstart100",
		"vmid=100":                            "qmstop100 qmstart100",
		"typefilter=qmstart":                  "qmstart101 qmstart100",
		"userfilter=OPS":                      "qmstart101",
		"errors=1":                            "qmstop100 vzdump qmstart101",
		"statusfilter=error":                  "qmstart101",
		"statusfilter=ok,warning":             "vzdump qmstart100",
		"statusfilter=unknown":                "qmstop100",
		fmt.Sprintf("since=%d", epoch-3*hour): "qmstop100 vzdump",
		fmt.Sprintf("until=%d", epoch-4*hour): "qmstart101 qmstart100",
	} {
		got, total := kinds(query)
		assert.Equal(t, want, got, query)
		if !strings.Contains(query, "start=") && !strings.Contains(query, "limit=2") {
			assert.EqualValues(t, len(strings.Fields(want)), total, query)
		} else {
			assert.EqualValues(t, 4, total, query)
		}
	}
	_, done := w.Node("n1").Tasks()
	log := func(i int, query string) string {
		_, _, e := get(t, s, "/nodes/n1/tasks/"+url.PathEscape(done[i].UPID)+"/log?"+query)
		var out []string
		for _, r := range rowsOf(t, e) {
			out = append(out, fmt.Sprintf("%v:%v", r["n"], r["t"]))
		}
		return fmt.Sprintf("%s|%d", strings.Join(out, " "), num(e["total"]))
	}
	assert.Equal(t, "1:one 2:two 3:three 4:TASK WARNINGS: 2|4", log(1, ""))
	assert.Equal(t, "2:two|4", log(1, "start=1&limit=1"))
	assert.Equal(t, "|4", log(1, "start=9"))
	assert.Equal(t, "1:gone|1", log(0, ""), "a worker that vanished left no last line")
	_, _, e := get(t, s, "/nodes/n1/tasks/"+url.PathEscape(done[2].UPID)+"/status")
	st := e["data"].(map[string]any)
	assert.Equal(t, "ops@pve", st["user"])
	assert.Equal(t, "tt", st["tokenid"])
	assert.Equal(t, "VM is locked (backup)", st["exitstatus"])
	active, _ := w.Node("n1").Tasks()
	_, _, e = get(t, s, "/nodes/n1/tasks/"+url.PathEscape(active[0].UPID)+"/status")
	assert.Equal(t, "running", e["data"].(map[string]any)["status"])
	assert.NotContains(t, e["data"], "exitstatus")
	// A task moves from the active ones to the archive when it ends.
	w.Change(func(w *World) {
		active[0].Say("all went well")
		w.EndTask(active[0], "OK", w.Now())
	})
	assert.Equal(t, "qmclone100", func() string { s, _ := kinds("limit=1"); return s }())
	req, err := http.NewRequest("GET", s.URL()+"/api2/json/nodes/n1/tasks/"+url.PathEscape(active[0].UPID)+"/log?download=1", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "PVEAPIToken=root@pam!full="+TokenSecret)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	assert.Equal(t, "all went well\nTASK OK\n", string(text))
}

func TestConfigsAndStorages(t *testing.T) {
	w := small(t, "")
	s := start(t, Options{World: w})
	config := func(query string) map[string]any {
		_, _, e := get(t, s, "/nodes/n1/qemu/100/config"+query)
		return e["data"].(map[string]any)
	}
	merged, now := config(""), config("?current=1")
	assert.Equal(t, "4096", merged["memory"], "a text, with what is pending")
	assert.Equal(t, json.Number("2"), merged["cores"], "a number")
	assert.NotContains(t, merged, "net1")
	assert.Equal(t, maskedPassword, merged["cipassword"])
	assert.Equal(t, "2048", now["memory"])
	assert.Contains(t, now, "net1")
	assert.Equal(t, merged["digest"], now["digest"])
	_, _, e := get(t, s, "/nodes/n1/qemu/100/pending")
	pending := byKey(t, e, "key")
	assert.Equal(t, "4096", pending["memory"]["pending"])
	assert.EqualValues(t, 1, num(pending["net1"]["delete"]))
	before := merged["digest"]
	w.Change(func(w *World) { w.Guest(100).Config.Set("description", "x") })
	assert.NotEqual(t, before, config("")["digest"])

	feature := func(id int, f string) int64 {
		_, _, e := get(t, s, fmt.Sprintf("/nodes/n1/qemu/%d/feature?feature=%s", id, f))
		return num(e["data"].(map[string]any)["hasFeature"])
	}
	assert.EqualValues(t, 1, feature(100, "snapshot"))
	assert.EqualValues(t, 0, feature(101, "snapshot"), "raw on NFS")
	assert.EqualValues(t, 0, feature(100, "clone"))
	assert.EqualValues(t, 1, feature(105, "clone"), "a base on LVM-thin")

	_, _, e = get(t, s, "/nodes/n1/storage")
	storages := byKey(t, e, "storage")
	assert.EqualValues(t, 0, num(storages["off"]["enabled"]))
	assert.EqualValues(t, 0, num(storages["dead"]["active"]))
	assert.EqualValues(t, 1, num(storages["nas"]["shared"]))
	assert.Equal(t, num(storages["nas"]["total"]), num(storages["nas"]["used"])+num(storages["nas"]["avail"]))
	_, _, e = get(t, s, "/nodes/n1/storage?content=backup")
	assert.Len(t, rowsOf(t, e), 1)
	_, _, e = get(t, s, "/nodes/n1/storage/nas/content?content=backup&vmid=100")
	backups := byKey(t, e, "volid")
	assert.Len(t, backups, 3)
	assert.Equal(t, "first", backups["nas:backup/vzdump-qemu-100-2026_11_29-01_00_00.vma.zst"]["notes"], "the first line, on file storages")
	_, _, e = get(t, s, "/nodes/n1/storage/nas/prunebackups")
	marks := map[string]any{}
	for id, r := range byKey(t, e, "volid") {
		marks[id[len("nas:backup/vzdump-qemu-100-"):len("nas:backup/vzdump-qemu-100-2026_11_29")]] = r["mark"]
	}
	assert.Equal(t, map[string]any{"2026_11_29": "keep", "2026_11_28": "remove", "2026_10_28": "protected"}, marks)
	for path, want := range map[string]string{
		"/nodes/n1/storage/nope/status":         "400 Parameter verification failed.",
		"/nodes/n1/storage/off/content":         "500 storage 'off' is disabled",
		"/nodes/n1/storage/dead/content":        "500 storage 'dead' is not online",
		"/storage/nope":                         "500 storage 'nope' does not exist",
		"/nodes/n1/qemu/102/config":             "500 Configuration file 'nodes/n1/qemu-server/102.conf' does not exist",
		"/nodes/n1/lxc/999/config":              "500 Configuration file 'nodes/n1/lxc/999.conf' does not exist",
		"/nodes/n1/qemu/100/agent/info":         "500 QEMU guest agent is not running",
		"/nodes/n1/qemu/105/agent/info":         "500 No QEMU guest agent configured",
		"/nodes/n1/qemu/101/migrate":            "500 VM is locked (backup)",
		"/nodes/n1/ceph/status":                 "500 binary not installed: /usr/bin/ceph-mon",
		"/cluster/nextid?vmid=100":              "400 Parameter verification failed.",
		"/nodes/n1/tasks/foo/status":            "400 Parameter verification failed.",
		"/nodes/n1/qemu/100/config?snapshot=xx": "500 snapshot 'xx' does not exist",
	} {
		status, reason, _ := get(t, s, path)
		assert.Equal(t, want, fmt.Sprintf("%d %s", status, reason), path)
	}
	_, _, e = get(t, s, "/cluster/nextid")
	assert.Equal(t, "106", e["data"])
	_, _, e = get(t, s, "/cluster/backup-info/not-backed-up")
	assert.Len(t, rowsOf(t, e), 5)
	_, _, e = get(t, s, "/cluster/backup/j1/included_volumes")
	assert.Contains(t, fmt.Sprint(e["data"]), "unknown", "a guest that the job names and nobody has")
	w.Change(func(w *World) { w.Quorate = false })
	_, reason, _ := get(t, s, "/nodes/n1/qemu/100/migrate")
	assert.Equal(t, "cluster not ready - no quorum?", reason)
}

// TestOrderIsChanceByTheSeed: no two requests have the same order, two servers
// with the same seed have the same orders.
func TestOrderIsChanceByTheSeed(t *testing.T) {
	order := func(seed uint64) []string {
		clock := func() time.Time { return GeneratedEpoch }
		s := start(t, Options{World: Generate(3, 40, 2), Seed: seed, Clock: clock})
		var texts []string
		for range 3 {
			req, err := http.NewRequest("GET", s.URL()+"/api2/json/cluster/resources", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "PVEAPIToken=root@pam!full="+TokenSecret)
			resp, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			require.NoError(t, err)
			texts = append(texts, string(body))
		}
		return texts
	}
	a := order(1)
	assert.NotEqual(t, a[0], a[1])
	assert.Len(t, a[0], len(a[1]))
	b := order(1)
	for i := range a {
		assert.True(t, a[i] == b[i], "request %d differs", i)
	}
	assert.False(t, a[0] == order(2)[0])
}

func TestSeriesFollowTheGuest(t *testing.T) {
	w := small(t, "")
	s := start(t, Options{World: w, Clock: func() time.Time { return GeneratedEpoch }})
	w.Guest(100).Started = GeneratedEpoch.Unix() - 1800
	for frame, rows := range map[string]int{"hour": 60, "day": 1440, "week": 336, "month": 1440, "year": 1440} {
		_, _, e := get(t, s, "/nodes/n1/qemu/100/rrddata?timeframe="+frame)
		assert.Len(t, rowsOf(t, e), rows, frame)
	}
	_, _, e := get(t, s, "/nodes/n1/qemu/100/rrddata?timeframe=hour")
	up, last := 0, int64(0)
	for _, r := range rowsOf(t, e) {
		assert.Equal(t, last == 0 || num(r["time"]) == last+60, true)
		last = num(r["time"])
		if num(r["mem"]) > 0 {
			up++
		}
	}
	assert.InDelta(t, 30, up, 2, "it has run for half of the hour")
	_, _, current := get(t, s, "/nodes/n1/qemu/100/status/current")
	_, _, list := get(t, s, "/cluster/resources?type=vm")
	assert.Equal(t, current["data"].(map[string]any)["mem"], byKey(t, list, "vmid")["100"]["mem"], "a status and a list of the same moment agree")
	// The answering node has the figures of a node that is gone.
	status, _, e := get(t, s, "/nodes/n2/rrddata?timeframe=day")
	assert.Equal(t, 200, status)
	gaps := 0
	for _, r := range rowsOf(t, e) {
		if len(r) == 1 {
			gaps++
		}
	}
	assert.InDelta(t, 60, gaps, 2, "it has been away for an hour")
}

func TestGeneratedWorldIsLikeAReal(t *testing.T) {
	w := Generate(3, 60, 1)
	kinds := map[apidoc.GuestKind]int{}
	var paused, locked, unnamed, snapshots, templates, protected int
	for _, g := range Generate(32, 2000, 1).Guests() {
		kinds[g.Kind]++
		if g.State == Paused {
			paused++
		}
		if g.Lock() != "" {
			locked++
		}
		if g.Name() == "" {
			unnamed++
		}
		if len(g.Snapshots) > 0 {
			snapshots++
		}
		if g.Template() {
			templates++
		}
		if g.Config.Get("protection") == "1" {
			protected++
		}
	}
	assert.Equal(t, 2000, kinds[apidoc.QEMU]+kinds[apidoc.LXC])
	for name, n := range map[string]int{"paused": paused, "locked": locked, "unnamed": unnamed, "snapshots": snapshots, "templates": templates, "protected": protected} {
		assert.Positive(t, n, name)
	}
	// Every disk that a guest names lies where it says, and is its own.
	for _, g := range w.Guests() {
		require.NotNil(t, w.Node(g.Node))
		for _, d := range g.Disks() {
			if d.CDROM {
				continue
			}
			id, _, ok := d.Volume.Split()
			require.True(t, ok, d.Volume)
			s := w.Storage(id)
			require.NotNil(t, s, id)
			assert.True(t, s.On(g.Node), "%d on %s: %s", g.ID, g.Node, id)
			v := s.look(g.Node).Volume(d.Volume)
			if assert.NotNil(t, v, d.Volume) {
				assert.Equal(t, g.ID, v.Owner)
				assert.Equal(t, d.Size, v.Size)
			}
		}
	}
	for _, s := range w.Storages {
		for node, p := range s.places {
			for _, v := range p.volumes {
				if owner, ok := v.ID.Owner(); ok {
					assert.Equal(t, v.Owner, owner, "%s on %s", v.ID, node)
				}
			}
			assert.LessOrEqual(t, p.Used, p.Total, "%s on %q", s.ID, node)
		}
	}
	endings := map[string]int{}
	for _, n := range w.Nodes {
		_, done := n.Tasks()
		for _, task := range done {
			endings[statusKind(task.Status)]++
			lines := w.Lines(task)
			if task.Status != "unexpected status" {
				assert.True(t, strings.HasPrefix(lines[len(lines)-1], "TASK "))
			}
			assert.Less(t, len(strings.Join(lines, "\n")), 200000)
		}
	}
	assert.Positive(t, endings["ok"])
	assert.Positive(t, endings["error"])
	assert.Positive(t, endings["warning"])
	assert.NotNil(t, Generate(1, 0, 1).Node("pve1"), "the smallest")
}
