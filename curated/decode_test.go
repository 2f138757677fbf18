package curated

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// decodeArgs has an argument of every kind that tools use.
type decodeArgs struct {
	Text   string         `json:"text,omitempty"`
	Choice string         `json:"choice,omitempty" jsonschema:"enum=red,enum=green"`
	Number int            `json:"number,omitempty" jsonschema:"minimum=-5,maximum=9007199254740993"`
	Share  float64        `json:"share,omitempty"`
	Flag   bool           `json:"flag,omitempty"`
	Maybe  *bool          `json:"maybe,omitempty"`
	List   []string       `json:"list,omitempty"`
	Object map[string]any `json:"object,omitempty"`
	Shape
}

func decodeInto(raw string) (decodeArgs, error) {
	var in decodeArgs
	err := planOf[decodeArgs]().decode(json.RawMessage(raw), &in)
	return in, err
}

// TestDecodeLenient: what models send instead of the right form is understood.
func TestDecodeLenient(t *testing.T) {
	yes := true
	for raw, want := range map[string]decodeArgs{
		``:                                  {},
		`null`:                              {},
		`{}`:                                {},
		` {"text":"a"} `:                    {Text: "a"},
		`"{\"text\":\"a\"}"`:                {Text: "a"},
		`{"text":null,"number":null}`:       {},
		`{"text":5}`:                        {Text: "5"},
		`{"text":true}`:                     {Text: "true"},
		`{"text":["a","b"]}`:                {Text: "a,b"},
		`{"text":9007199254740993}`:         {Text: "9007199254740993"},
		`{"choice":"RED"}`:                  {Choice: "red"},
		`{"choice":["green"]}`:              {Choice: "green"},
		`{"choice":""}`:                     {},
		`{"number":100}`:                    {Number: 100},
		`{"number":"100"}`:                  {Number: 100},
		`{"number":" 100 "}`:                {Number: 100},
		`{"number":100.0}`:                  {Number: 100},
		`{"number":"100.0"}`:                {Number: 100},
		`{"number":1e3}`:                    {Number: 1000},
		`{"number":[7]}`:                    {Number: 7},
		`{"number":["7"]}`:                  {Number: 7},
		`{"number":-5}`:                     {Number: -5},
		`{"number":9007199254740993}`:       {Number: 9007199254740993},
		`{"number":"9007199254740993"}`:     {Number: 9007199254740993},
		`{"share":"0.5"}`:                   {Share: 0.5},
		`{"share":1}`:                       {Share: 1},
		`{"flag":"true"}`:                   {Flag: true},
		`{"flag":1}`:                        {Flag: true},
		`{"flag":"Yes"}`:                    {Flag: true},
		`{"flag":["on"]}`:                   {Flag: true},
		`{"flag":"0"}`:                      {},
		`{"maybe":"1"}`:                     {Maybe: &yes},
		`{"list":"a"}`:                      {List: []string{"a"}},
		`{"list":["a","b"]}`:                {List: []string{"a", "b"}},
		`{"list":"[\"a\",\"b\"]"}`:          {List: []string{"a", "b"}},
		`{"list":[1,true]}`:                 {List: []string{"1", "true"}},
		`{"list":[]}`:                       {List: []string{}},
		`{"object":{"a":1}}`:                {Object: map[string]any{"a": json.Number("1")}},
		`{"object":"{\"a\":\"b\"}"}`:        {Object: map[string]any{"a": "b"}},
		`{"object":{"n":9007199254740993}}`: {Object: map[string]any{"n": json.Number("9007199254740993")}},
		`{"max_tokens":"500","fields":["vmid","name"],"format":"JSON"}`: {Shape: Shape{MaxTokens: 500, Fields: "vmid,name", Format: "json"}},
	} {
		got, err := decodeInto(raw)
		if assert.NoError(t, err, raw) {
			assert.Equal(t, want, got, raw)
		}
	}
}

// TestDecodeRefused: what can't be meant is refused with the argument's name
// and what is needed.
func TestDecodeRefused(t *testing.T) {
	for raw, words := range map[string][]string{
		`[]`:                              {"JSON object"},
		`5`:                               {"JSON object"},
		`"abc"`:                           {"JSON object"},
		`{"text":`:                        {"valid JSON"},
		`{"text":"a"}{}`:                  {"valid JSON"},
		`{"txet":"a"}`:                    {"txet", "unknown argument", "text"},
		`{"Text":"a"}`:                    {"Text", "unknown argument", "text"},
		`{"":1}`:                          {"unknown argument"},
		`{"text":{"a":1}}`:                {"text", "single value"},
		`{"text":[["a"]]}`:                {"text"},
		`{"text":[{}]}`:                   {"text"},
		`{"choice":"blue"}`:               {"choice", "blue", "red", "green"},
		`{"number":"ten"}`:                {"number", "ten", "whole number"},
		`{"number":1.5}`:                  {"number", "1.5", "whole number"},
		`{"number":true}`:                 {"number", "whole number"},
		`{"number":""}`:                   {"number", "whole number"},
		`{"number":[1,2]}`:                {"number", "single value"},
		`{"number":{}}`:                   {"number", "single value"},
		`{"number":1e400}`:                {"number"},
		`{"number":1e300}`:                {"number"},
		`{"number":99999999999999999999}`: {"number"},
		`{"number":-6}`:                   {"number", "out of range", "-5"},
		`{"number":9007199254740994}`:     {"number", "out of range"},
		`{"share":"half"}`:                {"share", "half", "number"},
		`{"share":"NaN"}`:                 {"share"},
		`{"share":"Inf"}`:                 {"share"},
		`{"share":1e400}`:                 {"share"},
		`{"flag":"maybe"}`:                {"flag", "maybe", "true or false"},
		`{"flag":2}`:                      {"flag", "true or false"},
		`{"list":{"a":1}}`:                {"list"},
		`{"list":"[1,"}`:                  {"list"},
		`{"object":[1]}`:                  {"object", "an object is needed"},
		`{"object":"abc"}`:                {"object", "an object is needed"},
		`{"object":"{\"a\":1} and more"}`: {"object", "an object is needed"},
		`{"text":"` + strings.Repeat("a", 3<<20) + `"}`:                                    {"bytes", "allowed"},
		`{"object":` + strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100) + `}`: {"nested"},
		strings.Repeat("[", 100000):                                                        {"nested"},
		`"` + strings.Repeat(`{\"a\":`, 100) + `"`:                                         {"nested"},
		`{"` + strings.Repeat("long", 1000) + `":1}`:                                       {"unknown argument"},
	} {
		_, err := decodeInto(raw)
		shown := clip(raw)
		if assert.Error(t, err, shown) {
			for _, w := range words {
				assert.Contains(t, err.Error(), w, shown)
			}
			assert.Less(t, len(err.Error()), 400, shown)
		}
	}
}

// TestDecodeRequired: a required argument that is missing, null or empty is
// named.
func TestDecodeRequired(t *testing.T) {
	for _, raw := range []string{`{}`, `{"node":null}`, `{"node":""}`} {
		var in NodeArgs
		err := planOf[NodeArgs]().decode(json.RawMessage(raw), &in)
		require.EqualError(t, err, "node: is needed", raw)
	}
}

// TestDecodeTwice: the last one of two equal names counts, as in any JSON
// reader; nothing is joined.
func TestDecodeTwice(t *testing.T) {
	got, err := decodeInto(`{"text":"a","text":"b"}`)
	require.NoError(t, err)
	assert.Equal(t, "b", got.Text)
}

// TestNumberBounds: the edges of what an integer can be.
func TestNumberBounds(t *testing.T) {
	for s, want := range map[string]int64{
		"9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64, "9007199254740992.0": 1 << 53, "-0": 0, "1E2": 100,
	} {
		got, err := wholeNumber(s)
		require.NoError(t, err, s)
		assert.Equal(t, want, got, s)
	}
	for _, s := range []string{"9223372036854775808", "9007199254740994.0", "0x10", "1 000", "", "1e", "١"} {
		_, err := wholeNumber(s)
		assert.Error(t, err, s)
	}
}

// TestArgumentsOverTheWire: the same, as a client sees it.
func TestArgumentsOverTheWire(t *testing.T) {
	for _, protocol := range protocols {
		r := newRig(t, sharedSim(t, 3, 60), setup{protocol: protocol})
		plain := r.ok("pve_vm_info", args{"vmid": 116})
		for _, a := range []any{
			args{"vmid": "116"}, args{"vmid": 116.0}, args{"vmid": []int{116}}, args{"vmid": 116, "config": "false"},
			args{"vmid": 116, "node": nil}, args{"vmid": "116", "format": "text"}, args{"name": "DB01"},
		} {
			assert.Equal(t, plain, r.ok("pve_vm_info", a), jsonOf(t, a))
		}
		r.fails("pve_vm_info", args{"vm_id": 116}, "vm_id", "unknown argument", "vmid")
		r.fails("pve_vm_info", args{"vmid": "abc"}, "vmid", "abc", "whole number")
		r.fails("pve_vm_info", args{"vmid": 1 << 60}, "vmid")
		r.fails("pve_vm_info", args{"vmid": -116}, "vmid")
		r.fails("pve_vm_info", args{}, "vmid", "is needed")
		r.fails("pve_vms", args{"limit": "many"}, "limit", "many")
		r.fails("pve_vms", args{"name": strings.Repeat("x", 10<<20)}, "bytes", "allowed")
		r.fails("pve_raw_get", args{"path": "/version", "query": json.RawMessage(strings.Repeat(`{"a":`, 500) + "1" + strings.Repeat("}", 500))}, "nested")
		r.ok("pve_vms", args{"name": "\xff\xfe"})
		r.ok("pve_version", nil)
	}
}

// FuzzDecode: no text makes the decoder panic, and what it accepts is stable:
// encoded and decoded again it is the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `"x"`, `{"text":"a","number":"100","flag":"true","list":["a"],"object":{"a":[1,{"b":null}]}}`,
		`"{\"number\":1e3}"`, `{"number":9007199254740993}`, `{"number":1e400}`, `{"list":"[\"a\"]"}`, `{"object":"{\"a\":1}"}`,
		`{"choice":["RED"]}`, `{"maybe":null}`, `{"maybe":[1]}`, `{"text":[[[]]]}`, `{"text":[null]}`, `{"list":[null,[]]}`, "{\"text\":\"\xff\"}", `{"fields":["a",1]}`,
		`{"share":"-0"}`, `{"object":{}}`, `{"text":""}`, `{"list":[]}`, `{"list":""}`, `{"number":[[1]]}`, `{"text":[ ]}`, `{"text":[ "a" , "b" ]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in decodeArgs
		err := planOf[decodeArgs]().decode(bytes.Clone(raw), &in)
		if err != nil {
			if msg := err.Error(); len(msg) > 1000 || !utf8.ValidString(msg) {
				t.Fatalf("%q: error of %d bytes: %.200q", raw, len(msg), msg)
			}
			return
		}
		again, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var back decodeArgs
		if err := planOf[decodeArgs]().decode(again, &back); err != nil {
			t.Fatalf("%q → %s: %v", raw, again, err)
		}
		if len(in.List) == 0 {
			in.List, back.List = nil, nil
		}
		if len(in.Object) == 0 {
			in.Object, back.Object = nil, nil
		}
		if !reflect.DeepEqual(in, back) && fmt.Sprint(in) != fmt.Sprint(back) {
			t.Fatalf("%q → %s → %+v, not %+v", raw, again, back, in)
		}
	})
}
