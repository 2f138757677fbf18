package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// anyText gives texts that try to break an answer's form.
func anyText(r *rand.Rand) string {
	parts := []string{"web", " ", "\n", "\t", "```", "\x1b[31m", "\u202e", "büro", "サーバー", `"`, `\`, ",", "|", "\x00", "1045", "UPID:pve1:0003A1F2:", "🚀", "=", "cursor=", "</x>", "\xff", "local-lvm:vm-100-disk-0"}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(parts[r.IntN(len(parts))])
	}
	if r.IntN(40) == 0 {
		return strings.Repeat(b.String()+"x", 500)
	}
	return b.String()
}

func anyCell(r *rand.Rand) Cell {
	switch r.IntN(14) {
	case 0:
		return None()
	case 1:
		return Int(r.Int64() - 1<<62)
	case 2:
		return Float(r.NormFloat64()*1e6, r.IntN(5))
	case 3:
		return Bytes(r.Int64N(1 << 50))
	case 4:
		return Pct(r.Float64())
	case 5:
		return Usage(r.Int64N(1<<40)-1, r.Int64N(1<<40))
	case 6:
		return Seconds(r.IntN(1e8))
	case 7:
		return Unix(r.IntN(2e9))
	case 8:
		return Ago(testNow.Add(-time.Duration(r.Int64N(1e15))))
	case 9:
		return Bool(r.IntN(2) == 0)
	case 10:
		return List([]string{anyText(r), anyText(r)})
	case 11:
		return Any(map[string]any{anyText(r): 1.5})
	}
	return Str(anyText(r))
}

func anyDoc(r *rand.Rand) *Doc {
	d := &Doc{}
	some := func(add func(string, ...any)) {
		n := r.IntN(4)
		if r.IntN(20) == 0 {
			n = 300
		}
		for range n {
			add("%s", anyText(r))
		}
	}
	some(d.Summaryf)
	some(d.Warnf)
	some(d.Hintf)
	for b := range r.IntN(5) {
		id := []string{"", fmt.Sprint("b", b)}[r.IntN(2)]
		n := r.IntN(20)
		if r.IntN(4) == 0 {
			n = r.IntN(3000)
		}
		switch r.IntN(5) {
		case 0:
			k := &KV{ID: id, Heading: anyText(r)}
			for i := range n {
				k.Set(fmt.Sprint(anyText(r), i), anyCell(r))
			}
			d.Add(k)
		case 1:
			l := &Log{ID: id, Heading: anyText(r), First: r.IntN(5), Narrow: []string{"start", "limit"}}
			for range n {
				l.Lines = append(l.Lines, anyText(r))
			}
			d.Add(l)
		case 2:
			d.Add(&Fenced{ID: id, Heading: anyText(r), Text: strings.Repeat(anyText(r), n), Tail: r.IntN(2) == 0})
		case 3:
			l := &Lines{ID: id, Heading: anyText(r)}
			for range n {
				l.Lines = append(l.Lines, anyText(r))
			}
			d.Add(l)
		default:
			rows := make([][4]Cell, n)
			for i := range rows {
				for j := range rows[i] {
					rows[i][j] = anyCell(r)
				}
			}
			t := &Table[[4]Cell]{ID: fmt.Sprint("t", b), Heading: anyText(r), Rows: rows, GroupBy: []string{"c1", "c2"}, Narrow: []string{"node"}}
			for j := range 4 {
				t.Columns = append(t.Columns, Column[[4]Cell]{Name: fmt.Sprint("c", j), Right: j == 2, Cell: func(c *[4]Cell) Cell { return c[j] }})
			}
			d.Add(t)
		}
	}
	return d
}

// Whatever is put into a document, its text stays within the budget and its
// JSON is JSON.
func TestAnyDocument(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := anyDoc(r)
		o := Options{MaxTokens: 100 + r.IntN(3000), Now: testNow}
		s := mustRender(t, d, o)
		if e := Estimate(s); e > o.MaxTokens {
			t.Errorf("seed %d: text of %d tokens for %d", seed, e, o.MaxTokens)
		}
		for _, c := range []string{"\x1b", "\u202e", "\x00", "\r"} {
			if strings.Contains(s, c) {
				t.Errorf("seed %d: %q in the answer", seed, c)
			}
		}
		o.Format = JSON
		s = mustRender(t, d, o)
		if e := Estimate(s); e > o.MaxTokens {
			t.Errorf("seed %d: JSON of %d tokens for %d", seed, e, o.MaxTokens)
		}
		if !json.Valid([]byte(s)) {
			t.Errorf("seed %d: not JSON: %.300s", seed, s)
		}
		var v any
		ok(t, json.Unmarshal([]byte(s), &v))
		for _, c := range []string{"\x1b", "\u202e", "\x00", "\r"} {
			if strings.Contains(fmt.Sprint(v), c) {
				t.Errorf("seed %d: %q in the JSON answer", seed, c)
			}
		}
	}
}

func TestNoCellBreaksARow(t *testing.T) {
	rows := make([]string, 50)
	r := rand.New(rand.NewPCG(4, 4))
	for i := range rows {
		rows[i] = "x" + anyText(r)
	}
	d := &Doc{}
	d.Add(&Table[string]{ID: "t", Rows: rows, Columns: []Column[string]{
		{Name: "a", Cell: func(s *string) Cell { return Str(*s) }}, {Name: "b", Cell: func(s *string) Cell { return Str(*s + "y") }}}})
	s := mustRender(t, d, Options{MaxTokens: 100000})
	if n := strings.Count(s, "\n"); n != 50 {
		t.Errorf("%d lines", n)
	}
}

func TestRequestErrors(t *testing.T) {
	for _, c := range []struct {
		o     Options
		kind  ErrKind
		first string
	}{
		{Options{Fields: []string{"vmdi"}}, UnknownField, "vmid"},
		{Options{Fields: []string{"nam"}}, UnknownField, "name"},
		{Options{Fields: []string{strings.Repeat("x", 10000)}}, UnknownField, ""},
		{Options{Sort: "memory"}, UnknownSort, "mem"},
		{Options{Format: "yaml"}, BadFormat, "text"},
	} {
		_, err := guestDoc(3).Render(c.o)
		var e *Error
		if !errors.As(err, &e) || e.Kind != c.kind || len(e.Valid) == 0 || c.first != "" && e.Valid[0] != c.first || len(e.Error()) > 300 {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

func TestFields(t *testing.T) {
	s := mustRender(t, guestDoc(3), Options{Fields: []string{"kind", "vmid"}})
	if !strings.Contains(s, "\nkind vmid\n") || strings.Contains(s, "name") {
		t.Error(s)
	}
	s = mustRender(t, richDoc(), Options{Fields: []string{"cores", "ha", "notes"}, Format: JSON})
	if !strings.Contains(s, `"config":{"cores":4,"ha":null}`) || !strings.Contains(s, `"notes":`) || strings.Contains(s, "snapshots\"") {
		t.Error(s)
	}
}

func TestLogKeepsFirstAndLast(t *testing.T) {
	l := &Log{First: 2, Narrow: []string{"start", "limit"}}
	for i := range 1000 {
		l.Lines = append(l.Lines, fmt.Sprintf("INFO: line %d", i))
	}
	d := &Doc{}
	d.Add(l)
	s := mustRender(t, d, Options{MaxTokens: 200})
	for _, want := range []string{"line 0\n", "line 1\n", "line 999\n", "left out …", "of 1000 lines shown", "narrow: start=, limit="} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing from\n%s", want, s)
		}
	}
	if strings.Contains(s, "line 2\n") {
		t.Error(s)
	}
}

func TestCut(t *testing.T) {
	long := strings.Repeat("permission check failed für サーバー\n", 1000)
	for n := 20; n < 400; n += 7 {
		if s := Cut(long, n); Estimate(s) > n || !strings.Contains(s, "more bytes left out") {
			t.Errorf("%d: %d tokens: %s", n, Estimate(s), s)
		}
	}
	if s := Cut("short", 20); s != "short" {
		t.Error(s)
	}
}

func TestManyWarningsAreCounted(t *testing.T) {
	d := &Doc{}
	d.Summaryf("64 nodes")
	for i := range 64 {
		d.Warnf("node pve%d did not answer within 10 s: connection refused", i)
	}
	s := mustRender(t, d, Options{MaxTokens: 300})
	if !strings.Contains(s, "64 nodes") || !strings.Contains(s, "warnings left out") || Estimate(s) > 300 {
		t.Error(s)
	}
}

func TestUnits(t *testing.T) {
	eq := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for n, want := range map[int64]string{-1: "-", 0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 13207024435: "12.3 GiB", 1<<30 - 1: "1 GiB", 1 << 40: "1 TiB", 1<<63 - 1: "8 EiB", 150 << 30: "150 GiB"} {
		eq(FormatBytes(n), want)
	}
	eq(FormatBytesShort(13207024435), "12.3G")
	eq(FormatBytesShort(0), "0")
	for f, want := range map[float64]string{-1: "-", 0: "0%", 0.0001: "<0.1%", 0.0123: "1.2%", 0.0996: "10%", 0.123: "12%", 1: "100%", 2.5: "250%"} {
		eq(FormatPct(f), want)
	}
	for n, want := range map[int64]string{-1: "-", 0: "0s", 59: "59s", 60: "1m", 3661: "1h 1m", 442800: "5d 3h", 86400: "1d", 86400 * 400: "1y 35d"} {
		eq(FormatSeconds(n), want)
	}
	eq(FormatTime(testNow), "2026-01-31 15:04")
	eq(FormatTime(time.Time{}), "-")
	for d, want := range map[time.Duration]string{0: "now", 5 * time.Second: "5s ago", 90 * time.Minute: "1h ago", 47 * time.Hour: "47h ago", 49 * time.Hour: "2d ago", -5 * time.Minute: "in 5m"} {
		eq(FormatAgo(testNow.Add(-d), testNow), want)
	}
	eq(FormatCount(1, "guest"), "1 guest")
	eq(FormatCount(0, "guest"), "0 guests")
	eq(FormatCount(2, "entry"), "2 entries")
	eq(FormatCount(2, "key"), "2 keys")
	eq(FormatCount(3, "address"), "3 addresses")
	eq(FormatYesNo(true)+FormatYesNo(false), "yesno")
	var p *int64
	for _, c := range []Cell{None(), Str(""), Bytes(-1), Pct(-0.1), Ratio(1, 0), Usage(-1, -1), Seconds(-1), Unix(0), Time(time.Time{}), List[string](nil), Opt(p, Bytes[int64]), Any(nil)} {
		eq(c.text(testNow, true), "-")
		eq(string(c.appendJSON(nil)), "null")
	}
	eq(string(Any(json.Number("12345678901234567890")).appendJSON(nil)), "12345678901234567890")
	eq(string(Int(uint64(1<<64-1)).appendJSON(nil)), "18446744073709551615")
	eq(string(Pct(0.1234).appendJSON(nil)), "12.3")
	eq(string(Usage(int64(-1), 5).appendJSON(nil)), `{"total":5}`)
}

func TestSortValues(t *testing.T) {
	vals := []float64{-9e12, -5.5, -5, -1.25, -0.5, 0, 0.05, 0.5, 3, 10.25, 1e12}
	for i := 1; i < len(vals); i++ {
		if compareKeys(orderedFloat(vals[i-1]), orderedFloat(vals[i])) >= 0 {
			t.Errorf("%v before %v: %s %s", vals[i-1], vals[i], orderedFloat(vals[i-1]), orderedFloat(vals[i]))
		}
	}
	for _, p := range [][2]int64{{-1 << 63, -1<<63 + 1}, {-10, -9}, {-1, 0}, {9, 10}} {
		if compareKeys(orderedInt(p[0]), orderedInt(p[1])) >= 0 {
			t.Errorf("%v: %s %s", p, orderedInt(p[0]), orderedInt(p[1]))
		}
	}
}
