package apidoc

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func propProperty(t testing.TB, template, name string) *Property {
	t.Helper()
	p, ok := mustMethod(t, "9.2", POST, template).Property(name)
	if !ok {
		t.Fatalf("no %s in %s", name, template)
	}
	return p
}

func TestParsePropertyString(t *testing.T) {
	net := Grammar(propProperty(t, "/nodes/{node}/qemu", "net0"))
	drive := Grammar(propProperty(t, "/nodes/{node}/qemu", "scsi0"))
	boot := Grammar(propProperty(t, "/nodes/{node}/qemu", "boot"))
	for _, c := range []struct {
		grammar map[string]*Property
		text    string
		want    map[string]string
		reason  string // part of it
	}{
		{net, "virtio=BC:24:11:00:00:01,bridge=vmbr0", map[string]string{"model": "virtio", "macaddr": "BC:24:11:00:00:01", "bridge": "vmbr0"}, ""},
		{net, "virtio,,firewall=yes,", map[string]string{"model": "virtio", "firewall": "1"}, ""},
		{net, "bridge=a=b", nil, "key bridge"},
		{net, "virtio,link_down=OFF\n", map[string]string{"model": "virtio", "link_down": "0"}, ""},
		{net, "", nil, "key model: missing"},
		{net, "virtio,e1000", nil, "two values without a key"},
		{net, "model=virtio,virtio=BC:24:11:00:00:01", nil, "sets model too"},
		{net, "virtio=BC:24:11:00:00:01,macaddr=BC:24:11:00:00:02", nil, "given twice"},
		{net, "macaddr=BC:24:11:00:00:02,virtio=BC:24:11:00:00:01", nil, "another name for macaddr"},
		{net, "virtio,bridge=", nil, "not key=value"},
		{net, "virtio,=x", nil, "not key=value"},
		{net, "virtio, bridge=x", nil, `key " bridge": unknown key; did you mean bridge?`},
		{net, "virtio,bridge=a,bridge=b", nil, "given twice"},
		{net, "virtio,tag=1,tag=0,mtu=x", nil, "given twice"},
		{net, "virtio,tag=9999,mtu=x", nil, `key mtu: "x" is not an integer`},
		{drive, "local:32,size=1G\n", map[string]string{"file": "local:32", "size": "1G"}, ""},
		{drive, "volume=local:1,file=local:2", nil, ""},
		{drive, "size=1G", nil, "key file: missing"},
		{boot, "order=scsi0;net0", map[string]string{"order": "scsi0;net0"}, ""},
		{boot, "c,order=scsi0", map[string]string{"legacy": "c", "order": "scsi0"}, ""},
		{boot, "order=scsi99", nil, `item "scsi99" is not a boot device`},
	} {
		got, err := ParsePropertyString(c.text, c.grammar)
		if c.want != nil {
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q: %v, %v", c.text, got, err)
			}
			continue
		}
		var pe *PropertyStringError
		if !errors.As(err, &pe) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
}

func TestGrammar(t *testing.T) {
	if g := Grammar(&Property{Format: "pve-qm-watchdog"}); DefaultKey(g) != "model" {
		t.Error(g)
	}
	for _, format := range []string{"", "pve-node", "pve-qm-watchdog-list", "nope"} {
		if g := Grammar(&Property{Format: format}); g != nil {
			t.Error(format, g)
		}
	}
	if DefaultKey(nil) != "" {
		t.Error("a default key of nothing")
	}
	if got, want := grammarForm(Grammar(propProperty(t, "/nodes/{node}/qemu", "watchdog"))), "a property string [[model=]value],[action=…]"; got != want {
		t.Error(got)
	}
}

func TestBooleanWords(t *testing.T) {
	for in, want := range map[string]string{
		"1": "1", "on": "1", "YES": "1", "True": "1", "true\n": "1", "ye\u017f": "1",
		"0": "0", "off": "0", "No": "0", "fal\u017fe": "0", "o\ufb00": "0",
		"": "", "2": "2", "y": "y", "01": "01", "on\n\n": "on\n\n", " on": " on",
	} {
		if got := booleanWord(in); got != want {
			t.Errorf("%q gives %q", in, got)
		}
	}
}

func FuzzPropertyString(f *testing.F) {
	for _, seed := range []string{"virtio=BC:24:11:00:00:01,bridge=vmbr0", ",,=,a=", "virtio\n", "0,1", "\xff=\x00", "a=b=c,a", "tag=٣"} {
		f.Add(seed)
	}
	grammars := []map[string]*Property{
		Grammar(propProperty(f, "/nodes/{node}/qemu", "net0")), Grammar(propProperty(f, "/nodes/{node}/qemu", "scsi0")),
		Grammar(propProperty(f, "/nodes/{node}/lxc", "mp0")), Grammar(&Property{Format: "backup-fleecing"}),
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, g := range grammars {
			got, err := ParsePropertyString(text, g)
			if err != nil {
				if len(err.Error()) > 20000 || strings.ContainsAny(err.Error(), "\n") {
					t.Errorf("message for %q: %q", text, err)
				}
				continue
			}
			// What was read can be written and read again.
			object := map[string]any{}
			for k, v := range got {
				object[k] = v
			}
			again, err := EncodePropertyString(object, g)
			if err != nil {
				for _, v := range got {
					if strings.ContainsAny(v, "\n") {
						return // a bare value may end in a newline, a written one not
					}
				}
				t.Fatalf("%q was read as %q but can't be written: %v", text, got, err)
			}
			if second, err := ParsePropertyString(again, g); err != nil || !reflect.DeepEqual(second, got) {
				t.Errorf("%q → %q → %q → %q, %v", text, got, again, second, err)
			}
		}
	})
}
