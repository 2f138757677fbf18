package pverest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkEnvelope holds readEnvelope against encoding/json: whatever that reads
// as an object, readEnvelope takes apart the same way, unless it is too deep.
func checkEnvelope(t *testing.T, b []byte) {
	env, err := readEnvelope(b)
	var want map[string]json.RawMessage
	jsonErr := json.Unmarshal(b, &want)
	if jsonErr == nil && want != nil {
		if errors.Is(err, errDeep) {
			return
		}
		if err != nil {
			t.Fatalf("valid %q: %v", b, err)
		}
		for key, got := range map[string][]byte{"data": env.data, "message": env.message, "errors": env.errs, "total": env.total, "changes": env.changes} {
			// A key written with escapes is not looked for: Proxmox has none.
			if strings.Contains(string(b), `\`) {
				continue
			}
			if string(want[key]) != string(got) {
				t.Fatalf("%q: %s is %q, want %q", b, key, got, want[key])
			}
		}
	}
	if err == nil && env.hasData && json.Valid(env.data) && len(env.data) == 0 {
		t.Fatalf("%q: empty data", b)
	}
	partErrors(env.errs)
	partText(env.message)
}

func TestEnvelope(t *testing.T) {
	for s, want := range map[string]error{
		`{"data":null}`: nil,
		"\t{ \"data\" : {\"a\":\"}\\\"]\"} }\r\n": nil,
		`{"data":"\\"}`:       nil,
		`{}`:                  nil,
		``:                    errCut,
		`{`:                   errCut,
		`{"data"`:             errCut,
		`{"data":`:            errCut,
		`{"data":[1,{"a":"b"`: errCut,
		`{"data":"\"`:         errCut,
		`{"data":1`:           errCut,
		`{"data":[1}}`:        errSyntax,
		`{"data":[1]]`:        errSyntax,
		`{"data":1}x`:         errSyntax,
		`{data:1}`:            errSyntax,
		`{"data" 1}`:          errSyntax,
		`{"data":?}`:          errSyntax,
		`"data"`:              errNotObject,
		`<html>`:              errNotObject,
	} {
		_, err := readEnvelope([]byte(s))
		require.Equal(t, want, err, s)
		checkEnvelope(t, []byte(s))
	}
}

func TestEnvelopeAllocatesNothing(t *testing.T) {
	b := []byte(`{"data":[` + strings.Repeat(`{"vmid":100,"name":"vm","tags":"a;b"},`, 1000) + `1],"total":5}`)
	require.Zero(t, testing.AllocsPerRun(10, func() { _, _ = readEnvelope(b) }))
}

func BenchmarkEnvelope(b *testing.B) {
	body := []byte(`{"data":[` + strings.Repeat(`{"vmid":100,"name":"vm","node":"pve1","type":"qemu","cpu":0.0123,"maxmem":4294967296},`, 10000) + `1]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readEnvelope(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkJSONValid is what encoding/json needs for the same bytes, to hold
// BenchmarkEnvelope against.
func BenchmarkJSONValid(b *testing.B) {
	body := []byte(`{"data":[` + strings.Repeat(`{"vmid":100,"name":"vm","node":"pve1","type":"qemu","cpu":0.0123,"maxmem":4294967296},`, 10000) + `1]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !json.Valid(body) {
			b.Fatal()
		}
	}
}
