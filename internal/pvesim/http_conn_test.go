package pvesim

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"pvemcp/apidoc"
)

const fullToken = "Authorization: PVEAPIToken=root@pam!full=" + recordedSecret + "\r\n"

// TestProtocolEdges holds what the recorded exchanges show of requests whose
// raw form can't be replayed from a row.
func TestProtocolEdges(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	form := "Content-Type: application/x-www-form-urlencoded\r\n"
	post := func(headers, body string) string {
		return "POST /api2/json/nodes/pve1/qemu HTTP/1.1\r\n" + fullToken + headers + "\r\n" + body
	}
	get := func(path, headers string) string {
		return "GET " + path + " HTTP/1.1\r\n" + fullToken + headers + "\r\n"
	}
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%d: 1\r\n", i)
		}
		return b.String()
	}
	const version = "{data} data{release repoid version} errors<nil>"
	for _, c := range []struct {
		name, request string
		status        int
		reason, shape string
	}{
		{"most headers", get("/api2/json/version", many(62)), 200, "OK", version},
		{"HTTP/1.0", "GET /api2/json/version HTTP/1.0\r\n" + fullToken + "\r\n", 200, "OK", version},
		{"HTTP/2.0", "GET /api2/json/version HTTP/2.0\r\n\r\n", 506, "http protocol version 2.0 not supported", "text http protocol version 2.0 not supported"},
		{"garbage", "hello\r\n\r\n", 400, "bad request", "text bad request"},
		{"absolute URI", get("https://127.0.0.1:8006/api2/json/version", ""), 200, "OK", version},
		{"no Host", get("/api2/json/version", ""), 200, "OK", version},
		{"header line", get("/api2/json/version", "no colon\r\n"), 506, "unable to parse request header", "text unable to parse request header"},
		{"folded header", get("/api2/json/version", "X-A: 1\r\n 2\r\n"), 200, "OK", version},
		{"chunked", post("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501, "chunked transfer encoding not supported", "text chunked transfer encoding not supported"},
		{"no length", post("", ""), 400, "Parameter verification failed.", "{data errors message} data<nil> errors{vmid}"},
		{"512 KiB", post(form+"Content-Length: 524288\r\n", "a="+strings.Repeat("x", 524286)), 400, "Parameter verification failed.", "{data errors message} data<nil> errors{a vmid}"},
		{"one more", post(form+"Content-Length: 524289\r\n", "a="+strings.Repeat("x", 524287)), 501, "for data too large", "text for data too large"},
		{"Expect", post(form+"Expect: 100-continue\r\nContent-Length: 7\r\n", "vmid=99"), 400, "Parameter verification failed.", "{data errors message} data<nil> errors{vmid}"},
		{"bad length", post("Content-Length: -1\r\n", ""), 400, "bad request", "text bad request"},
		{"array body", post("Content-Type: application/json\r\nContent-Length: 3\r\n", "[1]"), 500, "Not a HASH reference at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 978.", ""},
		{"scalar body", post("Content-Type: application/json\r\nContent-Length: 1\r\n", "1"), 500, `Can't use string ("1") as a HASH ref while "strict refs" in use at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 978.`, ""},
		{"deep body", post("Content-Type: application/json\r\nContent-Length: 1000\r\n", strings.Repeat("[", 1000)), 500, "json text or perl structure exceeds maximum nesting level (max_depth set too low?) at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 934.", ""},
		{"websocket", get("/api2/json/nodes/pve1/qemu/100/vncwebsocket?port=5900&vncticket=x", ""), 401, "permission denied - invalid PVEVNC ticket", "{data message} data<nil> errors<nil>"},
	} {
		got, err := exchangeRaw(t, s, c.request)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got.status != c.status || got.reason != c.reason || c.shape != "" && shape(got.body) != c.shape {
			t.Errorf("%s: got %d %s %s; want %d %s %s", c.name, got.status, got.reason, shape(got.body), c.status, c.reason, c.shape)
		}
	}
	for name, request := range map[string]string{
		"64 headers":   get("/api2/json/version", many(63)),
		"8 KiB":        get("/api2/json/version", "X: "+strings.Repeat("x", 8<<10)+"\r\n"),
		"long line":    "GET /" + strings.Repeat("x", 9<<10) + " HTTP/1.1\r\n\r\n",
		"plain upload": "POST /api2/json/nodes/pve1/storage/local/upload HTTP/1.1\r\n" + fullToken + form + "Content-Length: 11\r\n\r\ncontent=iso",
	} {
		if got, err := exchangeRaw(t, s, request); err == nil {
			t.Errorf("%s: answered with %d %s", name, got.status, got.reason)
		}
	}
}

// TestHeaders: which headers an answer has depends on the layer that gives it.
func TestHeaders(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	names := func(a rawAnswer) string {
		var out []string
		for _, h := range a.headers {
			n, v, _ := strings.Cut(h, ": ")
			if n == "Connection" {
				n += "=" + v
			}
			if n != "Date" && n != "Expires" {
				out = append(out, n)
			}
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ request, want string }{
		{"GET /api2/json/version HTTP/1.1\r\n" + fullToken, "Cache-Control Connection=Keep-Alive Pragma Server Content-Length Content-Type"},
		{"GET /api2/json/version HTTP/1.1\r\n", "Cache-Control Connection=close Pragma Server"},
		{"GET /api2/json/nosuch HTTP/1.1\r\n" + fullToken, "Cache-Control Connection=close Pragma Server Content-Length Content-Type"},
		{"GET /nosuch HTTP/1.1\r\n" + fullToken, "Cache-Control Connection=close Pragma Server Content-Length"},
		{"GET /api2/json/nodes/pve1/qemu HTTP/1.1\r\n" + fullToken, "Cache-Control Connection=close Connection=Keep-Alive Pragma Server Content-Length Content-Type"},
		{"GET /api2/json/nodes/pve2/qemu HTTP/1.1\r\n" + fullToken, "Cache-Control Connection=close Pragma Server"},
	} {
		a, err := exchangeRaw(t, s, c.request+"\r\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := names(a); got != c.want {
			t.Errorf("%.50s: %s; want %s", c.request, got, c.want)
		}
		if len(a.header("Date")) != 1 || a.header("Date")[0] != a.header("Expires")[0] {
			t.Errorf("%.50s: Date and Expires differ: %v", c.request, a.headers)
		}
	}
}

func TestGzipAboveOneKilobyte(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t)})
	a, err := exchangeRaw(t, s, "GET /api2/json/access/permissions HTTP/1.1\r\nAccept-Encoding: gzip\r\n"+fullToken+"\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if e := a.header("Content-Encoding"); len(e) != 1 || e[0] != "gzip" {
		t.Fatalf("not zipped: %v", a.headers)
	}
	z, err := gzip.NewReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || !strings.Contains(string(body), `"Sys.PowerMgmt":1`) {
		t.Fatalf("%v %.100s", err, body)
	}
	small, err := exchangeRaw(t, s, "GET /api2/json/version HTTP/1.1\r\nAccept-Encoding: gzip\r\n"+fullToken+"\r\n")
	if err != nil || len(small.header("Content-Encoding")) != 0 {
		t.Fatalf("%v %v", err, small.headers)
	}
}

// TestConnectionLimits: a hundred requests on one connection, then it ends; an
// unfinished request ends with the idle time; an error ends it at once.
func TestConnectionLimits(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t), Idle: 300 * time.Millisecond})
	c := dial(t, s)
	br := bufio.NewReader(c)
	for i := 1; i <= 100; i++ {
		if _, err := io.WriteString(c, "GET /api2/json/version HTTP/1.1\r\n"+fullToken+"\r\n"); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(br)
		if err != nil || a.status != 200 {
			t.Fatalf("request %d: %v %v", i, a, err)
		}
		want := "Keep-Alive"
		if i == 100 {
			want = "close"
		}
		if got := a.header("Connection"); len(got) != 1 || got[0] != want {
			t.Fatalf("request %d: Connection %v, want %s", i, got, want)
		}
	}
	if _, err := br.ReadByte(); err != io.EOF {
		t.Fatalf("after the last: %v", err)
	}

	idle := dial(t, s)
	if _, err := io.WriteString(idle, "GET /api2/json/version HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if b, err := io.ReadAll(idle); err != nil || len(b) > 0 {
		t.Fatalf("%q %v", b, err)
	}
	if d := time.Since(began); d < 200*time.Millisecond || d > 5*time.Second {
		t.Fatalf("closed after %s", d)
	}
}

func TestAuthenticationFailureTakesThreeSeconds(t *testing.T) {
	s, err := Start(Options{World: recordedWorld(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	began := time.Now()
	a, err := exchangeRaw(t, s, "GET /api2/json/version HTTP/1.1\r\n\r\n")
	if err != nil || a.status != 401 || a.reason != "No ticket" {
		t.Fatal(a, err)
	}
	if d := time.Since(began); d < 3*time.Second || d > 6*time.Second {
		t.Fatalf("took %s", d)
	}
}

func TestCloseEndsWaiting(t *testing.T) {
	s, err := Start(Options{World: recordedWorld(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddFault(Fault{Kind: FaultHang}); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, "GET /api2/json/version HTTP/1.1\r\n"+fullToken+"\r\n"); err != nil {
		t.Fatal(err)
	}
	for len(s.Requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	s.Close()
	if d := time.Since(began); d > 5*time.Second {
		t.Fatalf("Close took %s", d)
	}
}

func TestTLS(t *testing.T) {
	s := start(t, Options{World: recordedWorld(t), TLS: true})
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(s.CertPEM()) {
		t.Fatal("no certificate")
	}
	block, _ := pem.Decode(s.CertPEM())
	sum := sha256.Sum256(block.Bytes)
	if want := strings.ToUpper(fmt.Sprintf("%x", sum)); strings.ReplaceAll(s.Fingerprint(), ":", "") != want || len(s.Fingerprint()) != 95 {
		t.Fatalf("fingerprint %s, want %s", s.Fingerprint(), want)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer client.CloseIdleConnections()
	fetch := func() (*http.Response, error) {
		req, err := http.NewRequest("GET", s.URL()+"/api2/json/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken=root@pam!full="+recordedSecret)
		return client.Do(req)
	}
	res, err := fetch()
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		t.Fatal(res.Status)
	}

	id, err := s.AddFault(Fault{Kind: FaultWrongCert})
	if err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	if res, err := fetch(); err == nil {
		_ = res.Body.Close()
		t.Fatal("the wrong certificate was trusted")
	}
	s.RemoveFault(id)
	if res, err = fetch(); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()

	for method, want := range map[string]int{"GET": 301, "POST": 308} {
		c, err := net.Dial("tcp", s.addr.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := fmt.Fprintf(c, "%s /api2/json/version?a=1 HTTP/1.1\r\nHost: %s\r\n\r\n", method, s.addr); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(c)
		_ = c.Close()
		if err != nil || a.status != want || a.header("Location")[0] != s.URL()+"/api2/json/version?a=1" {
			t.Errorf("%s: %v %v", method, a, err)
		}
	}
}

func TestListensOnLoopbackAlone(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		if s, err := Start(Options{Listen: listen, World: NewWorld(time.Now(), 1)}); err == nil {
			s.Close()
			t.Errorf("%s was served", listen)
		}
	}
	s := start(t, Options{Listen: "localhost:0", World: NewWorld(time.Now(), 1)})
	if !s.addr.Addr().IsLoopback() {
		t.Fatal(s.addr)
	}
}

// TestSchemaFile: every node serves its schema as JavaScript, and what is read
// back from it is the schema.
func TestSchemaFile(t *testing.T) {
	for _, version := range apidoc.Snapshots() {
		schema, err := apidoc.Snapshot(version)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, Options{World: recordedWorld(t), Schema: schema})
		res, err := http.Get(s.URL() + apidocPath)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != 200 {
			t.Fatal(res.Status, err)
		}
		back, err := apidoc.Parse(body, version)
		if err != nil {
			t.Fatal(err)
		}
		if len(back.Endpoints()) != len(schema.Endpoints()) {
			t.Errorf("%s: %d methods, want %d", version, len(back.Endpoints()), len(schema.Endpoints()))
		}
	}
}

// TestUpload: the storage's permission is asked before the body is taken, with
// the delay and the empty body of the authentication phase; a file is read to
// its end, whatever is in it, and its fields are parameters.
func TestUpload(t *testing.T) {
	const boundary = "Content-Type: multipart/form-data; boundary=b\r\n"
	body := "--b\r\nContent-Disposition: form-data; name=\"content\"\r\n\r\niso\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"filename\"; filename=\"x.iso\"\r\n\r\n" + strings.Repeat("\x00\r\n-", 1<<18) + "\r\n--b--\r\n"
	request := func(token, body string) string {
		return fmt.Sprintf("POST /api2/json/nodes/pve1/storage/local/upload HTTP/1.1\r\nAuthorization: PVEAPIToken=%s=%s\r\n%sContent-Length: %d\r\n\r\n%s",
			token, recordedSecret, boundary, len(body), body)
	}
	s := start(t, Options{World: recordedWorld(t)})
	a, err := exchangeRaw(t, s, request("u@pve!tt", "--b--\r\n"))
	if err != nil || a.status != 403 || a.reason != "Permission check failed (/storage/local, Datastore.AllocateTemplate)" || a.body != "" {
		t.Fatal(a, err)
	}
	check := start(t, Options{World: recordedWorld(t), CheckOnly: true})
	c := dial(t, check)
	br := bufio.NewReader(c)
	for range 2 { // the second finds the connection where the first left it
		if _, err := io.WriteString(c, request("x", body)); err != nil {
			t.Fatal(err)
		}
		a, err := readAnswer(br)
		if err != nil || a.status != 200 {
			t.Fatal(a, err)
		}
	}
	r := check.Requests()
	got := fmt.Sprint(r[0].Params)
	if len(r) != 2 || got != "map[content:[iso] filename:[x.iso] tmpfilename:[/var/tmp/pveupload-100000]]" {
		t.Fatal(got)
	}
}
