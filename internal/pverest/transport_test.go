package pverest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const ok = `{"data":{"version":"9.2.11"}}`

func TestNothingHappensAtStart(t *testing.T) {
	f := newFake(t, nil, fixed(200, "OK", ok))
	tr := newTestTransport(t, plainConfig(t, f))
	NewClient(tr)
	time.Sleep(20 * time.Millisecond)
	require.Zero(t, f.conns.Load())
	require.Zero(t, tr.Requests())
}

func TestRequestsOnTheWire(t *testing.T) {
	f := newFake(t, nil, fixed(200, "OK", ok))
	cl, _ := newTestClient(t, f)
	params := Values{"description": {"a=b;c &d+e ä\n"}, "vms[]": {"1", "0"}, "x": {""}}
	const encoded = "description=a%3Db%3Bc%20%26d%2Be%20%C3%A4%0A&vms%5B%5D=1&vms%5B%5D=0&x="
	vol, err := EscapeTail("local:iso/ä%.iso")
	require.NoError(t, err)
	for _, verb := range []string{"GET", "DELETE", "POST", "PUT"} {
		_, err := cl.Do(ctx5(t), Call{Verb: verb, Path: "/nodes/pve1/storage/local/content/" + vol, Params: params})
		require.NoError(t, err)
		a := f.last(t)
		require.Equal(t, verb, a.Method)
		path, query, _ := strings.Cut(a.RequestURI, "?")
		require.Equal(t, "/api2/json/nodes/pve1/storage/local/content/local:iso%2F%C3%A4%25.iso", path)
		require.Equal(t, "PVEAPIToken=root@pam!mcp="+testSecret, a.Header.Get("Authorization"))
		require.Empty(t, a.TransferEncoding)
		require.Equal(t, "pve-mcp", a.Header.Get("User-Agent"))
		if verb == "GET" || verb == "DELETE" {
			require.Equal(t, encoded, query)
			require.Empty(t, a.body)
			require.Zero(t, a.ContentLength)
			require.Empty(t, a.Header.Get("Content-Type"))
		} else {
			require.Empty(t, query)
			require.Equal(t, encoded, a.body)
			require.EqualValues(t, len(encoded), a.ContentLength)
			require.Equal(t, "application/x-www-form-urlencoded", a.Header.Get("Content-Type"))
		}
	}
	_, err = cl.Do(ctx5(t), Call{Verb: "POST", Path: "/nodes/pve1/qemu/100/status/start"})
	require.NoError(t, err)
	require.Equal(t, "0", f.last(t).Header.Get("Content-Length"), "an empty form has a length too")
}

func TestForeignCredentialsAreNotSent(t *testing.T) {
	f := newFake(t, nil, fixed(200, "OK", ok))
	tr := newTestTransport(t, plainConfig(t, f))
	req, _ := http.NewRequest("GET", "https://elsewhere.example/api2/json/version", nil)
	req.Header.Set("Cookie", "PVEAuthCookie=bad")
	req.Header.Set("Authorization", "Bearer x")
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	a := f.last(t)
	require.Empty(t, a.Header.Get("Cookie"))
	require.Equal(t, f.addr, a.Host, "the URL's host decides nothing")
	require.Equal(t, []string{"PVEAPIToken=root@pam!mcp=" + testSecret}, a.Header["Authorization"])
	require.Equal(t, "Bearer x", req.Header.Get("Authorization"), "the caller's request stays as it is")
}

func TestBadCallsAreNotSent(t *testing.T) {
	f := newFake(t, nil, fixed(200, "OK", ok))
	cl, tr := newTestClient(t, f)
	big := strings.Repeat("x", MaxRequestBody)
	for _, c := range []struct {
		call Call
		kind Kind
		say  string
	}{
		{Call{Verb: "PATCH", Path: "/x"}, KindBadCall, "PATCH"},
		{get("version"), KindBadCall, "begin"},
		{get("/a?b=c"), KindBadCall, "parameters are given apart"},
		{get("/a b"), KindBadCall, "white space"},
		{get("/nodes//x"), KindBadCall, "empty"},
		{get("/nodes/../access"), KindBadCall, `".."`},
		{get("/nodes/%2e%2e/access"), KindBadCall, `".."`},
		{get("/nodes/a%2F..%2Fb"), KindBadCall, `".."`},
		{get("/nodes/%zz"), KindBadCall, "percent"},
		{get("/nodes/a%0ab"), KindBadCall, "white space"},
		{Call{Verb: "POST", Path: "/x", Params: Values{"a": {"\xff"}}}, KindBadCall, "UTF-8"},
		{Call{Verb: "POST", Path: "/x", Params: Values{"": {"v"}}}, KindBadCall, "no name"},
		{Call{Verb: "POST", Path: "/x", Params: Values{"a": {big}}}, KindTooLarge, "524288"},
		{Call{Verb: "GET", Path: "/x", Params: Values{"a": {big}}}, KindTooLarge, "61440"},
	} {
		_, err := cl.Do(ctx5(t), c.call)
		e := asError(t, err)
		require.Equal(t, c.kind, e.Kind, "%v", e)
		require.Contains(t, e.Error(), c.say)
		require.False(t, e.Sent)
	}
	require.Zero(t, tr.Requests())
	// 512 KiB exactly is fine.
	_, err := cl.Do(ctx5(t), Call{Verb: "POST", Path: "/x", Params: Values{"a": {big[:MaxRequestBody-2]}}})
	require.NoError(t, err)
	require.Len(t, f.last(t).body, MaxRequestBody)
}

// A server that takes the request and drops the connection gets a write
// exactly once, on a fresh connection and on one that was kept.
func TestWritesAreSentOnce(t *testing.T) {
	for _, verb := range []string{"POST", "PUT", "DELETE"} {
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprint(verb, kept), func(t *testing.T) {
				var writes atomic.Int64
				f := newFake(t, nil, func(c net.Conn, a arrival) bool {
					if a.Method == "GET" {
						return answer(c, 200, "OK", ok)
					}
					writes.Add(1)
					if tc, ok := c.(*net.TCPConn); ok && kept {
						_ = tc.SetLinger(0) // a reset, not an orderly end
					}
					return false
				})
				spare := newFake(t, nil, fixed(200, "OK", ok))
				cl, _ := newTestClient(t, f, spare)
				if kept {
					require.NoError(t, cl.Get(ctx5(t), "/version", nil, nil))
				}
				_, err := cl.Do(ctx5(t), Call{Verb: verb, Path: "/nodes/pve1/qemu/100", Params: Values{"a": {"b"}}})
				e := asError(t, err)
				require.Equal(t, KindUnknownOutcome, e.Kind)
				require.Equal(t, DetailReset, asError(t, e.Err).Detail)
				require.True(t, e.Sent)
				require.Contains(t, e.Error(), "may or may not have been done")
				require.EqualValues(t, 1, writes.Load())
				require.Zero(t, spare.arrivals.Load())
			})
		}
	}
}

func TestWriteWithACutAnswerIsUnknown(t *testing.T) {
	f := newFake(t, nil, func(c net.Conn, _ arrival) bool {
		_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"data\":\"UPID:")
		return false
	})
	cl, _ := newTestClient(t, f)
	_, err := cl.Do(ctx5(t), post("/nodes/pve1/qemu"))
	e := asError(t, err)
	require.Equal(t, KindUnknownOutcome, e.Kind)
	require.Equal(t, KindTruncated, KindOf(e.Err))
	_, err = cl.Do(ctx5(t), get("/nodes"))
	require.Equal(t, KindTruncated, asError(t, err).Kind)
}

func TestWriteThatTimesOutIsUnknown(t *testing.T) {
	f := newFake(t, nil, func(net.Conn, arrival) bool { time.Sleep(time.Second); return false })
	c := plainConfig(t, f)
	c.Timeout = 100 * time.Millisecond
	cl := NewClient(newTestTransport(t, c))
	_, err := cl.Do(ctx5(t), post("/x"))
	e := asError(t, err)
	require.Equal(t, KindUnknownOutcome, e.Kind)
	require.Equal(t, KindTimeout, KindOf(e.Err))
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(30*time.Millisecond, cancel)
	_, err = cl.Do(ctx, post("/x"))
	require.Equal(t, KindUnknownOutcome, asError(t, err).Kind)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 2, f.arrivals.Load())
}

func TestReadsAreRetried(t *testing.T) {
	for name, bad := range map[string]func(c net.Conn) bool{
		"dropped": func(net.Conn) bool { return false },
		"595":     func(c net.Conn) bool { return answer(c, 595, "Connection refused", "") },
		"596":     func(c net.Conn) bool { return answer(c, 596, "Broken pipe", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			f := newFake(t, nil, func(c net.Conn, _ arrival) bool {
				if n.Add(1) < maxTries {
					return bad(c)
				}
				return answer(c, 200, "OK", ok)
			})
			cl, tr := newTestClient(t, f)
			r, err := cl.Do(ctx5(t), get("/nodes/pve2/qemu"))
			require.NoError(t, err)
			require.Equal(t, maxTries, r.Tries)
			require.EqualValues(t, maxTries, tr.Requests())
			require.EqualValues(t, maxTries-1, tr.Retries())
		})
	}
	for name, c := range map[string]struct {
		status int
		reason string
		tries  int64
		kind   Kind
	}{
		"always 595":        {595, "No route to host", maxTries, KindNodeOffline},
		"TLS between nodes": {596, "error:0A000086:SSL routines::certificate verify failed", 1, KindProxy},
		"500":               {500, "got timeout", 1, KindServer},
		"401":               {401, "Authentication failed!", 1, KindUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, nil, fixed(c.status, c.reason, ""))
			cl, _ := newTestClient(t, f)
			_, err := cl.Do(ctx5(t), get("/nodes/pve2/qemu"))
			e := asError(t, err)
			require.Equal(t, c.kind, e.Kind)
			require.Equal(t, c.reason, e.Reason)
			require.Equal(t, c.tries, f.arrivals.Load())
		})
	}
	t.Run("within the caller's deadline", func(t *testing.T) {
		f := newFake(t, nil, fixed(595, "No route to host", ""))
		cl, _ := newTestClient(t, f)
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Millisecond)
		defer cancel()
		_, err := cl.Do(ctx, get("/nodes/pve2/qemu"))
		require.Equal(t, KindNodeOffline, asError(t, err).Kind, "no time for another try: what is known is said")
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 1, f.arrivals.Load())
	})
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]Detail{
		"http://" + deadAddr(t):  DetailRefused,
		"https://" + deadAddr(t): DetailRefused,
	} {
		c := Config{Hosts: []string{host}, Token: testToken(t), Timeout: 5 * time.Second}
		cl := NewClient(newTestTransport(t, c))
		for _, call := range []Call{get("/version"), post("/x")} {
			_, err := cl.Do(ctx5(t), call)
			e := asError(t, err)
			require.Equal(t, KindUnreachable, e.Kind, "%v", e)
			require.Equal(t, want, e.Detail, "%v", e)
			require.False(t, e.Sent)
			require.Contains(t, e.Error(), "host ")
			if want == DetailRefused && call.Verb == "GET" {
				require.Equal(t, maxTries, e.Tries)
			}
			if call.Verb == "POST" {
				require.Equal(t, 1, e.Tries)
			}
		}
	}
}

// What can't be provoked on loopback is told apart by the system's error.
func TestConnectErrorsAreToldApart(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		want Detail
		say  string
	}{
		{dial(&net.DNSError{Err: "no such host", Name: "pve9", Server: "192.0.2.53:53", IsNotFound: true}), DetailDNS, "no address for pve9"},
		{dial(&net.DNSError{Err: "server misbehaving", Name: "pve9", IsTemporary: true}), DetailDNS, "server misbehaving"},
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), DetailRefused, "refused"},
		{dial(errors.New("connectex: No connection could be made because the target machine actively refused it.")), DetailRefused, "refused"},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), DetailNoRoute, "no route"},
		{dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), DetailNoRoute, "no route"},
		{dial(errors.New("connectex: A socket operation was attempted to an unreachable network.")), DetailNoRoute, "no route"},
		{dial(os.ErrDeadlineExceeded), DetailDialTimeout, "no answer"},
		{context.DeadlineExceeded, DetailDialTimeout, "no answer"},
		{dial(syscall.ECONNRESET), DetailReset, "closed by the server"},
		{io.EOF, DetailReset, "closed by the server"},
		{errors.New("wsarecv: An existing connection was forcibly closed by the remote host."), DetailReset, "closed"},
		{dial(errors.New("something else")), "", "something else"},
	} {
		e := connectError(c.err, "pve9:8006")
		require.Equal(t, c.want, e.Detail, "%v", c.err)
		require.Contains(t, e.Error(), c.say)
		require.Contains(t, e.Error(), "host pve9:8006")
		require.NotContains(t, e.Error(), "192.0.2.53")
		require.ErrorIs(t, e, c.err)
	}
}

func TestSlowServersMeetTheTimeout(t *testing.T) {
	drip := func(head string) func(net.Conn, arrival) bool {
		return func(c net.Conn, _ arrival) bool {
			_, _ = fmt.Fprint(c, head)
			for range 40 {
				if _, err := fmt.Fprint(c, " "); err != nil {
					return false
				}
				time.Sleep(25 * time.Millisecond)
			}
			return false
		}
	}
	for name, h := range map[string]func(net.Conn, arrival) bool{
		"slow head":    drip("HTTP/1.1 200 OK\r\nX: "),
		"slow body":    drip("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"data\":"),
		"no answer":    func(net.Conn, arrival) bool { time.Sleep(time.Second); return false },
		"slow refusal": drip("HTTP/1.1 200 OK\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, nil, h)
			c := plainConfig(t, f)
			c.Timeout = 200 * time.Millisecond
			cl := NewClient(newTestTransport(t, c))
			began := time.Now()
			_, err := cl.Do(ctx5(t), get("/version"))
			e := asError(t, err)
			require.Equal(t, KindTimeout, e.Kind, "%v", e)
			require.Contains(t, e.Error(), "200ms")
			require.Less(t, time.Since(began), 700*time.Millisecond)
		})
	}
	t.Run("TLS that never answers", func(t *testing.T) {
		t.Parallel()
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { _ = ln.Close() }()
		cl := NewClient(newTestTransport(t, Config{Hosts: []string{ln.Addr().String()}, Token: testToken(t), Timeout: 200 * time.Millisecond}))
		_, err = cl.Do(ctx5(t), post("/x"))
		e := asError(t, err)
		require.Equal(t, KindTimeout, e.Kind, "not unknown: nothing was sent")
		require.False(t, e.Sent)
	})
}

func TestForeignServers(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		kind   Kind
		detail Detail
		say    string
	}{
		"ssh":      {"SSH-2.0-OpenSSH_9.2\r\n", KindNotProxmox, DetailNotHTTP, "not an HTTP answer"},
		"redirect": {"HTTP/1.1 301 Moved Permanently\r\nLocation: https://pve:8006/x?token=abc\r\nContent-Length: 0\r\n\r\n", KindNotProxmox, DetailRedirect, "https://pve:8006/x"},
		"header too large": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 100<<10) + "\r\n\r\n",
			KindNotProxmox, DetailNotHTTP, "not an HTTP answer"},
		"bad gzip": {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is not gzipped!", KindMalformed, "", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, nil, func(conn net.Conn, _ arrival) bool {
				_, _ = conn.Write([]byte(c.raw))
				return false
			})
			cl, _ := newTestClient(t, f)
			_, err := cl.Do(ctx5(t), get("/version"))
			e := asError(t, err)
			require.Equal(t, c.kind, e.Kind, "%v", e)
			require.Equal(t, c.detail, e.Detail)
			require.Contains(t, e.Error(), c.say)
			require.NotContains(t, e.Error(), "token=abc")
			require.EqualValues(t, 1, f.arrivals.Load())
		})
	}
}

func TestAnswerLimit(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	_, _ = zw.Write([]byte(`{"data":"` + strings.Repeat("x", 4<<20) + `"}`))
	require.NoError(t, zw.Close())
	require.Less(t, packed.Len(), 100<<10)
	f := newFake(t, nil, func(c net.Conn, a arrival) bool {
		switch {
		case strings.HasSuffix(a.URL.Path, "/bomb"):
			return answerRaw(c, 200, "OK", "Content-Encoding: gzip\r\n", packed.String())
		case strings.HasSuffix(a.URL.Path, "/fits"):
			return answer(c, 200, "OK", `{"data":"`+strings.Repeat("y", 1000-11)+`"}`)
		case strings.HasSuffix(a.URL.Path, "/refused"):
			return answer(c, 403, "Permission check failed (/, Sys.Audit)", strings.Repeat("z", 5000))
		}
		return answer(c, 200, "OK", `{"data":"`+strings.Repeat("y", 1000-10)+`"}`)
	})
	c := plainConfig(t, f)
	c.MaxBody = 1000
	cl := NewClient(newTestTransport(t, c))
	for _, p := range []string{"/bomb", "/over"} {
		_, err := cl.Do(ctx5(t), get(p))
		e := asError(t, err)
		require.Equal(t, KindTooLarge, e.Kind)
		require.Contains(t, e.Error(), "1000 bytes")
	}
	_, err := cl.Do(ctx5(t), get("/fits"))
	require.NoError(t, err)
	_, err = cl.Do(ctx5(t), get("/refused"))
	e := asError(t, err)
	require.Equal(t, KindForbidden, e.Kind, "the status line says enough")
	require.Equal(t, "/", e.PermPath)
}

func TestParallelBound(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	f := newFake(t, nil, func(c net.Conn, _ arrival) bool {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(10 * time.Millisecond)
		now.Add(-1)
		return answer(c, 200, "OK", ok)
	})
	c := plainConfig(t, f)
	c.Parallel = 4
	tr := newTestTransport(t, c)
	cl := NewClient(tr)
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			_, err := cl.Do(ctx5(t), get("/version"))
			require.NoError(t, err)
		})
	}
	wg.Wait()
	require.EqualValues(t, 4, most.Load())
	require.LessOrEqual(t, f.conns.Load(), int64(4), "connections are kept")
	require.EqualValues(t, 60, tr.Requests())

	// A caller's time runs out while all slots are taken: nothing was sent.
	c.Parallel = 1
	tr = newTestTransport(t, c)
	req, _ := http.NewRequest("GET", "https://proxmox/api2/json/version", nil)
	resp, err := tr.RoundTrip(req)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = NewClient(tr).Do(ctx, post("/x"))
	e := asError(t, err)
	require.Equal(t, KindTimeout, e.Kind)
	require.Equal(t, DetailQueued, e.Detail)
	require.NoError(t, resp.Body.Close())
	_, err = NewClient(tr).Do(ctx5(t), get("/x"))
	require.NoError(t, err, "closing a body gives the slot back")
}

// Proxmox ends a connection after 100 requests with Connection: close, and
// after 5 s of idling; neither may show.
func TestKeepAliveLimits(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	perConn := map[net.Conn]int{}
	f := newFake(t, nil, func(c net.Conn, _ arrival) bool {
		mu.Lock()
		perConn[c]++
		n := perConn[c]
		mu.Unlock()
		if n == 100 {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(ok), ok)
			return false
		}
		return answer(c, 200, "OK", ok)
	})
	cl, tr := newTestClient(t, f)
	for range 250 {
		_, err := cl.Do(ctx5(t), post("/x"))
		require.NoError(t, err)
	}
	require.EqualValues(t, 3, f.conns.Load())
	require.Less(t, tr.base.IdleConnTimeout, 4*time.Second)
}

func TestSecretsDontComeBack(t *testing.T) {
	f := newFake(t, nil, func(c net.Conn, a arrival) bool {
		said := a.Header.Get("Authorization") + " hunter2hunter2 p%C3%A4ss"
		return answer(c, 400, "bad "+said, `{"data":null,"message":"bad `+said+`","errors":{"password":"got 'hunter2hunter2' `+testSecret+`"}}`)
	})
	cl, _ := newTestClient(t, f)
	_, err := cl.Do(ctx5(t), Call{Verb: "POST", Path: "/access/users", Params: Values{"password": {"hunter2hunter2"}, "cipassword": {"päss"}, "comment": {"bad"}}})
	e := asError(t, err)
	all := fmt.Sprintf("%v %+v %#v %s %s %v", e, e, e, e.Reason, e.Message, e.Params)
	for _, secret := range []string{testSecret, "hunter2", "p%C3%A4ss"} {
		require.NotContains(t, all, secret)
	}
	require.Contains(t, e.Message, "bad PVEAPIToken=root@pam!mcp="+masked, "what is no secret stays")

	html := newFake(t, nil, fixed(200, "OK", "<html>"+testSecret))
	cl, _ = newTestClient(t, html)
	_, err = cl.Do(ctx5(t), get("/version"))
	require.Contains(t, asError(t, err).Snippet, masked)
}

type gateKey struct{}

type gateFunc func(*http.Request) (*http.Response, error)

func (g gateFunc) RoundTrip(r *http.Request) (*http.Response, error) { return g(r) }

func TestGateSeesEachCallOnceAndWithoutSecrets(t *testing.T) {
	var n atomic.Int64
	f := newFake(t, nil, func(c net.Conn, _ arrival) bool {
		if n.Add(1) == 1 {
			return answer(c, 595, "Connection refused", "")
		}
		return answer(c, 200, "OK", ok)
	})
	tr := newTestTransport(t, plainConfig(t, f))
	refusal := errors.New("not in readonly")
	var seen []string
	cl := NewClient(gateFunc(func(r *http.Request) (*http.Response, error) {
		require.Empty(t, r.Header.Get("Authorization"))
		seen = append(seen, r.Method+" "+r.URL.EscapedPath())
		if r.Method != "GET" {
			return nil, refusal
		}
		return tr.RoundTrip(r.WithContext(context.WithValue(r.Context(), gateKey{}, 1)))
	}))
	r, err := cl.Do(ctx5(t), get("/nodes/pve1/tasks/UPID:a%C3%A4b/log"))
	require.NoError(t, err)
	require.Equal(t, 2, r.Tries, "what the transport did is known above the gate")
	_, err = cl.Do(ctx5(t), post("/x"))
	require.Same(t, refusal, err)
	require.Equal(t, []string{"GET /api2/json/nodes/pve1/tasks/UPID:a%C3%A4b/log", "POST /api2/json/x"}, seen)
	require.EqualValues(t, 2, tr.Requests())
}

func TestFetchFile(t *testing.T) {
	f := newFake(t, nil, func(c net.Conn, a arrival) bool {
		if a.URL.Path == "/pve-docs/api-viewer/apidoc.js" {
			return answerRaw(c, 200, "OK", "Content-Type: text/javascript\r\n", "const apiSchema = []")
		}
		return answerRaw(c, 500, "no such file '"+a.URL.Path+"'", "", "no such file")
	})
	tr := newTestTransport(t, plainConfig(t, f))
	b, err := tr.FetchFile(ctx5(t), "/pve-docs/api-viewer/apidoc.js", 20)
	require.NoError(t, err)
	require.Equal(t, "const apiSchema = []", string(b))
	require.Empty(t, f.last(t).Header.Get("Authorization"))
	_, err = tr.FetchFile(ctx5(t), "/pve-docs/api-viewer/apidoc.js", 19)
	require.Equal(t, KindTooLarge, asError(t, err).Kind)
	_, err = tr.FetchFile(ctx5(t), "/nosuch.js", 100)
	require.Equal(t, KindNotFound, asError(t, err).Kind)
	sent := f.arrivals.Load()
	for _, p := range []string{"/api2/json/version", "/api2", "pve-docs", "/../etc"} {
		_, err = tr.FetchFile(ctx5(t), p, 100)
		require.Equal(t, KindBadCall, asError(t, err).Kind, p)
	}
	require.Equal(t, sent, f.arrivals.Load())
}

func TestNoTokenNoCall(t *testing.T) {
	f := newFake(t, nil, fixed(200, "OK", ok))
	c := plainConfig(t, f)
	c.Token = Token{}
	_, err := NewClient(newTestTransport(t, c)).Do(ctx5(t), get("/version"))
	require.Equal(t, KindBadCall, asError(t, err).Kind)
	require.Zero(t, f.arrivals.Load())
}
