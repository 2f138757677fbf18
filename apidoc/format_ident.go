package apidoc

import (
	"regexp"
	"strings"
	"unicode"
)

func isSpace(r rune) bool { return unicode.IsSpace(r) }

const realmExpr = `[A-Za-z][A-Za-z0-9._-]+`

// identFormats are names of things: nodes, guests, users, storages.
var identFormats = map[string]format{
	"pve-configid":   {form: "a configuration id (a letter, then letters, digits, - and _; at least 2 characters)", ok: isConfigID},
	"pve-storage-id": {form: "a storage id (a letter, then letters, digits, - _ . and at the end a letter or digit; at least 2 characters)", ok: rx(`(?i)[a-z][a-z0-9._-]*[a-z0-9]`)},
	"acme-plugin-id": {form: "an ACME plugin id (a letter, then letters, digits, - _ . and at the end a letter or digit; at least 2 characters)", ok: rx(`(?i)[a-z][a-z0-9._-]*[a-z0-9]`)},
	"pve-bridge-id":  {form: "a bridge name (letters, digits, - _ .)", ok: rx(`[-_.<WD>]+`)},
	"pve-vmid":       {form: "a vmid (a number from 100 to 999999999)", ok: isVMIDText},
	"pve-node":       {form: "a node name (letters, digits and inner hyphens, without the domain)", ok: func(_ era, s string) bool { return isNodeName(chomp(s)) }},
	"pve-iface":      {form: "a network interface name (a letter, then 1 to 20 letters, digits or _, then perhaps .N or :N)", ok: rx(`(?i)[a-z][a-z0-9_]{1,20}(?:[:.][<ND>]+)?`)},
	"pve-tag":        {form: "a tag (letters, digits, _ + . -; not beginning with + . or -)", ok: rx(`(?i)[a-z0-9_][a-z0-9_+.-]*`)},
	"pve-realm":      {form: "a realm (a letter, then letters, digits, . _ -; at least 2 characters)", ok: rx(realmExpr)},
	"pve-userid":     {form: "a user id (name@realm, 3 to 64 characters, no blank, : or / in the name)", ok: isUserID},
	"pve-tokenid":    {form: "a token id (name@realm!token)", ok: rx(`[^<WS>:/]+@` + realmExpr + `!` + realmExpr)},
	"pve-groupid":    {form: "a group name (letters, digits, . _ -)", ok: isGroupID},
	"pve-roleid":     {form: "a role name (letters, digits, . _ -)", ok: rx(`[A-Za-z0-9._-]+`)},
	"pve-poolid":     {form: "a pool name (letters, digits, . _ -; up to three levels joined by /)", ok: isPoolID},
	"pve-priv":       {form: "a privilege", ok: isPrivilege, words: privilegeWords},

	"pve-sdn-fabric-id":      {form: "a fabric id (1 to 8 letters, digits or inner hyphens)", ok: rx(`(?i)[a-z0-9][a-z0-9-]{0,6}[a-z0-9]?`)},
	"pve-replication-job-id": {form: "a replication job id (vmid-number, such as 100-0)", ok: isReplicationJob},
	"pve-ha-resource-id":     {form: "an HA resource id (type:name, such as vm:100)", ok: rx(`[a-z]+:[^<WS>]+`)},
	"pve-ha-resource-or-vm-id": {form: "an HA resource id (type:name, such as vm:100) or a vmid",
		ok: rx(`(?:[a-z]+:[^<WS>]+|[<ND>]+)`)},
	"pve-ha-node":          {form: "a node name, perhaps with :priority", ok: isHANode},
	"pve-ha-group-node":    {form: "a node name, perhaps with :priority", ok: isHANode},
	"pve-task-status-type": {form: "a task status (ok, error, warning or unknown)", ok: rx(`(?i)(?:ok|error|warning|unknown)`)},
	"pve-day-of-week":      {form: "a day (mon, tue, wed, thu, fri, sat or sun)", ok: rx(`(?:mon|tue|wed|thu|fri|sat|sun)`)},
	"string":               {},
	"urlencoded":           {form: "a percent-encoded text (letters, digits, - _ . ! ~ * ' ( ) and %)", ok: rx(`[-%a-zA-Z0-9_.!~*'()]*`)},
	"ldap-simple-attr":     {form: "an LDAP attribute name (letters and digits)", ok: rx(`[a-zA-Z0-9]+`)},
	"bridge-pair":          {form: "a mapping of bridges (source:target,…, one target for all, or 1 for the same names)", ok: isBridgePair},
	"storage-pair":         {form: "a mapping of storages (source:target,…, one target for all, or 1 for the same names)", ok: isStoragePair},

	// Named in schemas of 7.4 and 8.4 only.
	"pve-sdn-zone-id":       {form: "a zone id (2 to 8 letters and digits, a letter first)", ok: upTo8},
	"pve-sdn-vnet-id":       {form: "a vnet id (2 to 8 letters and digits, a letter first)", ok: upTo8},
	"pve-sdn-controller-id": {form: "a controller id (a letter, then letters, digits, _ -; at most 64 characters)", ok: isSDNController},
	"pve-sdn-dns-id":        {form: "a DNS plugin id (letters and digits, a letter first)", ok: rx(`(?i)[a-z][a-z0-9]*[a-z0-9]`)},
	"pve-sdn-ipam-id":       {form: "an IPAM id (letters and digits, a letter first)", ok: rx(`(?i)[a-z][a-z0-9]*[a-z0-9]`)},

	// Newer than what the rules could be read from; accepted as they are.
	"pve-sdn-route-map-id":               {},
	"pve-sdn-prefix-list-id":             {},
	"pve-sdn-fabric-wireguard-interface": {},
}

func isConfigID(_ era, s string) bool {
	plain := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '-') {
			plain = false
			break
		}
	}
	return plain && len(s) >= 2 || configID(0, s)
}

var configID = rx(`(?i)[a-z][a-z0-9_-]+`)

func isVMIDText(_ era, s string) bool {
	s = chomp(s)
	if len(s) < 3 || len(s) > 9 || s[0] == '0' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

var userID = rx(`[^<WS>:/]+@` + realmExpr)

func isUserID(e era, s string) bool {
	n := characters(s)
	return n >= 3 && n <= 64 && userID(e, s)
}

var (
	groupID      = rx(`[A-Za-z0-9._-]+`)
	groupIDLoose = rx(`[A-Za-z0-9._()?^:-]+`)
)

// isGroupID knows that from 8.3 to 9.1 a slip upstream let more through.
func isGroupID(e era, s string) bool {
	if e != 0 && !e.before(8, 3) && e.before(9, 2) {
		return groupIDLoose(e, s)
	}
	return groupID(e, s)
}

var poolID = rx(`[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+){0,2}`)

func isPoolID(e era, s string) bool {
	return poolID(e, s) && (!e.before(8, 0) || strings.IndexByte(s, '/') < 0)
}

var privilegeShape = regexp.MustCompile(`\A[A-Z][A-Za-z]*(?:\.[A-Z][A-Za-z]*)+\z`)

// isPrivilege knows the list of 9.2; other releases have others, of which only
// the form is sure.
func isPrivilege(e era, s string) bool {
	for _, p := range privileges {
		if p.name == s {
			return true
		}
	}
	return (e.before(9, 0) || e.beyond()) && privilegeShape.MatchString(s)
}

func privilegeWords(e era) []string { return Privileges(e.String()) }

func isReplicationJob(_ era, s string) bool {
	guest, number, ok := strings.Cut(chomp(s), "-")
	return ok && allDigits(guest) && allDigits(number) && digitsValue(guest) >= 100
}

func isHANode(_ era, s string) bool {
	node, priority, given := strings.Cut(chomp(s), ":")
	return isNodeName(node) && (!given || allDigits(priority))
}

var alnum2 = rx(`(?i)[a-z][a-z0-9]*[a-z0-9]`)

func upTo8(e era, s string) bool { return alnum2(e, s) && characters(s) <= 8 }

var sdnController = rx(`(?i)[a-z][a-z0-9_-]*[a-z0-9]`)

func isSDNController(e era, s string) bool { return sdnController(e, s) && characters(s) <= 64 }

var (
	bridgeID  = rx(`[-_.<WD>]+`)
	storageID = rx(`(?i)[a-z][a-z0-9._-]*[a-z0-9]`)
)

func isBridgePair(e era, s string) bool { return isPairMap(e, s, bridgeID) }

func isStoragePair(e era, s string) bool {
	return s == "" || s == "0" || isPairMap(e, s, storageID)
}

// isPairMap reads source:target items, one plain item as the target of all
// others, or the item 1 alone for the same names.
func isPairMap(e era, s string, id func(era, string) bool) bool {
	sources := map[string]bool{}
	identity, fallback, ok := false, false, true
	eachListItem(s, func(item string) bool {
		source, target, pair := strings.Cut(item, ":")
		switch {
		case item == "1":
			identity = true
		case pair && source != "" && target != "" && strings.IndexByte(target, ':') < 0:
			ok = id(e, source) && id(e, target) && !sources[source]
			sources[source] = true
		default:
			ok = id(e, item) && !fallback
			fallback = true
		}
		return ok
	})
	return ok && (!identity || !fallback && len(sources) == 0)
}
