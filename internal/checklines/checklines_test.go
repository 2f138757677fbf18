package checklines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pvemcp/apidoc"
)

func snapshot(t testing.TB) *apidoc.Schema {
	t.Helper()
	s, err := apidoc.Snapshot(apidoc.Newest)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, in string) []verdict {
	t.Helper()
	var out bytes.Buffer
	if err := Run(strings.NewReader(in), &out, snapshot(t)); err != nil {
		t.Fatal(err)
	}
	var vs []verdict
	for line := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
		var v verdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		vs = append(vs, v)
	}
	return vs
}

func TestRun(t *testing.T) {
	cases := []struct{ line, refused string }{
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"cores":"4","onboot":true,"memory":512},"kind":"ignored"}`, ""},
		{`{"method":"GET","path":"/version"}`, ""},
		{`{"method":"GET","path":"/version","params":null}`, ""},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"cores":"0","memroy":"1"}}`, "cores memroy"},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"tags":["a","b"],"cores":null}}`, ""},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"name":["a","b"]}}`, "name"},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"name":[]}}`, ""},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"onboot":"true"}}`, "onboot"},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"cores":2.0}}`, "cores"}, // strict: its text
		{`{"method":"GET","path":"/no/such/path"}`, "_path"},
		{`{"method":"PATCH","path":"/version"}`, "_path"},
		{`{"method":"GET","path":"version"}`, "_path"},
		{`{"method":"DELETE","path":"/version"}`, "_path"},
		{`{"method":"GET","path":"/nodes/%zz"}`, "_path"},
		{`not JSON`, "_line"},
		{`[]`, "_line"},
		{`{"method":"GET"}`, "_line"},
		{`{"path":"/version"}`, "_line"},
		{`{"method":"GET","path":"/version","params":[1]}`, "_line"},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"net0":{"model":"virtio"}}}`, "_line"},
		{`{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"tags":[["a"]]}}`, "_line"},
		{`{"method":"GET","path":"/version"} trailing`, "_line"},
	}
	var in strings.Builder
	for _, c := range cases {
		in.WriteString(c.line + "\r\n\n")
	}
	got := run(t, strings.TrimSuffix(in.String(), "\r\n\n")) // the last line has no end
	if len(got) != len(cases) {
		t.Fatalf("%d verdicts for %d lines", len(got), len(cases))
	}
	for i, c := range cases {
		names := make([]string, 0, 2)
		for name, reason := range got[i].Errors {
			if reason == "" {
				t.Errorf("%s: no reason for %s", c.line, name)
			}
			names = append(names, name)
		}
		if len(names) == 2 && names[0] > names[1] {
			names[0], names[1] = names[1], names[0]
		}
		if strings.Join(names, " ") != c.refused || got[i].OK != (c.refused == "") || got[i].Errors == nil {
			t.Errorf("%s: %v", c.line, got[i])
		}
	}
}

func TestTwoFaultsOfOneParameter(t *testing.T) {
	s, err := apidoc.Parse([]byte(`[{"path":"/x","text":"x","leaf":1,"info":{"POST":{"method":"POST","name":"x","parameters":{"additionalProperties":0,
		"properties":{"a":{"type":"string"},"b":{"type":"string","optional":1,"requires":"a"}}}}}}]`), "9.2")
	if err != nil {
		t.Fatal(err)
	}
	v := judge([]byte(`{"method":"POST","path":"/x","params":{"b":"1"}}`), s)
	if v.OK || len(v.Errors) != 1 || v.Errors["a"] != "missing, but required; must be given with b" {
		t.Error(v)
	}
}

// TestRunAnswersAtOnce holds that who waits for a verdict before the next
// line is not kept waiting.
func TestRunAnswersAtOnce(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Run(inR, outW, snapshot(t)) }()
	dec := json.NewDecoder(outR)
	for range 3 {
		if _, err := io.WriteString(inW, `{"method":"GET","path":"/version"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		answer := make(chan verdict, 1)
		go func() {
			var v verdict
			_ = dec.Decode(&v)
			answer <- v
		}()
		select {
		case v := <-answer:
			if !v.OK {
				t.Error(v)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no verdict")
		}
	}
	_ = inW.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestRunErrors(t *testing.T) {
	s := snapshot(t)
	if err := Run(strings.NewReader("{}\n"), brokenWriter{}, s); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	var out bytes.Buffer
	in := io.MultiReader(strings.NewReader(`{"method":"GET","path":"/version"}`+"\n"), iotest.ErrReader(errBroken))
	if err := Run(in, &out, s); !errors.Is(err, errBroken) || !strings.Contains(out.String(), `"ok":true`) {
		t.Error(err, out.String())
	}
}

// TestLongLines holds that a line beyond the limit is refused and the next is
// read.
func TestLongLines(t *testing.T) {
	long := io.LimitReader(endless('x'), MaxLine+10)
	in := io.MultiReader(long, strings.NewReader("\n"+`{"method":"GET","path":"/version"}`))
	var out bytes.Buffer
	if err := Run(in, &out, snapshot(t)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "_line") || !strings.Contains(lines[1], `"ok":true`) {
		t.Errorf("%.300q", lines)
	}
}

type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

// TestTwentyThousandLines holds the figure: 20,000 lines within 10 seconds.
func TestTwentyThousandLines(t *testing.T) {
	var in bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&in, `{"method":"POST","path":"/nodes/pve1/qemu","params":{"vmid":"%d","cores":"%d","memory":"2048","net0":"virtio,bridge=vmbr%d","scsi0":"local-lvm:32,ssd=1"}}`+"\n", i, i%3, i%5000)
	}
	start := time.Now()
	var out bytes.Buffer
	if err := Run(&in, &out, snapshot(t)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > patience*10*time.Second {
		t.Errorf("took %v", took)
	}
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 20000 {
		t.Errorf("%d verdicts", n)
	}
}

func FuzzRun(f *testing.F) {
	for _, seed := range []string{`{"method":"GET","path":"/nodes/..//%2e%2e?x#y","params":{"a":"\u0000"}}`, `{"method":"PUT","path":"/access/acl","params":{"x":[null,true,1e9,"\ud800"]}}`, "\x00\xff\n{}", `{"method":"GET","path":"/%`} {
		f.Add(seed)
	}
	s := snapshot(f)
	f.Fuzz(func(t *testing.T, in string) {
		var out bytes.Buffer
		if err := Run(strings.NewReader(in), &out, s); err != nil {
			t.Fatal(err)
		}
		want := 0
		for line := range strings.SplitSeq(in, "\n") {
			if len(bytes.TrimSpace([]byte(line))) > 0 {
				want++
			}
		}
		if got := bytes.Count(out.Bytes(), []byte("\n")); got != want {
			t.Errorf("%d verdicts for %d lines", got, want)
		}
	})
}

// Who writes the lines may not know Go.
func TestReasonsOfLines(t *testing.T) {
	for line, reason := range map[string]string{
		`[]`:                             "not a call as JSON: an object with method, path and params is needed, not an array",
		`{"method":1,"path":"/version"}`: "not a call as JSON: method is a string, not a number",
		`{"method":"GET","path":"/version","params":[]}`:    "not a call as JSON: params is an object, not an array",
		`{"method":"GET","path":{"a":1}}`:                   "not a call as JSON: path is a string, not an object",
		`{"method":"GET","path":"/version","params":"a=b"}`: "not a call as JSON: params is an object, not a string",
	} {
		if got := run(t, line)[0].Errors["_line"]; got != reason {
			t.Errorf("%s: %s", line, got)
		}
	}
}
