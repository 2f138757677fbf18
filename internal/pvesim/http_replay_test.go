package pvesim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"pvemcp/apidoc"
)

// recordedSecret is that of all tokens in the recorded exchanges.
const recordedSecret = "11111111-2222-3333-4444-555555555555"

// recordedWorld is the cluster against which exchanges with the real programs
// were recorded: two nodes, one of them off, six guests of which none runs.
func recordedWorld(t testing.TB) *World {
	t.Helper()
	w := NewWorld(time.Unix(1796069990, 0), 1)
	w.Cluster, w.Local = "lab", "pve1"
	w.Nodes = []*Node{
		{Name: "pve1", ID: 1, IP: "127.0.0.1", Online: true, Silent: true, CPUs: 2, Memory: 25276026880},
		{Name: "pve2", ID: 2, IP: "127.0.0.2"},
	}
	a := w.access
	a.Users["u@pve"] = &User{Enabled: true, Password: "secret12"}
	a.Users["dis@pve"] = &User{}
	a.Tokens = map[string]*Token{
		"root@pam!full": {Secret: recordedSecret},
		"root@pam!sep":  {Secret: recordedSecret, Privsep: true},
		"root@pam!exp":  {Secret: recordedSecret, Expire: 1000000000},
		"u@pve!tt":      {Secret: recordedSecret},
		"u@pve!ss":      {Secret: recordedSecret, Privsep: true},
		"dis@pve!tt":    {Secret: recordedSecret},
	}
	a.Grant("/vms/100", "u@pve", "PVEAuditor")
	a.Grant("/vms/102", "u@pve", "PVEVMUser")

	local := NewStorage("local", "dir", "iso", "vztmpl", "backup", "snippets", "images", "rootdir")
	local.Options = NewConfig("path", "/var/lib/vz")
	place := local.Place("pve1")
	place.Total, place.Used = 270553174016, 18057662464
	place.Add(&Volume{ID: "local:iso/x.iso", Content: "iso", Format: "iso", Size: 2, Created: 1796069990})
	off := NewStorage("off", "dir", "images")
	off.Disabled = true
	w.Storages = []*Storage{local, off}

	guest := func(id apidoc.VMID, kind apidoc.GuestKind, node apidoc.Node, pairs ...string) {
		w.AddGuest(&Guest{ID: id, Kind: kind, Node: node, State: Stopped, Config: NewConfig(pairs...)})
		w.Faults.NoMetrics[id] = true
	}
	guest(100, apidoc.QEMU, "pve1", "cores", "2", "memory", "512", "name", "vm100",
		"net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0", "scsi0", "local:100/vm-100-disk-0.raw,size=1G")
	guest(101, apidoc.QEMU, "pve1", "cores", "2", "lock", "snapshot", "memory", "512", "name", "vm101")
	guest(102, apidoc.QEMU, "pve1", "cores", "1", "memory", "512", "name", "vm102", "protection", "1", "template", "1")
	guest(110, apidoc.QEMU, "pve2", "memory", "512", "name", "vm110")
	guest(200, apidoc.LXC, "pve1", "arch", "amd64", "hostname", "ct200", "memory", "512",
		"rootfs", "local:200/vm-200-disk-0.raw,size=1G", "ostype", "debian")
	guest(201, apidoc.LXC, "pve1", "arch", "amd64", "hostname", "ct201", "lock", "backup", "memory", "512",
		"rootfs", "local:201/vm-201-disk-0.raw,size=1G", "ostype", "debian")
	return w
}

func start(t testing.TB, opts Options) *Server {
	t.Helper()
	opts.NoAuthDelay = true
	s, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// row is one recorded exchange: what was asked, and the facts of the answer.
// {secret}, {ticket}, {cookie} and {csrf} stand in headers for what differs.
type row struct {
	Name    string            `json:"name"`
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    string            `json:"body,omitempty"`
	Status  int               `json:"status"`
	Reason  string            `json:"reason"`
	Shape   string            `json:"shape"` // keys of the body
	Both    bool              `json:"both,omitempty"`
}

// rawAnswer is what came back, read without net/http, which hides reasons.
type rawAnswer struct {
	status  int
	reason  string
	headers []string
	body    string
}

func (a rawAnswer) header(name string) []string {
	var out []string
	for _, h := range a.headers {
		if n, v, ok := strings.Cut(h, ": "); ok && strings.EqualFold(n, name) {
			out = append(out, v)
		}
	}
	return out
}

func readAnswer(r io.Reader) (rawAnswer, error) {
	br, ok := r.(*bufio.Reader)
	if !ok {
		br = bufio.NewReader(r)
	}
	var a rawAnswer
	line, err := br.ReadString('\n')
	if err != nil {
		return a, err
	}
	proto, rest, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	if !strings.HasPrefix(proto, "HTTP/1.") {
		return a, fmt.Errorf("status line %q", line)
	}
	code, reason, _ := strings.Cut(rest, " ")
	if _, err := fmt.Sscan(code, &a.status); err != nil {
		return a, err
	}
	a.reason = reason
	length := -1
	for {
		line, err := br.ReadString('\n')
		if err != nil {
			return a, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		a.headers = append(a.headers, line)
		if n, v, _ := strings.Cut(line, ":"); strings.EqualFold(n, "Content-Length") {
			if _, err := fmt.Sscan(v, &length); err != nil {
				return a, err
			}
		}
	}
	if length < 0 {
		if a.status >= 400 {
			b, err := io.ReadAll(br)
			a.body = string(b)
			return a, err
		}
		return a, nil
	}
	b := make([]byte, length)
	_, err = io.ReadFull(br, b)
	a.body = string(b)
	return a, err
}

// dial opens a connection, with TLS where the server speaks it.
func dial(t testing.TB, s *Server) net.Conn {
	t.Helper()
	c, err := net.DialTimeout("tcp", s.addr.String(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if s.cert != nil {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // our own certificate
	}
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func exchangeRaw(t testing.TB, s *Server, request string) (rawAnswer, error) {
	t.Helper()
	c := dial(t, s)
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return readAnswer(c)
}

func buildRequest(method, path string, headers map[string]string, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:8006\r\n", method, path)
	for _, n := range sortedKeys(headers) {
		fmt.Fprintf(&b, "%s: %s\r\n", n, headers[n])
	}
	b.WriteString("\r\n" + body)
	return b.String()
}

// recordedRows reads the exchanges with the real programs, nil where that file
// is not there.
func recordedRows(t *testing.T) []row {
	t.Helper()
	f, err := os.Open("../../../shared/vectors/http.jsonl.gz")
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	var ticket, csrf string
	dec := json.NewDecoder(z)
	for dec.More() {
		var r struct {
			Name    string
			Replay  *bool
			Request struct {
				Method, Path, Body string
				Headers            map[string]string
			}
			Status       *int
			Reason, Body string
			Headers      []string
		}
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Replay != nil && !*r.Replay || r.Status == nil {
			continue
		}
		for k, v := range r.Request.Headers {
			v = strings.ReplaceAll(v, recordedSecret, "{secret}")
			if ticket != "" {
				v = strings.NewReplacer(ticket, "{ticket}", escapeTicket(ticket), "{cookie}", csrf, "{csrf}").Replace(v)
			}
			r.Request.Headers[k] = v
		}
		if r.Name == "login ok" {
			ticket, csrf = loginOf(t, r.Body)
		}
		connections := 0
		for _, h := range r.Headers {
			if strings.HasPrefix(h, "Connection: ") {
				connections++
			}
		}
		rows = append(rows, row{
			Name: r.Name, Method: r.Request.Method, Path: r.Request.Path, Headers: r.Request.Headers, Body: r.Request.Body,
			Status: *r.Status, Reason: r.Reason, Shape: shape(r.Body), Both: connections == 2,
		})
	}
	return rows
}

const committedRows = "testdata/exchanges.jsonl"

// chosen tells whether an exchange is committed: of those that say the same,
// the first few.
func chosen(r row, seen map[string]int) bool {
	key := fmt.Sprint(r.Method, r.Status, r.Reason, r.Shape)
	seen[key]++
	return seen[key] <= 2 || r.Status == 401
}

func committed(t *testing.T) []row {
	t.Helper()
	if *update {
		var b bytes.Buffer
		seen := map[string]int{}
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, r := range recordedRows(t) {
			if chosen(r, seen) {
				if err := enc.Encode(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(committedRows, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(committedRows)
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var r row
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

var update = flag.Bool("update", false, "write the goldens of this package anew")

// shape gives the keys of a JSON body: of the whole, of errors, and of data.
func shape(body string) string {
	var v map[string]any
	switch {
	case body == "":
		return "nothing"
	case strings.HasPrefix(body, "<!DOCTYPE html>"):
		return "html"
	case json.Unmarshal([]byte(body), &v) != nil:
		return "text " + body
	}
	keys := func(x any) string {
		switch m := x.(type) {
		case map[string]any:
			k := sortedKeys(m)
			return "{" + strings.Join(k, " ") + "}"
		case []any:
			var all []string
			for _, e := range m {
				if o, ok := e.(map[string]any); ok {
					all = append(all, strings.Join(sortedKeys(o), " "))
				} else {
					all = append(all, fmt.Sprintf("%T", e))
				}
			}
			sort.Strings(all)
			all = slices.Compact(all)
			return "[" + strings.Join(all, "; ") + "]"
		}
		return fmt.Sprintf("%T", x)
	}
	return keys(v) + " data" + keys(v["data"]) + " errors" + keys(v["errors"])
}

// TestExchanges asks what the real programs were asked, in the same order, and
// wants the same status, reason and keys of the body, for the exchanges that
// are committed and for all of them where they are.
func TestExchanges(t *testing.T) {
	t.Run("committed", func(t *testing.T) { replay(t, committed(t)) })
	all := recordedRows(t)
	if all == nil {
		t.Log("the whole recording is not here")
		return
	}
	t.Run("all", func(t *testing.T) { replay(t, all) })
}

func replay(t *testing.T, rows []row) {
	if len(rows) < 60 {
		t.Fatalf("only %d exchanges", len(rows))
	}
	s := start(t, Options{World: recordedWorld(t)})
	ticket, csrf := "", ""
	for _, r := range rows {
		headers := map[string]string{}
		for k, v := range r.Headers {
			headers[k] = strings.NewReplacer("{secret}", recordedSecret, "{ticket}", ticket, "{cookie}", escapeTicket(ticket), "{csrf}", csrf).Replace(v)
		}
		got, err := exchangeRaw(t, s, buildRequest(r.Method, r.Path, headers, r.Body))
		if err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		if r.Name == "login ok" {
			ticket, csrf = loginOf(t, got.body)
		}
		same := got.status == r.Status && got.reason == r.Reason && shape(got.body) == r.Shape
		if !same {
			t.Errorf("%s: %s %s\n got %d %s %s\nwant %d %s %s", r.Name, r.Method, r.Path,
				got.status, got.reason, shape(got.body), r.Status, r.Reason, r.Shape)
		}
		if n := len(got.header("Connection")); r.Both != (n == 2) {
			t.Errorf("%s: %d Connection headers", r.Name, n)
		}
	}
	t.Logf("%d exchanges", len(rows))
}

func escapeTicket(s string) string {
	return strings.NewReplacer(":", "%3A", "@", "%40", "+", "%2B", "/", "%2F", "=", "%3D").Replace(s)
}

func loginOf(t *testing.T, body string) (ticket, csrf string) {
	t.Helper()
	var v struct {
		Data struct{ Ticket, CSRFPreventionToken string }
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil || v.Data.Ticket == "" {
		t.Fatalf("login: %v in %s", err, body)
	}
	return v.Data.Ticket, v.Data.CSRFPreventionToken
}
