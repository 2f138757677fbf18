package audit

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"strings"
)

const (
	version = 1
	// maxLine bounds a line, its newline included. The gate bounds what it
	// logs far below.
	maxLine = 256 << 10

	algPlain = "sha256"
	algKeyed = "hmac-sha256"

	hashMark = `,"hash":"`
	hashTail = len(hashMark) + 2*sha256.Size + len(`"}`)
)

// genesis is what the first line has as the hash of the one before.
var genesis = strings.Repeat("0", 2*sha256.Size)

// chain computes the hashes of a log, with a key or without.
type chain struct{ key []byte }

func (c chain) alg() string {
	if len(c.key) > 0 {
		return algKeyed
	}
	return algPlain
}

func (c chain) sum(text []byte) string {
	var h hash.Hash
	if len(c.key) > 0 {
		h = hmac.New(sha256.New, c.key)
	} else {
		h = sha256.New()
	}
	_, _ = h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}

// encode gives the text of a line with its newline, and its hash.
func (c chain) encode(l line) (text []byte, sum string, err error) {
	l.V, l.Alg = version, c.alg()
	text, err = json.Marshal(l)
	if err != nil {
		return nil, "", err
	}
	text = bytes.TrimSuffix(text, []byte("}"))
	sum = c.sum(text)
	text = append(text, hashMark...)
	text = append(text, sum...)
	text = append(text, "\"}\n"...)
	if len(text) > maxLine {
		return nil, "", fmt.Errorf("the line would have %d bytes, %d at most are allowed", len(text), maxLine)
	}
	return text, sum, nil
}

// What decode finds wrong with a line.
var (
	errForm = errors.New("not a line of this log")
	errHash = errors.New("its hash is not that of its text")
	errAlg  = errors.New("hashed in another way than the log: with a key or without")
)

// decode reads a line without its newline. With errHash and errAlg the line and
// the hash that it claims are given all the same.
func (c chain) decode(text []byte) (l line, claimed string, err error) {
	if len(text) <= hashTail || !bytes.HasSuffix(text, []byte(`"}`)) {
		return line{}, "", errForm
	}
	body, tail := text[:len(text)-hashTail], text[len(text)-hashTail:]
	if !bytes.HasPrefix(tail, []byte(hashMark)) {
		return line{}, "", errForm
	}
	claimed = string(tail[len(hashMark) : len(tail)-len(`"}`)])
	if !isHash(claimed) {
		return line{}, "", errForm
	}
	dec := json.NewDecoder(bytes.NewReader(append(bytes.Clone(body), '}')))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil || dec.InputOffset() != int64(len(body))+1 || l.V != version {
		return line{}, "", errForm
	}
	if l.Alg != c.alg() {
		return l, claimed, errAlg
	}
	if !hmac.Equal([]byte(c.sum(body)), []byte(claimed)) {
		return l, claimed, errHash
	}
	return l, claimed, nil
}

func isHash(s string) bool {
	if len(s) != 2*sha256.Size {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
