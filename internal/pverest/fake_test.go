package pverest

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const testSecret = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"

// arrival is a request as it came over the wire, whole.
type arrival struct {
	*http.Request
	body string
}

// fake is a server that answers with bytes, so that reason phrases, cut
// answers and dropped connections are what a test says they are. A handler
// gives the bytes and whether the connection stays open.
type fake struct {
	addr     string
	handle   func(c net.Conn, a arrival) (keep bool)
	arrivals atomic.Int64
	conns    atomic.Int64

	mu   sync.Mutex
	open map[net.Conn]bool
	seen []arrival
	ln   net.Listener
}

func newFake(t testing.TB, tc *tls.Config, handle func(c net.Conn, a arrival) bool) *fake {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fake{addr: ln.Addr().String(), handle: handle, open: map[net.Conn]bool{}, ln: ln}
	go func() {
		for {
			raw, err := ln.Accept()
			if err != nil {
				return
			}
			f.conns.Add(1)
			f.mu.Lock()
			f.open[raw] = true
			f.mu.Unlock()
			c := raw
			if tc != nil {
				c = tls.Server(raw, tc)
			}
			go f.serve(c, raw)
		}
	}()
	t.Cleanup(f.stop)
	return f
}

func (f *fake) stop() {
	_ = f.ln.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.open {
		_ = c.Close()
	}
}

func (f *fake) serve(c, raw net.Conn) {
	defer func() {
		_ = c.Close()
		f.mu.Lock()
		delete(f.open, raw)
		f.mu.Unlock()
	}()
	r := bufio.NewReader(c)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		a := arrival{req, string(body)}
		f.arrivals.Add(1)
		f.mu.Lock()
		f.seen = append(f.seen, a)
		f.mu.Unlock()
		if !f.handle(c, a) {
			return
		}
	}
}

func (f *fake) last(t *testing.T) arrival {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	require.NotEmpty(t, f.seen)
	return f.seen[len(f.seen)-1]
}

// answer writes a status line with a reason phrase and a JSON body, and keeps
// the connection as Proxmox does: below 400.
func answer(c net.Conn, status int, reason, body string) bool {
	ct := "Content-Type: application/json;charset=UTF-8\r\n"
	if body == "" {
		ct = ""
	}
	return answerRaw(c, status, reason, ct, body)
}

func answerRaw(c net.Conn, status int, reason, headers, body string) bool {
	conn := "Keep-Alive"
	if status >= 400 {
		conn = "close"
	}
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nServer: pve-api-daemon/3.0\r\nConnection: %s\r\n%sContent-Length: %d\r\n\r\n%s",
		status, reason, conn, headers, len(body), body)
	return status < 400
}

// fixed answers every request alike.
func fixed(status int, reason, body string) func(net.Conn, arrival) bool {
	return func(c net.Conn, _ arrival) bool { return answer(c, status, reason, body) }
}

func testToken(t testing.TB) Token {
	tok, err := ParseTokenID("root@pam!mcp", testSecret)
	require.NoError(t, err)
	return tok
}

// plainConfig talks http to loopback fakes.
func plainConfig(t testing.TB, fakes ...*fake) Config {
	c := Config{Token: testToken(t), Timeout: 5 * time.Second}
	for _, f := range fakes {
		c.Hosts = append(c.Hosts, "http://"+f.addr)
	}
	return c
}

func newTestTransport(t testing.TB, c Config) *Transport {
	t.Helper()
	tr, err := NewTransport(c)
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	return tr
}

func newTestClient(t testing.TB, fakes ...*fake) (*Client, *Transport) {
	t.Helper()
	tr := newTestTransport(t, plainConfig(t, fakes...))
	return NewClient(tr), tr
}

// asError takes the *Error out of err and checks what holds for every one.
func asError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	require.Error(t, err)
	require.True(t, errors.As(err, &e), "%T: %v", err, err)
	require.NotContains(t, e.Error(), testSecret)
	require.NotContains(t, e.Error(), "\n")
	require.NotContains(t, fmt.Sprintf("%+v %#v", e, e), testSecret)
	return e
}

func get(path string) Call  { return Call{Verb: "GET", Path: path} }
func post(path string) Call { return Call{Verb: "POST", Path: path, Params: Values{"a": {"b"}}} }

// deadAddr is a loopback address where nothing listens.
func deadAddr(t testing.TB) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}

type certOptions struct {
	names   []string
	ips     []net.IP
	expired bool
}

// testCert makes a CA, writes it to a file, and a leaf signed by it.
func testCert(t testing.TB, o certOptions) (tc *tls.Config, caFile, fingerprint string) {
	t.Helper()
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, IsCA: true,
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true}
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	require.NoError(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "pve1"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: o.names, IPAddresses: o.ips, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if o.expired {
		leaf.NotAfter = time.Now().Add(-time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	require.NoError(t, err)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), 0o600))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		caFile, formatFingerprint(sha256.Sum256(der))
}

func ctx5(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}
