package pvesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
)

func fileOf(t testing.TB, w *World) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteWorld(&b, w))
	return b.String()
}

// sameLines compares two long texts and shows no more than where they part.
func sameLines(t testing.TB, a, b string) {
	t.Helper()
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			t.Errorf("line %d: %q became %q, after %q", i+1, x[i], y[i], x[max(i-3, 0):i])
			return
		}
	}
	if len(x) != len(y) {
		t.Errorf("%d lines became %d", len(x), len(y))
	}
}

func TestSameSeedSameWorld(t *testing.T) {
	still := func(seed int) string {
		w := Generate(4, 80, seed)
		text := fileOf(t, w)
		_, rest, _ := strings.Cut(text, "\n \"seed\"") // what stands before is the clock
		return rest
	}
	one := still(5)
	sameLines(t, one, still(5))
	assert.NotEqual(t, one, still(6))
	assert.Greater(t, len(one), 100000)
}

func TestWorldFileKeepsEverything(t *testing.T) {
	w := Generate(4, 80, 5)
	w.Guest(100).Pending.Set("memory", "1")
	w.Guest(100).Deleting = map[string]int{"net0": 1}
	w.Faults.NoMetrics[100] = true
	w.Ceph = &Ceph{Health: "HEALTH_WARN", Checks: map[string]string{"OSD_DOWN": "1 osds down"}, FSID: "x", Monitors: []apidoc.Node{"pve1"}, OSDs: 3, Up: 2, In: 3, Total: 3 * tib, Used: tib, PGs: 33}
	w.Faults.Wire = []Fault{{Kind: FaultSlow, Path: "/nodes/pve2/**", Delay: Delay(time.Second)}}
	w.StartTask("pve1", "qmstart", "100", "root@pam!full", w.Now())
	first := fileOf(t, w)
	again, err := ReadWorld(strings.NewReader(first), time.Time{})
	require.NoError(t, err)
	second := fileOf(t, again)
	cut := func(s string) string { _, rest, _ := strings.Cut(s, "\n \"seed\""); return rest }
	sameLines(t, cut(first), cut(second))
	assert.Equal(t, len(w.guests), len(again.guests))
	for _, g := range w.Guests() {
		if !assert.Equal(t, g, again.Guest(g.ID)) {
			break
		}
	}
	for _, n := range w.Nodes {
		_, done := n.Tasks()
		_, read := again.Node(n.Name).Tasks()
		require.Equal(t, len(done), len(read))
		for i := range done {
			require.Equal(t, done[i].UPID, read[i].UPID)
			require.Equal(t, w.Lines(done[i]), again.Lines(read[i]))
		}
	}
}

func TestWorldFileExample(t *testing.T) {
	w, err := LoadWorld("../../testdata/worlds/example.json")
	require.NoError(t, err)
	s := start(t, Options{World: w})
	require.Len(t, s.Faults(), 1, "the file's faults are in force")
	s.ClearFaults()
	_, _, list := get(t, s, "/cluster/resources?type=vm")
	names := map[any]map[string]any{}
	for _, r := range rowsOf(t, list) {
		names[r["name"]] = r
	}
	require.Contains(t, names, "shop-db")
	assert.Equal(t, "backup", names["shop-db"]["lock"])
	assert.Equal(t, "prod;db", names["shop-db"]["tags"])
	_, _, tasks := get(t, s, "/nodes/alpha/tasks?errors=1")
	failed := rowsOf(t, tasks)
	require.NotEmpty(t, failed)
	assert.Equal(t, "job errors", failed[0]["status"])
	status, reason, _ := get(t, s, "/nodes/beta/qemu")
	assert.Equal(t, 595, status, reason)
	status, _, _ = getAs(t, s, "watch@pve!ro", "/cluster/status")
	assert.Equal(t, 200, status)
	_, _, content := get(t, s, "/nodes/alpha/storage/local-zfs/content")
	assert.NotEmpty(t, rowsOf(t, content), "disks that guests name are made")
}

// TestWorldFileDocumented: every key of the top level has its line in the
// documentation, and the example in it is the one in testdata.
func TestWorldFileDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/world-file.md")
	require.NoError(t, err)
	file := reflect.TypeFor[worldFile]()
	for i := range file.NumField() {
		name, _, _ := strings.Cut(file.Field(i).Tag.Get("json"), ",")
		assert.Contains(t, string(doc), "`"+name+"`")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[Guest](), reflect.TypeFor[Node](), reflect.TypeFor[storageFile](), reflect.TypeFor[Volume](), reflect.TypeFor[fileTask](), reflect.TypeFor[Snapshot](), reflect.TypeFor[HAResource]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" {
				assert.Contains(t, string(doc), "`"+name+"`", typ.Name())
			}
		}
	}
}

func TestWorldFileFaults(t *testing.T) {
	const node = `"nodes":[{"name":"n1"}]`
	for _, x := range []struct {
		text         string
		line, column int
		path, reason string
	}{
		{``, 1, 1, "", "ends in the middle"},
		{`{`, 1, 1, "", "ends in the middle"},
		{`[]`, 1, 1, "", "an object is expected"},
		{"{\n \"nodes\": [ {\"name\": \"n1\",\n  \"memroy\": 3} ]}", 3, 13, "nodes[0].memroy", `did you mean "memory"`},
		{`{"nodes":[{"name":"n1"},{"name":"n1"}],"cluster":"c"}`, 1, 33, "nodes[1].name", "there already"},
		{`{"nodes":[{"name":"n1"},{"name":"n2"}]}`, 1, 10, "nodes", "needs a name"},
		{`{` + node + `,"guests":[{"id":99,"node":"n1"}]}`, 1, 42, "guests[0].id", "no vmid"},
		{`{` + node + `,"guests":[{"id":100,"node":"n2"}]}`, 1, 53, "guests[0].node", `no node "n2"`},
		{`{` + node + `,"guests":[{"id":100,"node":"n1","config":{"memroy":1}}]}`, 1, 0, "guests[0].config.memroy", "no such key of a VM"},
		{`{` + node + `,"guests":[{"id":100,"kind":"lxc","node":"n1","config":{"sockets":1}}]}`, 1, 0, "guests[0].config.sockets", "no such key of a container"},
		{`{` + node + `,"guests":[{"id":100,"node":"n1","started":"yesterday"}]}`, 1, 0, "guests[0].started", "no time"},
		{`{` + node + `,"guests":[{"id":100,"node":"n1","state":"up"}]}`, 1, 0, "guests[0].state", "none of"},
		{`{` + node + `,"storages":[{"id":"s1","type":"dirr"}]}`, 1, 0, "storages[0].type", "no type of storage"},
		{`{` + node + `,"storages":[{"id":"s1","type":"dir","size":"2 TB"}]}`, 1, 0, "storages[0].size", "no size"},
		{`{` + node + `,"storages":[{"id":"s1","type":"dir","volumes":[{"id":"s2:iso/x.iso"}]}]}`, 1, 0, "storages[0].volumes[0].id", `begins with "s1:"`},
		{`{` + node + `,"storages":[{"id":"s1","type":"nfs","places":{"n1":{}}}]}`, 1, 0, "storages[0].places", "shared"},
		{`{` + node + `,"tasks":[{"node":"n1","type":"qmstart","start":"-1h","seconds":3}]}`, 1, 0, "tasks[0]", "needs a status"},
		{`{` + node + `,"tasks":[{"node":"n9","type":"qmstart","start":"-1h"}]}`, 1, 0, "tasks[0].node", "no node"},
		{`{` + node + `,"ha":{"resources":[{"sid":"vm:100"}]}}`, 1, 0, "ha.resources[0].sid", "no guest 100"},
		{`{` + node + `,"acl":[{"path":"/","who":"root@pam","role":"PVEAudit"}]}`, 1, 0, "acl[0].role", "did you mean PVEAuditor"},
		{`{` + node + `,"tokens":[{"id":"a@pve!t"}]}`, 1, 0, "tokens[0].id", "no token of a user"},
		{`{` + node + `,"tokens":[{"id":"root@pam!t"}]}`, 1, 0, "tokens[0].id", "no name of a token"},
		{`{` + node + `,"faults":[{"kind":"slwo"}]}`, 1, 0, "faults[0]", "slwo"},
		{`{` + node + `,"quorate":null}`, 1, 0, "quorate", "null"},
		{`{` + node + `,"quorate":1}`, 1, 0, "quorate", "true or false"},
		{`{` + node + `,"quorate":true,"quorate":false}`, 1, 0, "quorate", "second time"},
		{`{` + node + `}{}`, 1, 0, "", "more after the end"},
		{`{` + strings.Repeat(`"a":{`, 100), 1, 0, strings.TrimSuffix(strings.Repeat("a.", 33), "."), "nested deeper"},
	} {
		_, err := ReadWorld(strings.NewReader(x.text), time.Unix(1796000000, 0))
		var w *WorldError
		if !assert.True(t, errors.As(err, &w), "%s: %v", x.text, err) {
			continue
		}
		assert.Equal(t, x.path, w.Path, x.text)
		assert.Contains(t, w.Reason, x.reason, x.text)
		if x.column > 0 {
			assert.Equal(t, [2]int{x.line, x.column}, [2]int{w.Line, w.Column}, x.text)
		}
	}
}

func FuzzReadWorld(f *testing.F) {
	f.Add([]byte(`{"nodes":[{"name":"n1"}],"guests":[{"id":100,"node":"n1","config":{"scsi0":"s1:vm-100-disk-0,size=1G"},"state":"running"}],"storages":[{"id":"s1","type":"lvmthin","size":"1T"}]}`))
	if example, err := os.ReadFile("../../testdata/worlds/example.json"); err == nil {
		f.Add(example)
	}
	f.Add([]byte(`{"nodes":[{"name":"n1","booted":"-9999999999999w"}]}`))
	f.Add([]byte(`{"tasks":[{"upid":"UPID:a:1:2"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := ReadWorld(bytes.NewReader(text), time.Unix(1796000000, 0))
		if err != nil {
			var bad *WorldError
			if !errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		// What was read can be written, and what was written can be read.
		var b bytes.Buffer
		if err := WriteWorld(&b, w); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b.Bytes()) {
			t.Fatal("not JSON")
		}
		if _, err := ReadWorld(&b, time.Unix(1796000000, 0)); err != nil {
			t.Fatal(err)
		}
	})
}
