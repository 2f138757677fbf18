package apidoc

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

const (
	mailUser  = `[<WD>+~-]+(?:\.[<WD>+~-]+)*`
	acmeLabel = `[a-z0-9][a-z0-9_-]*`
	acmeAlias = `[a-z0-9_][a-z0-9_-]*`

	pemBegin = `-----BEGIN CERTIFICATE-----`
	pemBody  = `[<WS>]*(?:[0-9A-Za-z+/]+[<WS>]*\n)*[0-9A-Za-z+/]*(?:|=|==|=[<WS>]*\n=)[<WS>]*\n`
	pemEnd   = `-----END CERTIFICATE-----`
)

var (
	pemFirst  = lazyRegexp(`-----BEGIN [^\n]*-----`)
	pemOne    = lazyRegexp(`\A` + pemBegin + pemBody + pemEnd + `[<WS>]*\z`)
	pemChain  = lazyRegexp(`\A` + pemBegin + pemBody + pemEnd + `(?:[<WS>]*\n` + pemBegin + pemBody + pemEnd + `)*[<WS>]*\z`)
	pemString = lazyRegexp(`\A-----BEGIN [^\n]*-----` + pemBody + `-----END [^\n]*-----[<WS>]*\z`)
)

// textFormats are mail addresses, names, secrets and certificates.
var textFormats = map[string]format{
	"email":                 {form: "a mail address", ok: rx(mailUser + `@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*`)},
	"email-or-username":     {form: "a mail address or a user name", ok: rx(mailUser + `(?:@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*)?`)},
	"pve-acme-domain":       {form: "a domain with at least one dot", ok: rx(`(?i)` + acmeLabel + `(?:\.` + acmeLabel + `)+`)},
	"pve-acme-alias":        {form: "a domain with at least one dot", ok: rx(`(?i)` + acmeAlias + `(?:\.` + acmeAlias + `)+`)},
	"pve-tfa-secret":        {form: "a TFA secret (16 base32 or 40 hex digits, or v2-…)", ok: rx(`(?:v2-0x[` + classXDigit + `]{16,128}|v2-[A-Z2-7=]{16,128}|[A-Z2-7=]{16}|[` + classXDigit + `]{40})`)},
	"pem-certificate":       {form: "one certificate in PEM form", ok: func(_ era, s string) bool { return pemOne().MatchString(fromBegin(s)) }},
	"pem-certificate-chain": {form: "certificates in PEM form, one behind the other", ok: func(_ era, s string) bool { return pemChain().MatchString(fromBegin(s)) }},
	"pem-string":            {form: "one block in PEM form", ok: func(_ era, s string) bool { return pemString().MatchString(fromBegin(s)) }},
	"pve-command-batch":     {form: "a JSON array of {path, method, args}", ok: func(_ era, s string) bool { return isCommandBatch(s) }},
}

// fromBegin drops what stands before the first PEM block.
func fromBegin(s string) string {
	if loc := pemFirst().FindStringIndex(s); loc != nil {
		return s[loc[0]:]
	}
	return s
}

// isCommandBatch reads the JSON as bytes, as Proxmox does: characters beyond
// ASCII in the decoded text are taken for bytes.
func isCommandBatch(s string) bool {
	raw := make([]byte, 0, len(s))
	for _, r := range s {
		if r > 0xFF {
			return false
		}
		raw = append(raw, byte(r))
	}
	if !utf8.Valid(raw) {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return false
	}
	if rest := raw[dec.InputOffset():]; strings.Trim(string(rest), " \t\r\n") != "" {
		return false
	}
	list, ok := v.([]any)
	if !ok {
		return false
	}
	c := checker{era: newestEra}
	c.value(jsonValue(list), batchSchema, "", "commands", "", false, nil)
	return len(c.faults) == 0
}

var batchSchema = &Property{Type: Array, Items: &Property{Type: Object, HasProperties: true, Properties: map[string]*Property{
	"path":   {Type: String},
	"method": {Type: String, Pattern: "(GET|POST|PUT|DELETE)"},
	"args":   {Type: Object, Optional: true},
}}}
