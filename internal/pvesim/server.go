package pvesim

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pvemcp/apidoc"
)

// Options say what a simulated cluster is like. The zero value listens on a
// free loopback port without TLS and answers by the newest schema with the
// default world.
type Options struct {
	// Listen is a loopback address with port; "" is 127.0.0.1:0. Any other
	// address is refused: the cluster has no protection against the world.
	Listen string
	// TLS serves HTTPS with a certificate made at start.
	TLS bool
	// Schema decides about routes, permissions and parameters; nil is the
	// newest snapshot of package apidoc.
	Schema *apidoc.Schema
	// World is what the cluster consists of; nil generates one from Seed, of
	// the schema's version.
	World *World
	// Seed makes two clusters alike, in their world and in their whims; 0 is the
	// world's own.
	Seed uint64
	// CheckOnly answers every call that passes routing and parameter check
	// with data: null, whoever calls.
	CheckOnly bool
	// Clock gives the time; nil is the world's clock.
	Clock func() time.Time
	// NoAuthDelay leaves out the three seconds that Proxmox waits before a 401,
	// and the five before it closes a connection without an answer.
	NoAuthDelay bool
	// OldErrors leaves the member "message" out of error bodies, as servers
	// before 2025 do: the text stands in the reason phrase alone.
	OldErrors bool
	// Idle closes connections after that time without a request; 0 is the
	// five seconds of Proxmox.
	Idle time.Duration
	// Hang is how long calls wait for a node or storage that never answers; 0
	// is the thirty seconds of Proxmox's proxy.
	Hang time.Duration
	// TaskStep is how long a task rests at a time; 0 is 40 ms. Starting a guest
	// takes some four steps, copying a disk ten. Tests that want to look at a
	// running task hold it with a [FaultTaskHold].
	TaskStep time.Duration
	// HACycle is how long the HA manager takes to act on a request; 0 is 2 s,
	// where the real one takes about ten.
	HACycle time.Duration
}

// Server is a running simulated cluster.
type Server struct {
	opts   Options
	world  *World
	schema *apidoc.Schema
	tree   *pathTree
	script func() ([]byte, error) // the schema as apidoc.js, made once

	listener net.Listener
	addr     netip.AddrPort
	cert     *certificate
	other    *certificate // shown while a wrong certificate is asked for
	tickets  ticketBook
	faults   faultBook
	log      requestLog
	count    atomic.Uint64
	before   []byte // the world as JSON before the first change; under its lock
	forgot   bool   // that was tried

	done    chan struct{}
	closing sync.Once
	conns   sync.WaitGroup
	tasks   sync.WaitGroup // workers of tasks, and what happens later
	slots   chan struct{}
	mu      sync.Mutex
	open    map[net.Conn]struct{}
}

// Start makes a cluster and serves it until Close. Errors: an address that is
// no loopback one or can't be listened on; a schema that can't be read.
func Start(opts Options) (*Server, error) {
	s := &Server{
		opts:   opts,
		world:  opts.World,
		schema: opts.Schema,
		done:   make(chan struct{}),
		slots:  make(chan struct{}, maxConns),
		open:   map[net.Conn]struct{}{},
	}
	if s.opts.Idle <= 0 {
		s.opts.Idle = 5 * time.Second
	}
	if s.opts.Hang <= 0 {
		s.opts.Hang = 30 * time.Second
	}
	if s.opts.TaskStep <= 0 {
		s.opts.TaskStep = taskStep
	}
	if s.opts.HACycle <= 0 {
		s.opts.HACycle = 2 * time.Second
	}
	if s.schema == nil {
		newest, err := apidoc.Snapshot(apidoc.Newest)
		if err != nil {
			return nil, fmt.Errorf("pvesim: %w", err)
		}
		s.schema = newest
	}
	if s.world == nil {
		s.world = newDefaultWorld(opts.Seed)
		s.world.become(s.schema.Version)
	}
	if s.opts.Seed == 0 {
		s.opts.Seed = s.world.Seed
	}
	for _, f := range s.world.Faults.Wire {
		if _, err := s.faults.add(f); err != nil {
			return nil, fmt.Errorf("pvesim: %w", err)
		}
	}
	s.tree = newPathTree(s.schema)
	s.script = sync.OnceValues(func() ([]byte, error) { return schemaScript(s.schema) })
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("pvesim: %w", err)
	}
	s.tickets = ticketBook{key: key}

	listen := opts.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	if err := loopback(listen); err != nil {
		return nil, err
	}
	if opts.TLS {
		var err error
		if s.cert, err = newCertificate(s.world.localNode()); err != nil {
			return nil, err
		}
		if s.other, err = newCertificate("other"); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("pvesim: %w", err)
	}
	tcp, ok := l.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("pvesim: %s is not a loopback address", l.Addr())
	}
	s.listener, s.addr = l, tcp.AddrPort()
	s.conns.Add(1)
	go s.accept()
	return s, nil
}

// become makes a generated world one of the version that a schema is of: what
// /version tells and which roles and privileges there are.
func (w *World) become(version string) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || strings.HasPrefix(w.Version.Version, version) {
		return
	}
	w.Version.Release = parts[0] + "." + parts[1]
	w.Version.Version = version
	if len(parts) == 2 {
		w.Version.Version += ".1"
	}
	for name, r := range NewAccessFor(version).Roles {
		w.access.Roles[name] = r
	}
}

// loopback refuses an address that others could reach, before it is bound.
func loopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("pvesim: listen address %q: want HOST:PORT", listen)
	}
	if host == "localhost" {
		return nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return fmt.Errorf("pvesim: listen address %q: only loopback (127.0.0.1, [::1], localhost) is served", listen)
	}
	return nil
}

// URL gives scheme, host and port, such as https://127.0.0.1:40001.
func (s *Server) URL() string {
	scheme := "http"
	if s.cert != nil {
		scheme = "https"
	}
	return scheme + "://" + s.addr.String()
}

// World gives the cluster behind the server.
func (s *Server) World() *World { return s.world }

// Schema gives the schema that decides about routes and parameters.
func (s *Server) Schema() *apidoc.Schema { return s.schema }

// Fingerprint gives the SHA-256 of the certificate as Proxmox shows it:
// capital hex pairs with colons. It is empty without TLS.
func (s *Server) Fingerprint() string {
	if s.cert == nil {
		return ""
	}
	return s.cert.fingerprint
}

// CertPEM gives the certificate, which is its own CA; nil without TLS.
func (s *Server) CertPEM() []byte {
	if s.cert == nil {
		return nil
	}
	return s.cert.pem
}

// AddFault makes something go wrong from now on and gives its id. The error
// says what about the fault can't be.
func (s *Server) AddFault(f Fault) (id int, err error) { return s.faults.add(f) }

// RemoveFault ends a fault; false when there is none with that id.
func (s *Server) RemoveFault(id int) bool { return s.faults.remove(id) }

// ClearFaults ends all faults.
func (s *Server) ClearFaults() { s.faults.clear() }

// Faults lists the faults in force, in the order in which they were added.
func (s *Server) Faults() []Fault { return s.faults.all() }

// Close ends all connections and waits until no handler and no task works any
// more; tasks that were running stay as far as they had come.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.done)
		_ = s.listener.Close()
		s.mu.Lock()
		for c := range s.open {
			_ = c.Close()
		}
		s.mu.Unlock()
	})
	s.conns.Wait()
	s.tasks.Wait()
}

func (s *Server) now() time.Time {
	if s.opts.Clock != nil {
		return s.opts.Clock()
	}
	return s.world.Now()
}

// pause waits, or until the server is closed; it tells whether it waited to
// the end.
func (s *Server) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
		return false
	}
}

func (s *Server) accept() {
	defer s.conns.Done()
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			if !s.pause(10 * time.Millisecond) {
				return
			}
			continue
		}
		select {
		case s.slots <- struct{}{}:
		default: // as Proxmox does when it has too many
			_ = c.Close()
			continue
		}
		if !s.keep(c) {
			_ = c.Close()
			return
		}
		go func() {
			defer func() {
				s.forget(c)
				<-s.slots
				s.conns.Done()
			}()
			s.serve(c)
		}()
	}
}

// keep notes an open connection; false once the server is closed.
func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
	}
	s.open[c] = struct{}{}
	s.conns.Add(1)
	return true
}

func (s *Server) forget(c net.Conn) {
	_ = c.Close()
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

// tlsConfig is chosen per handshake, so that a test can swap the certificate.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if s.faults.wrongCert() {
				return &s.other.tls, nil
			}
			return &s.cert.tls, nil
		},
	}
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	out := make([]byte, 0, 95)
	for i, b := range sum {
		if i > 0 {
			out = append(out, ':')
		}
		out = fmt.Appendf(out, "%02X", b)
	}
	return string(out)
}
