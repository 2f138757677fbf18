package pvesim

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// identity is who makes a call. The zero value is nobody.
type identity struct {
	user  string // "u@pve"; "" nobody
	token string // name of the API token; "" with a ticket
	root  bool   // root@pam by ticket
	view  *aclView
}

// name gives the id as Proxmox writes it into tasks: u@pve or u@pve!name.
func (id identity) name() string {
	if id.token == "" {
		return id.user
	}
	return id.user + "!" + id.token
}

// holds tells whether the caller has a privilege on an ACL path.
func (id identity) holds(w *World, path, priv string) bool {
	if id.root {
		return true
	}
	if id.user == "" {
		return false
	}
	v := id.view
	if v == nil {
		v = newACLView(w)
	}
	_, ok := v.effective(id, path)[priv]
	return ok
}

// caller is the identity as package apidoc evaluates permissions.
func (id identity) caller(w *World) apidoc.Caller {
	return apidoc.Caller{
		User:  apidoc.UserID(id.user),
		Token: id.token != "",
		Has:   func(path, priv string) bool { return id.holds(w, path, priv) },
		Groups: func(u apidoc.UserID) ([]string, bool) {
			user := w.access.Users[string(u)]
			if user == nil {
				return nil, false
			}
			return user.Groups, true
		},
	}
}

// authError is a failure before the API is reached: the text stands in the
// reason phrase, the body is empty.
type authError struct {
	status int
	reason string
}

func (e *authError) Error() string { return e.reason }

var (
	errNoTicket = &authError{401, "No ticket"}
	errAuth     = &authError{401, "Authentication failed!"}
	errCSRF     = &authError{401, "Permission denied - invalid csrf token"}
)

var (
	cookieTicket = regexp.MustCompile(`(?:^|\s|;)PVEAuthCookie=([^;]*)`)
	headerTicket = regexp.MustCompile(`^\s*PVEAuthCookie(?:=|\s+)(.*)$`)
	headerToken  = regexp.MustCompile(`^\s*PVEAPIToken(?:=|\s+)(.*)$`)
	tokenForm    = regexp.MustCompile(`^([^\s:/]+@[A-Za-z][A-Za-z0-9._\-]+)!([A-Za-z][A-Za-z0-9._\-]+)=(.*)$`)
)

// authenticate finds out who calls. A ticket cookie goes before a token, even
// if it is bad; with a ticket, everything but GET needs the CSRF token, unless
// upload. open says that the path needs no login. Errors are *authError.
func (s *Server) authenticate(w *World, r *rawRequest, open, upload bool) (identity, error) {
	if open {
		return identity{view: newACLView(w)}, nil
	}
	ticket, token := "", ""
	if m := cookieTicket.FindStringSubmatch(r.header("Cookie")); m != nil {
		ticket = unescape(m[1])
	}
	auth := r.header("Authorization")
	if ticket == "" {
		if m := headerTicket.FindStringSubmatch(auth); m != nil {
			ticket = unescape(m[1])
		} else if m := headerToken.FindStringSubmatch(auth); m != nil {
			token = unescape(m[1])
		}
	}
	switch {
	case ticket != "":
		user, ok := s.tickets.verify(ticket, s.now())
		if !ok || !w.access.usable(user, s.now()) {
			return identity{}, errAuth
		}
		if r.method != "GET" && !upload && !s.tickets.verifyCSRF(r.header("CSRFPreventionToken"), user, s.now()) {
			return identity{}, errCSRF
		}
		return identity{user: user, root: user == "root@pam", view: newACLView(w)}, nil
	case token != "":
		m := tokenForm.FindStringSubmatch(token)
		if m == nil || !w.access.tokenFits(m[1], m[2], m[3], s.now()) {
			return identity{}, errAuth
		}
		return identity{user: m[1], token: m[2], view: newACLView(w)}, nil
	}
	return identity{}, errNoTicket
}

// usable tells whether the user exists, is enabled and has not expired.
func (a *Access) usable(user string, now time.Time) bool {
	u := a.Users[user]
	return u != nil && u.Enabled && (u.Expire == 0 || u.Expire > now.Unix())
}

func (a *Access) tokenFits(user, name, secret string, now time.Time) bool {
	t := a.Tokens[user+"!"+name]
	if t == nil || !a.usable(user, now) || t.Expire != 0 && t.Expire <= now.Unix() {
		return false
	}
	return subtle.ConstantTimeCompare([]byte(t.Secret), []byte(secret)) == 1
}

// ticketLife is how long a ticket is taken, as in Proxmox.
const ticketLife = 2 * time.Hour

// ticketBook signs tickets and CSRF tokens with a key of its own.
type ticketBook struct{ key []byte }

func (b ticketBook) sign(kind, text string) string {
	var out []byte
	// As long as the signatures of the real thing, so that headers have the
	// size that clients will see.
	for i := 0; i < 8; i++ {
		m := hmac.New(sha256.New, b.key)
		_, _ = fmt.Fprintf(m, "%s:%d:%s", kind, i, text)
		out = m.Sum(out)
		if kind == "csrf" {
			return base64.RawStdEncoding.EncodeToString(out)
		}
	}
	return base64.StdEncoding.EncodeToString(out)
}

// issue makes a ticket: PVE:user:HEXTIME::signature.
func (b ticketBook) issue(user string, now time.Time) string {
	plain := fmt.Sprintf("PVE:%s:%08X", user, now.Unix())
	return plain + "::" + b.sign("ticket", plain)
}

func (b ticketBook) verify(ticket string, now time.Time) (user string, ok bool) {
	plain, sig, found := strings.Cut(ticket, "::")
	if !found || !hmac.Equal([]byte(sig), []byte(b.sign("ticket", plain))) {
		return "", false
	}
	i := strings.LastIndexByte(plain, ':')
	at, err := strconv.ParseInt(plain[i+1:], 16, 64)
	if err != nil || !fresh(at, now) {
		return "", false
	}
	return strings.TrimPrefix(plain[:i], "PVE:"), true
}

// csrf makes a token against forged requests: HEXTIME:signature.
func (b ticketBook) csrf(user string, now time.Time) string {
	at := fmt.Sprintf("%08X", now.Unix())
	return at + ":" + b.sign("csrf", at+":"+user)
}

func (b ticketBook) verifyCSRF(token, user string, now time.Time) bool {
	at, sig, found := strings.Cut(token, ":")
	if !found || !hmac.Equal([]byte(sig), []byte(b.sign("csrf", at+":"+user))) {
		return false
	}
	t, err := strconv.ParseInt(at, 16, 64)
	return err == nil && fresh(t, now)
}

// fresh allows tickets from up to five minutes in the future, as clocks of
// cluster members differ.
func fresh(at int64, now time.Time) bool {
	age := now.Unix() - at
	return age > -300 && age < int64(ticketLife/time.Second)
}
