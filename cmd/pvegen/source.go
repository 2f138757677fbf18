package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pvemcp/apidoc"
)

// schemaPath is where every node serves its schema, without a login.
const schemaPath = "/pve-docs/api-viewer/apidoc.js"

// source reads a schema from a file or from a node.
type source struct {
	caFile, fingerprint string
	insecure            bool
	timeout             time.Duration
}

func (s *source) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.caFile, "ca", "", "PEM file of the authority that signed the node's certificate")
	f.StringVar(&s.fingerprint, "fingerprint", "", "SHA-256 of the node's certificate, as AA:BB:…")
	f.BoolVar(&s.insecure, "insecure", false, "accept any certificate")
	f.DurationVar(&s.timeout, "timeout", 60*time.Second, "how long to wait for a node")
}

func (s *source) schema(ctx context.Context, in string) (*apidoc.Schema, error) {
	if in == "" {
		return nil, errNoInput
	}
	read := readFile
	if strings.HasPrefix(in, "https://") || strings.HasPrefix(in, "http://") {
		read = func(in string) ([]byte, error) { return s.fetch(ctx, in) }
	}
	data, err := read(in)
	if err != nil {
		return nil, err
	}
	schema, err := apidoc.Parse(data, filepath.Base(in))
	if re := (*apidoc.ReadError)(nil); errors.As(err, &re) {
		re.Source = in
	}
	return schema, err
}

// readFile holds the cap before anything is read into memory whole.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readCapped(f, name)
}

func readCapped(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, apidoc.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > apidoc.MaxText {
		return nil, fmt.Errorf("%s: larger than %d MiB, which no published schema is", name, apidoc.MaxText>>20)
	}
	return data, nil
}

// fetch gets a node's own file. http:// is taken for loopback alone.
func (s *source) fetch(ctx context.Context, in string) ([]byte, error) {
	u, err := url.Parse(in)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s: not a URL of a node, such as https://NODE:8006", in)
	}
	if u.User != nil {
		return nil, errors.New("the URL of a node needs no user and no password: the schema is served to anybody")
	}
	if ip := net.ParseIP(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%s: http:// is taken for loopback addresses alone, use https://", in)
	}
	if u.Scheme == "https" && u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "8006")
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = schemaPath
	}
	config, err := s.tlsConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, explainTLS(u.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: answered %s; a Proxmox VE node serves its schema there", u, resp.Status)
	}
	return readCapped(resp.Body, u.String())
}

func (s *source) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	set := 0
	for _, on := range [...]bool{s.caFile != "", s.fingerprint != "", s.insecure} {
		if on {
			set++
		}
	}
	switch {
	case set > 1:
		return nil, errors.New("only one of -ca, -fingerprint and -insecure can be meant")
	case s.caFile != "":
		pem, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in PEM form", s.caFile)
		}
	case s.fingerprint != "":
		want := strings.ToLower(strings.ReplaceAll(s.fingerprint, ":", ""))
		config.InsecureSkipVerify = true // the pin below replaces the check
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if have := fingerprintOf(state.PeerCertificates[0]); have != want {
				return fmt.Errorf("the certificate has the fingerprint %s, not the one given", colons(have))
			}
			return nil
		}
	case s.insecure:
		config.InsecureSkipVerify = true
	}
	return config, nil
}

func explainTLS(host string, err error) error {
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) && len(unverified.UnverifiedCertificates) > 0 {
		return fmt.Errorf("%w\nif the node %s shows this fingerprint itself (pvenode cert info), pass -fingerprint %s; or pass its /etc/pve/pve-root-ca.pem by -ca",
			err, host, colons(fingerprintOf(unverified.UnverifiedCertificates[0])))
	}
	return err
}

func fingerprintOf(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }

func colons(hex string) string {
	var parts []string
	for i := 0; i+2 <= len(hex); i += 2 {
		parts = append(parts, strings.ToUpper(hex[i:i+2]))
	}
	return strings.Join(parts, ":")
}
