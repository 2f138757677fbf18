package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What one line of the client may be. The SDK refuses what lies beyond by
// ending the session, so these stay below its own bounds (16 MiB, 1,000 levels).
const (
	maxLine  = 15 << 20
	maxDepth = 900
)

// stdio gives a transport over in and out that outlives bad lines. The SDK ends
// the whole session at the first line that is no JSON-RPC message, that nests
// deeply or that is too long; an agent would lose its server over one mistake.
// Here such a line is answered with an error and left out, a batch is taken
// apart, and the session goes on. At the end of in, the SDK would also drop what
// it has not answered yet, so it is told of the end only when nothing is open,
// or after lastAnswers.
func stdio(in io.Reader, out io.Writer) mcp.Transport {
	r, w := io.Pipe()
	l := &lines{w: out, open: map[any]bool{}, changed: make(chan struct{}, 1)}
	go func() {
		err := sift(in, writerFunc(func(p []byte) (int, error) {
			l.note(p)
			return w.Write(p)
		}), writerFunc(l.write))
		if err == nil {
			l.settle(lastAnswers)
		}
		w.CloseWithError(err)
	}()
	return &mcp.IOTransport{Reader: r, Writer: l}
}

// lastAnswers is how long calls may still be answered after the client has
// closed its end; a client that leaves gives a server about as long to go.
const lastAnswers = 3 * time.Second

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// lines keeps the answers of two writers apart, each Write being a whole line,
// and knows which calls have no answer yet.
type lines struct {
	mu      sync.Mutex
	w       io.Writer
	open    map[any]bool
	changed chan struct{}
}

// note takes down a call that is about to be handed on.
func (l *lines) note(line []byte) {
	if m, err := jsonrpc.DecodeMessage(line); err == nil {
		if call, ok := m.(*jsonrpc.Request); ok && call.IsCall() {
			l.mu.Lock()
			l.open[call.ID.Raw()] = true
			l.mu.Unlock()
		}
	}
}

// Write writes a message of the SDK.
func (l *lines) Write(p []byte) (int, error) {
	n, err := l.write(p)
	if m, bad := jsonrpc.DecodeMessage(p); bad == nil {
		if answer, ok := m.(*jsonrpc.Response); ok {
			l.mu.Lock()
			delete(l.open, answer.ID.Raw())
			l.mu.Unlock()
			select {
			case l.changed <- struct{}{}:
			default:
			}
		}
	}
	return n, err
}

func (l *lines) write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// Close leaves the underlying writer open: standard output is not ours to close.
func (l *lines) Close() error { return nil }

// settle waits until every call has its answer, at most for limit.
func (l *lines) settle(limit time.Duration) {
	end := time.NewTimer(limit)
	defer end.Stop()
	for {
		l.mu.Lock()
		left := len(l.open)
		l.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-l.changed:
		case <-end.C:
			return
		}
	}
}

// sift copies the good messages of in to good, a line each, and answers the
// others on bad. The error is that of reading or writing; nil at in's end.
func sift(in io.Reader, good, bad io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<16)
	var room []byte
	for {
		line, tooLong, err := readMessage(r, room[:0])
		room = line
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if tooLong {
			if werr := refuse(bad, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d MiB", maxLine>>20)); werr != nil {
				return werr
			}
		} else if line = bytes.TrimSpace(line); len(line) > 0 {
			if werr := pass(line, good, bad); werr != nil {
				return werr
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
	}
}

// readMessage appends the next line to room; of one that is too long only the
// beginning.
func readMessage(r *bufio.Reader, room []byte) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(room)+len(part) > maxLine {
			tooLong = true
		} else {
			room = append(room, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return room, tooLong, err
		}
	}
}

// pass hands one line on, or answers it with what is wrong with it.
func pass(line []byte, good, bad io.Writer) error {
	depth, id := outline(line)
	switch {
	case depth > maxDepth:
		return refuse(bad, id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is nested deeper than %d levels", maxDepth))
	case !json.Valid(line):
		return refuse(bad, nil, jsonrpc.CodeParseError, "the line is not JSON; one JSON-RPC message a line is needed")
	case line[0] == '[':
		var batch []json.RawMessage
		if err := json.Unmarshal(line, &batch); err != nil || len(batch) == 0 {
			return refuse(bad, nil, jsonrpc.CodeInvalidRequest, "the batch is empty")
		}
		for _, one := range batch {
			if len(one) > 0 && one[0] == '[' {
				if err := refuse(bad, nil, jsonrpc.CodeInvalidRequest, "a batch stands in a batch"); err != nil {
					return err
				}
			} else if err := pass(one, good, bad); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return refuse(bad, id, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: it has \"jsonrpc\":\"2.0\" and a method, or an id with result or error")
	}
	_, err := good.Write(append(bytes.Clone(line), '\n'))
	return err
}

// outline walks over a message without decoding it: how deep it nests, and the
// text of its id if that is a number or a string. It doesn't recurse, whatever
// the depth.
func outline(line []byte) (depth int, id json.RawMessage) {
	level := 0
	key := "" // the beginning of the last string of the outermost level
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '{', '[':
			level++
			depth = max(depth, level)
			key = ""
		case '}', ']':
			level--
		case ',':
			key = ""
		case ':':
			if level == 1 && key == `"id"` {
				if id = scalar(line[i+1:]); id != nil {
					key = ""
				}
			}
		case '"':
			start := i
			for i++; i < len(line) && line[i] != '"'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
			if level == 1 && i < len(line) {
				key = string(line[start:min(i+1, start+5)])
			}
		}
	}
	return depth, id
}

// scalar gives the number or string that rest begins with; nil if there is
// none, or one that is no JSON.
func scalar(rest []byte) json.RawMessage {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	var end int
	if len(rest) > 0 && rest[0] == '"' {
		for end = 1; end < len(rest) && rest[end] != '"'; end++ {
			if rest[end] == '\\' {
				end++
			}
		}
		end++
	} else {
		end = bytes.IndexAny(rest, ",} \t\r\n")
	}
	if end <= 0 || end > len(rest) || end > 256 || !json.Valid(rest[:end]) || rest[0] != '"' && rest[0] != '-' && (rest[0] < '0' || rest[0] > '9') {
		return nil
	}
	return bytes.Clone(rest[:end])
}

// refuse writes an error answer; a nil id is JSON's null.
func refuse(w io.Writer, id json.RawMessage, code int64, reason string) error {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(reason)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, text)
	return err
}
