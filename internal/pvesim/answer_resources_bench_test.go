package pvesim

import (
	"io"
	"net/http"
	"testing"
)

// The figures to hold: a world of 64 nodes and 20,000 guests in under a
// second, the list of 32 nodes and 5,000 guests in well under 100 ms.

func BenchmarkGenerate64x20000(b *testing.B) {
	for b.Loop() {
		Generate(64, 20000, 1)
	}
}

func BenchmarkClusterResources32x5000(b *testing.B) {
	s := start(b, Options{World: Generate(32, 5000, 1)})
	for b.Loop() {
		req, err := http.NewRequest("GET", s.URL()+"/api2/json/cluster/resources", nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "PVEAPIToken=root@pam!full="+TokenSecret)
		// As the product's own client: it does not ask for compression.
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 {
			b.Fatal(resp.Status, err)
		}
		b.ReportMetric(float64(len(body)), "bytes")
	}
}
