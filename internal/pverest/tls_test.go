package pverest

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func tlsClient(t *testing.T, f *fake, change func(*Config)) *Client {
	c := Config{Hosts: []string{f.addr}, Token: testToken(t), Timeout: 5 * time.Second}
	change(&c)
	return NewClient(newTestTransport(t, c))
}

func TestTrust(t *testing.T) {
	loopback := []net.IP{net.IPv4(127, 0, 0, 1)}
	good, goodCA, goodPrint := testCert(t, certOptions{names: []string{"pve1"}, ips: loopback})
	other, otherCA, otherPrint := testCert(t, certOptions{names: []string{"pve1.lan", "pve1"}})
	old, oldCA, oldPrint := testCert(t, certOptions{ips: loopback, expired: true})
	wrongPin := strings.Repeat("AB:", 31) + "CD"

	for _, c := range []struct {
		name   string
		server *tls.Config
		change func(*Config)
		detail Detail // "" means trusted
		print  string
		say    string
	}{
		{"default, unknown authority", good, func(*Config) {}, DetailUnknownAuthority, goodPrint, "PROXMOX_CA_FILE"},
		{"CA file", good, func(c *Config) { c.CAFile = goodCA }, "", "", ""},
		{"other CA file", good, func(c *Config) { c.CAFile = otherCA }, DetailUnknownAuthority, goodPrint, "PROXMOX_FINGERPRINT"},
		{"other host name", other, func(c *Config) { c.CAFile = otherCA }, DetailHostname, otherPrint, "pve1.lan, pve1"},
		{"expired", old, func(c *Config) { c.CAFile = oldCA }, DetailExpired, oldPrint, "valid from"},
		{"pin", good, func(c *Config) { c.Fingerprint = goodPrint }, "", "", ""},
		{"pin, plain hex", good, func(c *Config) { c.Fingerprint = strings.ToLower(strings.ReplaceAll(goodPrint, ":", "")) }, "", "", ""},
		{"pin as openssl prints it", good, func(c *Config) { c.Fingerprint = "sha256 Fingerprint=" + goodPrint }, "", "", ""},
		{"pin stands for host name and dates", old, func(c *Config) { c.Fingerprint = wrongPin + ", " + oldPrint }, "", "", ""},
		{"wrong pin", good, func(c *Config) { c.Fingerprint = wrongPin }, DetailPin, goodPrint, "only if the node's certificate was renewed"},
		{"wrong pin beats a right CA", good, func(c *Config) { c.Fingerprint, c.CAFile = wrongPin, goodCA }, DetailPin, goodPrint, "renewed"},
		{"insecure", old, func(c *Config) { c.Insecure = true }, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.server, fixed(200, "OK", ok))
			cl := tlsClient(t, f, c.change)
			for _, call := range []Call{get("/version"), post("/x")} {
				_, err := cl.Do(ctx5(t), call)
				if c.detail == "" {
					require.NoError(t, err)
					continue
				}
				e := asError(t, err)
				require.Equal(t, KindTLS, e.Kind)
				require.Equal(t, c.detail, e.Detail, "%v", e)
				require.Equal(t, c.print, e.Fingerprint)
				require.Contains(t, e.Error(), c.print)
				require.Contains(t, e.Error(), c.say)
				require.False(t, e.Sent)
				require.Equal(t, 1, e.Tries, "no trust is no passing trouble")
			}
			if c.detail != "" {
				require.Zero(t, f.arrivals.Load(), "the token was not shown to a stranger")
			}
		})
	}
}

// The pin holds on every connection, also while sessions are resumed.
func TestPinHoldsOnEveryConnection(t *testing.T) {
	good, _, print := testCert(t, certOptions{})
	bad, _, badPrint := testCert(t, certOptions{})
	cfg := good.Clone()
	bad.SetSessionTicketKeys([][32]byte{{1}}) // else crypto/tls lends it the first one's
	var swap atomic.Bool
	cfg.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		if swap.Load() {
			return bad, nil
		}
		return nil, nil
	}
	f := newFake(t, cfg, fixed(200, "OK", ok))
	tr := newTestTransport(t, Config{Hosts: []string{f.addr}, Token: testToken(t), Fingerprint: print})
	cl := NewClient(tr)
	for range 3 {
		_, err := cl.Do(ctx5(t), get("/version"))
		require.NoError(t, err)
		tr.Close()
	}
	swap.Store(true)
	_, err := cl.Do(ctx5(t), get("/version"))
	e := asError(t, err)
	require.Equal(t, DetailPin, e.Detail)
	require.Equal(t, badPrint, e.Fingerprint)
	require.Equal(t, []string{print}, e.Pinned)
}

func TestWrongPortForTLS(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = ln.Close() }()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			time.AfterFunc(100*time.Millisecond, func() { _ = c.Close() })
		}
	}()
	cl := NewClient(newTestTransport(t, Config{Hosts: []string{ln.Addr().String()}, Token: testToken(t)}))
	_, err = cl.Do(ctx5(t), get("/version"))
	e := asError(t, err)
	require.Equal(t, KindTLS, e.Kind)
	require.Equal(t, DetailNotTLS, e.Detail)
	require.Contains(t, e.Error(), "8006")
}

func TestOldTLSIsRefusedWithItsReason(t *testing.T) {
	cfg, ca, _ := testCert(t, certOptions{ips: []net.IP{net.IPv4(127, 0, 0, 1)}})
	cfg.MinVersion, cfg.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	f := newFake(t, cfg, fixed(200, "OK", ok))
	_, err := tlsClient(t, f, func(c *Config) { c.CAFile = ca }).Do(ctx5(t), get("/version"))
	e := asError(t, err)
	require.Equal(t, KindTLS, e.Kind)
	require.Equal(t, DetailHandshake, e.Detail)
	require.Contains(t, e.Error(), "protocol version")
}

func TestBadConfigurations(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	require.NoError(t, os.WriteFile(empty, []byte("nothing"), 0o600))
	for say, change := range map[string]func(*Config){
		"no Proxmox VE host":       func(c *Config) { c.Hosts = nil },
		"it is empty":              func(c *Config) { c.Hosts = []string{" "} },
		"loopback addresses alone": func(c *Config) { c.Hosts = []string{"http://192.0.2.1"} },
		"only https://":            func(c *Config) { c.Hosts = []string{"ftp://pve"} },
		"without a path":           func(c *Config) { c.Hosts = []string{"https://pve/foo"} },
		"has its own settings":     func(c *Config) { c.Hosts = []string{"https://root:geheim@pve"} },
		"not HOST:PORT":            func(c *Config) { c.Hosts = []string{"a:b:c"} },
		"not between 1 and 65535":  func(c *Config) { c.Hosts = []string{"pve:99999"} },
		"port -1":                  func(c *Config) { c.Port = -1 },
		"not a host name":          func(c *Config) { c.Hosts = []string{"pve/../x"} },
		"negative":                 func(c *Config) { c.Timeout = -1 },
		"parallel bound":           func(c *Config) { c.Parallel = -1 },
		"answer limit":             func(c *Config) { c.MaxBody = -1 },
		"insecure and pinned":      func(c *Config) { c.Insecure, c.Fingerprint = true, strings.Repeat("ab", 32) },
		"insecure and verified":    func(c *Config) { c.Insecure, c.CAFile = true, empty },
		"no PEM certificate":       func(c *Config) { c.CAFile = empty },
		"CA file":                  func(c *Config) { c.CAFile = empty + ".missing" },
		"SHA-1":                    func(c *Config) { c.Fingerprint = strings.Repeat("ab", 20) },
		"32 bytes in hex":          func(c *Config) { c.Fingerprint = "zz" },
		"there is no value in it":  func(c *Config) { c.Fingerprint = "sha256" },
	} {
		c := Config{Hosts: []string{"pve1"}, Token: testToken(t)}
		change(&c)
		_, err := NewTransport(c)
		require.ErrorContains(t, err, say)
		require.NotContains(t, err.Error(), "geheim")
	}
}

func TestHosts(t *testing.T) {
	for in, want := range map[string]string{
		"pve1":                        "https pve1:8006",
		" pve1.lan. ":                 "https pve1.lan:8006",
		"pve1:443":                    "https pve1:443",
		"https://pve1":                "https pve1:8006",
		"https://pve1:443/":           "https pve1:443",
		"https://pve1:8006/api2/json": "https pve1:8006",
		"192.0.2.1":                   "https 192.0.2.1:8006",
		"2001:db8::1":                 "https [2001:db8::1]:8006",
		"[2001:db8::1]":               "https [2001:db8::1]:8006",
		"[2001:db8::1]:443":           "https [2001:db8::1]:443",
		"fe80::1%eth0":                "https [fe80::1%eth0]:8006",
		"[fe80::1%eth0]:443":          "https [fe80::1%eth0]:443",
		"http://127.0.0.1:8080":       "http 127.0.0.1:8080",
		"http://[::1]":                "http [::1]:8006",
		"http://localhost:1":          "http localhost:1",
	} {
		e, err := parseHost(in, 8006)
		require.NoError(t, err, in)
		require.Equal(t, want, e.scheme+" "+e.addr)
	}
	tr := newTestTransport(t, Config{Hosts: []string{"pve1", "pve2:8007", "https://pve1:8006"}})
	require.Equal(t, []string{"pve1:8006", "pve2:8007"}, tr.Hosts())
}
