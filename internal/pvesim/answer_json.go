package pvesim

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"unicode/utf8"
)

// Proxmox answers from Perl hashes: neither the members of an object nor the
// rows of most lists come in an order that one could rely on. Answers here are
// therefore built as objects and written in an order that changes with every
// request, in a way that the seed decides. Writing them by hand is also what
// makes a list of 20,000 guests quick.

// object is a JSON object that is being built.
type object []member

type member struct {
	key   string
	value any
}

// put adds a member.
func (o *object) put(key string, value any) { *o = append(*o, member{key, value}) }

// putIf adds a member unless its text is empty.
func (o *object) putIf(key, value string) {
	if value != "" {
		o.put(key, value)
	}
}

// flagIf adds a member with the value 1 where it is so, and nothing otherwise.
func (o *object) flagIf(key string, is bool) {
	if is {
		o.put(key, 1)
	}
}

// rawJSON is a value that is already written.
type rawJSON []byte

// MarshalJSON gives the bytes themselves.
func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// number01 is how Proxmox writes booleans.
func number01(b bool) int {
	if b {
		return 1
	}
	return 0
}

// rows answers with a list in no order.
func (c *call) rows(list []object) rawJSON {
	c.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return c.ordered(list)
}

// ordered answers with a list as it is; only its objects' members change places.
func (c *call) ordered(list []object) rawJSON {
	dst := make([]byte, 0, 64+len(list)*384)
	dst = append(dst, '[')
	for i, o := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendObject(dst, o, c.rng)
	}
	return append(dst, ']')
}

// one answers with an object.
func (c *call) one(o object) rawJSON { return appendObject(nil, o, c.rng) }

// MarshalJSON writes the members as they stand.
func (o object) MarshalJSON() ([]byte, error) { return appendObject(nil, o, nil), nil }

func appendObject(dst []byte, o object, r *rand.Rand) []byte {
	dst = append(dst, '{')
	at, step := 0, 1
	if r != nil && len(o) > 1 {
		at = r.IntN(len(o))
		if r.IntN(2) == 0 {
			step = len(o) - 1
		}
	}
	for i := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, o[at].key)
		dst = append(dst, ':')
		dst = appendValue(dst, o[at].value, r)
		at = (at + step) % len(o)
	}
	return append(dst, '}')
}

func appendValue(dst []byte, value any, r *rand.Rand) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case string:
		return appendString(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case uint32:
		return strconv.AppendUint(dst, uint64(v), 10)
	case uint64:
		return strconv.AppendUint(dst, v, 10)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return append(dst, '0')
		}
		return strconv.AppendFloat(dst, v, 'g', 15, 64)
	case bool:
		return strconv.AppendInt(dst, int64(number01(v)), 10)
	case object:
		return appendObject(dst, v, r)
	case []object:
		dst = append(dst, '[')
		for i, o := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendObject(dst, o, r)
		}
		return append(dst, ']')
	case []string:
		dst = append(dst, '[')
		for i, s := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, s)
		}
		return append(dst, ']')
	case []any:
		dst = append(dst, '[')
		for i, x := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, x, r)
		}
		return append(dst, ']')
	case rawJSON:
		return append(dst, v...)
	}
	b, err := marshal(value)
	if err != nil {
		// Only values made in this package come here; one that can't be
		// written is its mistake, and null would hide it.
		panic("pvesim: " + err.Error())
	}
	return append(dst, b...)
}

func appendString(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			if err := e.Encode(s); err != nil {
				panic("pvesim: " + err.Error())
			}
			return append(dst, bytes.TrimRight(b.Bytes(), "\n")...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// configObject makes an object of a configuration: the keys listed in numbers
// become numbers where their text is one, the others stay text, as Proxmox
// gives them.
func configObject(c *Config, isNumber func(key string) bool) object {
	o := make(object, 0, c.Len()+2)
	c.Each(func(key, value string) bool {
		if isNumber != nil && isNumber(key) {
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				o.put(key, n)
				return true
			}
			if f, err := strconv.ParseFloat(value, 64); err == nil {
				o.put(key, f)
				return true
			}
		}
		o.put(key, value)
		return true
	})
	return o
}
