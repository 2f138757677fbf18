package pverest

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

type scalars struct {
	I Int   `json:"i,omitzero"`
	F Float `json:"f,omitzero"`
	B Bool  `json:"b,omitzero"`
	S Str   `json:"s,omitzero"`
}

func TestScalars(t *testing.T) {
	i := func(v int64) Int { return Int{v, true} }
	f := func(v float64) Float { return Float{v, true} }
	b := func(v bool) Bool { return Bool{v, true} }
	s := func(v string) Str { return Str{v, true} }
	for in, want := range map[string]scalars{
		`1`:                      {i(1), f(1), b(true), s("1")},
		`"1"`:                    {i(1), f(1), b(true), s("1")},
		`0`:                      {i(0), f(0), b(false), s("0")},
		`"0"`:                    {i(0), f(0), b(false), s("0")},
		`true`:                   {i(1), f(1), b(true), s("1")},
		`false`:                  {i(0), f(0), b(false), s("0")},
		`""`:                     {Int{}, Float{}, b(false), s("")},
		`null`:                   {},
		`"512"`:                  {i(512), f(512), b(true), s("512")},
		`9007199254740993`:       {i(9007199254740993), f(9007199254740992), b(true), s("9007199254740993")},
		`"-9223372036854775808"`: {i(math.MinInt64), f(math.MinInt64), b(true), s("-9223372036854775808")},
		`9223372036854775807`:    {i(math.MaxInt64), f(math.MaxInt64), b(true), s("9223372036854775807")},
		`18446744073709551615`:   {i(math.MaxInt64), f(math.MaxUint64), b(true), s("18446744073709551615")},
		`-1e30`:                  {i(math.MinInt64), f(-1e30), b(true), s("-1e30")},
		`1.5e+15`:                {i(1500000000000000), f(1.5e15), b(true), s("1.5e+15")},
		`"0.0667"`:               {i(0), f(0.0667), b(true), s("0.0667")},
		`-2.9`:                   {i(-2), f(-2.9), b(true), s("-2.9")},
		`" 7 "`:                  {i(7), f(7), b(true), s(" 7 ")},
		`"+5"`:                   {i(5), f(5), b(true), s("+5")},
		`"N/A"`:                  {S: s("N/A")},
		`"yes"`:                  {B: b(true), S: s("yes")},
		`"Off"`:                  {B: b(false), S: s("Off")},
		`"0x10"`:                 {S: s("0x10")},
		`"inf"`:                  {S: s("inf")},
		`"1_000"`:                {S: s("1_000")},
		`"1e999"`:                {S: s("1e999")},
		`"ä\n\"é"`:               {S: s("ä\n\"é")},
		`[1]`:                    {S: s("[1]")},
		`{"a":1}`:                {S: s(`{"a":1}`)},
	} {
		var got scalars
		require.NoError(t, json.Unmarshal([]byte(`{"i":`+in+`,"f":`+in+`,"b":`+in+`,"s":`+in+`}`), &got), in)
		require.Equal(t, want, got, in)

		out, err := json.Marshal(got)
		require.NoError(t, err)
		var again scalars
		require.NoError(t, json.Unmarshal(out, &again))
		require.Equal(t, got, again, "%s as %s", in, out)
	}
	var none scalars
	require.NoError(t, json.Unmarshal([]byte(`{}`), &none))
	require.Equal(t, scalars{}, none)
	out, err := json.Marshal(none)
	require.NoError(t, err)
	require.Equal(t, `{}`, string(out))
	out, err = json.Marshal(struct{ I Int }{})
	require.NoError(t, err)
	require.Equal(t, `{"I":null}`, string(out))

	reused := Int{5, true}
	require.NoError(t, reused.UnmarshalJSON([]byte("null")))
	require.Equal(t, Int{}, reused, "no rest of an earlier value")
	require.EqualValues(t, 3, reused.Or(3))
	require.True(t, Bool{}.Or(true))
	require.Equal(t, 1.5, Float{}.Or(1.5))
	require.Equal(t, "x", Str{}.Or("x"))
	require.Equal(t, "", reused.String())
	require.Equal(t, "-4", i(-4).String())
}

func TestScalarsAllocateNothing(t *testing.T) {
	num, text := []byte("4294967296"), []byte(`"0.125"`)
	var i Int
	var f Float
	var b Bool
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = i.UnmarshalJSON(num)
		_ = f.UnmarshalJSON(text)
		_ = b.UnmarshalJSON(num)
	}))
}

func FuzzScalars(f *testing.F) {
	for _, s := range []string{`1`, `"1"`, `null`, `-0`, `1e5`, `"\u0031"`, `"`, `{}`, `truely`, `99999999999999999999`, `"+"`, `-`, `"1e"`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var v scalars
		if v.I.UnmarshalJSON(in) != nil || v.F.UnmarshalJSON(in) != nil || v.B.UnmarshalJSON(in) != nil {
			t.Fatalf("%q fails", in)
		}
		_ = v.S.UnmarshalJSON(in)
		var n int64
		if json.Unmarshal(in, &n) == nil && string(trimSpace(in)) != "null" && v.I != (Int{n, true}) {
			t.Fatalf("%q is %v, want %d", in, v.I, n)
		}
		var s string
		if json.Unmarshal(in, &s) == nil && string(trimSpace(in)) != "null" {
			if v.S != (Str{s, true}) {
				t.Fatalf("%q is %+v, want %q", in, v.S, s)
			}
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && !containsEscape(in) && v.I != (Int{n, true}) {
				t.Fatalf("%q is %v, want %d", in, v.I, n)
			}
		}
	})
}

func containsEscape(b []byte) bool {
	for _, c := range b {
		if c == '\\' {
			return true
		}
	}
	return false
}

func BenchmarkDecodeScalars(b *testing.B) {
	in := []byte(`{"i":4294967296,"f":"0.0123","b":1,"s":"running"}`)
	b.ReportAllocs()
	for b.Loop() {
		var v scalars
		if err := json.Unmarshal(in, &v); err != nil {
			b.Fatal(err)
		}
	}
}
