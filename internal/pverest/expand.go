package pverest

import (
	"errors"
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

// ExpandPath puts values into the braces of a path template, in order and
// escaped, so that exactly they arrive: "/nodes/{node}/qemu/{vmid}" with pve1
// and 100 is "/nodes/pve1/qemu/100". The last value may hold slashes where
// [apidoc.EndsInTail] says so. A value that can't be sent is an error of
// KindBadCall whose Params name it; a template and values that don't fit each
// other are a mistake of the caller and an ordinary error.
func ExpandPath(template string, values ...string) (string, error) {
	var b strings.Builder
	rest := template
	for _, value := range values {
		before, after, ok := strings.Cut(rest, "{")
		name, after, closed := strings.Cut(after, "}")
		if !ok || !closed {
			return "", fmt.Errorf("path %s: %d values are too many", template, len(values))
		}
		escape := EscapeSegment
		if after == "" && apidoc.EndsInTail(template) {
			escape = EscapeTail
		}
		escaped, err := escape(value)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); ok {
				e.Params = map[string]string{name: e.Message}
			}
			return "", err
		}
		b.WriteString(before)
		b.WriteString(escaped)
		rest = after
	}
	if strings.Contains(rest, "{") {
		return "", fmt.Errorf("path %s: %d values are too few", template, len(values))
	}
	b.WriteString(rest)
	return b.String(), nil
}
