package pverest

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDeadHostIsSkipped(t *testing.T) {
	t.Parallel()
	alive := newFake(t, nil, fixed(200, "OK", ok))
	c := plainConfig(t, alive)
	c.Hosts = append([]string{"http://" + deadAddr(t)}, c.Hosts...)
	for _, call := range []Call{get("/version"), post("/x")} {
		tr := newTestTransport(t, c)
		cl := NewClient(tr)
		for range 3 {
			r, err := cl.Do(ctx5(t), call)
			require.NoError(t, err, "what was not sent may go to another host, a write too")
			require.Equal(t, alive.addr, r.Host)
		}
		require.EqualValues(t, 4, tr.Requests(), "the dead host was tried once")
		require.EqualValues(t, 1, tr.Failovers())
	}
}

func TestAllHostsDead(t *testing.T) {
	a, b := deadAddr(t), deadAddr(t)
	c := plainConfig(t)
	c.Hosts = []string{"http://" + a, "http://" + b}
	_, err := NewClient(newTestTransport(t, c)).Do(ctx5(t), post("/x"))
	e := asError(t, err)
	require.Equal(t, KindUnreachable, e.Kind)
	require.Equal(t, b, e.Host)
	require.Equal(t, []string{a + ": unreachable: connection refused"}, e.Others)
	require.Equal(t, 2, e.Tries)
	require.False(t, e.Sent)
}

func TestDistrustIsSaidRatherThanUnreachable(t *testing.T) {
	t.Parallel()
	cfg, _, _ := testCert(t, certOptions{})
	f := newFake(t, cfg, fixed(200, "OK", ok))
	c := Config{Hosts: []string{f.addr, deadAddr(t)}, Token: testToken(t)}
	_, err := NewClient(newTestTransport(t, c)).Do(ctx5(t), post("/x"))
	e := asError(t, err)
	require.Equal(t, KindTLS, e.Kind)
	require.Len(t, e.Others, 1)
}

func TestHostComesBack(t *testing.T) {
	addr := deadAddr(t)
	second := newFake(t, nil, fixed(200, "OK", ok))
	c := plainConfig(t)
	c.Hosts = []string{"http://" + addr, "http://" + second.addr}
	tr := newTestTransport(t, c)
	cl := NewClient(tr)
	r, err := cl.Do(ctx5(t), get("/version"))
	require.NoError(t, err)
	require.Equal(t, second.addr, r.Host)

	// The first one is up again and the second one goes: it is asked although
	// it failed a moment ago.
	ln, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	first := &fake{addr: addr, handle: fixed(200, "OK", ok), open: map[net.Conn]bool{}, ln: ln}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go first.serve(conn, conn)
		}
	}()
	t.Cleanup(first.stop)
	second.stop()
	r, err = cl.Do(ctx5(t), get("/version"))
	require.NoError(t, err)
	require.Equal(t, addr, r.Host)
}

func TestHostOrder(t *testing.T) {
	now := time.Now()
	h := &hostSet{failed: make([]time.Time, 4)}
	require.Equal(t, []int{0, 1, 2, 3}, h.order(now))
	h.failed[0], h.failed[2] = now.Add(-2*time.Second), now.Add(-5*time.Second)
	require.Equal(t, []int{1, 3, 2, 0}, h.order(now), "recent failures last, the older of them first")
	h.ok(3)
	require.Equal(t, []int{3, 1, 2, 0}, h.order(now), "a call stays with what works")
	require.Equal(t, []int{3, 0, 1, 2}, h.order(now.Add(hostRest)), "after its rest a host has its place again")
	h.ok(1)
	require.Equal(t, 3, h.order(now)[0], "a late success elsewhere moves nothing")
}

// A host that swallows connection attempts costs at most two seconds, once.
func TestSilentHostIsGivenUpSoon(t *testing.T) {
	t.Parallel()
	cfg, ca, _ := testCert(t, certOptions{ips: []net.IP{net.IPv4(127, 0, 0, 1)}})
	alive := newFake(t, cfg, fixed(200, "OK", ok))
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, says nothing
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	tr := newTestTransport(t, Config{Hosts: []string{silent.Addr().String(), alive.addr}, CAFile: ca, Token: testToken(t)})
	cl := NewClient(tr)
	began := time.Now()
	_, err = cl.Do(ctx5(t), post("/x"))
	require.NoError(t, err)
	require.Greater(t, time.Since(began), connectSoon-100*time.Millisecond)
	require.Less(t, time.Since(began), connectSoon+2*time.Second)
	began = time.Now()
	_, err = cl.Do(ctx5(t), post("/x"))
	require.NoError(t, err)
	require.Less(t, time.Since(began), time.Second)
}

// A host that dies while its answer is awaited says nothing more; the probe
// finds out, a read goes on elsewhere and a write ends as unknown.
func TestHostDiesWhileAnswerIsAwaited(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	hang := func(net.Conn, arrival) bool { got.Add(1); time.Sleep(4 * time.Second); return false }
	for _, call := range []Call{get("/nodes"), post("/x")} {
		t.Run(call.Verb, func(t *testing.T) {
			t.Parallel()
			dying := newFake(t, nil, hang)
			alive := newFake(t, nil, fixed(200, "OK", ok))
			tr := newTestTransport(t, plainConfig(t, dying, alive))
			tr.probe = func(ctx context.Context, addr string) (net.Conn, error) {
				require.Equal(t, dying.addr, addr)
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}
			}
			began := time.Now()
			r, err := NewClient(tr).Do(context.Background(), call)
			require.Less(t, time.Since(began), 3*time.Second)
			if call.Verb == "GET" {
				require.NoError(t, err)
				require.Equal(t, alive.addr, r.Host)
				return
			}
			e := asError(t, err)
			require.Equal(t, KindUnknownOutcome, e.Kind)
			require.Equal(t, DetailNoRoute, asError(t, e.Err).Detail)
			require.Zero(t, alive.arrivals.Load())
		})
	}
}

// A slow answer of a host that is there is waited for.
func TestSlowHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	slow := newFake(t, nil, func(c net.Conn, _ arrival) bool {
		time.Sleep(watchFirst + 300*time.Millisecond)
		return answer(c, 200, "OK", ok)
	})
	other := newFake(t, nil, fixed(200, "OK", ok))
	r, err := NewClient(newTestTransport(t, plainConfig(t, slow, other))).Do(ctx5(t), post("/x"))
	require.NoError(t, err)
	require.Equal(t, slow.addr, r.Host)
	require.EqualValues(t, 1, slow.arrivals.Load())
}

func TestOtherHostMayReachTheNode(t *testing.T) {
	t.Parallel()
	cutOff := newFake(t, nil, fixed(595, "No route to host", ""))
	well := newFake(t, nil, fixed(200, "OK", ok))
	cl, _ := newTestClient(t, cutOff, well)
	r, err := cl.Do(ctx5(t), get("/nodes/pve3/qemu"))
	require.NoError(t, err)
	require.Equal(t, well.addr, r.Host)
	_, err = cl.Do(ctx5(t), post("/nodes/pve3/qemu"))
	require.Equal(t, KindNodeOffline, asError(t, err).Kind, "a write stays where it is")
}
