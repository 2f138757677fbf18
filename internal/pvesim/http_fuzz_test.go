package pvesim

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestDecodeForm(t *testing.T) {
	for in, want := range map[string]values{
		"":                     {},
		"a=1&b=2":              {"a": "1", "b": "2"},
		"a=1;b=2":              {"a": "1", "b": "2"},
		"a=b=c":                {"a": "b"},
		"a=":                   {"a": ""},
		"a":                    {"a": nil},
		"a&a=1":                {"a": []string{"", "1"}},
		"a=1&a=2&a=3":          {"a": []string{"1", "2", "3"}},
		"&&a=1&&":              {"": []string{"", ""}, "a": "1"},
		"&a=1":                 {"": nil, "a": "1"},
		"a=1&&":                {"a": "1"},
		"%61=x+y%2B":           {"a": "x y+"},
		"a=%2":                 {"a": "%2"},
		"a=%zz":                {"a": "%zz"},
		"a=%E4":                {"a": "\uFFFD"},
		"a=%C3%A4":             {"a": "ä"},
		"a[]=1&a[0]=2":         {"a[]": "1", "a[0]": "2"},
		"net0=virtio%3DAA%3BB": {"net0": "virtio=AA;B"},
		"&&":                   {},
	} {
		if got := decodeForm(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %#v; want %#v", in, got, want)
		}
	}
}

func TestDecodeJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":"x","c":true}`:     "map[a:1 b:x c:true]",
		`{"a":1,"a":2}`:                "map[a:2]",
		`null`:                         "map[]",
		` {} `:                         "map[]",
		`{"a":null}`:                   "map[a:<nil>]",
		`{"a":12345678901234567890}`:   "map[a:12345678901234567890]",
		`[1]`:                          "Not a HASH reference",
		`1`:                            "as a HASH ref",
		`"x"`:                          `Can't use string ("x") as a HASH ref`,
		`{bad`:                         "malformed JSON",
		`{} {}`:                        "garbage",
		``:                             "malformed JSON",
		strings.Repeat(`[`, 600) + `1`: "nesting level",
	} {
		v, err := decodeJSON([]byte(in))
		got := fmt.Sprint(map[string]any(v))
		if err != nil {
			got = err.Error()
			if !strings.Contains(got, " at /usr/share/perl5/") {
				t.Errorf("%.40q: %s has no line", in, got)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.40q: %s; want %s", in, got, want)
		}
	}
}

func TestNumbersPrintAsInPerl(t *testing.T) {
	for in, want := range map[string]string{"2.0": "2", "2": "2", "1e3": "1000", "2.5": "2.5", "-1.0": "-1", "0.1": "0.1", "1e400": "1e400", "12345678901234567890": "12345678901234567890"} {
		if got := scalar(json.Number(in)); got != want {
			t.Errorf("%s: %s; want %s", in, got, want)
		}
	}
}

// FuzzRequest: whatever comes in front of a body is a request, an answer in
// plain text, silence or the end; never more than the limit is read.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\n\r\n",
		"POST /api2/json/version?a=1#x HTTP/1.0\nContent-Length: 5\n\nabc",
		"GET http://h/x HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
		"x",
		"GET / HTTP/9.9\r\n\r\n",
		"PATCH / HTTP/1.1\r\nContent-Length: -1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\n: b\r\n\r\n",
		strings.Repeat("a", 9000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := strings.NewReader(string(data))
		r, err := readRequest(bufio.NewReaderSize(in, 64), maxHeaderBytes)
		if read := len(data) - in.Len(); read > maxHeaderBytes+64 {
			t.Fatalf("read %d bytes", read)
		}
		var bad *badRequest
		switch {
		case err == nil:
			if !knownVerbs[r.method] || r.length < 0 || len(r.fields) >= maxHeaderLines || strings.ContainsAny(r.path, "?#") {
				t.Fatalf("%+v", r)
			}
		case errors.As(err, &bad):
			if bad.status < 400 || bad.reason == "" {
				t.Fatalf("%+v", bad)
			}
			out := string(plain(bad.status, bad.reason).encode(r, epochOfTests, false))
			if head, _, _ := strings.Cut(out, "\r\n\r\n"); strings.Count(head, "\n") != strings.Count(head, "\r\n") {
				t.Fatalf("a line end got into the head: %q", head)
			}
		case errors.Is(err, errSilent), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		default:
			t.Fatal(err)
		}
	})
}

// FuzzForm: names and values of a form are what an encoder of its own puts in.
func FuzzForm(f *testing.F) {
	f.Add("a", "1", "b")
	f.Add("net0", "virtio=AA;x", "ä")
	f.Add("", "", "%")
	f.Fuzz(func(t *testing.T, key, value, raw string) {
		v := decodeForm(raw)
		for k, x := range v {
			switch x := x.(type) {
			case nil, []string:
			case string:
				if !utf8.ValidString(x) {
					t.Fatalf("%q: %q", k, x)
				}
			default:
				t.Fatalf("%q: %T", k, x)
			}
		}
		if _, err := decodeJSON([]byte(raw)); err != nil && err.Error() == "" {
			t.Fatal("no text")
		}
		if !utf8.ValidString(value) {
			return
		}
		hex := func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				fmt.Fprintf(&b, "%%%02x", s[i])
			}
			return b.String()
		}
		back := decodeForm(hex(key) + "=" + hex(value))
		if len(back) != 1 || back[key] != value {
			t.Fatalf("%q=%q came back as %#v", key, value, back)
		}
	})
}

// FuzzServe sends bytes to a whole server. It must answer or hang up, and
// serve the next caller.
func FuzzServe(f *testing.F) {
	const auth = "Authorization: PVEAPIToken=root@pam!full=" + recordedSecret + "\r\n"
	for _, s := range []string{
		"GET /api2/json/nodes/pve1/qemu/100/config HTTP/1.1\r\n" + auth + "\r\n",
		"POST /api2/json/access/ticket HTTP/1.1\r\nContent-Length: 24\r\n\r\nusername=a&password=b&&=",
		"POST /api2/json/nodes/pve1/storage/local/upload HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 9\r\n" + auth + "\r\n--b--\r\n\r\n",
		"POST /__sim/faults HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n[]",
		"GET /api2/extjs/nodes/%70ve1/../%2e%2e/%00 HTTP/1.1\r\n" + auth + "\r\n",
		"PUT /api2/html/nodes/pve1/qemu/100/config HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 15\r\n" + auth + "\r\n{\"cores\":[{}]} ",
		"GET /api2/json HTTP/1.1\r\nAuthorization: PVEAPIToken=%\r\nCookie: PVEAuthCookie=::\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	s, err := Start(Options{World: recordedWorld(f), NoAuthDelay: true, Idle: 50 * time.Millisecond})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	f.Fuzz(func(t *testing.T, data []byte) {
		s.ClearFaults()
		here, there := net.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.serve(there)
			_ = there.Close()
		}()
		_ = here.SetDeadline(time.Now().Add(5 * time.Second))
		go func() { _, _ = here.Write(data); time.Sleep(2 * time.Millisecond); _ = here.Close() }()
		out, _ := io.ReadAll(here)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			panic("the connection is closed and the server still at it") // with every goroutine's stack
		}
		if strings.Contains(string(out), "pvesim: runtime error") || strings.Contains(string(out), "goroutine ") {
			t.Fatalf("a handler panicked: %s", out)
		}
		if len(out) > 0 && !strings.HasPrefix(string(out), "HTTP/1.") {
			t.Fatalf("%.100q", out)
		}
	})
}
