package pvesim

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"
)

// serve answers the requests of one connection, in Proxmox's limits: a hundred
// of them, five seconds apart, until one fails.
func (s *Server) serve(c net.Conn) {
	plainText := false
	if s.cert != nil {
		// One port takes both: TLS begins with a byte that no verb begins with.
		_ = c.SetReadDeadline(time.Now().Add(s.opts.Idle))
		first := bufio.NewReaderSize(c, 16)
		head, err := first.Peek(1)
		if err != nil {
			return
		}
		c = &peeked{Conn: c, r: first}
		if head[0] == 0x16 {
			t := tls.Server(c, s.tlsConfig())
			if err := t.HandshakeContext(context.Background()); err != nil {
				return
			}
			c = t
		} else {
			plainText = true
		}
	}
	br := bufio.NewReaderSize(c, 4<<10)
	for n := 1; n <= maxPerConn; n++ {
		_ = c.SetReadDeadline(time.Now().Add(s.opts.Idle))
		r, err := readRequest(br, s.limit(maxHeaderBytes, maxHeaderBytesOfCheck))
		var bad *badRequest
		switch {
		case errors.As(err, &bad):
			p := plain(bad.status, bad.reason)
			p.bare = bad.empty
			s.note(&exchange{raw: r}, p)
			_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
			_, _ = c.Write(p.encode(r, s.now(), false))
			drain(c, br)
			return
		case errors.Is(err, errSilent):
			s.hush()
			return
		case err != nil:
			return
		}
		x := &exchange{raw: r, br: br, conn: c}
		var p *response
		if plainText {
			p = s.toTLS(r)
		} else {
			p = s.handle(x)
		}
		if p == nil { // a fault, or a request without an answer
			return
		}
		if !s.pause(p.wait) {
			return
		}
		keep := r.keepAlive() && n < maxPerConn && p.status < 400 && x.bodyRead()
		_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
		out := p.encode(r, s.now(), keep)
		if x.cut {
			head := bytes.Index(out, []byte("\r\n\r\n")) + 4
			_, _ = c.Write(out[:head+(len(out)-head)/2])
			return
		}
		if _, err := c.Write(out); err != nil {
			return
		}
		if !keep {
			drain(c, br)
			return
		}
	}
}

// limit gives the first of two limits, or the second where only calls are
// checked.
func (s *Server) limit(served, checked int) int {
	if s.opts.CheckOnly {
		return checked
	}
	return served
}

// hush is how Proxmox treats what is outside of its limits: no answer until
// the connection times out.
func (s *Server) hush() {
	if !s.opts.NoAuthDelay {
		s.pause(s.opts.Idle)
	}
}

// drain lets a client read its answer when we close while it still sends:
// closing at once would make its kernel throw the answer away.
func drain(c net.Conn, br *bufio.Reader) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	_, _ = io.Copy(io.Discard, io.LimitReader(br, 4<<20))
}

// peeked is a connection whose first byte was looked at.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// CloseWrite ends our half of the connection.
func (p *peeked) CloseWrite() error {
	if w, ok := p.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// toTLS sends a client that speaks plain HTTP to the right scheme. Its body is
// not looked at, so the connection ends.
func (s *Server) toTLS(r *rawRequest) *response {
	host := strings.TrimSpace(r.header("Host"))
	if host == "" {
		host = s.addr.String()
	}
	p := plain(308, "Permanent Redirect")
	if r.method == "GET" {
		p = plain(301, "Moved Permanently")
	}
	target := r.path
	if r.query != "" {
		target += "?" + r.query
	}
	p.extra = []field{{"Location", "https://" + printable(host) + target}}
	return p
}

// exchange is one request on its way through the server.
type exchange struct {
	raw  *rawRequest
	br   *bufio.Reader
	conn net.Conn
	cut  bool // a fault: half of the body is sent
	read bool // the body was

	// What became known of it, for the record.
	format   string
	path     string // decoded, without /api2/FORMAT
	template string
	who      identity
	params   values
}

// bodyRead tells whether the connection stands at the next request.
func (x *exchange) bodyRead() bool { return x.read || x.raw.length == 0 }

// readBody reads the whole body, which judge and content have bounded.
func (x *exchange) readBody() error {
	if x.bodyRead() {
		return nil
	}
	_ = x.conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	x.raw.body = make([]byte, x.raw.length)
	_, err := io.ReadFull(x.br, x.raw.body)
	x.read = err == nil
	return err
}
