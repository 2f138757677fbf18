package pverest

import (
	"fmt"
	"strings"
)

// EscapeSegment percent-encodes one value of a path so that exactly this
// value arrives at Proxmox as one path parameter. Proxmox decodes the whole
// path first and then splits it at "/", and takes any run of non-white-space
// as a parameter; so a value that is empty, contains "/" or ASCII white space
// can't be sent and is an error of KindBadCall, as are control characters and
// "." and "..", which servers in between may resolve.
func EscapeSegment(value string) (string, error) {
	if err := checkSegment(value); err != nil {
		return "", err
	}
	return escape(value), nil
}

// EscapeTail is EscapeSegment for the two parameters that take the rest of
// the path, {volume} in storage content and {cidr} in firewall IP sets: "/"
// is allowed inside and goes as %2F. Proxmox joins the parts again with one
// "/", so empty parts ("a//b", a leading or trailing "/") can't arrive and are
// an error.
func EscapeTail(value string) (string, error) {
	for _, part := range strings.Split(value, "/") {
		if err := checkSegment(part); err != nil {
			if part == "" && value != "" {
				return "", &Error{Kind: KindBadCall, Message: fmt.Sprintf("path value %q has an empty part between slashes", value)}
			}
			return "", err
		}
	}
	return escape(value), nil
}

func checkSegment(value string) error {
	bad := func(why string) error {
		return &Error{Kind: KindBadCall, Message: fmt.Sprintf("path value %q %s", value, why)}
	}
	switch value {
	case "":
		return &Error{Kind: KindBadCall, Message: "a path value is empty"}
	case ".", "..":
		return bad("can't be sent")
	}
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '/':
			return bad(`contains "/", which would split it`)
		case c == ' ' || c >= '\t' && c <= '\r':
			return bad("contains white space")
		case c < 0x20 || c == 0x7f:
			return bad("contains a control character")
		}
	}
	return nil
}

const upperHex = "0123456789ABCDEF"

// plainInPath are the bytes that may stand in a path segment unescaped. The
// list is short on purpose: whatever any server between might read as syntax
// is escaped. ":" "@" "!" "," stay, for readable UPIDs, volumes and users.
func plainInPath(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("-._~:@!,", c) >= 0
}

func escape(s string) string {
	n := 0
	for i := 0; i < len(s); i++ {
		if !plainInPath(s[i]) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := 0; i < len(s); i++ {
		if c := s[i]; plainInPath(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}
