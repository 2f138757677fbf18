package apidoc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// testLines gives each line of a file in testdata.
func testLines(t *testing.T, name string, each func(n int, line []byte)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		each(n, lines.Bytes())
	}
	if n < 1000 {
		t.Fatalf("%s has only %d lines; it is meant to hold every rule", name, n)
	}
}

// verdictSchemas are the schemas that the committed verdicts belong to: the
// snapshot, and pieces of 9.2.11 that it does not have.
func verdictSchemas(t *testing.T) map[string]*Schema {
	t.Helper()
	whole, err := Snapshot("9.2")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("testdata/ha-rules.json")
	if err != nil {
		t.Fatal(err)
	}
	piece, err := Parse(data, "9.2")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*Schema{"": whole, "ha-rules": piece}
}

// TestVerdicts holds the check to what a real Proxmox said of the same calls:
// accepted or refused, and for which parameters.
func TestVerdicts(t *testing.T) {
	schemas := verdictSchemas(t)
	kinds := map[string]int{}
	testLines(t, "verdicts.jsonl", func(n int, line []byte) {
		var c struct {
			Kind, Path, Schema string
			Method             Verb
			Params             map[string]any
			JSON, OK           bool
			Refused            []string
		}
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&c); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		kinds[c.Kind]++
		got := []string{}
		match, err := schemas[c.Schema].Lookup(c.Method, c.Path)
		if err != nil {
			got = []string{"_path"}
		} else {
			m, err := match.Method()
			if err != nil {
				t.Fatal(err)
			}
			fault := (*CheckError)(nil)
			if c.JSON {
				fault = m.CheckJSON(match.Values, c.Params)
			} else {
				fault = m.Check(match.Values, formParams(t, c.Params))
			}
			if fault != nil {
				got = fault.Params()
				if strings.ContainsAny(fault.Error(), "\n\r") {
					t.Errorf("line %d: the message has more than one line: %q", n, fault.Error())
				}
			}
		}
		sort.Strings(c.Refused)
		if c.OK != (len(got) == 0) || strings.Join(got, " ") != strings.Join(c.Refused, " ") {
			t.Errorf("line %d (%s): %s %s %.200v: refused %v, Proxmox refuses %v", n, c.Kind, c.Method, c.Path, c.Params, got, c.Refused)
		}
	})
	if len(kinds) < 80 {
		t.Errorf("only %d kinds of cases", len(kinds))
	}
}

func TestFormatVerdicts(t *testing.T) {
	tested := map[string]bool{}
	testLines(t, "format-verdicts.jsonl", func(n int, line []byte) {
		var v struct {
			Format, Value string
			OK            bool
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("line %d: %v", n, err)
		}
		tested[v.Format] = true
		if err := CheckFormat(v.Format, v.Value); (err == nil) != v.OK {
			t.Errorf("line %d: %s %.100q: accepted is %v in Proxmox, we say %v", n, v.Format, v.Value, v.OK, err)
		}
	})
	// Every format that 9.2 registers has verdicts; what only other releases
	// name is tested by hand.
	others := map[string]bool{
		"pve-sdn-zone-id": true, "pve-sdn-vnet-id": true, "pve-sdn-controller-id": true, "pve-sdn-dns-id": true,
		"pve-sdn-ipam-id": true, "pve-ha-group-node": true, "pve-qm-usb-device": true,
		"pve-sdn-route-map-id": true, "pve-sdn-prefix-list-id": true, "pve-sdn-fabric-wireguard-interface": true, "FullRangeCIDR": true,
	}
	for name := range formats {
		if !tested[name] && !others[name] {
			t.Errorf("format %s has no verdict", name)
		}
	}
	for name := range grammars() {
		if !tested[name] {
			t.Errorf("property string %s has no verdict", name)
		}
	}
}
