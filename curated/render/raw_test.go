package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func rawList(n int) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for k, i := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		if k > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, ` {"id":"qemu/%d","vmid":%d,"type":"qemu","cpu":0.12345678901234567,"maxmem":%d,"name":"vm-%d","status":%q,"big":12345678901234567890,"n":"%d"}`,
			100+i, 100+i, int64(i)<<30, i, []string{"running", "stopped"}[i%2], i)
	}
	b.WriteByte(']')
	return b.Bytes()
}

type rawAnswer struct {
	Total, Matched, Shown int
	Data                  json.RawMessage
	Cursor                string
	Notes, Warnings       []string
}

func raw1(t testing.TB, data json.RawMessage, o RawOptions) rawAnswer {
	t.Helper()
	s, err := Raw(data, o)
	ok(t, err)
	var a rawAnswer
	if err := json.Unmarshal([]byte(s), &a); err != nil {
		t.Fatalf("%v: %s", err, s)
	}
	if e := Estimate(s); e > o.budget() {
		t.Fatalf("%d tokens of %d: %s", e, o.budget(), s)
	}
	return a
}

func TestRawGolden(t *testing.T) {
	s, err := Raw(rawList(3), RawOptions{})
	ok(t, err)
	golden(t, "raw3", s)
	s, err = Raw(rawList(5000), RawOptions{Options: Options{MaxTokens: 300, Fields: []string{"vmid", "status"}}, Filters: []string{"status=running", "vmid>1000"}})
	ok(t, err)
	golden(t, "raw5000", s)
	s, err = Raw(json.RawMessage(`{"a":{"b":{"c":{"d":[1,2,3]}}},"long":"`+strings.Repeat("x y ", 5000)+`","list":[`+strings.Repeat(`{"k":1.50},`, 400)+`{}],"inv":"a\u202eb\u001b[31mc\u0000"}`), RawOptions{Options: Options{MaxTokens: 200}})
	ok(t, err)
	golden(t, "rawobject", s)
}

func TestRawNumbersKeepTheirDigits(t *testing.T) {
	a := raw1(t, rawList(2), RawOptions{})
	for _, n := range []string{"12345678901234567890", "0.12345678901234567"} {
		if !strings.Contains(string(a.Data), n) {
			t.Errorf("%s lost: %s", n, a.Data)
		}
	}
}

func TestRawWalk(t *testing.T) {
	for _, keyed := range []bool{true, false} {
		data := rawList(700)
		if !keyed {
			data = json.RawMessage(strings.NewReplacer(`"id"`, `"x"`, `"vmid"`, `"y"`, `"name"`, `"z"`).Replace(string(data)))
		}
		seen := map[string]int{}
		o := RawOptions{Options: Options{Scope: "s"}}
		for pages := 0; ; pages++ {
			a := raw1(t, data, o)
			var items []map[string]json.RawMessage
			ok(t, json.Unmarshal(a.Data, &items))
			for _, it := range items {
				seen[string(it["n"])]++
			}
			if a.Total != 700 {
				t.Fatal(a.Total)
			}
			if a.Cursor == "" {
				break
			}
			if keyed == (len(a.Notes) > 0) {
				t.Fatalf("notes: %v", a.Notes)
			}
			if pages > 200 {
				t.Fatal("walk does not end")
			}
			o.Cursor = a.Cursor
		}
		if len(seen) != 700 {
			t.Errorf("%d items seen", len(seen))
		}
		for k, n := range seen {
			if n != 1 {
				t.Errorf("%s seen %d times", k, n)
			}
		}
	}
}

func TestRawFilters(t *testing.T) {
	data := json.RawMessage(`[{"a":"1","b":{"c":5},"s":"Hello"},{"a":2,"s":"world","t":true},{"s":"x","big":9007199254740993}]`)
	for f, want := range map[string]int{"a=1": 1, "a!=1": 2, "a>1": 1, "a<2": 1, "a>=1": 2, "s~ELL": 1, "b.c=5": 1, "b.c>5": 0, "t=1": 1, "t=true": 1, "big>9007199254740992": 1, "s=none": 0} {
		if a := raw1(t, data, RawOptions{Filters: []string{f}}); a.Matched != want {
			t.Errorf("%s: %d matched, want %d: %s", f, a.Matched, want, a.Data)
		}
	}
	for _, f := range []string{"zz=1", "nonsense", "=1"} {
		if _, err := Raw(data, RawOptions{Filters: []string{f}}); !errors.Is(err, &Error{Kind: BadFilter}) {
			t.Errorf("%s: %v", f, err)
		}
	}
	_, err := Raw(data, RawOptions{Options: Options{Fields: []string{"b.d"}}})
	if !errors.Is(err, &Error{Kind: UnknownField}) {
		t.Error(err)
	}
	_, err = Raw(json.RawMessage(`{"a":1}`), RawOptions{Filters: []string{"a=1"}})
	if !errors.Is(err, &Error{Kind: BadFilter}) {
		t.Error(err)
	}
}

// Ten megabytes and deep nesting take time in proportion to their size: anything
// quadratic would not end within the test's time-out.
func TestRawHostile(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 50000) + "1" + strings.Repeat(`]}`, 50000)
	inputs := map[string]string{
		"deep":      deep,
		"deep list": strings.Repeat("[", 100000) + strings.Repeat("]", 100000),
		"long text": `{"a":"` + strings.Repeat("ab c", 400000) + `"}`,
		"escapes":   `["` + strings.Repeat(`\u202e`, 200000) + `"]`,
		"wide":      `{` + strings.Repeat(`"a":1,`, 200000) + `"b":2}`,
		"list":      "[" + strings.Repeat("1,", 5000000) + "1]",
		"objects":   string(rawList(10000)),
		"one big":   `[{"id":1,"x":[` + strings.Repeat(`{"y":[1,2]},`, 100000) + `1]}]`,
		"digits":    strings.Repeat("9", 2000000),
		"long key":  `{"` + strings.Repeat("k", 1000000) + `":1}`,
		"scalar":    `"x"`, "null": `null`, "empty": `[]`, "empty object": " {} ",
	}
	for name, in := range inputs {
		start := time.Now()
		a := raw1(t, json.RawMessage(in), RawOptions{Options: Options{MaxTokens: 500}})
		t.Logf("%-10s %8d bytes %v: %.120s", name, len(in), time.Since(start), a.Data)
	}
	for _, in := range []string{"", "{", "[1,]", `{"a"}`, `{"a":1,}`, "1 2", "tru", `"\x"`, "01", "1.", "[1 2]", "]", "<html>", "\"\x01\"", strings.Repeat("[", 1000000)} {
		if _, err := Raw(json.RawMessage(in), RawOptions{}); !errors.Is(err, &Error{Kind: BadJSON}) {
			t.Errorf("%.20q: %v", in, err)
		}
	}
}

func FuzzRaw(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}],"c":"\ud83d\ude00"}`, `[{"id":1},{"id":2}]`, `[1,2,3]`, `"x"`, `[[[]]]`, `{"a":{}}`, `-1.5e+3`, "[\"\\u202e\"]"} {
		f.Add(s, "a", "id>1", 100)
	}
	f.Fuzz(func(t *testing.T, s, field, filter string, max int) {
		bad := checkJSON([]byte(s))
		if (bad < 0) != json.Valid([]byte(s)) && strings.Count(s, "[")+strings.Count(s, "{") < 9000 {
			t.Fatalf("checkJSON says %d, encoding/json %v for %q", bad, json.Valid([]byte(s)), s)
		}
		for _, o := range []RawOptions{{Options: Options{MaxTokens: max % 3000}}, {Options: Options{MaxTokens: max % 3000, Fields: []string{field}}, Filters: []string{filter}}} {
			out, err := Raw(json.RawMessage(s), o)
			if err != nil {
				if len(err.Error()) > 4000 {
					t.Fatalf("long error: %d bytes", len(err.Error()))
				}
				continue
			}
			if !json.Valid([]byte(out)) {
				t.Fatalf("not JSON: %s", out)
			}
			if e := Estimate(out); e > o.budget() {
				t.Fatalf("%d tokens of %d: %s", e, o.budget(), out)
			}
		}
	})
}
