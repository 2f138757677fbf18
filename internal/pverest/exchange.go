package pverest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"time"
)

const (
	maxTries  = 3                      // of a read, the first one included
	firstWait = 100 * time.Millisecond // before the second try; doubles
	// A failure that took this long is not worth another try: what answers
	// 596 after a time-out of 30 s will do so again.
	slowFailure = 3 * time.Second
	// With several hosts: how long an answer may take until the host is
	// probed, and then between probes.
	watchFirst = 2 * time.Second
	watchAgain = 5 * time.Second
)

// exchange is one logical call on its way: all tries on all hosts.
type exchange struct {
	t      *Transport
	req    *http.Request
	tr     *trace
	ctx    context.Context // the caller's, bounded by the time-out
	caller context.Context
	read   bool

	failures []*Error
	cancels  []context.CancelFunc
	taken    bool // the request's own body was given to a connection
}

// run tries hosts and repeats reads until there is an answer or no sense in
// going on.
func (c *exchange) run() (*http.Response, *Error) {
	for round := 1; ; round++ {
		resp, e, again := c.round(round)
		if e == nil && !again {
			return resp, nil
		}
		if !again || !c.read || round == maxTries || !c.wait(round) {
			if e == nil {
				return resp, nil
			}
			return nil, c.finish(e)
		}
		if resp != nil {
			// A short rest is read, so that the connection may be kept.
			_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
			_ = resp.Body.Close()
		}
		c.t.retries.Add(1)
	}
}

// round asks the hosts in order until one takes the request. again says that
// what came of it, an answer or a failure, may pass: for a read, try once more.
func (c *exchange) round(round int) (resp *http.Response, e *Error, again bool) {
	order := c.t.hosts.order(time.Now())
	if round > 1 && c.lastHostFailed() {
		// The answer was 595 or 596: another host may reach the node.
		for i, h := range order {
			if len(order) > 1 && c.t.eps[h].addr == c.tr.host {
				order = append(append(append([]int{}, order[:i]...), order[i+1:]...), h)
				break
			}
		}
	}
	for n, h := range order {
		if n > 0 {
			if !c.rewindable() {
				break
			}
			c.t.failovers.Add(1)
		}
		began := time.Now()
		limit := connectLast
		if n < len(order)-1 {
			limit = connectSoon
		}
		resp, e = c.once(h, limit)
		took := time.Since(began)
		switch {
		case e == nil:
			c.t.hosts.ok(h)
			return resp, nil, c.passing(resp) && took < slowFailure
		case c.ctx.Err() != nil:
			if !errors.Is(c.caller.Err(), context.Canceled) {
				c.t.hosts.fail(h)
			}
			return nil, e, false
		}
		c.t.hosts.fail(h)
		c.failures = append(c.failures, e)
		if e.Sent {
			died := e.Detail == DetailDialTimeout || e.Detail == DetailNoRoute // while the answer was awaited
			return nil, e, e.Kind == KindUnreachable && (took < slowFailure || died && len(order) > 1)
		}
		again = again || e.Kind == KindUnreachable && e.Detail != DetailDNS && e.Detail != DetailDialTimeout && took < slowFailure
	}
	return nil, e, again
}

func (c *exchange) lastHostFailed() bool { return c.tr.host != "" }

// rewindable reports whether the body can be given to another connection; a
// part of it may have been taken though nothing was written.
func (c *exchange) rewindable() bool {
	return c.req.Body == nil || c.req.Body == http.NoBody || c.req.GetBody != nil
}

// passing reports an answer that a read may get past by being repeated: the
// host could not reach the node. Trouble with TLS between nodes stays.
func (c *exchange) passing(resp *http.Response) bool {
	return resp.StatusCode == statusNodeConnect ||
		resp.StatusCode == statusNodeProxy && !strings.Contains(resp.Status, "SSL") && !strings.Contains(resp.Status, "certificate")
}

// wait rests before the next try; false if there is no time left for one.
func (c *exchange) wait(round int) bool {
	d := firstWait << (round - 1)
	d = d/2 + rand.N(d)
	if dl, ok := c.ctx.Deadline(); ok && time.Until(dl) < 2*d {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

// once sends the request to one host.
func (c *exchange) once(h int, connect time.Duration) (*http.Response, *Error) {
	ep := c.t.eps[h]
	c.tr.host = ep.addr
	c.tr.tries++
	c.t.requests.Add(1)

	type use struct {
		conn *wireConn
		at   int
	}
	var uses []use
	ctx, giveUp := context.WithCancel(context.WithValue(c.ctx, connectTimeKey{}, connect))
	c.cancels = append(c.cancels, giveUp)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if w, ok := i.Conn.(*wireConn); ok {
			uses = append(uses, use{w, w.count()})
		}
	}})
	req, err := c.outgoing(ctx, ep)
	if err != nil {
		return nil, &Error{Kind: KindBadCall, Host: ep.addr, Message: "the request's body can't be sent again", Err: err}
	}
	stop := func() *Error { return nil }
	if len(c.t.eps) > 1 {
		stop = c.watch(ep.addr, giveUp)
	}
	resp, err := c.t.base.RoundTrip(req)
	dead := stop()
	if err == nil && dead == nil {
		return resp, nil
	}
	if err == nil { // the answer began at the moment of giving up
		_ = resp.Body.Close()
		err = dead
	}
	// net/http has given up all connections that it used for this.
	sent := false
	for _, u := range uses {
		sent = u.conn.seal() > u.at || sent
	}
	e := c.failure(err, ep.addr)
	if dead != nil && c.ctx.Err() == nil {
		e = dead
	}
	e.Sent = sent
	if sent && !c.read {
		return nil, &Error{Kind: KindUnknownOutcome, Host: ep.addr, Sent: true, Err: e}
	}
	return nil, e
}

// watch looks, while an answer is awaited, whether the host is still there: a
// node that lost its power says nothing on a connection that was open, and
// without this a call would wait for its whole time-out before another host
// is asked. A slow answer of a living host is left alone. stop ends the watch
// and gives the failure by which giveUp was called, if it was.
func (c *exchange) watch(addr string, giveUp context.CancelFunc) (stop func() *Error) {
	ctx, cancel := context.WithCancel(c.ctx)
	var mu sync.Mutex
	var dead *Error
	stopped := false
	probe := func() bool {
		ctx, cancel := context.WithTimeout(ctx, connectSoon)
		defer cancel()
		conn, err := c.t.probe(ctx, addr)
		if err == nil {
			_ = conn.Close()
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		if !stopped && c.ctx.Err() == nil {
			dead = connectError(err, addr)
			giveUp()
		}
		return false
	}
	timer := time.AfterFunc(watchFirst, func() {
		for probe() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchAgain):
			}
		}
	})
	return func() *Error {
		timer.Stop()
		mu.Lock()
		stopped = true
		mu.Unlock()
		cancel()
		return dead
	}
}

// outgoing is the request for one host: the token added, and nothing in it
// that would stand in the token's way (Proxmox prefers a cookie, even a bad one).
func (c *exchange) outgoing(ctx context.Context, ep endpoint) (*http.Request, error) {
	req := c.req.Clone(ctx)
	req.URL.Scheme, req.URL.Host, req.URL.User = ep.scheme, ep.addr, nil
	req.Host = ""
	req.Close = false
	for _, h := range []string{"Cookie", "Authorization", "Csrfpreventiontoken", "Expect", "Idempotency-Key", "X-Idempotency-Key"} {
		delete(req.Header, textproto.CanonicalMIMEHeaderKey(h))
	}
	req.Header.Set("User-Agent", c.t.cfg.UserAgent)
	if c.req.Context().Value(noTokenKey{}) == nil {
		req.Header.Set("Authorization", c.t.cfg.Token.header())
	}
	if c.taken && c.req.GetBody != nil {
		body, err := c.req.GetBody()
		if err != nil {
			return nil, err
		}
		req.Body = body
	}
	c.taken = true
	return req, nil
}

// failure says why a try gave no answer.
func (c *exchange) failure(err error, addr string) *Error {
	var e *Error
	switch {
	case c.ctx.Err() != nil:
		return c.contextError()
	case errors.As(err, &e):
		return e
	case isDropped(err):
		return &Error{Kind: KindUnreachable, Detail: DetailReset, Subject: "host " + addr, Host: addr, Err: err}
	case strings.Contains(err.Error(), "malformed HTTP"), strings.Contains(err.Error(), "invalid header"),
		strings.Contains(err.Error(), "exceeded") && strings.Contains(err.Error(), "header"):
		return &Error{Kind: KindNotProxmox, Detail: DetailNotHTTP, Subject: "host " + addr, Host: addr, Err: err}
	}
	return &Error{Kind: KindUnreachable, Detail: socketDetail(err), Subject: "host " + addr, Host: addr, Err: err}
}

// contextError tells the caller's giving up from the time-out.
func (c *exchange) contextError() *Error {
	e := &Error{Host: c.tr.host, Tries: c.tr.tries}
	switch {
	case errors.Is(c.caller.Err(), context.Canceled):
		e.Kind, e.Err, e.Message = KindCancelled, context.Canceled, "the caller gave up"
	case c.caller.Err() != nil:
		e.Kind, e.Err, e.Message = KindTimeout, context.DeadlineExceeded, "no whole answer within the caller's time"
	default:
		e.Kind, e.Err, e.Message = KindTimeout, context.DeadlineExceeded, "no whole answer within "+c.t.cfg.Timeout.String()
	}
	if e.Host != "" {
		e.Subject = "host " + e.Host
	}
	return e
}

// finish picks the failure that says most and lists the other hosts' ones.
func (c *exchange) finish(last *Error) *Error {
	e := last
	if !last.Sent && c.ctx.Err() == nil {
		for _, f := range c.failures {
			if f.Kind == KindTLS {
				e = f
				break
			}
		}
	}
	out := *e
	out.Tries = c.tr.tries
	seen := map[string]bool{out.Host: true}
	for i := len(c.failures) - 1; i >= 0; i-- {
		f := c.failures[i]
		if f.Host == "" || seen[f.Host] {
			continue
		}
		seen[f.Host] = true
		s := f.Host + ": " + string(f.Kind)
		if f.Detail != "" {
			s += ": " + string(f.Detail)
		}
		out.Others = append(out.Others, s)
	}
	return &out
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
