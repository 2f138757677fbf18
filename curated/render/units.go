package render

import (
	"math"
	"strconv"
	"time"
)

// Unknown stands for a value that could not be had.
const Unknown = "-"

var binaryUnits = [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}

// scale gives n in the largest unit that keeps it at 1 or more, with three
// significant digits at most.
func scale(n int64) (string, int) {
	f, u := float64(n), 0
	for f >= 1024 && u < len(binaryUnits)-1 {
		f /= 1024
		u++
	}
	if u > 0 && f >= 1023.5 && u < len(binaryUnits)-1 {
		f /= 1024
		u++
	}
	dec := 0
	if u > 0 && f < 99.95 {
		dec = 1
	}
	s := strconv.FormatFloat(f, 'f', dec, 64)
	if dec == 1 && s[len(s)-2:] == ".0" {
		s = s[:len(s)-2]
	}
	return s, u
}

// FormatBytes gives a size in bytes in binary units: '0 B', '12.3 GiB'; '-' for
// a negative one.
func FormatBytes(n int64) string {
	if n < 0 {
		return Unknown
	}
	s, u := scale(n)
	return s + " " + binaryUnits[u] + "B"
}

// FormatBytesShort is FormatBytes for tables: '0', '512', '12.3G' (powers of
// 1024); '-' for a negative size.
func FormatBytesShort(n int64) string {
	if n < 0 {
		return Unknown
	}
	s, u := scale(n)
	if u == 0 {
		return s
	}
	return s + binaryUnits[u][:1]
}

// FormatPct gives a fraction (0.123) as '12%'; under 10 % with one decimal,
// '-' for a negative fraction, NaN or infinity.
func FormatPct(fraction float64) string {
	if !(fraction >= 0) || math.IsInf(fraction, 0) {
		return Unknown
	}
	p := fraction * 100
	dec := 0
	if p > 0 && p < 9.95 {
		dec = 1
	}
	s := strconv.FormatFloat(p, 'f', dec, 64)
	if dec == 1 && s[len(s)-2:] == ".0" {
		s = s[:len(s)-2]
	}
	if p > 0 && s == "0" {
		return "<0.1%"
	}
	return s + "%"
}

// FormatSeconds gives a duration in seconds in its two greatest units: '5d 3h',
// '42s'; '-' for a negative one.
func FormatSeconds(sec int64) string {
	if sec < 0 {
		return Unknown
	}
	units := [...]struct {
		n int64
		s string
	}{{86400 * 365, "y"}, {86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}}
	for i, u := range units {
		if sec < u.n && i < len(units)-1 {
			continue
		}
		out := strconv.FormatInt(sec/u.n, 10) + u.s
		if i+1 < len(units) {
			if rest := sec % u.n / units[i+1].n; rest > 0 {
				out += " " + strconv.FormatInt(rest, 10) + units[i+1].s
			}
		}
		return out
	}
	return "0s"
}

// FormatTime gives a moment in UTC to the minute: '2026-01-31 15:04'; '-' for
// the zero time. Say once in the heading or summary that times are UTC.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return Unknown
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// FormatAgo gives how long before now t was: '2h ago', 'in 5m', 'now'; '-' for
// the zero time.
func FormatAgo(t, now time.Time) string {
	if t.IsZero() {
		return Unknown
	}
	s := now.Unix() - t.Unix()
	switch {
	case s == 0:
		return "now"
	case s < 0:
		return "in " + coarse(-s)
	}
	return coarse(s) + " ago"
}

// coarse is a duration in its greatest unit alone.
func coarse(sec int64) string {
	switch {
	case sec < 60:
		return strconv.FormatInt(sec, 10) + "s"
	case sec < 3600:
		return strconv.FormatInt(sec/60, 10) + "m"
	case sec < 48*3600:
		return strconv.FormatInt(sec/3600, 10) + "h"
	}
	return strconv.FormatInt(sec/86400, 10) + "d"
}

// FormatCount gives a number and its noun: '1 guest', '2 guests', '3 entries'.
func FormatCount(n int, noun string) string {
	if n != 1 {
		switch {
		case len(noun) > 1 && noun[len(noun)-1] == 'y' && !isVowel(noun[len(noun)-2]):
			noun = noun[:len(noun)-1] + "ies"
		case len(noun) > 0 && (noun[len(noun)-1] == 's' || noun[len(noun)-1] == 'x'):
			noun += "es"
		default:
			noun += "s"
		}
	}
	return strconv.Itoa(n) + " " + noun
}

func isVowel(b byte) bool { return b == 'a' || b == 'e' || b == 'i' || b == 'o' || b == 'u' }

// FormatYesNo gives 'yes' or 'no'.
func FormatYesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
