package pverest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Defaults and fixed limits.
const (
	DefaultPort     = 8006             // where pveproxy listens
	DefaultTimeout  = 30 * time.Second // per call; also Proxmox's own time-out between nodes
	DefaultParallel = 8
	DefaultMaxBody  = 64 << 20

	// MaxRequestBody is the largest form body that Proxmox takes; it answers
	// 501 "for data too large" to more (observed on pve-http-server 6.0.5).
	MaxRequestBody = 512 << 10
	// MaxRequestTarget bounds path and query of a GET or DELETE. Proxmox drops
	// a connection without an answer when its 64 KiB read buffer overflows.
	MaxRequestTarget = 60 << 10
	// MaxDepth is the deepest nesting of an answer that is decoded. Proxmox's
	// own answers stay far below it.
	MaxDepth = 128
)

// Config says which servers to talk to and how.
type Config struct {
	// Hosts are the addresses of one cluster, at least one: "host",
	// "host:port", an IP address (IPv6 with or without brackets) or a URL.
	// http:// is taken for loopback addresses alone.
	Hosts []string
	Port  int // for hosts that name none; 0 is DefaultPort
	Token Token
	// CAFile is a PEM file of the authorities to trust instead of the
	// system's, e.g. a copy of a cluster's /etc/pve/pve-root-ca.pem.
	CAFile string
	// Fingerprint is the SHA-256 of a node's own certificate, as AA:BB:… or
	// plain hex; several (one per node) separated by commas or white space.
	// It replaces every other check of the certificate.
	Fingerprint string
	// Insecure accepts any certificate. It contradicts CAFile and Fingerprint.
	Insecure bool
	// Timeout bounds a call from its first byte to its answer's last, retries
	// included and waiting for a free slot not; 0 is DefaultTimeout.
	Timeout   time.Duration
	Parallel  int    // requests in flight at once; 0 is DefaultParallel
	UserAgent string // "" is "pve-mcp"
	MaxBody   int64  // bytes of an answer after decompression; 0 is DefaultMaxBody
}

// endpoint is one host of the cluster.
type endpoint struct {
	scheme string // "https" or "http"

	addr string // host:port
}

func (c Config) withDefaults() (Config, error) {
	if c.Port == 0 {
		c.Port = DefaultPort
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Parallel == 0 {
		c.Parallel = DefaultParallel
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.UserAgent == "" {
		c.UserAgent = "pve-mcp"
	}
	switch {
	case c.Port < 1 || c.Port > 65535:
		return c, fmt.Errorf("port %d is not between 1 and 65535", c.Port)
	case c.Timeout < 0:
		return c, fmt.Errorf("time-out %s is negative", c.Timeout)
	case c.Parallel < 0:
		return c, fmt.Errorf("parallel bound %d is negative", c.Parallel)
	case c.MaxBody < 0:
		return c, fmt.Errorf("answer limit %d is negative", c.MaxBody)
	case c.Insecure && c.Fingerprint != "":
		return c, errors.New("TLS can't be insecure and pinned to a fingerprint: drop one of the two settings")
	case c.Insecure && c.CAFile != "":
		return c, errors.New("TLS can't be insecure and verified by a CA file: drop one of the two settings")
	case len(c.Hosts) == 0:
		return c, errors.New("no Proxmox VE host is given")
	}
	return c, nil
}

// parseHosts makes endpoints of the Hosts, in their order, each once.
func (c Config) parseHosts() ([]endpoint, error) {
	var out []endpoint
	seen := map[string]bool{}
	for _, h := range c.Hosts {
		e, err := parseHost(h, c.Port)
		if err != nil {
			return nil, err
		}
		if !seen[e.addr] {
			seen[e.addr] = true
			out = append(out, e)
		}
	}
	return out, nil
}

func parseHost(s string, defaultPort int) (endpoint, error) {
	raw := s
	s = strings.TrimSpace(s)
	bad := func(why string) (endpoint, error) {
		return endpoint{}, fmt.Errorf("host %q: %s", redactUserinfo(raw), why)
	}
	if s == "" {
		return bad("it is empty")
	}
	e := endpoint{scheme: "https"}
	if i := strings.Index(s, "://"); i >= 0 {
		u, err := url.Parse(s)
		if err != nil {
			return bad("not a URL")
		}
		switch {
		case u.Scheme != "https" && u.Scheme != "http":
			return bad("only https:// is supported")
		case u.User != nil:
			return bad("a user or password in the URL is not used: an API token has its own settings")
		case u.RawQuery != "" || u.Fragment != "":
			return bad("give host and port alone")
		}
		switch strings.TrimRight(u.Path, "/") {
		case "", "/api2", "/api2/json": // as people paste it from other tools
		default:
			return bad("give host and port alone, without a path")
		}
		e.scheme = u.Scheme
		s = u.Host
	}
	host, port := s, ""
	switch {
	case strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]"):
		if host = s[1 : len(s)-1]; !isIP(host) {
			return bad("not an IP address between the brackets")
		}
	case isIP(s):
		host = s
	case strings.HasPrefix(s, "[") || strings.Count(s, ":") == 1:
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return bad("not HOST:PORT")
		}
	case strings.Contains(s, ":"):
		return bad("not HOST:PORT")
	}
	if host = strings.TrimSuffix(host, "."); !isIP(host) {
		host = strings.ToLower(host)
	}
	n := defaultPort
	if port != "" {
		var err error
		if n, err = strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return bad(fmt.Sprintf("port %q is not between 1 and 65535", port))
		}
	}
	if !isHostName(host) {
		return bad("not a host name or an IP address")
	}
	if e.scheme == "http" && !isLoopback(host) {
		return bad("http:// would send the token in the clear; it is taken for loopback addresses alone, use https://")
	}
	e.addr = net.JoinHostPort(host, strconv.Itoa(n))
	return e, nil
}

func isHostName(h string) bool {
	if h == "" || len(h) > 253 {
		return false
	}
	if isIP(h) {
		return !strings.ContainsAny(h, " /?#[]@")
	}
	for _, r := range h {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '.', r == '_':
		default:
			return false
		}
	}
	return h[0] != '-' && h[0] != '.'
}

// isIP takes an IPv6 zone too.
func isIP(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isLoopback judges by the text alone: a name other than localhost could
// resolve to anything by the time it is dialled.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// redactUserinfo hides user:password@ of a URL that is about to be shown.
func redactUserinfo(s string) string {
	rest, prefix := s, ""
	if i := strings.Index(s, "://"); i >= 0 {
		prefix, rest = s[:i+3], s[i+3:]
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		return prefix + masked + rest[i:]
	}
	return s
}
