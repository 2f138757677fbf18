package apidoc

import (
	"net/netip"
	"strconv"
	"strings"
)

const dnsLabel = `[a-zA-Z0-9]+(?:-+[a-zA-Z0-9]+)*`

// netFormats are addresses and numbers of networks.
var netFormats = map[string]format{
	"ipv4":   {form: "an IPv4 address", ok: func(_ era, s string) bool { return isIP(chomp(s), 4) }},
	"ipv6":   {form: "an IPv6 address", ok: func(_ era, s string) bool { return isIP(chomp(s), 6) }},
	"ip":     {form: "an IP address", ok: func(_ era, s string) bool { return isIP(chomp(s), 0) }},
	"CIDRv4": {form: "an IPv4 network (address/prefix, prefix 8 to 32)", ok: func(_ era, s string) bool { return isCIDR(s, 4) }},
	"CIDRv6": {form: "an IPv6 network (address/prefix, prefix 8 to 128)", ok: func(_ era, s string) bool { return isCIDR(s, 6) }},
	"CIDR":   {form: "a network (address/prefix, prefix at least 8)", ok: func(_ era, s string) bool { return isCIDR(s, 0) }},

	"pve-ipv4-config": {form: "dhcp, manual or an IPv4 address with prefix (10.0.0.2/24)", ok: func(_ era, s string) bool {
		word := chomp(s)
		return word == "dhcp" || word == "manual" || isCIDR(s, 4)
	}},
	"pve-ipv6-config": {form: "auto, dhcp, manual or an IPv6 address with prefix (fd00::2/64)", ok: func(_ era, s string) bool {
		word := chomp(s)
		return word == "auto" || word == "dhcp" || word == "manual" || isCIDR(s, 6)
	}},
	"ipv4mask":           {form: "an IPv4 netmask (255.255.255.0)", ok: isMask},
	"dns-name":           {form: "a DNS name", ok: dnsName},
	"graphite-path":      {form: "a path of names joined by dots", ok: dnsName},
	"address":            {form: "an IP address or a DNS name", ok: isAddress},
	"pve-storage-server": {form: "an IP address or a DNS name", ok: isAddress},
	"lxc-ip-with-ll-iface": {form: "an IP address; a link-local one may name its interface (fe80::1%eth0)",
		ok: isLinkLocal},
	"mac-addr": {form: "a unicast MAC address (BC:24:11:00:00:01)", ok: rx(`(?i)[0-9a-f][02468ace](?::[0-9a-f][0-9a-f]){5}`)},
	"mac-prefix": {form: "the first bytes of a unicast MAC address (BC:24:11)", ok: func(e era, s string) bool {
		if e.before(9, 0) {
			return macPrefixOld(e, s)
		}
		return macPrefix(e, s)
	}},
	"pve-vlan-id-or-range": {form: "a VLAN tag or a range of them (2 to 4094)", ok: isVLANRange},
	"pve-sdn-bgp-rt":       {form: "a BGP route target (number:number)", ok: isRouteTarget},
	"pve-sdn-isis-net":     {form: "an IS-IS network entity title (49.0001.1921.6800.1002.00)", ok: rx(`[a-fA-F0-9]{2}(?:\.[a-fA-F0-9]{4}){3,9}\.[a-fA-F0-9]{2}`)},
	"pve-sdn-subnet-id":    {form: "a subnet (address/prefix) or its id (zone-address-prefix)", ok: isSubnetID},
	"pve-sdn-vlanrange":    {form: "a list of VLAN tags and ranges (up to 4096)", ok: func(_ era, s string) bool { return isTagRanges(s, 4096) }},
	"pve-sdn-vxlanrange":   {form: "a list of VXLAN ids and ranges (up to 16777216)", ok: func(_ era, s string) bool { return isTagRanges(s, 16777216) }},
	"FullRangeCIDR":        {}, // newer than what the rules could be read from
}

var (
	dnsName      = rx(dnsLabel + `(?:\.` + dnsLabel + `)*`)
	macPrefix    = rx(`(?i)[0-9a-f][02468ace](?::[0-9a-f]{2}){0,2}(?::|:[0-9a-f])?`)
	macPrefixOld = rx(`(?i)[0-9a-f][02468ace](?::[0-9a-f]{2}){0,2}:?`)
	ifaceName    = rx(`(?i)[a-z][a-z0-9_]{1,20}(?:[:.][<ND>]+)?`)
)

// isIP tells whether s is an address of the version (4, 6, or 0 for either),
// without zone.
func isIP(s string, version int) bool {
	a, ok := parseIP(s)
	return ok && (version == 0 || a.Is4() == (version == 4))
}

func parseIP(s string) (netip.Addr, bool) {
	if len(s) > 60 || strings.IndexByte(s, '%') >= 0 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(s)
	return a, err == nil
}

func isCIDR(s string, version int) bool {
	address, prefix, ok := strings.Cut(chomp(s), "/")
	a, good := parseIP(address)
	if !ok || !good || !allDigits(prefix) || version != 0 && a.Is4() != (version == 4) {
		return false
	}
	n := digitsValue(prefix)
	return n >= 8 && n <= float64(a.BitLen())
}

func isMask(_ era, s string) bool {
	a, ok := parseIP(s)
	if !ok || !a.Is4() {
		return false
	}
	b := a.As4()
	inverse := ^(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
	return inverse&(inverse+1) == 0
}

func isAddress(e era, s string) bool {
	return s != "0" && (isIP(chomp(s), 0) || dnsName(e, s))
}

func isLinkLocal(e era, s string) bool {
	if isIP(chomp(s), 0) {
		return true
	}
	address, iface, zoned := strings.Cut(s, "%")
	return zoned && len(address) > len("fe80:") && strings.HasPrefix(address, "fe80:") &&
		isIP(chomp(address), 0) && ifaceName(e, iface)
}

func isVLANRange(_ era, s string) bool {
	first, second, isRange := strings.Cut(chomp(s), "-")
	tag := func(s string) (float64, bool) {
		n := digitsValue(s)
		return n, allDigits(s) && n >= 2 && n <= 4094
	}
	a, ok := tag(first)
	if !ok || !isRange || second == "0" {
		return ok
	}
	b, ok := tag(second)
	return ok && b > a
}

func isRouteTarget(_ era, s string) bool {
	a, b, ok := strings.Cut(chomp(s), ":")
	return ok && allDigits(a) && allDigits(b) && digitsValue(a) <= 4294967295 && digitsValue(b) <= 4294967295
}

func isSubnetID(_ era, s string) bool {
	if strings.IndexByte(s, '/') >= 0 {
		return isCIDR(s, 0)
	}
	parts := strings.SplitN(s, "-", 4)
	return len(parts) >= 3 && isCIDR(parts[1]+"/"+parts[2], 0)
}

// isTagRanges follows a check that only looks at numbers and ranges of numbers
// and lets everything else through.
func isTagRanges(s string, most float64) bool {
	if strings.HasSuffix(s, ",") {
		return false
	}
	ascii := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	for item := range strings.SplitSeq(s, ",") {
		first, second, isRange := strings.Cut(chomp(item), "-")
		switch {
		case !ascii(first) || isRange && !ascii(second):
		case digitsValue(first) > most || isRange && (digitsValue(second) > most || digitsValue(first) > digitsValue(second)):
			return false
		}
	}
	return true
}

// writtenGroups counts the groups of an IPv6 text; a dotted tail makes two.
func writtenGroups(s string) int {
	n := 0
	for part := range strings.SplitSeq(s, ":") {
		if part != "" {
			n++
			if strings.IndexByte(part, '.') >= 0 {
				n++
			}
		}
	}
	return n
}

// netIPRefuses tells of IPv6 texts that Perl's Net::IP does not take: "::" at
// an end although seven groups are written.
func netIPRefuses(s string) bool {
	return (strings.HasPrefix(s, "::") || strings.HasSuffix(s, "::")) && writtenGroups(s) >= 7
}

// smallNumber reads a decimal number of ASCII digits; ok is false above max.
func smallNumber(s string, most int) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return int(n), err == nil && n <= uint64(most)
}
