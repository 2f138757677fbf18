package render

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"strings"
)

// cursor is where a table stopped. It holds no row's position but a key that
// lies between the last row shown and the next one, so that rows may come and
// go between two pages.
type cursor struct {
	table string // its ID
	sort  string // column and direction, "" for the key's own order
	start bool   // from the first row (only Important ones were shown)
	sep   string // the key to go on from
	dup   int    // -1: after sep; otherwise from sep on, less so many rows that equal it
	salt  byte
	skip  []uint32 // salted hashes (24 bits) of rows already shown out of turn
}

const cursorVersion = 1

func hash32(parts ...string) uint32 {
	h := fnv.New32a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	x := h.Sum32()
	x ^= x >> 15
	x *= 0x85ebca6b
	return x ^ x>>13
}

// skipHash is the hash by which a row's key stands in cursor.skip.
func skipHash(salt byte, key string) uint32 {
	return hash32(string([]byte{salt}), key) & 0xffffff
}

func put24(b []byte, v uint32) []byte { return append(b, byte(v>>16), byte(v>>8), byte(v)) }
func get24(b []byte) uint32           { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

// encode gives the cursor as text: version, check sum, scope and table hashes,
// then the fields.
func (c cursor) encode(scope string) string {
	body := []byte{cursorVersion}
	body = put24(body, hash32(scope)&0xffffff)
	body = binary.BigEndian.AppendUint16(body, uint16(hash32("table", c.table)))
	flags := byte(0)
	if c.start {
		flags |= 1
	}
	if len(c.skip) > 0 {
		flags |= 2
	}
	if c.sort != "" {
		flags |= 4
	}
	body = append(body, flags)
	body = binary.AppendUvarint(body, uint64(c.dup+1))
	if c.sort != "" {
		body = append(body, byte(len(c.sort)))
		body = append(body, c.sort...)
	}
	if len(c.skip) > 0 {
		body = append(body, c.salt, byte(len(c.skip)))
		for _, h := range c.skip {
			body = put24(body, h)
		}
	}
	body = append(body, c.sep...)
	sum := hash32("cursor", string(body))
	return base64.RawURLEncoding.EncodeToString(append([]byte{byte(sum >> 8), byte(sum)}, body...))
}

func badCursor(text string) *Error {
	return &Error{Op: "cursor", Kind: BadCursor, Subject: shorten(Line(text), 40),
		Do: "give the cursor exactly as the last answer printed it, or leave it out to begin again"}
}

func foreignCursor(why string) *Error {
	return &Error{Op: "cursor", Kind: ForeignCursor,
		Do: why + "; repeat the call that gave the cursor with the same filters, or leave the cursor out to begin again"}
}

// decodeCursor reads what encode wrote. tables are the IDs of the document's tables.
func decodeCursor(text, scope string, tables []string) (cursor, error) {
	bad := func() (cursor, error) { return cursor{}, badCursor(text) }
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\r\n") {
		return bad() // the decoder would pass over them
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 10 {
		return bad()
	}
	body := b[2:]
	if sum := hash32("cursor", string(body)); b[0] != byte(sum>>8) || b[1] != byte(sum) || body[0] != cursorVersion {
		return bad()
	}
	if get24(body[1:]) != hash32(scope)&0xffffff {
		return cursor{}, foreignCursor("it was made by another tool, for another cluster or with other filters")
	}
	c := cursor{dup: -1}
	id := binary.BigEndian.Uint16(body[4:])
	found := false
	for _, t := range tables {
		if uint16(hash32("table", t)) == id {
			c.table, found = t, true
			break
		}
	}
	if !found {
		return cursor{}, foreignCursor("it belongs to a list that this answer does not have")
	}
	flags := body[6]
	if flags > 7 {
		return bad()
	}
	body = body[7:]
	dup, n := binary.Uvarint(body)
	if n <= 0 || dup > 1<<31 {
		return bad()
	}
	c.dup = int(dup) - 1
	body = body[n:]
	c.start = flags&1 != 0
	if flags&4 != 0 {
		if len(body) < 1 || len(body) < 1+int(body[0]) || body[0] == 0 {
			return bad()
		}
		c.sort, body = string(body[1:1+body[0]]), body[1+body[0]:]
	}
	if flags&2 != 0 {
		if len(body) < 2 || body[1] == 0 || len(body) < 2+3*int(body[1]) {
			return bad()
		}
		c.salt = body[0]
		k := int(body[1])
		body = body[2:]
		for range k {
			c.skip = append(c.skip, get24(body))
			body = body[3:]
		}
	}
	c.sep = string(body)
	return c, nil
}

// between gives the shortest key that parts last from next in a walk that shows
// last before next, and how it parts them (cursor.dup).
func between(last, next string, desc bool, shownEqual int) (string, int) {
	if last == next {
		return last, shownEqual
	}
	if desc {
		// Going down: go on strictly below a beginning of last that is above next.
		for n := range len(last) {
			if s := last[:n]; compareKeys(s, next) > 0 && compareKeys(s, last) <= 0 {
				return s, -1
			}
		}
		return last, -1
	}
	for n := range len(next) {
		if s := next[:n]; compareKeys(s, last) > 0 && compareKeys(s, next) <= 0 {
			return s, 0
		}
	}
	return next, 0
}

// after tells whether a row with this key comes after the cursor; eq counts the
// rows equal to sep that were met so far.
func (c *cursor) after(key string, desc bool) (yes, equal bool) {
	if c.start {
		return true, false
	}
	d := compareKeys(key, c.sep)
	if d == 0 {
		return c.dup >= 0, c.dup >= 0
	}
	return (d > 0) != desc, false
}

func (c *cursor) skips(key string) bool {
	if len(c.skip) == 0 {
		return false
	}
	h := skipHash(c.salt, key)
	for _, s := range c.skip {
		if s == h {
			return true
		}
	}
	return false
}
