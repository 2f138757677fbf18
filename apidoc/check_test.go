package apidoc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// pieceSchema makes a schema of one method POST /x/{id} with the given
// parameters, as JSON.
func pieceSchema(t testing.TB, version, parameters string) *Method {
	t.Helper()
	text := fmt.Sprintf(`[{"path":"/x","text":"x","leaf":0,"children":[{"path":"/x/{id}","text":"{id}","leaf":1,"info":{"POST":{"method":"POST","name":"x","allowtoken":1,"parameters":%s}}}]}]`, parameters)
	s, err := Parse([]byte(text), version)
	if err != nil {
		t.Fatal(err)
	}
	match, err := s.Lookup(POST, "/x/1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := match.Method()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Unknown) > 0 {
		t.Fatal(m.Unknown)
	}
	return m
}

func refusedNames(fault *CheckError) string {
	if fault == nil {
		return ""
	}
	return strings.Join(fault.Params(), " ")
}

func mustMethod(t testing.TB, version string, verb Verb, template string) *Method {
	t.Helper()
	s, err := Snapshot(version)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := s.Endpoint(verb, template)
	if !ok {
		t.Fatalf("no %s %s in %s", verb, template, version)
	}
	m, err := e.Method()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var guestPath = []PathValue{{"node", "pve1"}, {"vmid", "100"}}

func TestReasonsAndSuggestions(t *testing.T) {
	config := mustMethod(t, "9.2", PUT, "/nodes/{node}/qemu/{vmid}/config")
	for _, c := range []struct {
		name, value string
		want        Fault
	}{
		{"memroy", "512", Fault{"memroy", FaultUnknown, `unknown parameter`, []string{"memory"}}},
		{"net32", "virtio", Fault{"net32", FaultUnknown, `unknown parameter; net goes from net0 to net31`, nil}},
		{"PARALLEL2", "x", Fault{"PARALLEL2", FaultUnknown, `unknown parameter`, []string{"parallel2"}}},
		{"cores", "0", Fault{"cores", FaultRange, `"0" is out of range; at least 1`, nil}},
		{"cores", "two", Fault{"cores", FaultType, `"two" is not an integer (at least 1)`, nil}},
		{"onboot", "true", Fault{"onboot", FaultType, `"true" is not a boolean (1 or 0)`, nil}},
		{"bios", "ovfm", Fault{"bios", FaultEnum, `"ovfm" is not allowed; one of seabios, ovmf`, []string{"ovmf"}}},
		{"net0", "virtio,bridge=vmbr0,tga=5", Fault{"net0", FaultProperty, `key tga: unknown key; did you mean tag?`, nil}},
		{"net0", "virtio,tag=5000", Fault{"net0", FaultProperty, `key tag: "5000" is out of range; 1 to 4094`, nil}},
		{"cpu", "hsot", Fault{"cpu", FaultProperty, `"hsot" is no CPU type of a VM; did you mean host?`, nil}},
		{"cpu", "host,flags=+aex", Fault{"cpu", FaultProperty, `"+aex" is no CPU flag that can be set; + or - and one of aes, amd-no-ssb, amd-ssbd, hv-evmcs, hv-tlbflush, ibpb, md-clear, nested-virt, pcid, pdpe1gb, spec-ctrl, ssbd, virt-ssbd`, nil}},
		{"tags", "a b,-c", Fault{"tags", FaultFormat, `item "-c" is not a tag (letters, digits, _ + . -; not beginning with + . or -)`, nil}},
		{"node", "pve2", Fault{"node", FaultConflict, `the path already says "pve1"; leave it out or give the same`, nil}},
	} {
		fault := config.Check(guestPath, Params{c.name: {c.value}})
		if fault == nil || len(fault.Faults) != 1 {
			t.Errorf("%s=%s: %v", c.name, c.value, fault)
			continue
		}
		if !reflect.DeepEqual(fault.Faults[0], c.want) {
			t.Errorf("%s=%s:\n got %#v\nwant %#v", c.name, c.value, fault.Faults[0], c.want)
		}
	}
}

func TestCheckErrorIsOneLine(t *testing.T) {
	config := mustMethod(t, "9.2", PUT, "/nodes/{node}/qemu/{vmid}/config")
	params := Params{"cores": {"a\nb"}, "net0": {"x\ny=1"}}
	for i := range 40 {
		params[fmt.Sprintf("nope%d\n", i)] = []string{"1"}
	}
	fault := config.Check(guestPath, params)
	if fault == nil || len(fault.Faults) != 42 {
		t.Fatal(fault)
	}
	text := fault.Error()
	if strings.Contains(text, "and 30 more") == false || !strings.HasPrefix(text, "PUT /nodes/{node}/qemu/{vmid}/config: cores: ") {
		t.Error(text)
	}
	if len(text) > 4000 {
		t.Errorf("%d bytes", len(text))
	}
}

func TestCheckCallErrors(t *testing.T) {
	s, err := Snapshot("9.2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CheckCall(PUT, "/nodes/pve1/qemu/100/config", Params{"cores": {"4"}}); err != nil {
		t.Error(err)
	}
	match, err := s.CheckCall(PUT, "/nodes/pve1/qemu/99/config", nil)
	var fault *CheckError
	if !errors.As(err, &fault) || fault.Faults[0].Param != "vmid" || match.Path != "/nodes/{node}/qemu/{vmid}/config" {
		t.Errorf("%v, %v", match, err)
	}
	var miss *LookupError
	if _, err := s.CheckCall(PUT, "/nodes/pve1/qemoo", nil); !errors.As(err, &miss) {
		t.Error(err)
	}
	if _, err := s.CheckCall(GET, "nodes", nil); err == nil {
		t.Error("a path without / passes")
	}
}

func TestIndexedParameters(t *testing.T) {
	create := mustMethod(t, "9.2", POST, "/nodes/{node}/qemu")
	for name, want := range map[string]bool{
		"net0": true, "net31": true, "net32": false, "net01": false, "net[n]": false, "net": false, "scsi30": true,
		"scsi31": false, "ide3": true, "ide4": false, "efidisk0": true, "efidisk1": false, "NET0": false, "net-1": false,
		"smbios1": true, "net99999999999999999999": false, "0": false, "": false, "memory": true,
	} {
		p, ok := create.Property(name)
		if ok != want || ok != (p != nil) {
			t.Errorf("%s: found is %v", name, ok)
		}
	}
	if first, last, ok := IndexBounds(POST, "/nodes/{node}/qemu", "scsi[n]"); first != 0 || last != 30 || !ok {
		t.Error(first, last, ok)
	}
	if _, _, ok := IndexBounds(POST, "/nodes/{node}/qemu", "memory"); ok {
		t.Error("memory has an index")
	}
	// Every indexed name of every snapshot has bounds.
	for _, version := range Snapshots() {
		s, err := Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range s.Endpoints() {
			m, err := e.Method()
			if err != nil {
				t.Fatal(err)
			}
			for name, p := range m.Parameters.Properties {
				if base, ok := strings.CutSuffix(name, "[n]"); ok {
					if _, known := lastIndex[base]; !known || !p.Optional {
						t.Errorf("%s %s: %s is unknown or required", version, e, name)
					}
				}
			}
		}
	}
}

func TestVariantsBySibling(t *testing.T) {
	m := pieceSchema(t, "9.2", `{"properties":{
		"id":{"type":"string"},
		"kind":{"type":"string","optional":1,"enum":["a","b","c"]},
		"level":{"type":"integer","type-property":"kind","instance-types":["a"]},
		"drop":{"type-property":"kind","oneOf":[
			{"instance-types":["a"],"type":"array","items":{"type":"string","enum":["x"]},"optional":1},
			{"instance-types":["b"],"type":"array","items":{"type":"string","enum":["y"]}}]},
		"any":{"optional":1,"oneOf":[{"type":"integer","optional":1},{"type":"string","enum":["auto"],"optional":1}]}
	},"additionalProperties":0}`)
	for _, c := range []struct {
		params Params
		want   string
	}{
		{Params{"kind": {"a"}}, "level"}, // counts for a
		{Params{"kind": {"a"}, "level": {"1"}}, ""},
		{Params{"kind": {"c"}}, ""},                      // level does not belong to c
		{Params{"kind": {"c"}, "level": {"x"}}, "level"}, // but is checked when given
		{Params{"kind": {"a"}, "level": {"1"}, "drop": {"x", "x"}}, ""},
		{Params{"kind": {"a"}, "level": {"1"}, "drop": {"y", "x"}}, "drop[0]"},
		{Params{"kind": {"b"}}, "drop"}, // required for b
		{Params{"kind": {"b"}, "drop": {"y", "y"}}, ""},
		{Params{"kind": {"c"}, "drop": {"y", "y"}}, "drop"}, // no alternative: unknown
		{Params{}, "level"},
		{Params{"level": {"1"}, "any": {"5"}}, ""},
		{Params{"level": {"1"}, "any": {"auto"}}, ""},
		{Params{"level": {"1"}, "any": {"none"}}, "any.oneOf[0] any.oneOf[1]"},
	} {
		if got := refusedNames(m.Check([]PathValue{{"id", "1"}}, c.params)); got != c.want {
			t.Errorf("%v: refused %q, want %q", c.params, got, c.want)
		}
	}
}

func TestVariantsOfTheWhole(t *testing.T) {
	m := pieceSchema(t, "9.2", `{"allOf":[
		{"additionalProperties":0,"properties":{"id":{"type":"string"},"note":{"type":"string","optional":1}}},
		{"type-property":"type","type-property-schema":{"type":"string","enum":["n","r"]},"oneOf":[
			{"additionalProperties":0,"instance-type":"n","properties":{"nodes":{"type":"string","format":"pve-node-list"}}},
			{"additionalProperties":0,"instance-type":"r","properties":{"force":{"type":"boolean","optional":1}}}]}]}`)
	for _, c := range []struct {
		params Params
		want   string
	}{
		{Params{"type": {"n"}, "nodes": {"a,b"}, "note": {"x"}}, ""},
		{Params{"type": {"n"}, "nodes": {"a", "b"}}, ""}, // joined: the schema is found through the type
		{Params{"type": {"n"}}, "oneOf[n].nodes"},
		{Params{"type": {"n"}, "nodes": {"-"}}, "oneOf[n].nodes"},
		{Params{"type": {"r"}, "force": {"1"}}, ""},
		{Params{"type": {"r"}, "nodes": {"a"}}, "nodes"},
		{Params{"type": {"q"}, "nodes": {"a"}, "note": {"x"}}, "nodes type"},
		{Params{"nodes": {"a"}}, "nodes type"},
		{Params{"note": {"x"}}, "type"},
		{Params{"type": {"r"}, "focre": {"1"}}, "focre"},
	} {
		fault := m.Check([]PathValue{{"id", "1"}}, c.params)
		if got := refusedNames(fault); got != c.want {
			t.Errorf("%v: refused %q, want %q", c.params, got, c.want)
		}
	}
	fault := m.Check([]PathValue{{"id", "1"}}, Params{"type": {"r"}, "focre": {"1"}})
	if got := fault.Faults[0].Nearest; !reflect.DeepEqual(got, []string{"force"}) {
		t.Error(got)
	}
	if p, ok := m.Property("force"); !ok || p.Type != Boolean {
		t.Error("force is not found in its variant")
	}
}

func TestObjects(t *testing.T) {
	m := pieceSchema(t, "9.2", `{"additionalProperties":0,"properties":{
		"id":{"type":"string","optional":1},
		"old":{"alias":"new"},"new":{"type":"string","optional":1,"enum":["v"]},
		"need":{"type":"string","optional":1,"requires":"new"},
		"box":{"type":"object","optional":1,"additionalProperties":{"type":"integer"},"properties":{"a":{"type":"boolean"}}},
		"vms":{"type":"array","optional":1,"items":{"type":"integer","minimum":100}},
		"odd":{"type":"ip","optional":1},
		"free":{"optional":1},
		"none":{"type":"null"}}}`)
	for _, c := range []struct{ params, want string }{
		{`{}`, ""},
		{`{"old":"v"}`, ""},
		{`{"old":"w"}`, "new"},
		{`{"old":"v","new":"v"}`, "old"},
		{`{"need":"1"}`, "new"},
		{`{"need":null}`, "new"}, // the key is there
		{`{"need":"1","new":null}`, "new"},
		{`{"box":{"a":true}}`, ""},
		{`{"box":{"b":"x"}}`, "box.a box.b"},
		{`{"box":{"a":1,"b":5}}`, ""},
		{`{"box":"x"}`, "box"},
		{`{"vms":[100,99]}`, "vms[1]"},
		{`{"vms":[null]}`, "vms[0]"},
		{`{"vms":[]}`, ""},
		{`{"vms":""}`, "vms"},
		{`{"vms":0}`, "vms"},
		{`{"vms":101}`, ""},
		{`{"vms":true}`, "vms"},
		{`{"odd":"anything"}`, ""},
		{`{"odd":true}`, "odd"},
		{`{"free":[{"x":1}]}`, ""},
		{`{"none":"x"}`, "none"},
		{`{"":"x"}`, "_root"},
		{`{"new":true}`, "new"},
	} {
		var params map[string]any
		dec := json.NewDecoder(strings.NewReader(c.params))
		dec.UseNumber()
		if err := dec.Decode(&params); err != nil {
			t.Fatal(err)
		}
		if got := refusedNames(m.CheckJSON(nil, params)); got != c.want {
			t.Errorf("%s: refused %q, want %q", c.params, got, c.want)
		}
	}
}

// TestReleases holds rules that changed between the releases.
func TestReleases(t *testing.T) {
	parameters := `{"additionalProperties":0,"properties":{
		"id":{"type":"string","optional":1},
		"flag":{"type":"boolean","optional":1},
		"many":{"type":"string","optional":1,"format":"pve-node-list"},
		"text":{"type":"string","optional":1},
		"size":{"type":"string","optional":1,"format":"disk-size"},
		"pool":{"type":"string","optional":1,"format":"pve-poolid"},
		"group":{"type":"string","optional":1,"format":"pve-groupid"},
		"prefix":{"type":"string","optional":1,"format":"mac-prefix"},
		"priv":{"type":"string","optional":1,"format":"pve-priv"},
		"kind":{"type":"string","optional":1,"format":"pve-storage-format"},
		"content":{"type":"string","optional":1,"format":"pve-storage-content"},
		"alias":{"type":"string","optional":1,"format":"IPorCIDRorAlias"},
		"drive":{"type":"string","optional":1,"format":"pve-qm-ide"},
		"fleece":{"type":"string","optional":1,"format":"backup-fleecing"},
		"cpu":{"type":"string","optional":1,"format":"pve-vm-cpu-conf"},
		"zone":{"type":"string","optional":1,"format":"pve-sdn-zone-id"},
		"controller":{"type":"string","optional":1,"format":"pve-sdn-controller-id"},
		"ipam":{"type":"string","optional":1,"format":"pve-sdn-ipam-id"},
		"usb":{"type":"string","optional":1,"format":"pve-qm-usb-device"},
		"ha":{"type":"string","optional":1,"format":"pve-ha-group-node-list"},
		"new":{"type":"string","optional":1,"format":"never-heard-of"},
		"alist":{"type":"string","optional":1,"format":"string-alist"}}}`
	releases := [...]string{"7.4", "8.4", "9.0", "9.2.11", "9.9"}
	for _, c := range []struct {
		name, value string
		ok          [len(releases)]bool
	}{
		{"size", "32GiB", [5]bool{false, false, true, true, true}},
		{"size", "32G", [5]bool{true, true, true, true, true}},
		{"size", "32g", [5]bool{}},
		{"pool", "a/b", [5]bool{false, true, true, true, true}},
		{"group", "a(b)", [5]bool{false, true, true, false, false}},
		{"prefix", "bc:2", [5]bool{false, false, true, true, true}},
		{"priv", "VM.Monitor", [5]bool{true, true, false, false, true}},
		{"priv", "VM.GuestAgent.Audit", [5]bool{true, true, true, true, true}},
		{"priv", "nope", [5]bool{}},
		{"kind", "xraw", [5]bool{true, false, false, false, false}},
		{"content", "import", [5]bool{false, true, true, true, true}},
		{"alias", "dc/office", [5]bool{false, true, true, true, true}},
		{"drive", "a1:1,file=a1:2", [5]bool{}},
		{"drive", "file=a1:1,volume=a1:2", [5]bool{true, true, true, false, false}},
		{"fleece", "yes,storage=ab", [5]bool{false, false, true, true, true}},
		{"cpu", "madeup", [5]bool{true, true, true, false, true}},
		{"cpu", "host", [5]bool{true, true, true, true, true}},
		{"zone", "abcdefgh", [5]bool{true, true, true, true, true}},
		{"zone", "abcdefghi", [5]bool{}},
		{"zone", "a-b", [5]bool{}},
		{"controller", "a-b", [5]bool{true, true, true, true, true}},
		{"controller", strings.Repeat("a", 65), [5]bool{}},
		{"ipam", strings.Repeat("a", 65), [5]bool{true, true, true, true, true}},
		{"ipam", "a_b", [5]bool{}},
		{"usb", "0x1d6b:0002", [5]bool{true, true, true, true, true}},
		{"usb", "1-1.2", [5]bool{true, true, true, true, true}},
		{"usb", "SPICE", [5]bool{true, true, true, true, true}},
		{"usb", "0", [5]bool{}},
		{"ha", "n1:5,n2", [5]bool{true, true, true, true, true}},
		{"ha", "n1:x", [5]bool{}},
		{"new", "anything", [5]bool{true, true, true, true, true}},
		{"alist", "anything", [5]bool{true, true, true, true, true}},
	} {
		for i, release := range releases {
			fault := pieceSchema(t, release, parameters).Check(nil, Params{c.name: {c.value}})
			if (fault == nil) != c.ok[i] {
				t.Errorf("%s: %s=%.40s: %v", release, c.name, c.value, fault)
			}
		}
	}
	old, now := pieceSchema(t, "7.4", parameters), pieceSchema(t, "9.2", parameters)
	if got := refusedNames(old.CheckJSON(nil, map[string]any{"flag": true})); got != "flag" {
		t.Error("7.4 took JSON true", got)
	}
	if got := refusedNames(now.CheckJSON(nil, map[string]any{"flag": true})); got != "" {
		t.Error(got)
	}
	twice := Params{"many": {"a", "b"}, "text": {"a", "b"}}
	if got := refusedNames(old.Check(nil, twice)); got != "" {
		t.Error("7.4 joins repeated keys", got)
	}
	if got := refusedNames(now.Check(nil, twice)); got != "text" {
		t.Error(got)
	}
}

// TestPathBytes holds that values from the path are bytes: no class of letters
// fits those beyond ASCII.
func TestPathBytes(t *testing.T) {
	m := pieceSchema(t, "9.2", `{"additionalProperties":0,"properties":{"id":{"type":"string","pattern":"\\w+","maxLength":4}}}`)
	for value, want := range map[string]string{"ab": "", "p\xc3\xa9": "id", "a\xff": "id", "abcde": "id"} {
		if got := refusedNames(m.Check([]PathValue{{"id", value}}, nil)); got != want {
			t.Errorf("%q: %q", value, got)
		}
	}
	free := pieceSchema(t, "9.2", `{"additionalProperties":0,"properties":{"id":{"type":"string","maxLength":4}}}`)
	if got := refusedNames(free.Check([]PathValue{{"id", "\xc3\xa9\xc3\xa9"}}, nil)); got != "" {
		t.Error("four bytes", got)
	}
	if got := refusedNames(free.Check([]PathValue{{"id", "\xc3\xa9\xc3\xa9\xc3"}}, nil)); got != "id" {
		t.Error("five bytes", got)
	}
	// The same text in the body is decoded, so it is another value.
	if got := refusedNames(free.Check([]PathValue{{"id", "\xc3\xa9"}}, Params{"id": {"é"}})); got != "id" {
		t.Error(got)
	}
	if got := refusedNames(free.Check([]PathValue{{"id", "\xc3\xa9"}}, Params{"id": {"Ã©"}})); got != "" {
		t.Error(got)
	}
	if got := refusedNames(free.Check([]PathValue{{"id", "a"}}, Params{"id": {"a", "a"}})); got != "id" {
		t.Error(got)
	}
}

func TestMethodsThatTakeNothing(t *testing.T) {
	for template, want := range map[string]string{
		"/version": "x", "/cluster/firewall": "", "/cluster/firewall/options": "", "/access/ticket": "", "/nodes": "x",
	} {
		m := mustMethod(t, "9.2", GET, template)
		if got := refusedNames(m.Check(nil, Params{"x": {"1"}})); got != want {
			t.Errorf("%s: %q", template, got)
		}
	}
}

// TestHostileSizes holds that the time grows with the input and no faster.
func TestHostileSizes(t *testing.T) {
	create := mustMethod(t, "9.2", POST, "/nodes/{node}/qemu")
	path := []PathValue{{"node", "pve1"}}
	const mega = 1 << 20
	many := Params{"vmid": {"100"}}
	for i := range 10000 {
		many[fmt.Sprintf("p%d", i)] = []string{"1"}
	}
	big := map[string]Params{
		"10,000 unknown": many,
		"a":              {"vmid": {"100"}, "description": {strings.Repeat("a", mega)}, "name": {strings.Repeat("a", mega)}, "tags": {strings.Repeat("a", mega)}},
		"commas":         {"vmid": {"100"}, "net0": {strings.Repeat(",", mega)}, "cpu": {strings.Repeat("a=b,", mega/4)}, "tags": {strings.Repeat(",", mega)}, "affinity": {strings.Repeat("1,", mega/2)}},
		"keys":           {"vmid": {"100"}, "net0": {strings.Repeat("a", mega) + "=1"}, "ide0": {"file=" + strings.Repeat("=", mega)}},
		"not UTF-8":      {"vmid": {"\xff\xfe"}, "name": {strings.Repeat("\xe2\x28", mega/2)}, "net0": {"\x00=\xff"}},
		"NUL":            {"vmid": {"1\x0000"}, "tags": {strings.Repeat("a\x00", mega/2)}},
		"repeated":       {"vmid": {"100"}, "tags": strings.Split(strings.Repeat("a,", mega/16), ",")},
		"newlines":       {"vmid": {"100"}, "name": {strings.Repeat("\n", mega)}, "startup": {strings.Repeat("\n,", mega/2)}},
	}
	for name, params := range big {
		start := time.Now()
		fault := create.Check(path, params)
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if fault != nil {
			if text := fault.Error(); len(text) > 1<<16 {
				t.Errorf("%s: a message of %d bytes", name, len(text))
			}
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	batch := mustMethod(t, "9.2", POST, "/nodes/{node}/execute")
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if fault := batch.Check([]PathValue{{"node", "a"}}, Params{"commands": {deep}}); fault == nil {
		t.Error("nested lists pass as a batch")
	}
	m := pieceSchema(t, "9.2", `{"properties":{"id":{"type":"string","optional":1},"x":{"type":"object","optional":1,"additionalProperties":{"type":"object","additionalProperties":{"type":"object"}}}}}`)
	var v any = "end"
	for range 10000 {
		v = map[string]any{"x": v}
	}
	m.CheckJSON(nil, map[string]any{"x": v})
}
