package apidoc

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestWire(t *testing.T) {
	config := mustMethod(t, "9.2", PUT, "/nodes/{node}/qemu/{vmid}/config")
	exec := mustMethod(t, "9.2", POST, "/nodes/{node}/qemu/{vmid}/agent/exec")
	batch := mustMethod(t, "9.2", POST, "/nodes/{node}/execute")
	for _, c := range []struct {
		m    *Method
		args string
		want Params
		err  string
	}{
		{config, `{}`, Params{}, ""},
		{config, `{"cores":4,"memory":null}`, Params{"cores": {"4"}}, ""},
		{config, `{"cores":4.0}`, Params{"cores": {"4"}}, ""},
		{config, `{"cores":"4.0"}`, Params{"cores": {"4"}}, ""},
		{config, `{"cores":" 1e1 "}`, Params{"cores": {"10"}}, ""},
		{config, `{"cores":4.5}`, Params{"cores": {"4.5"}}, ""},
		{config, `{"cores":[4]}`, Params{"cores": {"4"}}, ""},
		{config, `{"cores":[4,5]}`, Params{"cores": {"4", "5"}}, ""},
		{config, `{"cpulimit":1.5}`, Params{"cpulimit": {"1.5"}}, ""},
		{config, `{"onboot":true,"protection":"yes","tablet":"FALSE","kvm":0}`, Params{"onboot": {"1"}, "protection": {"1"}, "tablet": {"0"}, "kvm": {"0"}}, ""},
		{config, `{"agent":true}`, Params{"agent": {"1"}}, ""},
		{config, `{"net0":{"model":"virtio","bridge":"vmbr0","firewall":true,"tag":20,"rate":null}}`, Params{"net0": {"virtio,bridge=vmbr0,firewall=1,tag=20"}}, ""},
		{config, `{"net0":{"virtio":"BC:24:11:00:00:01","bridge":"vmbr0"}}`, Params{"net0": {"bridge=vmbr0,virtio=BC:24:11:00:00:01"}}, ""},
		{config, `{"net0":{"model":"virtio","trunks":[5,6]}}`, Params{"net0": {"virtio,trunks=5;6"}}, ""},
		{config, `{"net0":"virtio,bridge=vmbr0"}`, Params{"net0": {"virtio,bridge=vmbr0"}}, ""},
		{config, `{"net0":[{"model":"virtio"}]}`, Params{"net0": {"virtio"}}, ""},
		{config, `{"boot":{"order":["scsi0","net0"]}}`, Params{"boot": {"order=scsi0;net0"}}, ""},
		{config, `{"scsi0":{"file":"local-lvm:32","ssd":"on","discard":"on"}}`, Params{"scsi0": {"local-lvm:32,discard=on,ssd=1"}}, ""},
		{config, `{"cpu":{"cputype":"host","flags":["+aes","-pcid"]}}`, Params{"cpu": {"host,flags=+aes;-pcid"}}, ""},
		{config, `{"tags":["a","b"],"delete":["net1"]}`, Params{"tags": {"a,b"}, "delete": {"net1"}}, ""},
		{config, `{"description":"a\nb, c"}`, Params{"description": {"a\nb, c"}}, ""},
		{config, `{"nosuch":{"a":1}}`, nil, "nosuch: is a JSON object; a text, number or boolean is expected"},
		{config, `{"cores":{"a":1}}`, nil, "cores: is a JSON object; an integer (at least 1) is expected"},
		{config, `{"net0":{"bridge":"a,b"}}`, nil, `net0: key bridge: "a,b" holds a comma or newline`},
		{config, `{"net0":{"bridge":""}}`, nil, "net0: key bridge: is empty"},
		{config, `{"net0":{"bridge":{"x":1}}}`, nil, "net0: key bridge: is a JSON object"},
		{config, `{"net0":{"a=b":"x"}}`, nil, `net0: key "a=b" can't stand`},
		{config, `{"tags":[["a"]]}`, nil, "tags: item 0 is a list inside a list"},
		{config, `{"nosuch":true,"other":[1,null,"x"]}`, Params{"nosuch": {"1"}, "other": {"1", "x"}}, ""},
		{exec, `{"command":["ls","-l, x"]}`, Params{"command": {"ls", "-l, x"}}, ""},
		{exec, `{"command":"ls"}`, Params{"command": {"ls"}}, ""},
		{exec, `{"command":[]}`, Params{"command": {}}, ""},
		{batch, `{"commands":[{"path":"/é","method":"GET"}]}`, Params{"commands": {`[{"method":"GET","path":"/\u00e9"}]`}}, ""},
		{batch, `{"commands":"[]"}`, Params{"commands": {"[]"}}, ""},
	} {
		var args map[string]any
		dec := json.NewDecoder(strings.NewReader(c.args))
		dec.UseNumber()
		if err := dec.Decode(&args); err != nil {
			t.Fatal(err)
		}
		got, err := c.m.Wire(args)
		if c.err != "" {
			var we *WireError
			if !errors.As(err, &we) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, %v", c.args, got, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, %v", c.args, got, err)
		}
	}
	// Decoded without UseNumber, numbers are floats.
	got, err := config.Wire(map[string]any{"cores": 4.0, "cpulimit": 1.5, "memory": 1e6, "tags": []string{"a", "b"}, "onboot": []any{true}})
	if want := (Params{"cores": {"4"}, "cpulimit": {"1.5"}, "memory": {"1000000"}, "tags": {"a,b"}, "onboot": {"1"}}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestWireVariants holds that a list goes over the wire as the variant wants
// it that the sibling selects.
func TestWireVariants(t *testing.T) {
	m := mustMethod(t, "9.2", PUT, "/cluster/sdn/fabrics/fabric/{id}")
	got, err := m.Wire(map[string]any{"protocol": "openfabric", "delete": []any{"hello_interval", "csnp_interval"}})
	if err != nil || !reflect.DeepEqual(got["delete"], []string{"hello_interval", "csnp_interval"}) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWireEnumWords(t *testing.T) {
	p := &Property{Type: String, Enum: []string{"on", "off"}}
	if scalarText(true, p) != "on" || scalarText(false, p) != "off" {
		t.Error("a boolean for on and off")
	}
	p.Enum = []string{"x"}
	if scalarText(true, p) != "1" || scalarText(false, p) != "0" {
		t.Error("a boolean for other words")
	}
}

// FuzzCheck holds that neither the check nor the encoder panics whatever comes
// as JSON, and that what the encoder writes can be checked.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"net0":{"model":"virtio"},"cores":1e400,"tags":["a",null,{}],"vmid":"100"}`, `{"":null,"_root":"","net[n]":1,"net00":true}`,
		`{"cpu":"\u0000","memory":"\ud800","scsi0":"a=b=c,,\n","ide2":[[1]],"x":{"y":{"z":[]}}}`, `{"delete":"a\u0000b","oneOf[x].y":1}`,
	} {
		f.Add(seed, "/nodes/a/qemu")
		f.Add(seed, "/nodes/%ff/qemu/100/config")
		f.Add(seed, "/cluster/ha/rules/x")
		f.Add(seed, "/cluster/sdn/fabrics/node/f/n")
		f.Add(seed, "/storage")
	}
	s, err := Snapshot("9.2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body, path string) {
		var args map[string]any
		dec := json.NewDecoder(strings.NewReader(body))
		dec.UseNumber()
		if dec.Decode(&args) != nil {
			return
		}
		for _, verb := range Verbs {
			match, err := s.Lookup(verb, path)
			if err != nil {
				continue
			}
			m, err := match.Method()
			if err != nil {
				t.Fatal(err)
			}
			first, second := m.CheckJSON(match.Values, args), m.CheckJSON(match.Values, args)
			if !reflect.DeepEqual(first, second) && (first == nil || second == nil || !reflect.DeepEqual(first.Params(), second.Params())) {
				t.Fatalf("%v, then %v", first, second)
			}
			params, err := m.Wire(args)
			if err != nil {
				continue
			}
			if fault := m.Check(match.Values, params); fault != nil && strings.ContainsAny(fault.Error(), "\n") {
				t.Errorf("%q", fault.Error())
			}
		}
	})
}
