package pverest

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

type (
	testNode string
	testDisk struct{ storage, size string }
	testVol  struct{ s string }
	testBase struct {
		Force *bool `pve:"force"`
	}
	testParams struct {
		testBase
		Node    testNode          `pve:"target"`
		VMID    int64             `pve:"vmid"`
		Cores   *int              `pve:"cores"`
		Ratio   *float64          `pve:"ratio"`
		Name    *string           `pve:"name"`
		Full    bool              `pve:"full"`
		Vols    []testVol         `pve:"vols"`
		Args    []string          `pve:"args"`
		Net     map[int]string    `pve:"net[n]"`
		SCSI    map[int]*testDisk `pve:"scsi[n]"`
		Root    *testDisk         `pve:"rootfs"`
		Any     PropertyStringer  `pve:"any"`
		Extra   map[string]string `pve:"*"`
		Ignored chan int          `pve:"-"`
		private int
	}
)

func (d *testDisk) PropertyString() (string, error) {
	if d.size == "bad" {
		return "", errors.New("no such size")
	}
	return d.storage + ":" + d.size, nil
}

func (v testVol) MarshalText() ([]byte, error) { return []byte("vol:" + v.s), nil }

func ptr[T any](v T) *T { return &v }

func TestEncodeParams(t *testing.T) {
	got, err := EncodeParams(nil)
	require.NoError(t, err)
	require.NotNil(t, got)
	require.Empty(t, got)
	got, err = EncodeParams((*testParams)(nil))
	require.NoError(t, err)
	require.Empty(t, got)

	got, err = EncodeParams(&testParams{private: 1})
	require.NoError(t, err)
	require.Equal(t, Values{"target": {""}, "vmid": {"0"}, "full": {"0"}}, got, "what is required is always sent, nothing else")

	got, err = EncodeParams(&testParams{
		testBase: testBase{Force: ptr(true)},
		Node:     "pve1", VMID: math.MaxInt64, Cores: ptr(0), Ratio: ptr(0.1), Name: ptr(""), Full: true,
		Vols: []testVol{{"a"}, {"b"}}, Args: []string{"", "x"},
		Net:  map[int]string{10: "b", 0: "a"},
		SCSI: map[int]*testDisk{2: {"local", "8"}, 3: nil},
		Root: &testDisk{"zfs", "4"}, Any: &testDisk{"any", "1"},
		Extra: map[string]string{"later": "1"},
	})
	require.NoError(t, err)
	require.Equal(t, Values{
		"force": {"1"}, "target": {"pve1"}, "vmid": {"9223372036854775807"}, "cores": {"0"}, "ratio": {"0.1"}, "name": {""}, "full": {"1"},
		"vols": {"vol:a", "vol:b"}, "args": {"", "x"}, "net0": {"a"}, "net10": {"b"}, "scsi2": {"local:8"},
		"rootfs": {"zfs:4"}, "any": {"any:1"}, "later": {"1"},
	}, got)
}

// Methods on the pointer count for values too, in fields and in maps.
func TestEncodeMethodsOfPointers(t *testing.T) {
	got, err := EncodeParams(&struct {
		Root testDisk         `pve:"rootfs"`
		MP   map[int]testDisk `pve:"mp[n]"`
		More Values           `pve:"*"`
	}{testDisk{"a", "1"}, map[int]testDisk{3: {"b", "2"}}, Values{"x": {"1", "2"}}})
	require.NoError(t, err)
	require.Equal(t, Values{"rootfs": {"a:1"}, "mp3": {"b:2"}, "x": {"1", "2"}}, got)
}

func TestEncodeFloats(t *testing.T) {
	type p struct {
		F float64 `pve:"f"`
	}
	for f, want := range map[float64]string{0: "0", 1: "1", 0.5: "0.5", -1.25: "-1.25", 1e6: "1000000", 123456789012: "123456789012", 1e20: "100000000000000000000", 1e300: "1e+300", 1e-12: "1e-12"} {
		got, err := EncodeParams(&p{f})
		require.NoError(t, err)
		require.Equal(t, want, got.Get("f"))
	}
	type q struct {
		F float32 `pve:"f"`
	}
	got, err := EncodeParams(&q{0.1})
	require.NoError(t, err)
	require.Equal(t, "0.1", got.Get("f"), "no digits that float32 doesn't have")
}

func TestEncodeFaults(t *testing.T) {
	for name, p := range map[string]any{
		"ratio":  &testParams{Ratio: ptr(math.NaN())},
		"rootfs": &testParams{Root: &testDisk{"x", "bad"}},
		"scsi1":  &testParams{SCSI: map[int]*testDisk{1: {"x", "bad"}}},
		"net-1":  &testParams{Net: map[int]string{-1: "x"}},
		"vmid":   &testParams{Extra: map[string]string{"vmid": "1"}},
		"*":      &testParams{Extra: map[string]string{"": "1"}},
	} {
		_, err := EncodeParams(p)
		e := asError(t, err)
		require.Equal(t, KindBadCall, e.Kind)
		require.Contains(t, e.Params, name)
	}
	for say, p := range map[string]any{
		"pointer":      testParams{},
		"not a struct": ptr(3),
		"no pve tag":   &struct{ A string }{},
		"not exported": &struct {
			a string `pve:"a"`
		}{},
		"both called": &struct {
			A, B string `pve:"a"`
		}{},
		"no wire form": &struct {
			A complex64 `pve:"a"`
		}{},
		"a list of": &struct {
			A [][]string `pve:"a"`
		}{},
		"integer key": &struct {
			A map[string]string `pve:"a[n]"`
		}{},
		"needs a map": &struct {
			A string `pve:"a[n]"`
		}{},
		"map[string]str": &struct {
			A string `pve:"*"`
		}{},
	} {
		for range 2 { // the verdict is kept
			_, err := EncodeParams(p)
			require.ErrorContains(t, err, say)
			require.Empty(t, KindOf(err))
		}
	}
}

func TestClientCallNamesTheCallInParameterFaults(t *testing.T) {
	err := NewClient(nil).Call(ctx5(t), "PUT", "/nodes/pve1/qemu/100/config", &testParams{Ratio: ptr(math.Inf(1))}, nil)
	e := asError(t, err)
	require.Equal(t, "PUT /nodes/pve1/qemu/100/config", e.Op)
	require.Equal(t, "pve1", e.Node)
}

func TestPaths(t *testing.T) {
	for in, want := range map[string]string{
		"pve1": "pve1", "root@pam!full": "root@pam!full", "100": "100",
		"UPID:pve1:0000:0001:0002:qmstart:100:root@pam!x:": "UPID:pve1:0000:0001:0002:qmstart:100:root@pam!x:",
		"ä": "%C3%A4", "a%2Fb": "a%252Fb", "a?b#c;d&e=f+g": "a%3Fb%23c%3Bd%26e%3Df%2Bg", "...": "...", "\xff": "%FF",
	} {
		got, err := EscapeSegment(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", ".", "..", "a/b", "/", "a b", "a\tb", "a\n", "a\x00b", "\x7f"} {
		_, err := EscapeSegment(in)
		require.Equal(t, KindBadCall, asError(t, err).Kind, "%q", in)
	}
	for in, want := range map[string]string{"local:iso/x.iso": "local:iso%2Fx.iso", "10.0.0.0/8": "10.0.0.0%2F8", "a/b/c": "a%2Fb%2Fc", "vm-1": "vm-1"} {
		got, err := EscapeTail(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"", "/a", "a/", "a//b", "a/../b", "a/./b", "a b/c"} {
		_, err := EscapeTail(in)
		require.Equal(t, KindBadCall, asError(t, err).Kind, "%q", in)
	}
}

func BenchmarkEncodeParams(b *testing.B) {
	p := &testParams{Node: "pve1", VMID: 100, Cores: ptr(4), Name: ptr("web"), Full: true, Net: map[int]string{0: "virtio,bridge=vmbr0"}, Root: &testDisk{"zfs", "4"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := EncodeParams(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeByHand(b *testing.B) {
	p := &testParams{Node: "pve1", VMID: 100, Cores: ptr(4), Name: ptr("web"), Full: true, Net: map[int]string{0: "virtio,bridge=vmbr0"}, Root: &testDisk{"zfs", "4"}}
	b.ReportAllocs()
	for b.Loop() {
		v := Values{}
		v.Set("target", string(p.Node))
		v.Set("vmid", strconv.FormatInt(p.VMID, 10))
		v.Set("cores", strconv.Itoa(*p.Cores))
		v.Set("name", *p.Name)
		v.Set("full", "1")
		for i, n := range p.Net {
			v.Set("net"+strconv.Itoa(i), n)
		}
		s, _ := p.Root.PropertyString()
		v.Set("rootfs", s)
	}
}
