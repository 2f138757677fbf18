package pverest

import (
	"context"
	"net/http"
)

// Transport is the RoundTripper that really talks to Proxmox VE.
type Transport struct {
	cfg Config
	eps []endpoint
}

// NewTransport checks the configuration and reads the CA file if there is one;
// it connects to nothing. Errors name the setting that is wrong.
func NewTransport(c Config) (*Transport, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	eps, err := c.parseHosts()
	if err != nil {
		return nil, err
	}
	return &Transport{cfg: c, eps: eps}, nil
}

// RoundTrip sends a request whose URL's path is below /api2/json to a host of the cluster.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) { panic("soon") }

// FetchFile gets a file that a node serves beside the API, e.g.
// /pve-docs/api-viewer/apidoc.js, by the same TLS settings and hosts, without
// sending the token. More than max bytes is an error of KindTooLarge.
func (t *Transport) FetchFile(ctx context.Context, path string, max int64) ([]byte, error) {
	panic("soon")
}

// Requests counts the requests that were put on the wire, retries included.
func (t *Transport) Requests() uint64 { return 0 }

// Close closes the idle connections.
func (t *Transport) Close() {}
