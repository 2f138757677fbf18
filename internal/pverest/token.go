package pverest

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// masked stands wherever a secret would be shown.
const masked = "***"

// Token is an API token of Proxmox VE. Its secret can't be printed: every way
// of formatting, logging or marshalling gives the ID and a mask.
type Token struct {
	id string
	// A pointer, because fmt calls no methods on a Token in an unexported
	// field of something else, but doesn't follow pointers there either.
	secret *string
}

// ParseTokenID makes a Token from an ID of the form USER@REALM!NAME and the
// secret that Proxmox showed when the token was created (a UUID). Surrounding
// white space of both is dropped, as pasted values often have it. An ID that
// carries the secret after "=" (as in the Authorization header) is taken
// apart if secret is empty. The error says which part is wrong and never
// contains the secret.
func ParseTokenID(id, secret string) (Token, error) {
	id, secret = strings.TrimSpace(id), strings.TrimSpace(secret)
	id = strings.TrimPrefix(id, "PVEAPIToken=")
	if i := strings.IndexByte(id, '='); i >= 0 {
		if secret != "" {
			return Token{}, errors.New(`token ID must not contain "=": give USER@REALM!NAME alone, the secret has its own setting`)
		}
		id, secret = id[:i], id[i+1:]
	}
	const form = `token ID must be USER@REALM!NAME, e.g. "root@pam!mcp"`
	if id == "" {
		return Token{}, errors.New(form + ": it is empty")
	}
	bang := strings.LastIndexByte(id, '!')
	if bang < 0 {
		return Token{}, fmt.Errorf(`%s: there is no "!NAME" in %q`, form, id)
	}
	user, name := id[:bang], id[bang+1:]
	at := strings.LastIndexByte(user, '@')
	switch {
	case at < 0:
		return Token{}, fmt.Errorf(`%s: there is no "@REALM" in %q`, form, id)
	case at == 0 || at == len(user)-1:
		return Token{}, fmt.Errorf("%s: user or realm is empty in %q", form, id)
	case len(name) < 2 || !isTokenName(name):
		return Token{}, fmt.Errorf("%s: %q is no token name (a letter first, then letters, digits, '.', '-', '_'; at least two characters)", form, name)
	case strings.ContainsAny(user, "/ \t\r\n:") || hasControl(user):
		return Token{}, fmt.Errorf("%s: user and realm in %q contain a character that Proxmox doesn't allow", form, id)
	}
	if secret == "" {
		return Token{}, fmt.Errorf("the secret of token %s is empty", id)
	}
	for i := 0; i < len(secret); i++ {
		if c := secret[i]; c <= ' ' || c >= 0x7f {
			return Token{}, fmt.Errorf("the secret of token %s contains white space or a character that can't be in one (at position %d)", id, i+1)
		}
	}
	return Token{id: id, secret: &secret}, nil
}

func isTokenName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if letter || i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_') {
			continue
		}
		return false
	}
	return true
}

func hasControl(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f {
			return true
		}
	}
	return false
}

// ID is USER@REALM!NAME, which is no secret; "" for the zero Token.
func (t Token) ID() string { return t.id }

// User is the token's owner, USER@REALM.
func (t Token) User() string {
	if i := strings.LastIndexByte(t.id, '!'); i >= 0 {
		return t.id[:i]
	}
	return t.id
}

// IsZero reports whether there is no token at all.
func (t Token) IsZero() bool { return t.id == "" }

// header is the value of Authorization.
func (t Token) header() string { return "PVEAPIToken=" + t.id + "=" + t.reveal() }

func (t Token) reveal() string {
	if t.secret == nil {
		return ""
	}
	return *t.secret
}

// String gives the ID and a mask in the secret's place.
func (t Token) String() string {
	if t.IsZero() {
		return "(no token)"
	}
	return t.id + "=" + masked
}

// GoString masks the secret in %#v.
func (t Token) GoString() string { return "pverest.Token(" + t.String() + ")" }

// Format masks the secret for every verb of fmt.
func (t Token) Format(s fmt.State, verb rune) {
	if verb == 'v' && s.Flag('#') {
		_, _ = s.Write([]byte(t.GoString()))
		return
	}
	_, _ = s.Write([]byte(t.String()))
}

// MarshalText masks the secret, and so does JSON made from it.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// LogValue masks the secret in log/slog.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }
