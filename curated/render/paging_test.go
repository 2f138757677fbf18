package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

type row struct {
	key  string
	name string
	imp  int
}

// keyMakers are the kinds of keys that our lists have.
var keyMakers = map[string]func(r *rand.Rand, i int) string{
	"vmid": func(_ *rand.Rand, i int) string { return Key(90 + i) },
	"composite": func(_ *rand.Rand, i int) string {
		return Key([]string{"lxc", "qemu", "storage"}[i%3], fmt.Sprintf("pve%d", i%12), fmt.Sprintf("n%d", i))
	},
	"upid": func(r *rand.Rand, i int) string {
		return Key(1769000000+i/3, fmt.Sprintf("UPID:pve%d:%08X:%08X:%08X:vzdump:%d:root@pam:", i%7, r.Uint32(), r.Uint32(), 1769000000+i/3, i))
	},
	"zeros": func(_ *rand.Rand, i int) string {
		return strings.Repeat("0", i%3) + fmt.Sprint(i/3) + []string{"", "a", "é"}[i%3]
	},
	"text": func(_ *rand.Rand, i int) string { return fmt.Sprintf("%c%d%c", 'a'+i%26, i/26, 'z'-i%5) },
}

// While rows come and go between pages, a walk shows every row that was there
// throughout exactly once.
func TestWalkIsExact(t *testing.T) {
	for seed := range uint64(12) {
		for kind, mk := range keyMakers {
			r := rand.New(rand.NewPCG(seed, 5))
			next := 0
			fresh := func() row {
				next++
				// New rows get keys all over the range.
				k := mk(r, next*7%1009)
				rw := row{key: k, name: fmt.Sprintf("row%d", next), imp: 0}
				if r.IntN(10) == 0 {
					rw.imp = 1 + r.IntN(5)
				}
				return rw
			}
			var rows []row
			have := map[string]bool{}
			add := func() {
				if rw := fresh(); !have[rw.key] {
					have[rw.key] = true
					rows = append(rows, rw)
				}
			}
			for range 50 + r.IntN(300) {
				add()
			}
			steady := map[string]bool{}
			for _, rw := range rows {
				steady[rw.key] = true
			}
			format := []Format{Text, JSON}[seed%2]
			important, desc, sort := seed%3 == 0, seed%4 == 1, ""
			if seed%5 == 2 {
				sort = []string{"key:asc", "-key", "group"}[r.IntN(3)]
			}
			seen := map[string]int{}
			o := Options{MaxTokens: 150 + r.IntN(400), Format: JSON, Scope: "walk", Sort: sort, Limit: r.IntN(3) * r.IntN(30)}
			_ = format
			for page := 0; ; page++ {
				r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
				tab := &Table[row]{ID: "rows", Rows: rows, Desc: desc, Key: func(x *row) string { return x.key },
					Columns: []Column[row]{
						{Name: "key", Stable: true, Cell: func(x *row) Cell { return Str(fmt.Sprintf("%x", x.key)) }},
						{Name: "name", Cell: func(x *row) Cell { return Str(x.name) }},
						{Name: "group", Stable: true, Cell: func(x *row) Cell { return Str(x.key[len(x.key)-1:]) }},
					}}
				if important {
					tab.Important = func(x *row) int { return x.imp }
				}
				d := &Doc{}
				d.Add(tab)
				s := mustRender(t, d, o)
				var a struct {
					Rows   []struct{ Key string }
					Cursor string
					Shown  int
				}
				ok(t, json.Unmarshal([]byte(s), &a))
				for _, x := range a.Rows {
					var k string
					_, err := fmt.Sscanf(x.Key, "%x", &k)
					ok(t, err)
					seen[k]++
				}
				if a.Cursor == "" {
					break
				}
				if page > 500 {
					t.Fatal("walk does not end")
				}
				o.Cursor = a.Cursor
				if page%2 == 0 {
					o.Sort = "" // a cursor remembers
				}
				for range r.IntN(8) {
					if r.IntN(2) == 0 {
						add()
					} else if len(rows) > 1 {
						k := r.IntN(len(rows))
						delete(steady, rows[k].key)
						delete(have, rows[k].key)
						rows = slices.Delete(rows, k, k+1)
					}
				}
			}
			for k := range steady {
				if seen[k] != 1 {
					t.Errorf("seed %d, %s, important %v, desc %v, sort %q: %q seen %d times", seed, kind, important, desc, sort, k, seen[k])
				}
			}
		}
	}
}

// Rows that share a key are still all shown once while nothing changes.
func TestWalkWithEqualKeys(t *testing.T) {
	rows := make([]row, 100)
	for i := range rows {
		rows[i] = row{key: Key(i / 40), name: fmt.Sprint("n", i)}
	}
	for _, desc := range []bool{false, true} {
		seen := map[string]int{}
		o := Options{Format: JSON, Limit: 7}
		for {
			d := &Doc{}
			d.Add(&Table[row]{ID: "r", Rows: rows, Desc: desc, Key: func(x *row) string { return x.key },
				Columns: []Column[row]{{Name: "name", Cell: func(x *row) Cell { return Str(x.name) }}}})
			var a struct {
				Rows   []struct{ Name string }
				Cursor string
			}
			ok(t, json.Unmarshal([]byte(mustRender(t, d, o)), &a))
			for _, x := range a.Rows {
				seen[x.Name]++
			}
			if o.Cursor = a.Cursor; a.Cursor == "" {
				break
			}
		}
		for _, x := range rows {
			if seen[x.name] != 1 {
				t.Errorf("desc %v: %s seen %d times", desc, x.name, seen[x.name])
			}
		}
	}
}

func TestKeyOrder(t *testing.T) {
	want := []string{"", Key("lxc", "pve1", "a"), Key("lxc", "pve2", "a"), Key("lxc", "pve10", "a"), "7", "07", "8", "99", "100", "101a", "18446744073709551616"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareKeys)
	slices.SortFunc(want, compareKeys)
	if !slices.Equal(got, want) {
		t.Error(got)
	}
	for _, p := range [][2]string{{"99", "100"}, {"7", "07"}, {"pve2", "pve10"}, {Key("a", "z"), Key("ab", "a")}} {
		if compareKeys(p[0], p[1]) != -1 || compareKeys(p[1], p[0]) != 1 {
			t.Errorf("%q before %q", p[0], p[1])
		}
	}
	r := rand.New(rand.NewPCG(9, 9))
	str := func() string {
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = "01a9\x00"[r.IntN(5)]
		}
		return string(b)
	}
	for range 200000 {
		a, b, c := str(), str(), str()
		if compareKeys(a, b) != -compareKeys(b, a) || (compareKeys(a, b) == 0) != (a == b) {
			t.Fatalf("%q %q", a, b)
		}
		if compareKeys(a, b) <= 0 && compareKeys(b, c) <= 0 && compareKeys(a, c) > 0 {
			t.Fatalf("%q %q %q", a, b, c)
		}
	}
}

func TestCursorIsBound(t *testing.T) {
	scope := Scope("pve_vms", "c1", "node=pve1", "", "status=running")
	if scope != Scope("pve_vms", "c1", "status=running", "node=pve1") {
		t.Error("scope depends on the filters' order")
	}
	get := func(o Options) (string, error) {
		o.Format = JSON
		return guestDoc(500).Render(o)
	}
	first := func(o Options) string {
		s, err := get(o)
		ok(t, err)
		var a struct{ Cursor string }
		ok(t, json.Unmarshal([]byte(s), &a))
		if a.Cursor == "" {
			t.Fatal("no cursor")
		}
		return a.Cursor
	}
	c := first(Options{Scope: scope})
	if n := Estimate(c); n > 20 {
		t.Errorf("a cursor of %d tokens: %s", n, c)
	}
	if _, err := get(Options{Scope: scope, Cursor: c}); err != nil {
		t.Error(err)
	}
	for _, bad := range []Options{
		{Scope: Scope("pve_vms", "c2", "node=pve1", "status=running"), Cursor: c},
		{Scope: Scope("pve_containers", "c1", "node=pve1", "status=running"), Cursor: c},
		{Scope: Scope("pve_vms", "c1", "node=pve2", "status=running"), Cursor: c},
		{Scope: scope, Cursor: c, Sort: "name"},
		{Scope: scope, Cursor: first(Options{Scope: scope, Sort: "name"}), Sort: "-name"},
	} {
		if _, err := get(bad); !errors.Is(err, &Error{Kind: ForeignCursor}) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	for _, text := range []string{"x", "%%%", c[:len(c)-1], c + "A", strings.ToUpper(c), "AAAAAAAAAAAAAAAAAAAA", strings.Repeat("A", 10000)} {
		_, err := get(Options{Scope: scope, Cursor: text})
		if !errors.Is(err, &Error{Kind: BadCursor}) || len(err.Error()) > 300 {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if s := mustRender(t, guestDoc(500), Options{Sort: "cpu"}); strings.Contains(s, "cursor=") || !strings.Contains(s, "no cursor") {
		t.Error(s)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{table: "guests", sep: "104", dup: -1}.encode(""))
	f.Add(cursor{table: "guests", sort: "name:asc", sep: "a\x00b", dup: 3, salt: 9, skip: []uint32{1, 2, 0xffffff}}.encode(""))
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return // no cursor
		}
		c, err := decodeCursor(s, "", []string{"guests"})
		if err == nil {
			if again := c.encode(""); again != strings.TrimSpace(s) {
				t.Fatalf("%q reads as %+v, which is written %q", s, c, again)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || len(e.Error()) > 400 {
			t.Fatalf("%T %v", err, err)
		}
		if _, err := guestDoc(50).Render(Options{Cursor: s}); err == nil {
			t.Fatal("rendered a cursor that can't be read")
		}
	})
}
