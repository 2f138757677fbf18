package render

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Cell is one typed value. As text it is short and made for reading, as JSON it
// keeps its type: numbers stay numbers, sizes are bytes, times are RFC 3339 in
// UTC. The zero Cell is an unknown value: '-' as text, left out as JSON (null
// when its field was asked for). Unknown is never shown as 0.
type Cell struct {
	kind cellKind
	prec int8
	num  int64
	aux  int64
	flt  float64
	str  string
	list []string
	when time.Time
}

type cellKind uint8

const (
	cellNone cellKind = iota
	cellStr
	cellInt
	cellFloat
	cellNumber // str is a JSON number, kept as written
	cellBytes
	cellPct
	cellDur
	cellTime
	cellAgo
	cellBool
	cellList
	cellUsage
)

// Integer is any integer type, also a named one such as apidoc.VMID.
type Integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Number is any integer or floating-point type.
type Number interface {
	Integer | ~float32 | ~float64
}

// None is an unknown value.
func None() Cell { return Cell{} }

// Str is a text, cleaned when shown; the empty text is unknown.
func Str[T ~string](s T) Cell {
	if s == "" {
		return Cell{}
	}
	return Cell{kind: cellStr, str: string(s)}
}

// Int is a whole number without a unit.
func Int[T Integer](n T) Cell {
	if u := uint64(n); n > 0 && u > math.MaxInt64 {
		return Cell{kind: cellNumber, str: strconv.FormatUint(u, 10)}
	}
	return Cell{kind: cellInt, num: int64(n)}
}

// Float is a number shown with so many decimals (0 to 9) as text and as JSON;
// NaN and infinities are unknown.
func Float(f float64, decimals int) Cell {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Cell{}
	}
	return Cell{kind: cellFloat, flt: f, prec: int8(min(max(decimals, 0), 9))}
}

// Bytes is a size in bytes: '12.3G' in a table, '12.3 GiB' in a KV, the plain
// number of bytes as JSON. A negative size is unknown.
func Bytes[T Number](n T) Cell {
	if !(n >= 0) || float64(n) >= 1<<63 {
		return Cell{}
	}
	return Cell{kind: cellBytes, num: int64(n)}
}

// Pct is a fraction (0.123) shown as a percentage: '12%' as text, 12.3 as JSON.
// A negative fraction or NaN is unknown.
func Pct(fraction float64) Cell {
	if !(fraction >= 0) || math.IsInf(fraction, 0) {
		return Cell{}
	}
	return Cell{kind: cellPct, flt: fraction}
}

// Ratio is used/total as a percentage; unknown when total is not positive or
// used is negative.
func Ratio[T Number](used, total T) Cell {
	if !(total > 0) || !(used >= 0) {
		return Cell{}
	}
	return Pct(float64(used) / float64(total))
}

// Usage is a size used of a total, both in bytes: '3.2G/8G 40%' as text,
// {"used":…,"total":…} as JSON. A negative part is unknown; both unknown is an
// unknown value.
func Usage[T Number](used, total T) Cell {
	u, t := Bytes(used), Bytes(total)
	if u.kind == cellNone && t.kind == cellNone {
		return Cell{}
	}
	c := Cell{kind: cellUsage, num: -1, aux: -1}
	if u.kind != cellNone {
		c.num = u.num
	}
	if t.kind != cellNone {
		c.aux = t.num
	}
	return c
}

// Seconds is a duration in seconds: '5d 3h' as text, the number of seconds as
// JSON. A negative duration is unknown.
func Seconds[T Number](n T) Cell {
	if !(n >= 0) || float64(n) >= 1<<62 {
		return Cell{}
	}
	return Cell{kind: cellDur, num: int64(n)}
}

// Time is a moment: '2026-01-31 15:04' in UTC as text, RFC 3339 as JSON. The
// zero time and the Unix epoch's first second are unknown.
func Time(t time.Time) Cell {
	if t.IsZero() || t.Unix() == 0 {
		return Cell{}
	}
	return Cell{kind: cellTime, when: t}
}

// Unix is Time for seconds since 1970; 0 and less are unknown.
func Unix[T Integer](sec T) Cell {
	if sec <= 0 {
		return Cell{}
	}
	return Time(time.Unix(int64(sec), 0))
}

// Ago is a moment shown by its age, '2h ago', as text and as RFC 3339 as JSON.
func Ago(t time.Time) Cell {
	c := Time(t)
	if c.kind != cellNone {
		c.kind = cellAgo
	}
	return c
}

// Bool is 'yes' or 'no' as text, true or false as JSON.
func Bool(b bool) Cell {
	c := Cell{kind: cellBool}
	if b {
		c.num = 1
	}
	return c
}

// List is several texts: 'a,b' as text, an array as JSON; empty is unknown.
func List[T ~string](items []T) Cell {
	if len(items) == 0 {
		return Cell{}
	}
	l := make([]string, len(items))
	for i, s := range items {
		l[i] = string(s)
	}
	return Cell{kind: cellList, list: l}
}

// Opt is f(*p), or unknown when p is nil: Opt(g.MaxMem, render.Bytes[int64]).
func Opt[T any](p *T, f func(T) Cell) Cell {
	if p == nil {
		return Cell{}
	}
	return f(*p)
}

// Any is the Cell for a value as encoding/json decodes it (also json.Number and
// json.RawMessage) or for a basic Go value; what is none of these becomes its
// JSON text. nil is unknown.
func Any(v any) Cell {
	switch v := v.(type) {
	case nil:
		return Cell{}
	case Cell:
		return v
	case string:
		return Str(v)
	case bool:
		return Bool(v)
	case json.Number:
		if json.Valid([]byte(v)) {
			return Cell{kind: cellNumber, str: string(v)}
		}
		return Str(string(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Cell{}
		}
		return Cell{kind: cellNumber, str: strconv.FormatFloat(v, 'f', -1, 64)}
	case int:
		return Int(v)
	case int64:
		return Int(v)
	case uint64:
		return Int(v)
	case time.Time:
		return Time(v)
	case []string:
		return List(v)
	case fmt.Stringer:
		return Str(v.String())
	}
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" {
		return Cell{}
	}
	if len(b) > 1 && b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return Str(s)
		}
	}
	return Str(strings.TrimSpace(string(b)))
}

// Known tells whether the value is not unknown.
func (c Cell) Known() bool { return c.kind != cellNone }
