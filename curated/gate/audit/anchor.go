package audit

import (
	"bytes"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// anchorSize is that of the anchor file: one sector, so that it is replaced as
// a whole by one write in place.
const anchorSize = 512

// anchor says how far the log goes.
type anchor struct {
	V     int    `json:"v"`
	Alg   string `json:"alg"`
	Count uint64 `json:"count"` // lines
	Size  int64  `json:"size"`  // bytes
	Head  string `json:"head"`  // hash of the last line
	// Next is the hash of a line that was about to be written when the anchor
	// was, and NextSize how far the log grows by it; empty between appends.
	Next     string `json:"next,omitempty"`
	NextSize int64  `json:"next_size,omitempty"`
	Mac      string `json:"mac,omitempty"` // over the rest
}

func (c chain) newAnchor() anchor {
	return anchor{V: version, Alg: c.alg(), Head: genesis}
}

func (c chain) encodeAnchor(a anchor) ([]byte, error) {
	a.V, a.Alg, a.Mac = version, c.alg(), ""
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	a.Mac = c.sum(append([]byte("anchor "), text...))
	if text, err = json.Marshal(a); err != nil {
		return nil, err
	}
	if len(text) >= anchorSize {
		return nil, fmt.Errorf("anchor of %d bytes", len(text))
	}
	out := bytes.Repeat([]byte(" "), anchorSize)
	copy(out, text)
	out[anchorSize-1] = '\n'
	return out, nil
}

var (
	errAnchorForm = errors.New("the anchor file is damaged or edited")
	errAnchorAlg  = errors.New("the log was begun in another way: with a key (PROXMOX_AUDIT_HMAC_KEY) or without")
	errAnchorKey  = errors.New("the anchor was not made with this key, or it was edited")
)

func (c chain) decodeAnchor(text []byte) (anchor, error) {
	var a anchor
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if len(text) != anchorSize || dec.Decode(&a) != nil || a.V != version || !isHash(a.Head) || a.Next != "" && !isHash(a.Next) ||
		a.Size < 0 || a.NextSize < 0 || len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return anchor{}, errAnchorForm
	}
	if a.Alg != c.alg() {
		return a, errAnchorAlg
	}
	want, err := c.encodeAnchor(a)
	if err != nil {
		return anchor{}, errAnchorForm
	}
	if !hmac.Equal(want, text) {
		if a.Alg == algKeyed {
			return a, errAnchorKey
		}
		return a, errAnchorForm
	}
	return a, nil
}

// loadAnchor reads the anchor; the error is fs.ErrNotExist without one.
func (c chain) loadAnchor(f *os.File) (anchor, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, anchorSize+1))
	if err != nil {
		return anchor{}, err
	}
	if len(text) == 0 {
		return anchor{}, fs.ErrNotExist
	}
	return c.decodeAnchor(text)
}

func (c chain) storeAnchor(f *os.File, a anchor) error {
	text, err := c.encodeAnchor(a)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}
