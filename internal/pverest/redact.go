package pverest

import (
	"net/url"
	"sort"
	"strings"
)

// secretParams are the parameters whose values are credentials, over all
// methods of 7.4 to 9.2. "data" (of ACME plugins) and "header" (of webhooks)
// carry credentials in base64, "target-endpoint" (remote migration) a token.
var secretParams = map[string]bool{
	"password": true, "cipassword": true, "confirmation-password": true, "new-password": true,
	"secret": true, "token": true, "key": true, "keys": true, "client-key": true,
	"eab-hmac-key": true, "encryption-key": true, "keyring": true, "privkey": true,
	"otp": true, "totp": true, "tfa-challenge": true, "response": true,
	"ticket": true, "vncticket": true, "data": true, "header": true, "target-endpoint": true,
}

// IsSecretParam reports whether a parameter's value is a credential that must
// not be shown or logged, judged by its name alone.
func IsSecretParam(name string) bool {
	return secretParams[strings.ToLower(name)]
}

// shortestSecret is the length from which a parameter's value is masked in
// what servers say; masking shorter ones would only garble sentences.
const shortestSecret = 4

// redactor masks known secrets in foreign text. The zero value masks nothing.
type redactor struct{ secrets []string }

func (r *redactor) add(secret string) {
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		if len(form) >= shortestSecret {
			r.secrets = append(r.secrets, form)
		}
	}
}

func (r *redactor) addParams(params Values) {
	for name, values := range params {
		if !IsSecretParam(name) {
			continue
		}
		for _, v := range values {
			r.add(v)
			r.add(strings.TrimSpace(v))
		}
	}
}

func (r *redactor) text(s string) string {
	if s == "" || len(r.secrets) == 0 {
		return s
	}
	// Longest first, so that a secret inside another leaves no rest of it.
	sort.SliceStable(r.secrets, func(i, j int) bool { return len(r.secrets[i]) > len(r.secrets[j]) })
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, masked)
	}
	return s
}

// plainError is an error reduced to its redacted text, where its own text
// held a secret. What errors.Is and errors.As find below it is given up.
type plainError string

func (e plainError) Error() string { return string(e) }

// error masks every text of an Error, and of its causes.
func (r *redactor) error(e *Error) *Error {
	if len(r.secrets) == 0 {
		return e
	}
	c := *e
	for _, s := range []*string{&c.Op, &c.Reason, &c.Message, &c.Subject, &c.PermPath, &c.Lock, &c.Snippet, &c.Location} {
		*s = r.text(*s)
	}
	if c.Params != nil {
		m := make(map[string]string, len(c.Params))
		for k, v := range c.Params {
			m[r.text(k)] = r.text(v)
		}
		c.Params = m
	}
	for _, list := range []*[]string{&c.Privileges, &c.CertNames, &c.Others} {
		if *list != nil {
			l := make([]string, len(*list))
			for i, s := range *list {
				l[i] = r.text(s)
			}
			*list = l
		}
	}
	//nolint:errorlint // one that is wrapped is masked as text below, its wrapper's words too
	if inner, ok := c.Err.(*Error); ok {
		c.Err = r.error(inner)
	} else if c.Err != nil {
		if s := c.Err.Error(); r.text(s) != s {
			c.Err = plainError(r.text(s))
		}
	}
	return &c
}
