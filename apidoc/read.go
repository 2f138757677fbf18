package apidoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// MaxText is the largest schema text that is read, in bytes after
// decompression. Published files have 2 to 5 MB.
const MaxText = 32 << 20

// ReadError tells why a text is not a usable schema. Source names where it
// came from, if the caller knew.
type ReadError struct {
	Source string
	Why    string
	Err    error
}

func (e *ReadError) Error() string {
	s := "schema"
	if e.Source != "" {
		s += " " + e.Source
	}
	s += ": " + e.Why
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *ReadError) Unwrap() error { return e.Err }

func unreadable(why string, err error) error { return &ReadError{Why: why, Err: err} }

// assignment finds where a published JavaScript file assigns the schema. The
// names are those of Virtual Environment (pveapi until 6.4, apiSchema since),
// Backup Server and Mail Gateway.
var assignment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:var|const|let)[ \t]+(?:pveapi|apiSchema|pmgapi|pbsapi)[ \t]*=\s*\[`)
})

// unpack undoes gzip, if the text is gzipped, and holds [MaxText].
func unpack(data []byte) ([]byte, error) {
	if len(data) >= 2 && data[0] == 0x1f && data[1] == 0x8b {
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, unreadable("damaged gzip file", err)
		}
		text, err := io.ReadAll(io.LimitReader(zr, MaxText+1))
		if err != nil {
			return nil, unreadable("damaged or truncated gzip file", err)
		}
		data = text
	}
	if len(data) > MaxText {
		return nil, unreadable(fmt.Sprintf("larger than %d MiB, which no published schema is", MaxText>>20), nil)
	}
	return data, nil
}

// cut gives the text of the schema's array from any published form. Code in
// front of and behind the array is not looked at.
func cut(data []byte) ([]byte, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	start := skipSpace(data, 0)
	switch {
	case start == len(data):
		return nil, unreadable("the file is empty", nil)
	case data[start] == '[':
	case data[start] == '<':
		return nil, unreadable("this is HTML, not a schema; a node serves its schema at /pve-docs/api-viewer/apidoc.js", nil)
	default:
		loc := assignment().FindIndex(data)
		if loc == nil {
			return nil, unreadable("neither a JSON array nor a file that assigns one to pveapi, apiSchema or pmgapi; a node serves its schema at /pve-docs/api-viewer/apidoc.js", nil)
		}
		start = loc[1] - 1
	}
	return data[start:], nil
}

// Parse reads a schema in any form in which Proxmox publishes it: apidoc.js or
// apidata.js (the array is cut out as text; nothing is executed), plain JSON,
// each also gzipped. Version is a label for messages, such as "9.2"; it may be
// empty. Errors are of type [*ReadError] and say what is wrong and where.
//
// The text is walked once to check its form and to find the methods; methods
// are decoded when they are asked for. The schema keeps a reference to data.
func Parse(data []byte, version string) (*Schema, error) {
	text, err := unpack(data)
	if err != nil {
		return nil, err
	}
	if text, err = cut(text); err != nil {
		return nil, err
	}
	s := &Schema{Version: version}
	if err := s.index(text); err != nil {
		var se *scanError
		if errors.As(err, &se) {
			return nil, unreadable("not valid JSON or truncated", err)
		}
		return nil, err
	}
	return s, nil
}
