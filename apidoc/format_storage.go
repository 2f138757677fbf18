package apidoc

import (
	"strings"
	"unicode/utf8"
)

var (
	diskSize    = rx(`[<ND>]+(?:\.[<ND>]+)?(?:[KMGT](?:iB)?)?`)
	diskSizeOld = rx(`[<ND>]+(?:\.[<ND>]+)?[KMGT]?`)
	volumeID    = rx(`(?i)[a-z][a-z0-9._-]*[a-z0-9]:.+`)
	contentSet  = wordSet("storage-content")
	contentList = section("storage-content")
	portalName  = rx(`[<AN>.-]+(?::[<ND>]+)?`)
	bracketName = rx(`\[[<AN>.-]+\](?::[<ND>]+)?`)
	portTail    = rx(`(?::[<ND>]+)?`)
	dotTail     = rx(`(?:\.[<ND>]+)?`)
)

// storageFormats are sizes, volumes and what storages take.
var storageFormats = map[string]format{
	"disk-size": {form: "a size (a number, perhaps with K, M, G or T; from 9.0 on also KiB, MiB, GiB or TiB)", ok: func(e era, s string) bool {
		if e.before(9, 0) {
			return diskSizeOld(e, s)
		}
		return diskSize(e, s)
	}},
	"pve-storage-path":                    {form: "an absolute path", ok: func(_ era, s string) bool { return isPathPrefix(s, ";()") }},
	"pve-storage-path-in-property-string": {form: "an absolute path", ok: func(_ era, s string) bool { return isPathPrefix(s, ";,=()") }},
	"pve-storage-vgname":                  {form: "a volume group name (letters, digits, . _ -; at least 2 characters)", ok: rx(`(?i)[a-z0-9][a-z0-9._-]*[a-z0-9]`)},
	"pve-storage-portal-dns":              {form: "a portal (host or address, perhaps with :port; IPv6 in brackets)", ok: isPortal},
	"pve-storage-content":                 {form: "a kind of content", ok: isContent, words: func(era) []string { return contentList() }},
	"pve-storage-format": {form: "a volume format (raw, qcow2, vmdk or subvol)", ok: func(e era, s string) bool {
		if e.before(8, 0) { // without anchors then
			for _, w := range [...]string{"raw", "qcow2", "vmdk", "subvol"} {
				if strings.Contains(s, w) {
					return true
				}
			}
			return false
		}
		return storageFormat(e, s)
	}},
	"pve-storage-options":            {form: "mount options without blanks", ok: rx(`[^<WS>]+`)},
	"pve-storage-zfs-blocksize":      {form: "a block size (a power of two from 512 to 16M, such as 16k)", ok: isBlockSize},
	"pve-volume-id":                  {form: "a volume id (storage:volume)", ok: volumeID},
	"pve-volume-id-or-absolute-path": {form: "a volume id (storage:volume) or an absolute path", ok: isVolumeOrPath},
	"pve-volume-id-or-qm-path": {form: "a volume id (storage:volume, or storage:GiB for a new one), an absolute path, none or cdrom",
		ok: func(e era, s string) bool { return s == "none" || s == "cdrom" || isVolumeOrPath(e, s) }},
	"pve-dir-override": {form: "content=path (such as iso=images/iso)", ok: isDirOverride},
}

var storageFormat = rx(`(?:raw|qcow2|vmdk|subvol)`)

// isPathPrefix tests only how a path begins; the rest is free.
func isPathPrefix(s, forbidden string) bool {
	return len(s) >= 2 && s[0] == '/' && strings.IndexByte(forbidden, s[1]) < 0
}

func isContent(e era, s string) bool { return contentSet()[s] && (s != "import" || !e.before(8, 0)) }

func isVolumeOrPath(e era, s string) bool { return strings.HasPrefix(s, "/") || volumeID(e, s) }

// isPortal takes a name or address with a port, the same in brackets, or an
// IPv6 address with the port behind a dot.
func isPortal(e era, s string) bool {
	if portalName(e, s) || bracketName(e, s) {
		return true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		address, tail, closed := strings.Cut(inner, "]")
		return closed && isIP(address, 0) && portTail(e, tail)
	}
	if isIP(chomp(s), 0) {
		return true
	}
	i := strings.LastIndexByte(s, '.')
	return i > 0 && isIP(s[:i], 6) && dotTail(e, s[i:])
}

var blockSize = rx(`(?i)([1-9][0-9]*)([km])?`)

func isBlockSize(e era, s string) bool {
	if s == "" {
		return true
	}
	if !blockSize(e, s) {
		return false
	}
	n := digitsValue(s)
	switch unit := strings.ToLower(strings.Trim(chomp(s), "0123456789")); unit {
	case "":
	case "m":
		n *= 1 << 20
	default: // k, also written as the sign for kelvin
		n *= 1 << 10
	}
	return n >= 512 && n <= 16<<20 && int64(n)&(int64(n)-1) == 0
}

func isDirOverride(e era, s string) bool {
	content, path, ok := strings.Cut(s, "=")
	if !ok || content == "" || strings.Trim(content, "abcdefghijklmnopqrstuvwxyz") != "" || !isContent(e, content) {
		return false
	}
	if path == "" || strings.Contains(path, "..") || strings.HasSuffix(path, ".") || utf8.RuneCountInString(path) >= 1023 {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if utf8.RuneCountInString(part) >= 255 {
			return false
		}
	}
	return true
}
