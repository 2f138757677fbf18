package pvesim

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The forms of times, sizes and configurations in a world file.

var relativeTime = regexp.MustCompile(`^([+-])(\d+)([smhdw])$`)

// moment reads a time: RFC 3339, seconds since 1970, or how long before or
// after the file's own "now": "-90m", "-3d", "+2w".
func (n *jsonNode) moment(now int64) (int64, error) {
	switch v := n.value.(type) {
	case json.Number:
		return n.integer()
	case string:
		if m := relativeTime.FindStringSubmatch(v); m != nil {
			count, err := strconv.ParseInt(m[2], 10, 64)
			unit := map[string]int64{"s": 1, "m": 60, "h": hour, "d": day, "w": 7 * day}[m[3]]
			if err != nil || count > 100*365*day/unit {
				return 0, n.fault("%q is more than a hundred years", v)
			}
			if m[1] == "-" {
				count = -count
			}
			return now + count*unit, nil
		}
		if v == "now" {
			return now, nil
		}
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return 0, n.fault(`%q is no time: "-3d" (or s, m, h, w; + for later), "2026-11-30T08:00:00Z" or seconds since 1970 are`, v)
		}
		return t.Unix(), nil
	}
	return 0, n.fault("a time is expected, not %s", n.kind())
}

// size reads a number of bytes, or a text with K, M, G or T.
func (n *jsonNode) size() (int64, error) {
	switch v := n.value.(type) {
	case json.Number:
		i, err := n.integer()
		if err == nil && i < 0 {
			err = n.fault("a size can't be negative")
		}
		return i, err
	case string:
		digits := strings.TrimRight(v, "KMGT")
		if _, err := strconv.ParseFloat(digits, 64); err == nil && len(v)-len(digits) <= 1 && digits[0] != '-' {
			return parseDiskSize(v), nil
		}
		return 0, n.fault(`%q is no size: a number of bytes, or such as "32G" (K, M, G, T)`, v)
	}
	return 0, n.fault("a size is expected, not %s", n.kind())
}

// fromTree reads an object of texts; numbers and true or false become text as
// Proxmox writes them.
func (c *Config) fromTree(n *jsonNode) error {
	m, ok := n.value.(*jsonMembers)
	if !ok {
		return n.fault("an object is expected, not %s", n.kind())
	}
	*c = Config{}
	keys := slices.Clone(m.keys)
	slices.Sort(keys)
	for _, k := range keys {
		child := m.values[k]
		if k == "" || strings.ContainsAny(k, " :\n\t") {
			return child.fault("%q can't be a key of a configuration", k)
		}
		switch v := child.value.(type) {
		case string:
			c.Set(k, v)
		case json.Number:
			c.Set(k, v.String())
		case bool:
			c.Set(k, strconv.Itoa(number01(v)))
		default:
			return child.fault("a text, a number or true or false is expected, not %s", child.kind())
		}
	}
	return nil
}

// shownTime and shownSize write what moment and size read.
func shownTime(t int64) any { return time.Unix(t, 0).UTC().Format(time.RFC3339) }

func shownSize(b int64) any {
	if b >= mib && b%mib == 0 {
		return diskSize(b)
	}
	return b
}
