package gate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// spy is the transport below a gate: it notes what reaches it.
type spy struct {
	mu     sync.Mutex
	sent   []string
	bodies []string
	answer func(req *http.Request, body string) (*http.Response, error) // nil: data null
}

func (s *spy) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		body = string(b)
	}
	s.mu.Lock()
	s.sent = append(s.sent, req.Method+" "+req.URL.Path)
	s.bodies = append(s.bodies, body)
	s.mu.Unlock()
	if s.answer != nil {
		return s.answer(req, body)
	}
	return reply(200, "OK", `{"data":null}`), nil
}

func (s *spy) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

func reply(status int, reason, body string) *http.Response {
	return &http.Response{StatusCode: status, Status: http.StatusText(status) + " " + reason, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// herd is an inventory made up by a test.
type herd struct {
	guests []GuestInfo
	unseen map[apidoc.VMID]bool // there, but not seen
	err    error
	reads  int
}

func (h *herd) Guests(context.Context) ([]GuestInfo, error) {
	h.reads++
	if h.err != nil {
		return nil, h.err
	}
	var seen []GuestInfo
	for _, g := range h.guests {
		if !h.unseen[g.VMID] {
			seen = append(seen, g)
		}
	}
	return seen, nil
}

func (h *herd) Exists(_ context.Context, id apidoc.VMID) (bool, error) {
	for _, g := range h.guests {
		if g.VMID == id {
			return true, h.err
		}
	}
	return false, h.err
}

func (h *herd) Complete(context.Context) (bool, error) { return len(h.unseen) == 0, h.err }

// pasture has guest 100, which the tests protect, and others around it.
func pasture() *herd {
	return &herd{guests: []GuestInfo{
		{VMID: 100, Kind: apidoc.QEMU, Node: "pve1", Name: "db01", Tags: []string{"prod", "db"}, Pool: "core/db"},
		{VMID: 200, Kind: apidoc.QEMU, Node: "pve1", Name: "web01", Tags: []string{"test"}, Pool: "lab"},
		{VMID: 300, Kind: apidoc.LXC, Node: "pve2", Name: "ct01"},
		{VMID: 950, Kind: apidoc.QEMU, Node: "pve3", Name: "toy", Tags: []string{"toy"}, Pool: "toys"},
		{VMID: 951, Kind: apidoc.LXC, Node: "pve3", Name: "toy2", Tags: []string{"toy"}, Pool: "toys"},
	}}
}

func rules(t testing.TB, text string) Rules {
	t.Helper()
	r, err := ParseRules(text)
	require.NoError(t, err)
	return r
}

// open makes a gate in mode full, with every shell open unless o says more.
func open(t testing.TB, o Options) *Gate {
	t.Helper()
	if o.Mode == "" {
		o.Mode = Full
	}
	if o.Next == nil {
		o.Next = &spy{}
	}
	if o.Inventory == nil {
		o.Inventory = pasture()
	}
	o.Unlogged = o.Audit == nil
	g, err := Open(o)
	require.NoError(t, err)
	return g
}

const taskOf200 = "UPID:pve1:00001234:00005678:6745A3C1:qmstart:200:root@pam:"

// pathValue gives a value for a parameter of a path; none names guest 100.
func pathValue(name string) string {
	switch name {
	case "node":
		return "pve1"
	case "vmid":
		return "200"
	case "upid":
		return taskOf200
	case "volume":
		return "local:iso/debian.iso"
	case "storage":
		return "local"
	case "sid":
		return "vm:200"
	case "poolid":
		return "lab"
	}
	return "x1"
}

// fillPath gives a path for a template; set overrides values.
func fillPath(template string, set map[string]string) string {
	segments := strings.Split(strings.Trim(template, "/"), "/")
	for i, s := range segments {
		if name, ok := strings.CutPrefix(s, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			value, given := set[name]
			if !given {
				value = pathValue(name)
			}
			if name == "id" && strings.Contains(template, "replication") && !given {
				value = "200-0"
			}
			segments[i] = url.PathEscape(value)
		}
	}
	return "/" + strings.Join(segments, "/")
}

func inPath(template, name string) bool { return strings.Contains(template, "{"+name+"}") }

// request makes what the client would send.
func request(t testing.TB, ctx context.Context, verb apidoc.Verb, path string, params url.Values) *http.Request {
	t.Helper()
	target := "https://proxmox/api2/json" + path
	var body io.Reader
	if verb == apidoc.POST || verb == apidoc.PUT {
		body = strings.NewReader(params.Encode())
	} else if len(params) > 0 {
		target += "?" + params.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, string(verb), target, body)
	require.NoError(t, err)
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return req
}

// writes are all methods that are not a harmless GET.
func writes(t testing.TB) []generated.Effect {
	t.Helper()
	var out []generated.Effect
	notGET := 0
	for _, e := range generated.Effects() {
		if e.Verb != apidoc.GET {
			notGET++
		}
		if e.Verb != apidoc.GET || e.Policy.Class != apidoc.Read {
			out = append(out, e)
		}
	}
	require.GreaterOrEqual(t, notGET, 335)
	require.Greater(t, len(out), notGET)
	return out
}

func kindOf(t testing.TB, err error) Kind {
	t.Helper()
	var r *Refusal
	if err == nil {
		return ""
	}
	require.True(t, errors.As(err, &r), "no refusal: %v", err)
	return r.Kind
}

var yes = Consent{Confirm: true, DataLoss: true}
