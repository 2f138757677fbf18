package gate

import (
	"fmt"
	"net/url"
	"regexp"
	"sort"
	"strings"
	"sync"

	"pvemcp/apidoc"
	"pvemcp/internal/pverest"
)

// hidden stands for what is not shown.
const hidden = "(hidden)"

// shortestSecret is the length from which a secret is also masked where it
// turns up in other text; shorter ones would only garble sentences.
const shortestSecret = 4

// marks show, in any text, that a secret follows. They are compiled when the
// first text is masked: a server that only reads never needs them.
type marks struct {
	secretWord *regexp.Regexp // KEY=VALUE and KEY: VALUE, also as in JSON and in URLs
	secretFlag *regexp.Regexp // --password VALUE
	apiToken   *regexp.Regexp // USER@REALM!NAME=SECRET and the same with a colon
	userInfo   *regexp.Regexp // the password in a URL
	authScheme *regexp.Regexp // what HTTP's Authorization holds
	ticket     *regexp.Regexp // Proxmox's tickets
	pem        *regexp.Regexp // private keys
	flagAlone  *regexp.Regexp // a flag whose value is the next item of a list
	secretName *regexp.Regexp // names of parameters of methods that nobody has judged
}

var marksOf = sync.OnceValue(func() *marks {
	return &marks{
		secretWord: regexp.MustCompile(`(?i)([\w.-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key|private-?key|encryption-?key|hmac-?key|cipassword|authkey)[\w.-]*["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&"']+)`),
		secretFlag: regexp.MustCompile(`(?i)(--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key|private-?key)[\w-]*\s+)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+)`),
		apiToken:   regexp.MustCompile(`([\w.-]+@[\w.-]+![\w.-]+[=:])([^\s,;&"'/][^\s,;&"']*)`),
		userInfo:   regexp.MustCompile(`(://[^\s/:@]*:)([^\s/@]+)(@)`),
		authScheme: regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)([\w.~+/=-]{6,})`),
		ticket:     regexp.MustCompile(`(PVE(?:VNC|TERM|TFA|MTUNNEL|SPICE)?:[^\s:]+:[0-9A-Fa-f]{8}::)(\S+)`),
		pem:        regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`),
		flagAlone:  regexp.MustCompile(`(?i)^--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|credential|api-?key|private-?key)[\w-]*$`),
		secretName: regexp.MustCompile(`(?i)pass|secret|token|key|credential|ticket|otp|cookie`),
	}
})

// bulky are the parameters of shells that carry content: only its size is told.
var bulky = map[string]bool{"content": true, "input-data": true}

// maskText hides what looks like a secret in any text.
func maskText(s string) string {
	s = marksOf().pem.ReplaceAllString(s, hidden)
	s = marksOf().apiToken.ReplaceAllString(s, "${1}"+hidden)
	s = marksOf().ticket.ReplaceAllString(s, "${1}"+hidden)
	s = marksOf().userInfo.ReplaceAllString(s, "${1}"+hidden+"${3}")
	s = marksOf().secretWord.ReplaceAllString(s, "${1}"+hidden)
	s = marksOf().secretFlag.ReplaceAllString(s, "${1}"+hidden)
	return marksOf().authScheme.ReplaceAllString(s, "${1}"+hidden)
}

// secretParam tells whether a parameter's whole value is a secret.
func (i *Intent) secretParam(name string) bool {
	return i.Policy.Secret(name) || pverest.IsSecretParam(name) || !i.judged && marksOf().secretName.MatchString(name)
}

// secrets are all values of secret parameters, in the forms in which they may
// be echoed, the longest first.
func (i *Intent) secrets() []string {
	var out []string
	add := func(s string) {
		for _, form := range []string{s, strings.TrimSpace(s), url.QueryEscape(s), url.PathEscape(s)} {
			if len(form) >= shortestSecret {
				out = append(out, form)
			}
		}
	}
	for name, values := range i.Params {
		if !i.secretParam(name) {
			continue
		}
		for _, v := range values {
			add(v)
			// What is inside a property string is echoed alone, too.
			for _, item := range apidoc.ListItems(v) {
				if _, inner, ok := strings.Cut(item, "="); ok {
					add(inner)
				}
			}
		}
	}
	sort.Slice(out, func(a, b int) bool { return len(out[a]) > len(out[b]) })
	return out
}

// mask hides the secrets of this call, and what looks like one, in a text.
func (i *Intent) mask(s string) string {
	for _, secret := range i.secrets() {
		s = strings.ReplaceAll(s, secret, hidden)
	}
	return maskText(s)
}

// shown is String with secrets masked.
func (i *Intent) shown() string { return string(i.Verb) + " " + i.maskedPath() }

// maskedPath hides secrets that stand in the path.
func (i *Intent) maskedPath() string {
	path := i.Path
	for _, pv := range i.values {
		if i.secretParam(pv.Name) && pv.Value != "" {
			path = strings.ReplaceAll(path, "/"+pv.Value, "/"+hidden)
		}
	}
	return i.mask(path)
}

// Masked gives the parameters for showing and logging: the path's values are
// left out where Path shows them, secrets are hidden whole, what looks like one
// is hidden inside texts, and the content that a shell carries is told by its
// size.
func (i *Intent) Masked() map[string][]string {
	out := make(map[string][]string, len(i.Params))
	for name, values := range i.Params {
		masked := make([]string, len(values))
		for n, v := range values {
			switch {
			case i.secretParam(name):
				masked[n] = hidden
			case i.Class == apidoc.Shell && bulky[name]:
				masked[n] = fmt.Sprintf("(%d bytes)", len(v))
			case n > 0 && marksOf().flagAlone.MatchString(values[n-1]):
				masked[n] = hidden
			default:
				masked[n] = i.mask(v)
			}
		}
		out[name] = masked
	}
	for _, pv := range i.values {
		if rest := out[pv.Name]; len(rest) == 1 {
			delete(out, pv.Name)
		} else if len(rest) > 1 {
			out[pv.Name] = rest[1:]
		}
	}
	return out
}

// Bounds of what the audit log holds of one call.
const (
	longestValue = 1 << 10
	longestName  = 100
	longestWord  = 500
	mostText     = 32 << 10 // of all parameters together
)

// bounded cuts parameters for a log; what is cut says so.
func bounded(params map[string][]string) map[string][]string {
	names := make([]string, 0, len(params))
	for name := range params {
		names = append(names, name)
	}
	sort.Strings(names)
	out := make(map[string][]string, len(params))
	left, dropped := mostText, 0
	for _, name := range names {
		short := cut(name, longestName)
		if left <= 0 {
			dropped += max(len(params[name]), 1)
			continue
		}
		left -= len(short)
		kept := []string{}
		for _, v := range params[name] {
			if left <= 0 {
				dropped++
				continue
			}
			v = cut(v, longestValue)
			left -= len(v) + 8
			kept = append(kept, v)
		}
		out[short] = append(out[short], kept...)
	}
	if dropped > 0 {
		out["(cut)"] = []string{fmt.Sprintf("%d more values", dropped)}
	}
	return out
}

// cut shortens a text; it says how long it was.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("… (%d bytes)", len(s))
}
