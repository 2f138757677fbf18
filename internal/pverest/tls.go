package pverest

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// tlsPolicy is how a server proves who it is.
type tlsPolicy struct {
	base *tls.Config
	pins map[[sha256.Size]byte]bool
}

func newTLSPolicy(c Config) (*tlsPolicy, error) {
	p := &tlsPolicy{base: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(8),
	}}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("CA file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("CA file %s: no PEM certificate in it", c.CAFile)
		}
		p.base.RootCAs = pool
	}
	if strings.TrimSpace(c.Fingerprint) != "" {
		pins, err := parseFingerprints(c.Fingerprint)
		if err != nil {
			return nil, err
		}
		p.pins = pins
		// The pin is the whole proof: the handshake shows that the server has
		// the key of the certificate, and the pin that it is the right one.
		// VerifyConnection runs for resumed sessions too.
		p.base.InsecureSkipVerify = true
		p.base.VerifyConnection = p.checkPin
	}
	if c.Insecure {
		p.base.InsecureSkipVerify = true
	}
	return p, nil
}

func (p *tlsPolicy) config(host string) *tls.Config {
	c := p.base.Clone()
	name, _, _ := strings.Cut(host, "%") // an IPv6 zone is no part of a name
	c.ServerName = name
	return c
}

type pinError struct{ cert *x509.Certificate }

func (e *pinError) Error() string { return "the certificate doesn't match the fingerprint" }

func (p *tlsPolicy) checkPin(cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the server shows no certificate")
	}
	leaf := cs.PeerCertificates[0]
	if !p.pins[sha256.Sum256(leaf.Raw)] {
		return &pinError{leaf}
	}
	return nil
}

// parseFingerprints reads one or several SHA-256 values.
func parseFingerprints(s string) (map[[sha256.Size]byte]bool, error) {
	pins := map[[sha256.Size]byte]bool{}
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", ;\t\r\n", r) }) {
		h := f
		if i := strings.IndexByte(h, '='); i >= 0 { // "sha256 Fingerprint=AA:…", as openssl prints it
			h = h[i+1:]
		} else if strings.EqualFold(h, "sha256") || strings.EqualFold(h, "fingerprint") {
			continue
		}
		if len(h) > 7 && strings.EqualFold(h[:7], "sha256:") {
			h = h[7:]
		}
		raw, err := hex.DecodeString(strings.ReplaceAll(h, ":", ""))
		if err != nil || len(raw) != sha256.Size {
			why := "it must be 32 bytes in hex, as AA:BB:…"
			if err == nil && len(raw) == 20 {
				why = "it is a SHA-1 value, the SHA-256 one is needed"
			}
			return nil, fmt.Errorf("fingerprint %q: %s", f, why)
		}
		pins[[sha256.Size]byte(raw)] = true
	}
	if len(pins) == 0 {
		return nil, fmt.Errorf("fingerprint %q: there is no value in it", s)
	}
	return pins, nil
}

// formatFingerprint writes AA:BB:….
func formatFingerprint(sum [sha256.Size]byte) string {
	b := make([]byte, 0, 3*sha256.Size)
	for i, c := range sum {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, upperHex[c>>4], upperHex[c&15])
	}
	return string(b)
}

// handshakeError says why there is no trust; nil if the connection broke and
// that is no matter of TLS.
func (p *tlsPolicy) handshakeError(err error, addr string) *Error {
	e := &Error{Kind: KindTLS, Subject: "host " + addr, Host: addr, Err: err}
	var (
		verify   *tls.CertificateVerificationError
		pin      *pinError
		record   tls.RecordHeaderError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		leaf     *x509.Certificate
	)
	switch {
	case errors.As(err, &pin):
		e.Detail, leaf = DetailPin, pin.cert
		for sum := range p.pins {
			e.Pinned = append(e.Pinned, formatFingerprint(sum))
		}
	case errors.As(err, &verify):
		e.Detail = DetailUnknownAuthority
		if len(verify.UnverifiedCertificates) > 0 {
			leaf = verify.UnverifiedCertificates[0]
		}
		switch {
		case errors.As(err, &hostname):
			e.Detail = DetailHostname
			e.CertNames = certNames(leaf)
			e.Message = "it is for " + strings.Join(e.CertNames, ", ")
			if len(e.CertNames) == 0 {
				e.Message = "it names no host"
			}
		case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
			e.Detail = DetailExpired
			if leaf != nil {
				const day = "2006-01-02"
				e.Message = "it is valid from " + leaf.NotBefore.UTC().Format(day) + " to " + leaf.NotAfter.UTC().Format(day)
			}
		}
	case errors.As(err, &record):
		e.Detail = DetailNotTLS
	case isDropped(err) || errors.Is(err, os.ErrDeadlineExceeded) || isContext(err):
		return nil
	default:
		e.Detail = DetailHandshake
	}
	if leaf != nil {
		e.Fingerprint = formatFingerprint(sha256.Sum256(leaf.Raw))
	}
	return e
}

func certNames(c *x509.Certificate) []string {
	if c == nil {
		return nil
	}
	names := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 && c.Subject.CommonName != "" {
		names = append(names, c.Subject.CommonName)
	}
	return names
}
