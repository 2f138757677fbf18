package pvesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// values are parameters as they were sent, before any check. Each is nil (a
// key without "=", or JSON null: there, but without a value), a string, a
// []string (a repeated key), or, from a JSON body, any JSON value with numbers
// as json.Number.
type values map[string]any

// decodeForm reads a query or form body with Proxmox's own rules: "&" and ";"
// separate, a value is what stands between the first and the second "=", a
// repeated key makes a list, empty parts in front or in the middle are a
// parameter without name, those at the end are none.
func decodeForm(s string) values {
	out := values{}
	if s == "" {
		return out
	}
	parts := splitAny(s, "&;")
	for len(parts) > 0 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	for _, part := range parts {
		key, rest, given := strings.Cut(part, "=")
		key = unescapeForm(key)
		var v any
		if given {
			text, _, _ := strings.Cut(rest, "=")
			v = strings.ToValidUTF8(unescapeForm(text), string(utf8.RuneError))
		}
		old, seen := out[key]
		if !seen {
			out[key] = v
			continue
		}
		list, ok := old.([]string)
		if !ok {
			list = []string{text(old)}
		}
		out[key] = append(list, text(v))
	}
	return out
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func splitAny(s, seps string) []string {
	var out []string
	for {
		i := strings.IndexAny(s, seps)
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i+1:]
	}
}

// unescapeForm turns + into a blank and then decodes %XX; an escape that is
// none stays as it is.
func unescapeForm(s string) string {
	return unescape(strings.ReplaceAll(s, "+", " "))
}

func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// maxNesting bounds JSON bodies, as Proxmox's JSON reader does.
const maxNesting = 512

// decodeJSON reads a JSON body. Anything but an object or null is an error
// with the text that Proxmox puts on the wire; so is what isn't JSON.
func decodeJSON(body []byte) (values, error) {
	if depth(body) > maxNesting {
		return nil, errors.New("json text or perl structure exceeds maximum nesting level (max_depth set too low?)" + perlLine(934))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			return nil, errors.New("garbage after JSON object" + perlLine(934))
		}
	}
	if err != nil {
		var at int64
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at = max(syntax.Offset-1, 0)
		}
		rest := string(body[min(at, int64(len(body))):])
		if len(rest) > 20 {
			rest = rest[:20] + "..."
		}
		if rest == "" {
			rest = "(end of string)"
		}
		return nil, fmt.Errorf("malformed JSON string, neither tag, array, object, number, string or atom, at character offset %d (before %q)%s", at, printable(rest), perlLine(934))
	}
	switch x := v.(type) {
	case nil:
		return values{}, nil
	case map[string]any:
		return x, nil
	case []any:
		return nil, errors.New("Not a HASH reference" + perlLine(978))
	default:
		s := strings.TrimSpace(string(body))
		if len(s) > 32 {
			s = s[:32]
		}
		//nolint:staticcheck // Perl's words, as Proxmox sends them
		return nil, fmt.Errorf("Can't use string (%q) as a HASH ref while \"strict refs\" in use%s", strings.Trim(printable(s), `"`), perlLine(978))
	}
}

func perlLine(n int) string {
	return fmt.Sprintf(" at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line %d.", n)
}

// depth counts how deep the brackets of a JSON text nest, without recursion.
func depth(body []byte) int {
	deepest, now := 0, 0
	inText := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}
