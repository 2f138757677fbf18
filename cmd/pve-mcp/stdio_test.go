package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// nested is a call whose params nest depth levels below the message itself.
func nested(depth int) string {
	return `{"params":` + strings.Repeat(`{"id":`, depth) + `1` + strings.Repeat(`}`, depth) + `,"jsonrpc":"2.0","method":"ping","id":"a\"b"}`
}

func TestSift(t *testing.T) {
	cases := map[string]struct {
		in       string
		good     []string
		code     int // of the only answer; 0: none
		id, says string
	}{
		"a message":           {ping, []string{ping}, 0, "", ""},
		"carriage return":     {ping + "\r", []string{ping}, 0, "", ""},
		"a notification":      {`{"jsonrpc":"2.0","method":"x"}`, []string{`{"jsonrpc":"2.0","method":"x"}`}, 0, "", ""},
		"an answer":           {`{"jsonrpc":"2.0","id":1,"result":{}}`, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, 0, "", ""},
		"blank":               {"  ", nil, 0, "", ""},
		"text":                {"hello", nil, -32700, "null", "not JSON"},
		"cut off":             {ping[:20], nil, -32700, "null", "not JSON"},
		"not UTF-8":           {"\xff\x00", nil, -32700, "null", "not JSON"},
		"a number":            {"5", nil, -32600, "null", "JSON-RPC"},
		"an empty object":     {"{}", nil, -32600, "null", "JSON-RPC"},
		"no method, no id":    {`{"jsonrpc":"2.0"}`, nil, -32600, "null", "JSON-RPC"},
		"an id of a bad kind": {`{"jsonrpc":"2.0","id":{"id":1},"method":"ping"}`, nil, -32600, "null", "JSON-RPC"},
		"another version":     {`{"jsonrpc":"1.0","id":"x","method":"ping"}`, nil, -32600, `"x"`, "JSON-RPC"},
		"deep enough":         {nested(maxDepth - 1), []string{nested(maxDepth - 1)}, 0, "", ""},
		"too deep":            {nested(maxDepth), nil, -32600, `"a\"b"`, "deeper"},
		"very deep":           {nested(100_000), nil, -32600, `"a\"b"`, "deeper"},
		"deep and cut off":    {strings.Repeat("[", 1_000_000), nil, -32600, "null", "deeper"},
		"too long":            {`{"x":"` + strings.Repeat("x", maxLine) + `"}`, nil, -32600, "null", "longer"},
		"a batch":             {"[" + ping + "," + ping + "]", []string{ping, ping}, 0, "", ""},
		"a batch, half bad":   {"[" + ping + ",1]", []string{ping}, -32600, "null", "JSON-RPC"},
		"an empty batch":      {"[]", nil, -32600, "null", "empty"},
		"batch in batch":      {"[[1]]", nil, -32600, "null", "batch"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var good, bad bytes.Buffer
			// The message after it arrives, whatever came before.
			require.NoError(t, sift(strings.NewReader(c.in+"\n"+ping), &good, &bad))
			assert.Equal(t, strings.Join(append(c.good, ping), "\n")+"\n", good.String())
			if c.code == 0 {
				assert.Empty(t, bad.String())
				return
			}
			var answer struct {
				ID    json.RawMessage
				Error struct {
					Code    int
					Message string
				}
			}
			require.NoError(t, json.Unmarshal(bad.Bytes(), &answer))
			assert.Equal(t, c.code, answer.Error.Code)
			assert.Equal(t, c.id, string(answer.ID))
			assert.Contains(t, answer.Error.Message, c.says)
			assert.Less(t, bad.Len(), 300)
		})
	}
}

// Whatever a client writes, what is handed on is messages and what is answered
// is JSON.
func FuzzSift(f *testing.F) {
	for _, s := range []string{ping, "[" + ping + ",1]", `{"id":"\`, `{"id":-}`, `{"id":1e5,"method":0}`, "\"", nested(3)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var good, bad bytes.Buffer
		require.NoError(t, sift(bytes.NewReader(in), &good, &bad))
		for _, b := range []*bytes.Buffer{&good, &bad} {
			for line := range bytes.Lines(b.Bytes()) {
				require.True(t, json.Valid(line), "%q", line)
			}
		}
	})
}

// What is called last is answered, although the client has closed its end.
func TestSettle(t *testing.T) {
	l := &lines{w: io.Discard, open: map[any]bool{}, changed: make(chan struct{}, 1)}
	l.note([]byte(ping))
	l.note([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	begin := time.Now()
	l.settle(50 * time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(begin), 50*time.Millisecond, "one is open")
	time.AfterFunc(10*time.Millisecond, func() { _, _ = l.Write([]byte(`{"jsonrpc":"2.0","id":7,"result":{}}`)) })
	l.settle(time.Hour)
	assert.Empty(t, l.open)
}

// The same through the program: one bad line costs one error, not the session.
func TestServeOutlivesBadLines(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"not JSON", nested(20_000), "{}", ping,
	}, "\n") + "\n"
	var out bytes.Buffer
	s, done, err := (&connection{demo: true}).open()
	require.NoError(t, err)
	defer done()
	require.NoError(t, ended(s.MCP().Run(t.Context(), stdio(strings.NewReader(in), &out))))
	codes, pong := map[int]int{}, false
	for line := range strings.Lines(out.String()) {
		var answer struct {
			ID    json.RawMessage
			Error struct{ Code int }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &answer), line)
		codes[answer.Error.Code]++
		pong = pong || string(answer.ID) == "7" && answer.Error.Code == 0
	}
	assert.Equal(t, map[int]int{0: 2, -32700: 1, -32600: 2}, codes)
	assert.True(t, pong)
}
