// Package checklines answers API calls, one JSON object a line, with what
// Proxmox's parameter check would say to them.
//
// It exists so that scripts and CI can ask the same check that guards every
// call of the server, without a cluster; the command is a thin shell around
// [Run], and tests drive it directly.
package checklines

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"pvemcp/apidoc"
)

// MaxLine is the longest line that is judged, in bytes; a longer one is
// refused unread.
const MaxLine = 64 << 20

// Run reads one call a line, such as
//
//	{"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"cores":"4"}}
//
// and writes one verdict a line, in order:
//
//	{"ok":false,"errors":{"cores":"reason"}}
//
// It is strict: a string is the text that goes on the wire, a list is a
// repeated key, true and false are 1 and 0, a number is its text, null is not
// sent. Other keys of a line are not looked at. A call that matches no method
// is refused under the key _path, a line that is no call under _line; Run goes
// on after both. Empty lines are skipped. The error is that of reading or
// writing.
func Run(in io.Reader, out io.Writer, s *apidoc.Schema) error {
	r := bufio.NewReaderSize(in, 1<<16)
	w := bufio.NewWriterSize(out, 1<<16)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	var room []byte
	for {
		line, tooLong, err := readLine(r, room[:0])
		room = line
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("check: read a line: %w", err), w.Flush())
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var v verdict
			if tooLong {
				v = refused("_line", fmt.Sprintf("longer than %d MiB", MaxLine>>20))
			} else {
				v = judge(line, s)
			}
			if err := enc.Encode(v); err != nil {
				return fmt.Errorf("check: write a verdict: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		// Whoever feeds line by line waits for the answer.
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return fmt.Errorf("check: write a verdict: %w", err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("check: write a verdict: %w", err)
	}
	return nil
}

// readLine appends the next line to room, at most MaxLine bytes of it.
func readLine(r *bufio.Reader, room []byte) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(room)+len(part) > MaxLine {
			tooLong = true
		} else {
			room = append(room, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return room, tooLong, err
		}
	}
}

// verdict is one line of output.
type verdict struct {
	OK     bool              `json:"ok"`
	Errors map[string]string `json:"errors"`
}

func refused(key, reason string) verdict {
	return verdict{Errors: map[string]string{key: reason}}
}

func judge(line []byte, s *apidoc.Schema) verdict {
	var call struct {
		Method string                     `json:"method"`
		Path   string                     `json:"path"`
		Params map[string]json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(line, &call); err != nil {
		return refused("_line", "not a call as JSON: "+form(err))
	}
	if call.Method == "" || call.Path == "" {
		return refused("_line", "a call has a method and a path")
	}
	verb, err := apidoc.ParseVerb(call.Method)
	if err != nil {
		return refused("_path", err.Error())
	}
	params := make(apidoc.Params, len(call.Params))
	for name, raw := range call.Params {
		texts, err := wire(raw)
		if err != nil {
			return refused("_line", fmt.Sprintf("parameter %q: %v", name, err))
		}
		if texts != nil {
			params[name] = texts
		}
	}
	_, err = s.CheckCall(verb, call.Path, params)
	var faults *apidoc.CheckError
	switch {
	case err == nil:
		return verdict{OK: true, Errors: map[string]string{}}
	case errors.As(err, &faults):
		v := verdict{Errors: make(map[string]string, len(faults.Faults))}
		for _, f := range faults.Faults {
			text := f.Text()
			if before, twice := v.Errors[f.Param]; twice {
				text = before + "; " + text
			}
			v.Errors[f.Param] = text
		}
		return v
	}
	return refused("_path", err.Error())
}

// form says what is wrong with a line, in JSON's words and not in Go's.
func form(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return err.Error()
	case wrong.Field == "":
		return "an object with method, path and params is needed, not " + article(wrong.Value)
	case wrong.Field == "params":
		return "params is an object, not " + article(wrong.Value)
	}
	return wrong.Field + " is a string, not " + article(wrong.Value)
}

func article(kind string) string {
	if strings.HasPrefix(kind, "a") || strings.HasPrefix(kind, "o") {
		return "an " + kind
	}
	return "a " + kind
}

// wire gives the texts that a JSON value stands for on the wire; nil for one
// that is not sent.
func wire(raw json.RawMessage) ([]string, error) {
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return []string{s}, err
	case 'n':
		return nil, nil
	case 't':
		return []string{"1"}, nil
	case 'f':
		return []string{"0"}, nil
	case '{':
		return nil, errors.New("a JSON object is no wire value; write the text that would be sent")
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		texts := make([]string, 0, len(items))
		for _, item := range items {
			if item[0] == '[' {
				return nil, errors.New("a list inside a list is no wire value")
			}
			one, err := wire(item)
			if err != nil {
				return nil, err
			}
			texts = append(texts, one...)
		}
		return texts, nil
	}
	return []string{string(raw)}, nil
}
