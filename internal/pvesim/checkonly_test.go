package pvesim

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"pvemcp/apidoc"
)

// verdict is a call and what the real implementation said of its parameters.
type verdict struct {
	Method, Path, Kind, Transport string
	Params                        map[string]any
	OK                            bool
	Errors                        map[string]string
	Code                          int
}

// wireRequest puts a call on the wire as its transport says.
func wireRequest(v verdict) string {
	path := apiEscape(v.Path)
	if v.Transport == "json" {
		body, err := json.Marshal(v.Params)
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf("%s /api2/json%s HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", v.Method, path, len(body), body)
	}
	var parts []string
	for _, k := range sortedKeys(v.Params) {
		add := func(text string) { parts = append(parts, url.QueryEscape(k)+"="+url.QueryEscape(text)) }
		switch x := v.Params[k].(type) {
		case []any:
			for _, e := range x {
				add(fmt.Sprint(e))
			}
		default:
			add(fmt.Sprint(x))
		}
	}
	form := strings.Join(parts, "&")
	if v.Method == "GET" || v.Method == "DELETE" {
		return fmt.Sprintf("%s /api2/json%s?%s HTTP/1.1\r\n\r\n", v.Method, path, form)
	}
	return fmt.Sprintf("%s /api2/json%s HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s", v.Method, path, len(form), form)
}

// apiEscape escapes what may not stand raw in a request line. What is escaped
// already stays so.
func apiEscape(path string) string {
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`?#`, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// wires sends requests one after another, over connections as long as they last.
type wires struct {
	t  *testing.T
	s  *Server
	br *bufio.Reader
	w  io.WriteCloser
}

func (w *wires) ask(request string) rawAnswer {
	w.t.Helper()
	for try := 0; ; try++ {
		if w.br == nil {
			c := dial(w.t, w.s)
			w.br, w.w = bufio.NewReader(c), c
		}
		_, err := io.WriteString(w.w, request)
		var a rawAnswer
		if err == nil {
			a, err = readAnswer(w.br)
		}
		if err == nil {
			if slices.Contains(a.header("Connection"), "close") {
				w.drop()
			}
			return a
		}
		w.drop()
		if try == 1 {
			w.t.Fatalf("%.200q: %v", request, err)
		}
	}
}

func (w *wires) drop() {
	_ = w.w.Close()
	w.br = nil
}

// TestVerdicts sends every call of which the real implementation's verdict is
// known to a cluster that only checks.
func TestVerdicts(t *testing.T) {
	schema := schemaOfVerdicts(t)
	if schema == nil {
		t.Log("the verdicts are not here")
		return
	}
	f, err := os.Open("../../../shared/vectors/calls.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Options{CheckOnly: true, Schema: schema, World: NewWorld(epochOfTests, 1)})
	w := &wires{t: t, s: s}
	dec := json.NewDecoder(z)
	dec.UseNumber()
	n, differ, keysDiffer, sameText, texts := 0, 0, 0, 0, 0
	for dec.More() {
		var v verdict
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		n++
		a := w.ask(wireRequest(v))
		var body struct {
			Data   any
			Errors map[string]string
		}
		_ = json.Unmarshal([]byte(a.body), &body)
		ok := a.status == 200 && body.Data == nil
		refused := a.status == 400 || a.status == 501 || a.status == 500
		if ok != v.OK || !ok && !refused {
			differ++
			if differ <= 10 {
				t.Logf("%s %s %s %v: %d %s %v; want ok %v %v", v.Kind, v.Method, v.Path, short(v.Params), a.status, a.reason, body.Errors, v.OK, v.Errors)
			}
			continue
		}
		if !v.OK && v.Transport == "form" && len(v.Errors) > 0 {
			if !slices.Equal(sortedKeys(body.Errors), sortedKeys(v.Errors)) {
				keysDiffer++
				if keysDiffer <= 10 {
					t.Logf("%s %s %s %v: keys %v; want %v", v.Kind, v.Method, v.Path, short(v.Params), sortedKeys(body.Errors), sortedKeys(v.Errors))
				}
			}
		}
		for k, text := range v.Errors {
			texts++
			if body.Errors[k] == text {
				sameText++
			}
		}
	}
	t.Logf("%d calls, %d verdicts differ, %d refusals name other keys, %d of %d texts are Proxmox's", n, differ, keysDiffer, sameText, texts)
	if n < 10000 || differ*1000 > n || keysDiffer*1000 > n {
		t.Errorf("of %d calls %d got another verdict and %d other keys", n, differ, keysDiffer)
	}
	if sameText*100 < texts*65 {
		t.Errorf("only %d of %d texts are Proxmox's", sameText, texts)
	}
}

func short(v any) string { return fmt.Sprintf("%.200v", v) }

func schemaOfVerdicts(t *testing.T) *apidoc.Schema {
	t.Helper()
	data, err := os.ReadFile("../../../shared/vectors/apidoc-9.2.11.json.gz")
	if err != nil {
		return nil
	}
	schema, err := apidoc.Parse(data, "9.2.11")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestCheckOnlyAcceptsAnybody: no login, no guest, no node is needed; what the
// check refuses is refused with the texts that Proxmox sends.
func TestCheckOnlyAcceptsAnybody(t *testing.T) {
	s, err := StartCheckOnly("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &wires{t: t, s: s}
	for _, c := range []struct {
		method, path string
		params       map[string]any
		status       int
		errors       map[string]string
	}{
		{"GET", "/nodes/anywhere/qemu/12345/config", nil, 200, nil},
		{"POST", "/nodes/n1/execute", map[string]any{"commands": "[]"}, 200, nil},
		{"PUT", "/access/password", map[string]any{"userid": "a@pam", "password": "12345678"}, 200, nil},
		{"POST", "/nodes/n1/qemu", map[string]any{"vmid": "100", "args": "-x", "net0": "virtio,bridge=vmbr0"}, 200, nil},
		{"GET", "/", nil, 200, nil},
		{"GET", "/nosuch", nil, 501, nil},
		{"PUT", "/version", nil, 501, nil},
		{"POST", "/nodes/n1/qemu", nil, 400, map[string]string{"vmid": "property is missing and it is not optional"}},
		{"POST", "/nodes/n1/qemu", map[string]any{"vmid": "99", "onboot": "true", "x": "1", "cores": "0", "memory": []any{"1", "2"}}, 400, map[string]string{
			"vmid":   "invalid format - value does not look like a valid VM ID\n",
			"onboot": "type check ('boolean') failed - got 'true'",
			"x":      "property is not defined in schema and the schema does not allow additional properties",
			"cores":  "value must have a minimum value of 1",
			"memory": "type check ('string') failed - got ARRAY",
		}},
		{"PUT", "/nodes/n1/qemu/100/config", map[string]any{"vmid": "101"}, 400, map[string]string{"vmid": "duplicate parameter (already defined in URI) with conflicting values!"}},
		{"POST", "/nodes/n1/qemu", map[string]any{"vmid": "100", "force": "1"}, 400, map[string]string{"archive": "missing property required by 'force'"}},
		{"PUT", "/nodes/n1/qemu/100/config", map[string]any{"bios": "x"}, 400, map[string]string{"bios": "value 'x' does not have a value in the enumeration 'seabios, ovmf'"}},
		{"POST", "/nodes/n1/qemu/100/snapshot", map[string]any{"snapname": strings.Repeat("x", 41)}, 400, map[string]string{"snapname": "value may only be 40 characters long"}},
		{"GET", "/nodes/n1/tasks", map[string]any{"limit": "abc"}, 400, map[string]string{"limit": "type check ('integer') failed - got 'abc'"}},
	} {
		a := w.ask(wireRequest(verdict{Method: c.method, Path: c.path, Params: c.params}))
		var body struct {
			Data   any
			Errors map[string]string
		}
		if err := json.Unmarshal([]byte(a.body), &body); err != nil {
			t.Fatal(a, err)
		}
		if a.status != c.status || c.path != "/" && body.Data != nil || fmt.Sprint(body.Errors) != fmt.Sprint(c.errors) {
			t.Errorf("%s %s %v: %d %s %v", c.method, c.path, c.params, a.status, a.reason, body.Errors)
		}
	}
}

// TestEveryMethodIsRouted: in a cluster that only checks, each method of the
// newest schema is found under a path of its own, and under nothing else.
func TestEveryMethodIsRouted(t *testing.T) {
	s := start(t, Options{CheckOnly: true, World: NewWorld(epochOfTests, 1)})
	w := &wires{t: t, s: s}
	endpoints := s.Schema().Endpoints()
	for _, e := range endpoints {
		path := e.Path
		for _, p := range e.PathParams() {
			path = strings.ReplaceAll(path, "{"+p+"}", "x1")
		}
		a := w.ask(fmt.Sprintf("%s /api2/json%s HTTP/1.1\r\n\r\n", e.Verb, path))
		if a.status != 200 && a.status != 400 {
			t.Errorf("%s: %d %s", e, a.status, a.reason)
		}
	}
	records := s.Requests()
	if len(records) != len(endpoints) {
		t.Fatalf("%d requests recorded, want %d", len(records), len(endpoints))
	}
	for i, r := range records {
		if r.Template != endpoints[i].Path || r.Verb != string(endpoints[i].Verb) {
			t.Errorf("%s went to %s %s", endpoints[i], r.Verb, r.Template)
		}
	}
}
