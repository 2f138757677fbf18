package pverest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Proxmox closes a connection that was idle for 5 s (pve-http-server); ours
// is closed clearly before, so that no request meets a closing one.
const idleTime = 3 * time.Second

// Transport is the RoundTripper that really talks to Proxmox VE. It puts the
// token on every API request, picks the host, retries reads, holds the bound
// on requests in flight and the time-out, and follows no redirect. It may be
// used by many goroutines. Proxy settings of the environment are not used.
type Transport struct {
	cfg   Config
	eps   []endpoint
	hosts *hostSet
	base  *http.Transport
	slots chan struct{}
	probe func(ctx context.Context, addr string) (net.Conn, error) // a bare TCP connection

	requests, retries, failovers atomic.Uint64
}

// NewTransport checks the configuration and reads the CA file if there is one;
// it connects to nothing. Errors say which value is wrong.
func NewTransport(c Config) (*Transport, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	eps, err := c.parseHosts()
	if err != nil {
		return nil, err
	}
	policy, err := newTLSPolicy(c)
	if err != nil {
		return nil, err
	}
	d := &dialer{tls: policy}
	var http1 http.Protocols
	http1.SetHTTP1(true)
	return &Transport{
		cfg:   c,
		eps:   eps,
		hosts: &hostSet{failed: make([]time.Time, len(eps))},
		slots: make(chan struct{}, c.Parallel),
		probe: dialTCP,
		base: &http.Transport{
			DialContext:            d.plain,
			DialTLSContext:         d.secure,
			Protocols:              &http1,
			IdleConnTimeout:        idleTime,
			MaxIdleConnsPerHost:    c.Parallel,
			MaxResponseHeaderBytes: 64 << 10,
			ReadBufferSize:         32 << 10,
		},
	}, nil
}

// Requests counts the requests that were given to a connection, or for which
// one was tried, since the start: retries and other hosts included.
func (t *Transport) Requests() uint64 { return t.requests.Load() }

// Retries counts the repeated tries of reads since the start.
func (t *Transport) Retries() uint64 { return t.retries.Load() }

// Failovers counts how often a call moved on to another host since the start.
func (t *Transport) Failovers() uint64 { return t.failovers.Load() }

// Hosts gives the configured hosts as host:port, in their order.
func (t *Transport) Hosts() []string {
	out := make([]string, len(t.eps))
	for i, e := range t.eps {
		out[i] = e.addr
	}
	return out
}

// Close closes the idle connections. Calls in flight go on.
func (t *Transport) Close() { t.base.CloseIdleConnections() }

type noTokenKey struct{}

// RoundTrip sends a request whose path is below /api2/json to a host of the
// cluster, whatever host its URL names, and gives the answer with whatever
// status it has. Failures to get one are an *Error. The answer's body must be
// closed: until then it holds one of Config.Parallel slots. Reading the body
// gives an *Error too where it fails, and KindTooLarge beyond Config.MaxBody.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.roundTrip(req, t.cfg.MaxBody)
}

func (t *Transport) roundTrip(req *http.Request, maxBody int64) (*http.Response, error) {
	c := &exchange{t: t, req: req, tr: traceOf(req.Context()), caller: req.Context()}
	c.read = req.Method == http.MethodGet || req.Method == http.MethodHead
	c.tr.redact.add(t.cfg.Token.reveal())
	fail := func(e *Error) (*http.Response, error) {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		e.Op = req.Method + " " + strings.TrimPrefix(req.URL.EscapedPath(), apiPrefix)
		return nil, c.tr.redact.error(e)
	}
	if t.cfg.Token.IsZero() && req.Context().Value(noTokenKey{}) == nil {
		return fail(&Error{Kind: KindBadCall, Message: "there is no API token to send"})
	}
	select {
	case t.slots <- struct{}{}:
	default:
		select {
		case t.slots <- struct{}{}:
		case <-req.Context().Done():
			e := c.contextError()
			e.Detail = DetailQueued
			return fail(e)
		}
	}
	ctx, cancel := context.WithTimeout(req.Context(), t.cfg.Timeout)
	c.ctx = ctx
	release := func() {
		cancel()
		for _, f := range c.cancels {
			f()
		}
		<-t.slots
	}
	resp, e := c.run()
	if e != nil {
		release()
		return fail(e)
	}
	resp.Body = &answerBody{rc: resp.Body, ex: c, left: maxBody, max: maxBody, release: release}
	return resp, nil
}

// FetchFile gets a file that a node serves beside the API, e.g.
// /pve-docs/api-viewer/apidoc.js, over the same hosts and TLS settings and
// without sending the token. A file of more than max bytes is an error of
// KindTooLarge, any status but 200 one of KindNotProxmox or by its status.
func (t *Transport) FetchFile(ctx context.Context, path string, max int64) ([]byte, error) {
	call := Call{Verb: http.MethodGet, Path: path}
	tr := &trace{}
	ctx = context.WithValue(context.WithValue(ctx, traceKey{}, tr), noTokenKey{}, true)
	u, err := apiURL(path)
	if err == nil && (path == "/api2" || strings.HasPrefix(path, "/api2/")) {
		err = errors.New("the API is not asked by this way")
	}
	if err != nil {
		return nil, tr.clean(call, &Error{Kind: KindBadCall, Message: err.Error()})
	}
	u.Path, u.RawPath = strings.TrimPrefix(u.Path, apiPrefix), strings.TrimPrefix(u.RawPath, apiPrefix)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, tr.clean(call, &Error{Kind: KindBadCall, Message: "the path can't be made a request"})
	}
	resp, err := t.roundTrip(req, max)
	if err != nil {
		return nil, tr.clean(call, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readAll(resp)
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, tr.clean(call, statusError(call, resp, body, envelope{}))
	case err != nil:
		return nil, tr.clean(call, tr.bodyError(ctx, call, resp, err))
	}
	return body, nil
}

// answerBody bounds an answer, gives its slot back, and says what a failing
// read means, which only this layer knows: it has the call's own time-out.
type answerBody struct {
	rc        io.ReadCloser
	ex        *exchange
	left, max int64
	release   func()
	done      bool
	err       error
}

func (b *answerBody) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.left == 0 && len(p) > 0 {
		// One byte more tells "exactly the limit" from "beyond it".
		p = p[:1]
	} else if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.rc.Read(p)
	if int64(n) > b.left {
		b.err = &Error{Kind: KindTooLarge, Host: b.ex.tr.host, Sent: true, Tries: b.ex.tr.tries,
			Message: fmt.Sprintf("the answer has more than %d bytes", b.max)}
		return 0, b.err
	}
	b.left -= int64(n)
	switch {
	case err == nil:
	case err == io.EOF:
		b.err = io.EOF
	case b.ex.ctx.Err() != nil:
		e := b.ex.contextError()
		e.Sent = true
		b.err = e
	case !isDropped(err):
		b.err = &Error{Kind: KindMalformed, Host: b.ex.tr.host, Sent: true, Tries: b.ex.tr.tries, Err: err,
			Message: "the answer's body can't be read: " + err.Error()}
	default:
		b.err = &Error{Kind: KindTruncated, Host: b.ex.tr.host, Sent: true, Tries: b.ex.tr.tries, Err: err,
			Message: "the connection ended before the answer did"}
	}
	return n, b.err
}

func (b *answerBody) Close() error {
	err := b.rc.Close()
	if !b.done {
		b.done = true
		b.release()
	}
	return err
}
