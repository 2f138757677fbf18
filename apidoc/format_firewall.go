package apidoc

import (
	"net/netip"
	"strings"
)

var (
	icmpSet     = wordSet("icmp", "icmpv6")
	serviceSet  = wordSet("service")
	protocolSet = wordSet("protocol", "protocol-number")
	helperSet   = wordSet("conntrack-helper")
	helperWords = section("conntrack-helper")
	protocols   = section("protocol")

	scopedAlias = rx(`(?:dc/|guest/)?[A-Za-z][A-Za-z0-9_-]+`)
	plainAlias  = rx(`[A-Za-z][A-Za-z0-9_-]+`)
	ipsetName   = rx(`\+[^<WS>]+`)
)

// firewallFormats are what rules, aliases and sets take.
var firewallFormats = map[string]format{
	"IPorCIDR":                {form: "an IP address or a network (address/prefix)", ok: isIPorCIDR},
	"IPorCIDRorAlias":         {form: "an IP address, a network (address/prefix) or an alias", ok: func(e era, s string) bool { return isAlias(e, s) || isIPorCIDR(e, s) }},
	"pve-fw-addr-spec":        {form: "addresses of one IP version (networks without host bits, joined by commas), one range, an alias or +ipset", ok: isAddressSpec},
	"pve-fw-dport-spec":       {form: "ports (numbers, first:last or service names, joined by commas, at most 15) or an ICMP type name", ok: func(_ era, s string) bool { return isPortSpec(s, true) }},
	"pve-fw-sport-spec":       {form: "ports (numbers, first:last or service names, joined by commas, at most 15)", ok: func(_ era, s string) bool { return isPortSpec(s, false) }},
	"pve-fw-protocol-spec":    {form: "a protocol's name (lower case) or number", ok: func(_ era, s string) bool { return s == "" || s == "0" || protocolSet()[s] }, words: func(era) []string { return protocols() }},
	"pve-fw-icmp-type-spec":   {form: "the name of an ICMP type", ok: func(_ era, s string) bool { return s == "" || icmpSet()[s] }, words: func(era) []string { return append(append([]string(nil), section("icmp")()...), section("icmpv6")()...) }},
	"pve-fw-conntrack-helper": {form: "a list of connection tracking helpers", ok: isHelpers, words: func(era) []string { return helperWords() }},
}

func isAlias(e era, s string) bool {
	if e.before(8, 0) {
		return plainAlias(e, s)
	}
	return scopedAlias(e, s)
}

func isIPorCIDR(_ era, s string) bool {
	address, prefix, given := strings.Cut(chomp(s), "/")
	a, ok := parseIP(address)
	if !ok || given && !allDigits(prefix) {
		return false
	}
	if given && prefix != "0" {
		return digitsValue(prefix) <= float64(a.BitLen())
	}
	if given && !a.IsUnspecified() {
		return false
	}
	return !netIPRefuses(address)
}

func isAddressSpec(e era, s string) bool {
	if ipsetName(e, s) {
		return characters(s) <= 65
	}
	if isAlias(e, s) {
		return characters(s) <= 64
	}
	if s == "" {
		return true
	}
	if strings.HasSuffix(s, ",") {
		return false
	}
	version, items, ranges := 0, 0, 0
	for element := range strings.SplitSeq(s, ",") {
		v := firewallAddress(element)
		if v == 0 || version != 0 && v != version {
			return false
		}
		version = v
		items++
		if strings.IndexByte(element, '-') >= 0 {
			ranges++
		}
	}
	return ranges == 0 || items == 1
}

// firewallAddress gives the IP version of an element as Perl's Net::IP reads
// it, or 0: an address, a network without host bits, or a range. Odd forms
// that Net::IP takes are taken.
func firewallAddress(s string) int {
	s = chomp(s)
	if address, rest, ok := strings.Cut(s, "/"); ok {
		v, bits := netIPAddress(address)
		if v == 0 {
			return 0
		}
		if !allDigits(rest) {
			return v // junk behind the slash is not looked at
		}
		n, fits := smallNumber(rest, bits.BitLen())
		if !fits || netip.PrefixFrom(bits, n).Masked().Addr() != bits {
			return 0
		}
		return v
	}
	if from, to, ok := strings.Cut(s, "-"); ok {
		v, first := netIPAddress(strings.TrimRightFunc(from, isSpace))
		if v == 0 {
			return 0
		}
		to = strings.TrimLeftFunc(to, isSpace)
		w, last := netIPAddress(to)
		if w == 0 && v == 4 {
			w, last = netIPAddress(strings.TrimRight(to, "."))
		}
		if w != v || last.Less(first) {
			return 0
		}
		return v
	}
	if address, number, ok := strings.Cut(s, "+"); ok {
		trimmed := strings.TrimRightFunc(address, isSpace)
		number = strings.TrimLeftFunc(number, isSpace)
		if v, _ := netIPAddress(trimmed); v != 0 && trimmed != address && allDigits(number) {
			return v
		}
		return 0
	}
	v, _ := netIPAddress(s)
	return v
}

// netIPAddress reads a single address as Net::IP does: IPv4 may be short and
// have leading zeros; digits of any script count as digits.
func netIPAddress(s string) (version int, a netip.Addr) {
	if s == "" || len(s) > 200 {
		return 0, a
	}
	if strings.IndexByte(s, ':') < 0 {
		var b [4]byte
		parts := strings.Split(s, ".")
		if len(parts) > 4 {
			return 0, a
		}
		for i, p := range parts {
			n := digitsValue(p)
			if !allDigits(p) || characters(p) > 3 || n > 255 {
				return 0, a
			}
			b[i] = byte(n)
		}
		return 4, netip.AddrFrom4(b)
	}
	if netIPRefuses(s) {
		return 0, a
	}
	s = asciiDigits(s)
	if i := strings.LastIndexByte(s, ':'); strings.IndexByte(s[i+1:], '.') >= 0 || i == len(s)-1 {
		if tail := s[i+1:]; tail != "" {
			v, four := netIPAddress(tail)
			if v != 4 {
				return 0, a
			}
			s = s[:i+1] + four.String()
		}
	}
	six, ok := parseIP(s)
	if !ok || six.Is4() {
		return 0, a
	}
	return 6, six
}

// asciiDigits replaces decimal digits of other scripts by 0, which is what
// their value counts for.
func asciiDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 0x80 && isDigit(r) {
			return '0'
		}
		return r
	}, s)
}

// isPortSpec checks source or destination ports. Only the latter may be names
// of ICMP types, and those not beside numbers.
func isPortSpec(s string, destination bool) bool {
	if strings.HasSuffix(s, ",") {
		return false
	}
	if s == "" {
		return true
	}
	ascii := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	port := func(s string) (float64, bool) {
		n := digitsValue(s)
		return n, n <= 65535
	}
	count, icmp := 0, false
	for item := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(chomp(item), ":")
		switch {
		case isRange && ascii(first) && ascii(last):
			a, ok1 := port(first)
			b, ok2 := port(last)
			if !ok1 || !ok2 || a > b {
				return false
			}
			count += 2
		case !isRange && ascii(first):
			if _, ok := port(first); !ok {
				return false
			}
			count++
		case destination && icmpSet()[item]:
			icmp = true
		case serviceSet()[item]:
		default:
			return false
		}
	}
	return count <= 15 && !(icmp && count > 0)
}

func isHelpers(_ era, s string) bool {
	if s == "" {
		return true
	}
	for item := range strings.SplitSeq(s, ",") {
		if !helperSet()[item] {
			return false
		}
	}
	return true
}
