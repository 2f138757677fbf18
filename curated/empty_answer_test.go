package curated

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"pvemcp/internal/pverest"
)

// TestEmptyAnswers: an answer without content, and a failure between nodes
// where no node is named, are told for what they are.
func TestEmptyAnswers(t *testing.T) {
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"data":null}`)
	}))
	t.Cleanup(srv.Close)
	r := newRig(t, nil, setup{rest: func(c *pverest.Config) { c.Hosts = []string{srv.URL} }})
	r.fails("pve_version", nil, "names no version", "PROXMOX_HOST")
	status = 596
	r.fails("pve_version", nil, "A node did not answer", "596")
}
