package pverest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Time for TCP and TLS together. A host is given up soon while there is
// another one to ask, and gets longer if it is the last.
const (
	connectSoon = 2 * time.Second
	connectLast = 10 * time.Second
)

type connectTimeKey struct{}

// wireConn counts the writes of requests, and can be sealed: after that
// nothing more is written. So it is certain, not likely, whether a request
// that failed had begun to be written.
type wireConn struct {
	net.Conn
	mu     sync.Mutex
	writes int
	sealed bool
}

var errSealed = errors.New("the request was given up")

func (c *wireConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.sealed {
		c.mu.Unlock()
		return 0, errSealed
	}
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *wireConn) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes
}

// seal stops further writes and gives how many were begun.
func (c *wireConn) seal() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sealed = true
	return c.writes
}

// dialer makes connections of net/http's pool. Its errors are *Error.
type dialer struct{ tls *tlsPolicy }

func (d *dialer) plain(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := connectContext(ctx)
	defer cancel()
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, connectError(err, addr)
	}
	return &wireConn{Conn: c}, nil
}

func (d *dialer) secure(ctx context.Context, _, addr string) (net.Conn, error) {
	ctx, cancel := connectContext(ctx)
	defer cancel()
	c, err := dialTCP(ctx, addr)
	if err != nil {
		return nil, connectError(err, addr)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = c.Close()
		return nil, connectError(err, addr)
	}
	tc := tls.Client(c, d.tls.config(host))
	if err := tc.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		if e := d.tls.handshakeError(err, addr); e != nil {
			return nil, e
		}
		return nil, connectError(err, addr)
	}
	return &wireConn{Conn: tc}, nil
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	nd := net.Dialer{KeepAlive: 15 * time.Second}
	return nd.DialContext(ctx, "tcp", addr)
}

func connectContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit, ok := ctx.Value(connectTimeKey{}).(time.Duration)
	if !ok {
		limit = connectLast
	}
	return context.WithTimeout(ctx, limit)
}

// connectError tells apart why there is no connection.
func connectError(err error, addr string) *Error {
	e := &Error{Kind: KindUnreachable, Subject: "host " + addr, Host: addr, Err: err}
	var dns *net.DNSError
	var ne net.Error
	switch {
	case errors.As(err, &dns):
		e.Detail = DetailDNS
		// The resolver's address, which the error's text has, helps nobody.
		e.Message = "no address for " + dns.Name
		if !dns.IsNotFound && dns.Err != "" {
			e.Message += " (" + dns.Err + ")"
		}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		e.Detail = DetailDialTimeout
	default:
		e.Detail = socketDetail(err)
	}
	return e
}

// socketDetail reads the system's error; the texts are for Windows, whose
// numbers are not those of package syscall.
func socketDetail(err error) Detail {
	s := err.Error()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED) || strings.Contains(s, "refused"):
		return DetailRefused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH),
		strings.Contains(s, "unreachable"), strings.Contains(s, "no route"):
		return DetailNoRoute
	case isDropped(err):
		return DetailReset
	}
	return ""
}

// isDropped reports that the peer ended the connection.
func isDropped(err error) bool {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) {
		return true
	}
	s := err.Error()
	for _, t := range []string{"server closed idle connection", "connection reset", "broken pipe", "forcibly closed", "aborted by", "unexpected EOF"} {
		if strings.Contains(s, t) {
			return true
		}
	}
	return false
}
