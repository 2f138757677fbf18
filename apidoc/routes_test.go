package apidoc

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func routesOf(s *Schema) *Routes {
	return NewRoutes(func(yield func(Verb, string) bool) {
		for _, e := range s.Endpoints() {
			if !yield(e.Verb, e.Path) {
				return
			}
		}
	})
}

func TestRoutesAgreeWithTheSchema(t *testing.T) {
	s, err := Snapshot(Newest)
	require.NoError(t, err)
	r := routesOf(s)
	same := func(verb Verb, path string) {
		t.Helper()
		template, values, err := r.Lookup(verb, path)
		m, serr := s.Lookup(verb, path)
		require.Equal(t, serr == nil, err == nil, "%s %q", verb, path)
		if err == nil {
			require.Equal(t, m.Path, template, path)
			require.Equal(t, m.Values, values, path)
		}
	}
	for _, e := range s.Endpoints() {
		path := e.Path
		for _, p := range e.PathParams() {
			path = strings.Replace(path, "{"+p+"}", "x1", 1)
		}
		same(e.Verb, path)
		if EndsInTail(e.Path) {
			same(e.Verb, path+"/a/b%0A")
		}
	}
	same(GET, "/")
	same(GET, "/nodes/p/storage/s/content/a:b/c.iso")
	same(GET, "/nodes/p/storage/s/content/a b")
	same(PUT, "/version")
	same(GET, "/nodes/p/qemu/100/config/more")
	same(GET, "/nodes/p q/qemu")
}

func BenchmarkNewRoutes(b *testing.B) {
	s, err := Snapshot(Newest)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		routesOf(s)
	}
}
