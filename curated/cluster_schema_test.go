package curated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
	"pvemcp/internal/schemacache"
)

// fullVersions are what clusters of the snapshots' versions tell.
var fullVersions = map[string]string{"7.4": "7.4-17", "8.4": "8.4.14", "9.2": "9.2.11"}

// simOf starts an embedded cluster of a version. It is not among those whose
// requests are looked at in the end: some of them are for methods that it does
// not have.
func simOf(t testing.TB, version string) *pvesim.Server {
	t.Helper()
	schema, err := apidoc.Snapshot(version)
	require.NoError(t, err)
	sim, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(3, 20, 1), NoAuthDelay: true, Clock: func() time.Time { return now }, Schema: schema})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	setVersion(sim, fullVersions[version])
	return sim
}

func setVersion(sim *pvesim.Server, version string) {
	sim.World().Change(func(w *pvesim.World) {
		w.Version.Version, w.Version.Release = version, schemacache.Key{Version: version}.Release()
	})
}

// files stands between the server and its transport: it counts the files that
// are fetched and may serve others.
type files struct {
	http.RoundTripper
	n     atomic.Int32
	mu    sync.Mutex
	serve func(ctx context.Context) ([]byte, error) // nil: what the cluster serves
}

func (f *files) FetchFile(ctx context.Context, path string, max int64) ([]byte, error) {
	f.n.Add(1)
	f.mu.Lock()
	serve := f.serve
	f.mu.Unlock()
	if serve != nil {
		return serve(ctx)
	}
	return f.RoundTripper.(fileFetcher).FetchFile(ctx, path, max)
}

func (f *files) set(serve func(ctx context.Context) ([]byte, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serve = serve
}

func (f *files) fetched() int { return int(f.n.Load()) }

func serves(data []byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return data, nil }
}

// script gives a version's facts in the form in which nodes serve them.
func script(t testing.TB, version string) []byte {
	t.Helper()
	if b, ok := scripts.Load(version); ok {
		return b.([]byte)
	}
	schema, err := apidoc.Snapshot(version)
	require.NoError(t, err)
	b := bytes.NewBufferString("const apiSchema = ")
	require.NoError(t, apidoc.WriteFacts(b, schema))
	b.WriteString(";\n")
	scripts.Store(version, b.Bytes())
	return b.Bytes()
}

var scripts sync.Map // version → what script gives

// clock is a clock that tests set.
type clock struct{ past atomic.Int64 }

func (c *clock) now() time.Time          { return now.Add(time.Duration(c.past.Load())) }
func (c *clock) forward(d time.Duration) { c.past.Add(int64(d)) }

// schemaRig is a rig whose files and clock the test holds.
func schemaRig(t testing.TB, sim *pvesim.Server, change ...func(*Options)) (*rig, *files, *clock) {
	t.Helper()
	f, c := &files{}, &clock{}
	r := newRig(t, sim, setup{
		rest: func(c *pverest.Config) { c.Timeout = 30 * time.Second },
		options: func(o *Options) {
			f.RoundTripper, o.Transport, o.Now = o.Transport, f, c.now
			for _, set := range change {
				set(o)
			}
		},
	})
	return r, f, c
}

func TestCallsAreCheckedByTheClustersVersion(t *testing.T) {
	for _, c := range []struct {
		version, path string
		query         args
		refusal       []string // none: the call is sent
	}{
		{"9.2", "/cluster/ha/rules", nil, nil},
		{"8.4", "/cluster/ha/rules", nil, []string{"GET /cluster/ha/rules is not in 8.4; it came with a later version (it is in 9.2); here there is /cluster/ha/groups", "Nothing was sent"}},
		{"8.4", "/cluster/ha/groups", nil, nil},
		{"7.4", "/cluster/mapping/pci", nil, []string{"GET /cluster/mapping/pci is not in 7.4; it came with a later version (it is in 8.4)"}},
		{"7.4", "/nodes/pve1/ceph/pools", nil, nil},
		{"8.4", "/nodes/pve1/ceph/pools", nil, []string{"is not in 8.4 any more; 7.4 had it; here there is /nodes/{node}/ceph/pool"}},
		{"8.4", "/nodes/pve1/scan/glusterfs", args{"server": "10.0.0.1"}, nil},
		{"9.2", "/nodes/pve1/scan/glusterfs", args{"server": "10.0.0.1"}, []string{"is not in 9.2 any more; 8.4 had it; GlusterFS storages are not supported any more"}},
		{"8.4", "/pools", args{"poolid": "dev"}, nil},
		{"7.4", "/pools", args{"poolid": "dev"}, []string{"poolid: ", "poolid is not in 7.4; it came with a later version (it is in 8.4)"}},
		{"9.2", "/nodes/pve1/capabilities/qemu/cpu", args{"arch": "x86_64"}, nil},
		{"8.4", "/nodes/pve1/capabilities/qemu/cpu", args{"arch": "x86_64"}, []string{"arch is not in 8.4; it came with a later version (it is in 9.2)"}},
	} {
		t.Run(c.version+c.path, func(t *testing.T) {
			sim := simOf(t, c.version)
			r, f, _ := schemaRig(t, sim)
			want := "GET " + c.path
			var text string
			asked := r.asked(func() { text, _ = r.call("pve_raw_get", args{"path": c.path, "query": c.query}) })
			sent := slices.ContainsFunc(asked, func(a string) bool { return strings.HasPrefix(a, want) })
			require.Equal(t, c.refusal == nil, sent, "%s\n%s", asked, text)
			for _, words := range c.refusal {
				require.Contains(t, text, words)
			}
			require.NotContains(t, text, "could not be")
			if strings.Contains(text, "does not exist in this cluster") {
				return // the embedded cluster has no answer for it
			}
			require.Equal(t, 1, f.fetched())
		})
	}
}

func TestSearchKeepsWhatTheClusterHas(t *testing.T) {
	find := func(version string) string {
		r, _, _ := schemaRig(t, simOf(t, version))
		return r.ok("pve_api_search", args{"query": "affinity rules of HA"})
	}
	require.Contains(t, find("9.2"), "/cluster/ha/rules")
	require.NotContains(t, find("8.4"), "/cluster/ha/rules")
}

// The schema is asked for on the first need, once, and not at start.
func TestSchemaIsFetchedOnceAndTheVersionReadNowAndThen(t *testing.T) {
	sim := simOf(t, "8.4")
	r, f, clock := schemaRig(t, sim)
	get := func() []string {
		return r.asked(func() { r.ok("pve_raw_get", args{"path": "/cluster/status"}) })
	}
	require.Empty(t, sim.Requests())
	require.Empty(t, r.asked(func() {
		_, err := r.session.ListTools(t.Context(), nil)
		require.NoError(t, err)
	}))
	require.Equal(t, []string{"GET /cluster/resources?type=vm"}, r.asked(func() { r.ok("pve_vms", args{}) }), "a tool of ours needs no schema")
	require.Zero(t, f.fetched())

	require.Equal(t, []string{"GET /version", "GET /cluster/status"}, get())
	require.Equal(t, []string{"GET /cluster/status"}, get())
	clock.forward(versionAge - time.Second)
	require.Equal(t, []string{"GET /cluster/status"}, get())
	clock.forward(time.Second)
	require.Equal(t, []string{"GET /version", "GET /cluster/status"}, get(), "the version may have changed")
	require.Equal(t, []string{"GET /cluster/status"}, get())
	require.Equal(t, 1, f.fetched())

	// The cluster was upgraded within 8.4: another version, another file.
	setVersion(sim, "8.4.16")
	clock.forward(versionAge)
	require.Equal(t, []string{"GET /version", "GET /cluster/status"}, get())
	require.Equal(t, 2, f.fetched())
}

// A call that the schema in use does not know is a reason to ask whether the
// cluster was upgraded; a call that the cluster does not know is one too.
func TestClusterIsUpgradedWhileWeRun(t *testing.T) {
	sim := simOf(t, "9.2")
	setVersion(sim, "8.4.14")
	r, f, clock := schemaRig(t, sim)
	f.set(serves(script(t, "8.4")))
	rules := args{"path": "/cluster/ha/rules"}
	r.fails("pve_raw_get", rules, "is not in 8.4")
	setVersion(sim, "9.2.11")
	f.set(serves(script(t, "9.2")))
	require.Empty(t, r.asked(func() { r.fails("pve_raw_get", rules, "is not in 8.4") }), "the version is seconds old")
	clock.forward(doubtAfter)
	require.Equal(t, []string{"GET /version", "GET /cluster/ha/rules"}, r.asked(func() { r.ok("pve_raw_get", rules) }))
	require.Equal(t, 2, f.fetched())

	// A path that no version has costs a look at the version each minute at most.
	clock.forward(doubtAfter)
	nothing := args{"path": "/cluster/ha/rulez"}
	require.Equal(t, []string{"GET /version"}, r.asked(func() { r.fails("pve_raw_get", nothing, "nearest: /cluster/ha/rules") }))
	require.Empty(t, r.asked(func() { r.fails("pve_raw_get", nothing) }))
	require.Equal(t, 2, f.fetched())
	// When the file is some hours old, it is fetched anew for it, once.
	clock.forward(fileAge)
	r.fails("pve_raw_get", nothing)
	require.Equal(t, 3, f.fetched())
	clock.forward(doubtAfter)
	r.fails("pve_raw_get", nothing)
	require.Equal(t, 3, f.fetched())
}

func TestClusterDoesNotKnowWhatItsFileHas(t *testing.T) {
	sim := simOf(t, "8.4")
	r, f, _ := schemaRig(t, sim)
	f.set(serves(script(t, "9.2"))) // a package ahead of the others
	r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "does not exist in this cluster's version")
	require.Equal(t, 2, f.fetched(), "the file was fetched anew")
	f.set(nil)
	r.fails("pve_raw_get", args{"path": "/nodes/pve1/capabilities/qemu/cpu", "query": args{"arch": "x86_64"}}, "Proxmox refused", "arch")
	require.Equal(t, 2, f.fetched(), "but not time and again")
}

// What may come instead of a file. In the end calls are checked by the nearest
// snapshot, the first answer says so, and the cluster is asked again later.
func TestBadSchemaFiles(t *testing.T) {
	good := script(t, "8.4")
	at := bytes.Index(good, []byte(`"/cluster/status"`))
	at += bytes.Index(good[at:], []byte(`"GET":`)) + len(`"GET":`)
	end := at + bytes.IndexByte(good[at:], '\n')
	methodIsJunk := append(append(append([]byte{}, good[:at]...), `"boo"`...), good[end:]...)
	for _, c := range []struct {
		name  string
		fault *pvesim.Fault
		serve func(ctx context.Context) ([]byte, error)
		why   string
	}{
		{name: "404", fault: &pvesim.Fault{Kind: pvesim.FaultStatus, Status: 404, Reason: "Not Found"}, why: "404"},
		{name: "page", fault: &pvesim.Fault{Kind: pvesim.FaultHTML}, why: "HTML"},
		{name: "elsewhere", fault: &pvesim.Fault{Kind: pvesim.FaultRedirect}, why: "redirect"},
		{name: "offline", fault: &pvesim.Fault{Kind: pvesim.FaultOffline}, why: "595"},
		{name: "nested", fault: &pvesim.Fault{Kind: pvesim.FaultNested, Size: 100000}},
		{name: "huge", fault: &pvesim.Fault{Kind: pvesim.FaultHuge, Size: apidoc.MaxText + 1<<20}, why: "bytes"},
		{name: "truncated", serve: serves(good[:len(good)/2]), why: "truncated"},
		{name: "empty", serve: serves(nil), why: "empty"},
		{name: "foreign", serve: serves([]byte(`const apiSchema = [{"path":"/version","text":"version","leaf":1,"info":{"GET":{"method":"GET"}}}];`)), why: "not of Proxmox VE"},
		{name: "method", serve: serves(methodIsJunk), why: "GET /cluster/status is not an object"},
		{name: "panic", serve: func(context.Context) ([]byte, error) { panic("hostile") }, why: "fault of pve-mcp itself"},
		{name: "hangs", serve: func(ctx context.Context) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, why: "deadline"},
		{name: "long words", serve: func(context.Context) ([]byte, error) {
			return nil, errors.New(strings.Repeat("\x1b[31mred\u202e ", 500) + "\nsecond line")
		}, why: "red"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim := simOf(t, "8.4")
			r, f, clock := schemaRig(t, sim)
			if c.name == "hangs" {
				r.server.schemas.fileWait = 50 * time.Millisecond
			}
			f.set(c.serve)
			if c.fault != nil {
				c.fault.Path = schemacache.Path
				_, err := sim.AddFault(*c.fault)
				require.NoError(t, err)
			}
			status := args{"path": "/cluster/status", "fields": "name"}
			answer := object(t, r.ok("pve_raw_get", status))
			require.Len(t, answer["warnings"], 1)
			warning := answer["warnings"].([]any)[0].(string)
			require.Regexp(t, `^The (cluster's version|API schema that this cluster \(8\.4\.14\) serves) could not be (read|used) \(`, warning)
			require.Contains(t, warning, c.why)
			require.Less(t, len(warning), 420)
			require.NotContains(t, object(t, r.ok("pve_raw_get", status)), "warnings", "once is enough")
			if c.name != "panic" { // then not even the version is known
				r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "is not in 8.4")
			}
			before := f.fetched()

			// Some minutes later the file is good.
			sim.ClearFaults()
			f.set(nil)
			r.server.schemas.fileWait = fileWait
			clock.forward(retryAfter)
			require.NotContains(t, object(t, r.ok("pve_raw_get", status)), "warnings")
			require.Equal(t, before+1, f.fetched())
			clock.forward(retryAfter)
			r.ok("pve_raw_get", status)
			require.Equal(t, before+1, f.fetched())
		})
	}
}

// A refusal by what stands in for the cluster's schema may be wrong; it says so.
func TestRefusalByASnapshotCarriesTheWarning(t *testing.T) {
	r, f, _ := schemaRig(t, simOf(t, "8.4"))
	f.set(serves(nil))
	wrong := args{"path": "/cluster/statu"}
	r.fails("pve_raw_get", wrong, "no API path", "could not be used")
	text, _ := r.call("pve_raw_get", wrong)
	require.NotContains(t, text, "could not be used")
}

// The last good file is better than a snapshot.
func TestLastGoodSchemaStandsIn(t *testing.T) {
	dir := t.TempDir()
	cache := func(o *Options) { o.CacheDir = dir }
	sim := simOf(t, "9.2")
	odd := bytes.ReplaceAll(script(t, "9.2"), []byte(`"/cluster/ha/rules","text":"rules"`), []byte(`"/cluster/ha/rules","text":"rulez"`))
	odd = bytes.ReplaceAll(odd, []byte(`"/cluster/ha/rules`), []byte(`"/cluster/ha/rulez`))

	r, f, clock := schemaRig(t, sim, cache)
	f.set(serves(odd))
	// The check lets it pass; the gate, which goes by what is known here, does not.
	const onlyThere = "is refused: no version of Proxmox's API that pve-mcp knows has this method"
	own := args{"path": "/cluster/ha/rulez"}
	r.fails("pve_raw_get", own, onlyThere)
	// In this process …
	f.set(serves(nil))
	clock.forward(fileAge)
	text := r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "not in this cluster's build of 9.2")
	// The date is the kept file's, of the machine's own clock.
	require.Regexp(t, `calls are checked by the copy of 20\d\d-\d\d-\d\d\.`, text)

	// … and in the next, long after.
	r, f, clock = schemaRig(t, sim, cache)
	f.set(serves(nil))
	clock.forward(time.Since(now) + 2*schemacache.MaxAge)
	r.fails("pve_raw_get", own, onlyThere)
	require.Positive(t, f.fetched())
	require.Equal(t, schemacache.Old, r.server.schemas.current().Origin)
}

func TestVersionThatCantBeRead(t *testing.T) {
	for _, fault := range []pvesim.Fault{
		{Kind: pvesim.FaultStatus, Status: 403, Reason: "Permission check failed"},
		{Kind: pvesim.FaultStatus, Status: 200, Reason: "OK", Body: `{"data":null}`},
		{Kind: pvesim.FaultStatus, Status: 200, Reason: "OK", Body: `{"data":{"version":""}}`},
		{Kind: pvesim.FaultHTML},
	} {
		sim := simOf(t, "8.4")
		r, f, clock := schemaRig(t, sim)
		fault.Path = "/version"
		_, err := sim.AddFault(fault)
		require.NoError(t, err)
		status := args{"path": "/cluster/status", "fields": "name"}
		answer := object(t, r.ok("pve_raw_get", status))
		require.Len(t, answer["warnings"], 1, "%+v: %v", fault, answer)
		require.Contains(t, answer["warnings"].([]any)[0], "The cluster's version could not be read (")
		require.Contains(t, answer["warnings"].([]any)[0], "calls are checked by the API of 9.2, the newest known here.")
		require.NotContains(t, object(t, r.ok("pve_raw_get", status)), "warnings")
		require.Zero(t, f.fetched(), "without a version no file has a place")
		sim.ClearFaults()
		clock.forward(doubtAfter)
		r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "is not in 8.4")

		// Known once, the version is believed through a trouble later.
		_, err = sim.AddFault(fault)
		require.NoError(t, err)
		clock.forward(versionAge)
		require.NotContains(t, object(t, r.ok("pve_raw_get", status)), "warnings")
		r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "is not in 8.4")
		require.Equal(t, 1, f.fetched())
	}
}

// A version is foreign text too.
func TestHostileVersions(t *testing.T) {
	for _, version := range []string{"../../../../etc/passwd", strings.Repeat("9", 100000), "9.2\x00.1", "\u202e9.2", "9.2\n.11"} {
		dir := t.TempDir()
		sim := simOf(t, "9.2")
		r, _, _ := schemaRig(t, sim, func(o *Options) { o.CacheDir = filepath.Join(dir, "cache") })
		body, err := json.Marshal(args{"data": args{"version": version, "repoid": version, "release": version}})
		require.NoError(t, err)
		_, err = sim.AddFault(pvesim.Fault{Kind: pvesim.FaultStatus, Path: "/version", Status: 200, Reason: "OK", Body: string(body)})
		require.NoError(t, err)
		r.ok("pve_raw_get", args{"path": "/cluster/status"})
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		entries, err = os.ReadDir(filepath.Join(dir, "cache"))
		require.NoError(t, err)
		require.Len(t, entries, 1)
	}
}

func TestSchemaIsKeptOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pve-mcp")
	sim := simOf(t, "8.4")
	for i, hosts := range []string{"a", "a", "b"} {
		r, f, _ := schemaRig(t, sim, func(o *Options) { o.CacheDir, o.Hosts = dir, hosts })
		r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "is not in 8.4")
		require.Equal(t, []int{1, 0, 1}[i], f.fetched())
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

func TestCacheFolderThatCantBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	sim := simOf(t, "8.4")
	r, _, clock := schemaRig(t, sim, func(o *Options) { o.CacheDir = filepath.Join(file, "cache") })
	r.fails("pve_raw_get", args{"path": "/cluster/ha/rules"}, "is not in 8.4")
	require.NotContains(t, object(t, r.ok("pve_raw_get", args{"path": "/cluster/status"})), "warnings")
	setVersion(sim, "8.4.15")
	clock.forward(versionAge)
	r.ok("pve_raw_get", args{"path": "/cluster/status"})
	require.Equal(t, 1, strings.Count(r.log.String(), "can't be kept on disk"), r.log.String())
}

// Many calls at once are one question to the cluster, and one that is given up
// takes nothing from the others.
func TestManyFirstCallsAtOnce(t *testing.T) {
	r, f, _ := schemaRig(t, simOf(t, "8.4"))
	hold := make(chan struct{})
	data := script(t, "8.4")
	f.set(func(context.Context) ([]byte, error) { <-hold; return data, nil })
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	go func() { _, err := r.server.schemas.get(ctx); given <- err }()
	require.Eventually(t, func() bool { return f.fetched() == 1 }, 5*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-given, context.Canceled)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			held, err := r.server.schemas.get(t.Context())
			if err != nil || held.Origin != schemacache.Fetched {
				t.Errorf("%+v, %v", held, err)
			}
		})
	}
	close(hold)
	wg.Wait()
	require.Equal(t, 1, f.fetched())
}

// A transport that gets no files is no reason to fail.
func TestTransportWithoutFiles(t *testing.T) {
	r := newRig(t, simOf(t, "8.4"), setup{options: func(o *Options) { o.Transport = struct{ http.RoundTripper }{o.Transport} }})
	answer := object(t, r.ok("pve_raw_get", args{"path": "/cluster/status"}))
	require.Contains(t, answer["warnings"].([]any)[0], "gets no files")
}

// published gives a node's whole file where the folder with such files is at
// hand, else the facts of the newest snapshot.
func published(b *testing.B) []byte {
	packed, err := os.ReadFile("../../shared/apidoc/pve-9.2.json.gz")
	if err != nil {
		return script(b, apidoc.Newest)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(b, err)
	data := bytes.NewBufferString("const apiSchema = ")
	_, err = data.ReadFrom(zr)
	require.NoError(b, err)
	data.WriteString(";\n")
	return data.Bytes()
}

// BenchmarkRawGet measures what the program itself needs for a raw call, the
// embedded cluster's share included: the first one of a session, by where its
// schema comes from, and later ones.
func BenchmarkRawGet(b *testing.B) {
	sim := sharedSim(b, 3, 60)
	call := json.RawMessage(`{"path":"/nodes/pve1/dns"}`)
	file := published(b)
	run := func(b *testing.B, s *Server) {
		b.Helper()
		res, err := s.Call(b.Context(), "pve_raw_get", call)
		require.NoError(b, err)
		require.False(b, res.IsError, res.Text)
	}
	first := func(b *testing.B, serve func(context.Context) ([]byte, error), change ...func(*Options)) {
		for b.Loop() {
			b.StopTimer()
			r, f, _ := schemaRig(b, sim, change...)
			f.set(serve)
			b.StartTimer()
			run(b, r.server)
		}
	}
	b.Run("first/snapshot", func(b *testing.B) {
		first(b, func(context.Context) ([]byte, error) { return nil, errors.New("none") })
	})
	b.Run("first/fetched", func(b *testing.B) {
		first(b, serves(file))
	})
	b.Run("first/kept", func(b *testing.B) {
		dir := b.TempDir()
		r, f, _ := schemaRig(b, sim, func(o *Options) { o.CacheDir = dir })
		f.set(serves(file))
		run(b, r.server)
		b.ResetTimer()
		first(b, func(context.Context) ([]byte, error) { return nil, errors.New("not asked") }, func(o *Options) { o.CacheDir = dir })
	})
	b.Run("later", func(b *testing.B) {
		r, f, _ := schemaRig(b, sim)
		f.set(serves(file))
		run(b, r.server)
		b.ReportAllocs()
		b.ResetTimer()
		for b.Loop() {
			run(b, r.server)
		}
	})
}
