package apidoc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tiny = `[{"path":"/version","text":"version","leaf":1,"info":{"GET":{"method":"GET","name":"version","allowtoken":1,"parameters":{"additionalProperties":0},"returns":{"type":"object"},"permissions":{"user":"all"}}}}]`

func zipped(t testing.TB, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := zw.Write([]byte(data))
	require.NoError(t, err)
	require.NoError(t, zw.Close())
	return b.Bytes()
}

func TestParseReadsEveryPublishedForm(t *testing.T) {
	viewer := "\n\nlet method2cmd = { GET: 'get' };\nExt.onReady(function() { var x = [\"]\"]; });\n"
	forms := map[string]string{
		"json":             tiny,
		"json with spaces": "\n  " + tiny + "\n",
		"json after a BOM": "\xef\xbb\xbf" + tiny,
		"pveapi":           "var pveapi = " + tiny + ";" + viewer,
		"const apiSchema":  "const apiSchema = " + tiny + "\n;" + viewer,
		"var apiSchema":    "var apiSchema = " + tiny + viewer,
		"pmgapi":           "// made by a tool\nvar pmgapi = " + tiny + viewer,
	}
	for name, text := range forms {
		for _, data := range [][]byte{[]byte(text), zipped(t, text)} {
			s, err := Parse(data, "x")
			require.NoError(t, err, name)
			require.Len(t, s.Endpoints(), 1, name)
			require.Equal(t, "GET /version", s.Endpoints()[0].String(), name)
		}
	}
}

func TestParseRefusesWhatIsNoSchema(t *testing.T) {
	deep := strings.Repeat(`{"path":"/a","children":[`, 5000)
	bad := map[string][2]string{
		"empty":                 {"", "empty"},
		"html":                  {"<!DOCTYPE html><html></html>", "HTML"},
		"javascript":            {"var other = [1];", "neither"},
		"truncated":             {tiny[:len(tiny)-20], "truncated"},
		"truncated javascript":  {"const apiSchema = " + tiny[:100], "truncated"},
		"array of numbers":      {"[1,2,3]", "not an object with a path"},
		"empty array":           {"[]", "no API method"},
		"object":                {`{"data":[]}`, "neither"},
		"path missing":          {`[{"text":"a"}]`, "does not fit its place"},
		"path out of place":     {`[{"path":"/a","text":"a","children":[{"path":"/b/c","text":"c"}]}]`, "does not fit its place"},
		"path twice":            {`[{"path":"/a","text":"a"},{"path":"/a","text":"a"}]`, "twice"},
		"two parameters":        {`[{"path":"/{a}","text":"{a}"},{"path":"/{b}","text":"{b}"}]`, "parameters at one place"},
		"verb twice":            {`[{"path":"/a","text":"a","info":{"GET":{},"GET":{}}}]`, "twice"},
		"info is a list":        {`[{"path":"/a","text":"a","info":[]}]`, "not an object"},
		"children is an object": {`[{"path":"/a","text":"a","children":{}}]`, "not an array"},
		"deep":                  {"[" + deep, "nested deeper"},
		"deep values":           {`[{"path":"/a","text":"a","info":{"GET":` + strings.Repeat("[", 100000) + `}}]`, "nested deeper"},
		"not utf-8 key":         {"[{\"\xff\":", "truncated"},
		"damaged gzip":          {"\x1f\x8bnonsense", "gzip"},
	}
	for name, c := range bad {
		_, err := Parse([]byte(c[0]), "")
		var re *ReadError
		require.ErrorAs(t, err, &re, name)
		require.Contains(t, err.Error(), c[1], name)
		require.Less(t, len(err.Error()), 500, name)
	}
	_, err := Parse(zipped(t, tiny)[:60], "")
	require.ErrorContains(t, err, "gzip")
}

func TestParseHoldsItsSizeLimit(t *testing.T) {
	bomb := zipped(t, strings.Repeat(" ", MaxText+10))
	_, err := Parse(bomb, "")
	require.ErrorContains(t, err, "larger than 32 MiB")
	many := "[" + strings.Repeat(`{"path":"/a","text":"a"},`, maxNodes+1)
	_, err = Parse([]byte(many), "")
	require.ErrorContains(t, err, "more than")
}

func TestDecodeNotesWhatItHasNeverSeen(t *testing.T) {
	text := `[{"path":"/a","text":"a","info":{"GET":{"method":"GET","newflag":1,"parameters":{"properties":{"x":{"type":"quantum","patternProperties":{}}}},"permissions":{"check":["xor",["perm","/",["A"]]],"user":"some"}},"FETCH":{}}}]`
	s, err := Parse([]byte(text), "")
	require.NoError(t, err)
	require.Len(t, s.Unknown(), 1)
	m, err := s.Endpoints()[0].Method()
	require.NoError(t, err)
	for _, want := range []string{"newflag", "quantum", "patternProperties", `"xor"`, `"some"`} {
		require.Contains(t, strings.Join(m.Unknown, "\n"), want)
	}
	require.Len(t, m.Unknown, 5)
}

func TestDecodeModelsOddities(t *testing.T) {
	text := `[{"path":"/a","text":"a","info":{"POST":{"method":"POST","name":"a","allowtoken":0,"protected":1,"proxyto":null,
	"parameters":{"additionalProperties":0,"properties":{
		"n":{"type":"integer","minimum":"1","maximum":9,"optional":"1"},
		"o":{"type":"string","optional":0,"enum":null},
		"e":{"type":"integer","enum":[1,"2"],"default":1},
		"ps":{"type":"string","format":{"file":{"default_key":1,"type":"string","format":"pve-volume-id"},"volume":{"alias":"file"},"virtio":{"alias":"macaddr","keyAlias":"model"}}},
		"list":{"type":"string","format":"pve-vmid-list","requires":"n"}}},
	"returns":{"type":"null"},
	"permissions":{"check":["and",["perm","/vms/{vmid}",["VM.Audit","VM.Config.Disk"],"any",1],["or",["userid-group",["User.Modify"],"groups_param","create"],["userid-param","self"],["perm","/pool/{pool}","VM.Allocate","require_param","pool"]],["perm-modify","{path}"]]}}}}]`
	s, err := Parse([]byte(text), "")
	require.NoError(t, err)
	m, err := s.Endpoints()[0].Method()
	require.NoError(t, err)
	require.Empty(t, m.Unknown)
	p := m.Parameters
	require.Equal(t, ExtraRefused, p.Extra)
	require.Equal(t, []string{"e", "list", "n", "o", "ps"}, p.Names())
	require.Equal(t, 1.0, *p.Properties["n"].Minimum)
	require.True(t, p.Properties["n"].Optional)
	require.False(t, p.Properties["o"].Optional)
	require.Nil(t, p.Properties["o"].Enum)
	require.Equal(t, []string{"1", "2"}, p.Properties["e"].Enum)
	require.Equal(t, "1", *p.Properties["e"].Default)
	require.True(t, p.Properties["ps"].Nested["file"].DefaultKey)
	require.Equal(t, "model", p.Properties["ps"].Nested["virtio"].KeyAlias)
	require.Equal(t, "n", p.Properties["list"].Requires)
	e := m.Permission.Check
	require.Equal(t, OpAnd, e.Op)
	require.True(t, e.Args[0].Any)
	require.Equal(t, "create", e.Args[1].Args[0].GroupsParam)
	require.Equal(t, "self", e.Args[1].Args[1].Param)
	require.Equal(t, "pool", e.Args[1].Args[2].RequireParam)
	require.Equal(t, []string{"VM.Allocate"}, e.Args[1].Args[2].Privs)
	require.Equal(t, "{path}", e.Args[2].Path)
	require.False(t, m.AllowToken)
	require.True(t, m.Protected)
	require.Empty(t, m.ProxyTo)
}

// shared gives a material file that may be absent.
func shared(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "shared", name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	return data
}

func TestSnapshotsAreWhole(t *testing.T) {
	methods := map[string][2]int{"7.4": {364, 540}, "8.4": {398, 605}, "9.2": {444, 675}}
	for _, v := range Snapshots() {
		s, err := Snapshot(v)
		require.NoError(t, err)
		require.Equal(t, methods[v], [2]int{s.Paths(), len(s.Endpoints())}, v)
		require.Empty(t, s.Unknown())
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			require.NoError(t, err)
			require.Empty(t, m.Unknown, "%s %s", v, e)
			require.Empty(t, m.Description)
		}
		// Written again, a snapshot is the same.
		var b bytes.Buffer
		require.NoError(t, WriteFacts(&b, s))
		data, err := factFiles.ReadFile("facts/pve-" + v + ".json")
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, b.Bytes()), v)
	}
	_, err := Snapshot("6.4")
	require.ErrorContains(t, err, "7.4, 8.4, 9.2")
}

// The published files are read whole, and the snapshots are what they say.
func TestSnapshotsComeFromThePublishedFiles(t *testing.T) {
	files := map[string]string{"7.4": "apidoc/pve-7.4.1.json.gz", "8.4": "apidoc/pve-8.4.0.json.gz", "9.2": "apidoc/pve-9.2.json.gz"}
	for v, name := range files {
		data := shared(t, name)
		if data == nil {
			t.Logf("%s is not there: only the committed snapshot was looked at", name)
			continue
		}
		s, err := Parse(data, v)
		require.NoError(t, err)
		var b bytes.Buffer
		require.NoError(t, WriteFacts(&b, s))
		facts, err := factFiles.ReadFile("facts/pve-" + v + ".json")
		require.NoError(t, err)
		require.True(t, bytes.Equal(facts, b.Bytes()), "the snapshot of %s is stale", v)
	}
}

func TestNearestSnapshot(t *testing.T) {
	for version, want := range map[string]string{"7.0": "7.4", "7.4-3": "7.4", "8.0.2": "8.4", "8.4.14": "8.4", "9.0.3": "9.2", "9.2.11": "9.2", "9.9": "9.2", "10.1": "9.2", "6.4": "7.4", "": "9.2", "x.y": "9.2"} {
		require.Equal(t, want, NearestSnapshot(version), version)
	}
}

func TestLookup(t *testing.T) {
	s, err := Snapshot(Newest)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/":                              "",
		"/nodes/pve1/qemu/100/config":    "/nodes/{node}/qemu/{vmid}/config node=pve1 vmid=100",
		"//nodes//pve1/qemu/100/config/": "/nodes/{node}/qemu/{vmid}/config node=pve1 vmid=100",
		"/nodes%2Fpve1/qemu":             "/nodes/{node}/qemu node=pve1",
		"/nodes/p%20q/qemu":              "",
		"/nodes/pve1%0A/qemu":            "/nodes/{node}/qemu node=pve1",
		"/nodes/../qemu":                 "/nodes/{node}/qemu node=..",
		"/nodes/p/storage/s/content/s:iso/a b.iso": "",
		"/nodes/p/storage/s/content/s:iso/x.iso":   "/nodes/{node}/storage/{storage}/content/{volume} node=p storage=s volume=s:iso/x.iso",
		"/nodes/p/storage/s/content/s:iso%2Fx.iso": "/nodes/{node}/storage/{storage}/content/{volume} node=p storage=s volume=s:iso/x.iso",
		"/cluster/firewall/ipset/a/10.0.0.0/8":     "/cluster/firewall/ipset/{name}/{cidr} name=a cidr=10.0.0.0/8",
		"/NODES":                                   "",
	} {
		m, err := s.Lookup(GET, path)
		if want == "" {
			var miss *LookupError
			require.ErrorAs(t, err, &miss, path)
			continue
		}
		require.NoError(t, err, path)
		got := m.Path
		for _, v := range m.Values {
			got += fmt.Sprintf(" %s=%s", v.Name, v.Value)
		}
		require.Equal(t, want, got, path)
	}
	for _, path := range []string{"nodes", "", "/nodes?x=1", "/nodes#x", "/nodes/%zz", "/nodes/%"} {
		_, err := s.Lookup(GET, path)
		require.Error(t, err, path)
		var miss *LookupError
		require.False(t, errors.As(err, &miss), path)
	}
}

func TestLookupNamesTheNearest(t *testing.T) {
	s, err := Snapshot(Newest)
	require.NoError(t, err)
	for path, want := range map[string]string{
		"/nodes/pve1/qemu/100/confg":    "/nodes/{node}/qemu/{vmid}/config",
		"/nodes/pve1/vms":               "/nodes/{node}",
		"/cluster/resource":             "/cluster/resources",
		"/node/pve1/qemu":               "/nodes/{node}/qemu",
		"/nodes/pve1/100/config":        "/nodes/{node}/config",
		"/cluster/ha/status":            "/cluster/ha/status/current",
		"/nodes/pve1/lxc/100/snapshots": "/nodes/{node}/lxc/{vmid}/snapshot",
		"/access/user":                  "/access/users",
	} {
		_, err := s.Lookup(GET, path)
		var miss *LookupError
		if !errors.As(err, &miss) {
			require.NoError(t, err, path)
			continue
		}
		require.NotEmpty(t, miss.Nearest, path)
		found := false
		for _, n := range miss.Nearest {
			found = found || strings.HasPrefix(n, want)
		}
		require.True(t, found, "%s: %v", path, miss.Nearest)
	}
	_, err = s.Lookup(POST, "/cluster/status")
	var miss *LookupError
	require.ErrorAs(t, err, &miss)
	require.Equal(t, []Verb{GET}, miss.Verbs)
	require.Empty(t, miss.Nearest)
	// A hostile path costs no more than an honest one.
	_, err = s.Lookup(GET, "/"+strings.Repeat("x/", 50000))
	require.Error(t, err)
	_, err = s.Lookup(GET, "/"+strings.Repeat("x", 1<<20))
	require.Error(t, err)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(tiny))
	f.Add([]byte("const apiSchema = " + tiny + ";\nvar x;"))
	f.Add(zipped(f, tiny))
	f.Add([]byte(`[{"path":"/{a}","text":"{a}","children":[{"path":"/{a}/b","info":{"GET":{"parameters":{"properties":{"a":{"format":{"b":{"alias":"c"}}}}}}}}]}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data, "fuzz")
		if err != nil {
			return
		}
		for _, e := range s.Endpoints() {
			_, _ = e.Method()
		}
		_, _ = s.Lookup(GET, "/a/b")
	})
}

func FuzzLookup(f *testing.F) {
	s, err := Snapshot(Newest)
	require.NoError(f, err)
	f.Add("/nodes/pve1/qemu/100/config")
	f.Add("/nodes/%2F..//content/x:y/z%0A")
	f.Fuzz(func(t *testing.T, path string) {
		m, err := s.Lookup(GET, path)
		if err != nil {
			return
		}
		// What is built from the checked segments means the same again.
		segments, err := SplitPath(path)
		require.NoError(t, err)
		again, err := s.Lookup(GET, JoinPath(segments))
		require.NoError(t, err)
		require.Equal(t, m.Path, again.Path)
		require.Equal(t, m.Values, again.Values)
	})
}

func TestVolIDOwner(t *testing.T) {
	for id, want := range map[VolID]VMID{
		"local-lvm:vm-100-disk-0": 100, "local:101/vm-101-disk-0.qcow2": 101, "zfs:subvol-200-disk-0": 200, "zfs:base-100-disk-0/vm-105-disk-0": 105,
		"local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst": 100, "pbs:backup/vm/100/2026-01-01T00:00:00Z": 100, "pbs:backup/ct/200/2026-01-01T00:00:00Z": 200,
		"local:iso/debian.iso": 0, "local:vztmpl/100/x": 0, "none": 0, "/dev/sda": 0, "local:100/base-100-disk-0.raw": 100, "local:vm-100-cloudinit": 100, "local:vm-100-state-x": 100,
	} {
		got, ok := id.Owner()
		require.Equal(t, want, got, id)
		require.Equal(t, want != 0, ok, id)
	}
}

func TestParseUPID(t *testing.T) {
	const upid = "UPID:pve1:000052D2:0004066E:6B0DDAC8:download:slow.iso:root@pam!full:"
	p, err := ParseUPID(upid)
	require.NoError(t, err)
	require.Equal(t, Node("pve1"), p.Node)
	require.Equal(t, "download", p.Type)
	require.Equal(t, "slow.iso", p.ID)
	require.Equal(t, "root@pam!full", p.User)
	require.Equal(t, upid, p.String())
	_, err = ParseUPID("UPID:pve1:000052D2:0004066E:6B0DDAC8:imgcopy::root@pam:")
	require.NoError(t, err)
	for _, bad := range []string{"", "UPID", "UPID:pve1:52D2:0004066E:6B0DDAC8:x::u:", "UPID:p_1:000052D2:0004066E:6B0DDAC8:x::u:", "UPID:pve1:000052D2:0004066E:6B0DDAC8::1:u:", "UPID:pve1:000052D2:0004066E:6B0DDAC8:x:1::", "UPID:pve1:000052D2:0004066E:6B0DDAC8:x:a/b:u:", strings.Repeat("UPID:", 10000)} {
		_, err := ParseUPID(bad)
		require.Error(t, err, bad)
	}
}
