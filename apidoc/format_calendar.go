package apidoc

import "strings"

// isCalendarEvent follows the grammar of Proxmox's Rust library proxmox-time,
// which parses greedily and never goes back into a part that it has taken:
//
//	event = keyword | [days] [date] [time]   (at least one part)
//	date  = [year "-"] month "-" day
//	time  = [hour ":"] minute [":" second]
//
// Each number is a list of values, ranges and repeats, or "*" with a repeat.
func isCalendarEvent(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	if rest, ok := strings.CutSuffix(s, "UTC"); ok {
		s = strings.TrimRight(rest, " ")
		if s == "" {
			return false
		}
	}
	switch s {
	case "minutely", "hourly", "daily", "weekly", "monthly", "quarterly", "semiannually", "semi-annually", "yearly", "annually":
		return true
	}
	some := false
	if letter(s[0]) {
		rest, ok := calendarDays(s)
		if !ok {
			return false
		}
		s, some = skipBlanks(rest), true
	}
	if rest, ok := calendarDate(s); ok {
		s, some = skipBlanks(rest), true
	}
	if rest, ok := calendarTime(s); ok {
		s, some = rest, true
	}
	return some && s == ""
}

func skipBlanks(s string) string { return strings.TrimLeft(s, " \t") }

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// calendarDays reads dayrange *("," dayrange); dayrange = day [".." day].
func calendarDays(s string) (rest string, ok bool) {
	rest, ok = calendarDayRange(s)
	for ok && strings.HasPrefix(rest, ",") {
		next, more := calendarDayRange(rest[1:])
		if !more {
			break
		}
		rest = next
	}
	return rest, ok
}

func calendarDayRange(s string) (rest string, ok bool) {
	rest, ok = calendarDay(s)
	if !ok {
		return s, false
	}
	if tail, isRange := strings.CutPrefix(rest, ".."); isRange {
		return calendarDay(tail)
	}
	return rest, true
}

func calendarDay(s string) (rest string, ok bool) {
	n := 0
	for n < len(s) && letter(s[n]) {
		n++
	}
	if n > len("wednesday") {
		return s, false
	}
	switch strings.ToLower(s[:n]) {
	case "mon", "monday", "tue", "tuesday", "wed", "wednesday", "thu", "thursday",
		"fri", "friday", "sat", "saturday", "sun", "sunday":
		return s[n:], true
	}
	return s, false
}

func calendarDate(s string) (rest string, ok bool) {
	if rest, ok = calendarFields(s, '-', 2200, 13, 32); ok {
		return rest, true
	}
	return calendarFields(s, '-', 13, 32)
}

// calendarFields reads one list for each bound, with sep between them.
func calendarFields(s string, sep byte, bounds ...uint64) (rest string, ok bool) {
	for i, most := range bounds {
		if i > 0 {
			if s == "" || s[0] != sep {
				return s, false
			}
			s = s[1:]
		}
		if s, ok = calendarList(s, most); !ok {
			return s, false
		}
	}
	return s, true
}

func calendarTime(s string) (rest string, ok bool) {
	if rest, ok := calendarList(s, 24); ok && strings.HasPrefix(rest, ":") {
		s = rest[1:]
	}
	if s, ok = calendarList(s, 60); !ok {
		return s, false
	}
	if tail, seconds := strings.CutPrefix(s, ":"); seconds {
		return calendarList(tail, 60)
	}
	return s, true
}

func calendarList(s string, most uint64) (rest string, ok bool) {
	if tail, star := strings.CutPrefix(s, "*"); star {
		every, repeats := strings.CutPrefix(tail, "/")
		if !repeats {
			return tail, true
		}
		n, rest, ok := calendarNumber(every)
		switch {
		case !ok || n == 0:
			return tail, true // "*" alone; the rest is left over
		case n >= most:
			return s, false
		}
		return rest, true
	}
	rest, ok = calendarItem(s, most)
	for ok && strings.HasPrefix(rest, ",") {
		next, more := calendarItem(rest[1:], most)
		if !more {
			break
		}
		rest = next
	}
	return rest, ok
}

// calendarItem reads n [".." n] ["/" n].
func calendarItem(s string, most uint64) (rest string, ok bool) {
	start, rest, ok := calendarNumber(s)
	if !ok || start >= most {
		return s, false
	}
	if tail, isRange := strings.CutPrefix(rest, ".."); isRange {
		if end, after, ok := calendarNumber(tail); ok && end < most {
			if start > end {
				return s, false
			}
			rest = after
		}
	}
	if tail, repeats := strings.CutPrefix(rest, "/"); repeats {
		n, after, ok := calendarNumber(tail)
		if !ok || n >= most {
			return s, false
		}
		rest = after
	}
	return rest, true
}

// calendarNumber reads ASCII digits; what does not fit into 32 bits is none.
func calendarNumber(s string) (n uint64, rest string, ok bool) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		if n = n*10 + uint64(s[i]-'0'); n > 1<<32-1 {
			return 0, s, false
		}
		i++
	}
	return n, s[i:], i > 0
}
