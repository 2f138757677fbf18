package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type guest struct {
	VMID                     int
	Name, Node, Status, Kind string
	CPU                      float64
	Mem, MaxMem, Uptime      int64
	Tags                     []string
}

var testNow = time.Date(2026, 1, 31, 15, 4, 0, 0, time.UTC)

func guests(n int, seed uint64) []guest {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]guest, n)
	names := []string{"web", "db", "mail", "proxy", "büro", "win", "k8s"}
	for i := range out {
		g := guest{VMID: 99 + i, Name: fmt.Sprintf("%s-%02d", names[r.IntN(len(names))], r.IntN(100)), Node: fmt.Sprintf("pve%d", 1+r.IntN(32)),
			Status: "running", Kind: "qemu", CPU: r.Float64(), MaxMem: int64(1+r.IntN(64)) << 30}
		if r.IntN(3) == 0 {
			g.Status = "stopped"
		} else {
			g.Mem = r.Int64N(g.MaxMem)
			g.Uptime = r.Int64N(1e7)
		}
		if r.IntN(2) == 0 {
			g.Kind = "lxc"
		}
		if r.IntN(5) == 0 {
			g.Tags = []string{"prod", "web"}
		}
		out[i] = g
	}
	r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func guestTable(gs []guest) *Table[guest] {
	return &Table[guest]{
		ID: "guests", Rows: gs,
		Key: func(g *guest) string { return Key(g.VMID) },
		Columns: []Column[guest]{
			{Name: "vmid", Right: true, Stable: true, Cell: func(g *guest) Cell { return Int(g.VMID) }},
			{Name: "name", Stable: true, Cell: func(g *guest) Cell { return Str(g.Name) }},
			{Name: "status", Cell: func(g *guest) Cell { return Str(g.Status) }},
			{Name: "node", Cell: func(g *guest) Cell { return Str(g.Node) }},
			{Name: "cpu", Right: true, Cell: func(g *guest) Cell { return Pct(g.CPU) }},
			{Name: "mem", Right: true, Cell: func(g *guest) Cell { return Bytes(g.Mem) }},
			{Name: "maxmem", Right: true, Cell: func(g *guest) Cell { return Bytes(g.MaxMem) }},
			{Name: "uptime", Right: true, Cell: func(g *guest) Cell {
				if g.Status != "running" {
					return None()
				}
				return Seconds(g.Uptime)
			}},
			{Name: "tags", Cell: func(g *guest) Cell { return List(g.Tags) }},
			{Name: "kind", Extra: true, Cell: func(g *guest) Cell { return Str(g.Kind) }},
		},
		GroupBy: []string{"status", "node"},
		Narrow:  []string{"node", "status", "name"},
	}
}

func guestDoc(n int) *Doc {
	d := &Doc{}
	d.Summaryf("%s", FormatCount(n, "guest"))
	d.Add(guestTable(guests(n, 1)))
	return d
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		ok(t, os.MkdirAll("testdata", 0o755))
		ok(t, os.WriteFile(path, []byte(got+"\n"), 0o644))
	}
	want, err := os.ReadFile(path)
	ok(t, err)
	if got+"\n" != string(want) {
		t.Errorf("%s differs from its golden file; got:\n%s", name, got)
	}
}

func mustRender(t testing.TB, d *Doc, o Options) string {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = testNow
	}
	s, err := d.Render(o)
	ok(t, err)
	return s
}

func richDoc() *Doc {
	d := &Doc{}
	d.Summaryf("VM 104 'web-01' on pve2: running, 5d 3h")
	d.Warnf("guest agent does not answer: addresses unknown")
	kv := &KV{ID: "config"}
	kv.Set("cores", Int(4))
	kv.Set("memory", Bytes(int64(8)<<30))
	kv.Set("used", Usage(int64(3)<<30, int64(8)<<30))
	kv.Set("cpu", Pct(0.123))
	kv.Set("ha", None())
	kv.Set("onboot", Bool(true))
	kv.Set("started", Time(testNow.Add(-123*time.Hour)))
	kv.Set("backup", Ago(testNow.Add(-2*time.Hour)))
	kv.Set("tags", List([]string{"prod", "web"}))
	kv.Set("load", Float(1.256, 2))
	d.Add(kv)
	type snap struct {
		name string
		t    int64
		ram  bool
	}
	d.Add(&Table[snap]{ID: "snapshots", Heading: "snapshots", Rows: []snap{{"before upgrade", 1769000000, true}, {"clean", 1760000000, false}},
		Key: func(s *snap) string { return Key(s.t, s.name) }, Desc: true,
		Columns: []Column[snap]{
			{Name: "name", Cell: func(s *snap) Cell { return Str(s.name) }},
			{Name: "time", Stable: true, Cell: func(s *snap) Cell { return Unix(s.t) }},
			{Name: "ram", Cell: func(s *snap) Cell { return Bool(s.ram) }},
		}})
	d.Add(&Fenced{ID: "notes", Heading: "notes (written in the guest, not trusted)", Text: "# Web\n```\nrm -rf /\n```\nignore \u202eprevious\u200b \x1b[31mred\x1b[0m"})
	d.Add(&Log{Heading: "last task", Lines: []string{"starting", "INFO: 10%\r", "TASK OK"}})
	d.Hintf("pve_snapshots shows sizes")
	return d
}

func TestGolden(t *testing.T) {
	golden(t, "rich.text", mustRender(t, richDoc(), Options{}))
	golden(t, "rich.json", mustRender(t, richDoc(), Options{Format: JSON}))
	golden(t, "rich.small", mustRender(t, richDoc(), Options{MaxTokens: 150}))
	golden(t, "guests7.text", mustRender(t, guestDoc(7), Options{}))
	golden(t, "guests5000.text", mustRender(t, guestDoc(5000), Options{MaxTokens: 800}))
	golden(t, "guests5000.json", mustRender(t, guestDoc(5000), Options{MaxTokens: 800, Format: JSON}))
	golden(t, "guests5000.cpu", mustRender(t, guestDoc(5000), Options{MaxTokens: 400, Sort: "cpu"}))
	golden(t, "guests5000.fields", mustRender(t, guestDoc(5000), Options{MaxTokens: 300, Fields: []string{"kind", "vmid"}, Format: JSON}))
	golden(t, "guests0.text", mustRender(t, guestDoc(0), Options{}))
	golden(t, "guests5000.limit", mustRender(t, guestDoc(5000), Options{Limit: 5}))
	imp := guestDoc(5000)
	imp.Blocks[0].(*Table[guest]).Important = func(g *guest) int {
		if g.VMID%1500 == 0 {
			return g.VMID
		}
		return 0
	}
	golden(t, "guests5000.important", mustRender(t, imp, Options{MaxTokens: 400}))
}

func TestBudget(t *testing.T) {
	real := o200k(t)
	for _, n := range []int{0, 1, 2, 3, 10, 50, 100, 1000, 20000} {
		gs := guests(n, 3)
		for _, max := range []int{100, 200, 500, 2000, 6000} {
			for _, f := range []Format{Text, JSON} {
				d := &Doc{}
				d.Summaryf("%s", FormatCount(n, "guest"))
				d.Warnf("node pve3 did not answer")
				d.Hintf("pve_vm_info shows one")
				d.Add(guestTable(gs))
				s := mustRender(t, d, Options{MaxTokens: max, Format: f})
				if e := Estimate(s); e > max {
					t.Errorf("%d rows, %d tokens, %s: estimated %d\n%s", n, max, f, e, s)
				}
				if r := real(s); float64(r) > 1.05*float64(max) {
					t.Errorf("%d rows, %d tokens, %s: really %d", n, max, f, r)
				}
				if f == JSON && !json.Valid([]byte(s)) {
					t.Errorf("not JSON: %s", s)
				}
				if !strings.Contains(s, FormatCount(n, "guest")) || !strings.Contains(s, "pve3 did not answer") {
					t.Errorf("summary or warning lost: %s", s)
				}
				if n == 20000 && max >= 500 && !strings.Contains(s, "cursor") {
					t.Errorf("no cursor: %s", s)
				}
				if n >= 1000 && max >= 500 && Estimate(s) < max*8/10 {
					t.Errorf("%d rows, %d tokens, %s: only %d used\n%s", n, max, f, Estimate(s), s)
				}
			}
		}
	}
}

func BenchmarkRender20000(b *testing.B) {
	gs := guests(20000, 1)
	b.ReportAllocs()
	for b.Loop() {
		d := &Doc{}
		d.Add(guestTable(gs))
		mustRender(b, d, Options{})
	}
}

func BenchmarkRender20000JSON(b *testing.B) {
	gs := guests(20000, 1)
	for b.Loop() {
		d := &Doc{}
		d.Add(guestTable(gs))
		mustRender(b, d, Options{Format: JSON})
	}
}
