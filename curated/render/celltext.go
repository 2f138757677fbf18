package render

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Lengths in characters beyond which a value in a table or as JSON is cut;
// identifiers of Proxmox (volids, UPIDs) stay well below.
const (
	maxCellText = 200
	maxCellJSON = 400
)

// shorten cuts s to max characters, the last of them an ellipsis.
func shorten(s string, max int) string {
	if len(s) <= max || utf8.RuneCountInString(s) <= max {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == max {
			return s[:i] + "…"
		}
	}
	return s
}

// shortenTold cuts s to max characters and tells its whole length.
func shortenTold(s string, max int) string {
	if len(s) <= max {
		return s
	}
	n := utf8.RuneCountInString(s)
	if n <= max {
		return s
	}
	return shorten(s, max) + " (" + strconv.Itoa(n) + " characters)"
}

// text gives the value as text. compact is for tables: no blanks where a blank
// would only cost.
func (c Cell) text(now time.Time, compact bool) string {
	switch c.kind {
	case cellStr:
		if s := Line(c.str); s != "" {
			return s
		}
	case cellNumber:
		return c.str
	case cellInt:
		return strconv.FormatInt(c.num, 10)
	case cellFloat:
		return strconv.FormatFloat(c.flt, 'f', int(c.prec), 64)
	case cellBytes:
		if compact {
			return FormatBytesShort(c.num)
		}
		return FormatBytes(c.num)
	case cellPct:
		return FormatPct(c.flt)
	case cellUsage:
		out := FormatBytesShort(c.num) + "/" + FormatBytesShort(c.aux)
		if c.num >= 0 && c.aux > 0 {
			out += " " + FormatPct(float64(c.num)/float64(c.aux))
		}
		return out
	case cellDur:
		if compact {
			return strings.ReplaceAll(FormatSeconds(c.num), " ", "")
		}
		return FormatSeconds(c.num)
	case cellTime:
		return FormatTime(c.when)
	case cellAgo:
		return FormatAgo(c.when, now)
	case cellBool:
		return FormatYesNo(c.num != 0)
	case cellList:
		var b strings.Builder
		for i, s := range c.list {
			if i > 0 {
				b.WriteByte(',')
				if !compact {
					b.WriteByte(' ')
				}
			}
			b.WriteString(Line(s))
		}
		return b.String()
	}
	return Unknown
}

// appendJSON adds the value as JSON; unknown is null.
func (c Cell) appendJSON(b []byte) []byte {
	switch c.kind {
	case cellStr:
		return appendString(b, shortenTold(Line(c.str), maxCellJSON))
	case cellNumber:
		return append(b, c.str...)
	case cellInt, cellBytes, cellDur:
		return strconv.AppendInt(b, c.num, 10)
	case cellFloat:
		return strconv.AppendFloat(b, c.flt, 'f', int(c.prec), 64)
	case cellPct:
		p := strconv.FormatFloat(c.flt*100, 'f', 1, 64)
		return append(b, strings.TrimSuffix(p, ".0")...)
	case cellUsage:
		b = append(b, '{')
		if c.num >= 0 {
			b = strconv.AppendInt(append(b, `"used":`...), c.num, 10)
		}
		if c.aux >= 0 {
			if c.num >= 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(append(b, `"total":`...), c.aux, 10)
		}
		return append(b, '}')
	case cellTime, cellAgo:
		return append(c.when.UTC().AppendFormat(append(b, '"'), time.RFC3339), '"')
	case cellBool:
		return strconv.AppendBool(b, c.num != 0)
	case cellList:
		b = append(b, '[')
		for i, s := range c.list {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, shortenTold(Line(s), maxCellJSON))
		}
		return append(b, ']')
	}
	return append(b, "null"...)
}

// sortKey gives a text whose order by compareKeys is the value's order.
func (c Cell) sortKey() string {
	switch c.kind {
	case cellInt, cellBytes, cellDur, cellBool:
		return orderedInt(c.num)
	case cellUsage:
		return orderedInt(max(c.num, 0))
	case cellFloat, cellPct:
		return orderedFloat(c.flt)
	case cellNumber:
		f, err := strconv.ParseFloat(c.str, 64)
		if err != nil {
			return c.str
		}
		return orderedFloat(f)
	case cellTime, cellAgo:
		return orderedInt(c.when.Unix())
	case cellStr:
		return strings.ReplaceAll(c.str, keySep, "")
	case cellList:
		return strings.ReplaceAll(strings.Join(c.list, ","), keySep, "")
	}
	return ""
}

// orderedInt puts the negative numbers before the others.
func orderedInt(n int64) string {
	if n < 0 {
		return "!" + strconv.FormatUint(1<<63-uint64(-n), 10)
	}
	return strconv.FormatInt(n, 10)
}

// orderedFloat is orderedInt for nine decimals.
func orderedFloat(f float64) string {
	const limit = 9e9
	if f > limit || f < -limit {
		return orderedInt(int64(max(min(f, 9e18), -9e18))) + ".000000000"
	}
	if f < 0 {
		return orderedInt(int64(f)-1) + "." + strconv.Itoa(int((f-float64(int64(f))+1)*1e9))
	}
	s := strconv.FormatFloat(f, 'f', 9, 64)
	return s
}

// numeric tells whether a sort by this kind of value begins with the greatest.
func (c Cell) numeric() bool {
	switch c.kind {
	case cellFloat, cellBytes, cellPct, cellDur, cellTime, cellAgo, cellUsage:
		return true
	}
	return false
}

const hexDigits = "0123456789abcdef"

// appendString adds s as a JSON string, without escapes that JSON does not need.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				b = append(b, '\\', c)
			case c == '\n':
				b = append(b, '\\', 'n')
			case c == '\t':
				b = append(b, '\\', 't')
			case c == '\r':
				b = append(b, '\\', 'r')
			case c < 0x20:
				b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			default:
				b = append(b, c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, "\ufffd"...)
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return append(b, '"')
}
