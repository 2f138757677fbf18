package pverest

import (
	"errors"
	"sort"
	"strconv"
	"strings"
)

// Kind says what went wrong, coarse enough to decide what to do next.
type Kind string

// The kinds of Error. Each says in its comment whether the request can have
// had an effect.
const (
	// KindBadCall: the call can't be sent as it is (verb, path or parameters
	// that Proxmox could not read). Nothing was sent.
	KindBadCall Kind = "bad call"
	// KindUnreachable: no connection to any host. Detail tells DNS, refused,
	// no route, time-out and reset apart. Nothing was sent, or it was a read.
	KindUnreachable Kind = "unreachable"
	// KindTimeout: no whole answer to a read within the time-out.
	KindTimeout Kind = "timeout"
	// KindCancelled: the caller gave up on a read, or on a write before it
	// was sent.
	KindCancelled Kind = "cancelled"
	// KindTLS: no trust in the server; Detail says why, Fingerprint holds what
	// it showed. The token was not sent.
	KindTLS Kind = "tls"
	// KindUnauthorized: 401, the token is wrong, unknown, expired or disabled.
	KindUnauthorized Kind = "unauthorized"
	// KindForbidden: 403; PermPath, Privileges, RootOnly and NeedsTicket say
	// what is missing, as far as Proxmox said it.
	KindForbidden Kind = "forbidden"
	// KindParameter: 400; Params names each parameter and its fault.
	KindParameter Kind = "parameter"
	// KindNotFound: the thing doesn't exist (on this node).
	KindNotFound Kind = "not found"
	// KindLocked: the guest or its file is locked; Lock has the lock's name.
	KindLocked Kind = "locked"
	// KindConflict: changed by someone else meanwhile, or exists already.
	KindConflict Kind = "conflict"
	// KindNotImplemented: 501, this version has no such method.
	KindNotImplemented Kind = "not implemented"
	// KindNodeOffline: 595, the host that we talk to can't connect to the node
	// that the call is for. The call had no effect.
	KindNodeOffline Kind = "node offline"
	// KindProxy: 596 or 597, trouble between the host that we talk to and the
	// node. Writes get it only where they surely had no effect.
	KindProxy Kind = "proxy trouble"
	// KindNotProxmox: an answer, but not from Proxmox's API (HTML, a redirect,
	// no envelope). Detail says which.
	KindNotProxmox Kind = "not proxmox"
	// KindTruncated: the answer to a read was cut off.
	KindTruncated Kind = "truncated answer"
	// KindTooLarge: an answer beyond Config.MaxBody, or a request beyond what
	// Proxmox takes (DetailRequestSize; nothing was sent).
	KindTooLarge Kind = "too large"
	// KindTooDeep: the answer nests deeper than MaxDepth.
	KindTooDeep Kind = "nested too deeply"
	// KindMalformed: an envelope whose data isn't JSON or not of the form
	// that the caller decodes into.
	KindMalformed Kind = "malformed answer"
	// KindUnknownOutcome: a write was sent and its answer was lost: it may or
	// may not have been done. Err holds how the answer was lost.
	KindUnknownOutcome Kind = "unknown outcome"
	// KindServer: 500 or another refusal; Message has Proxmox's words.
	KindServer Kind = "server error"
)

// Detail refines a Kind where the way out differs.
type Detail string

// Details of KindUnreachable, KindTLS, KindNotProxmox, KindTooLarge,
// KindConflict, KindTimeout.
const (
	DetailDNS         Detail = "host name not known"
	DetailRefused     Detail = "connection refused"
	DetailNoRoute     Detail = "no route to host"
	DetailDialTimeout Detail = "no answer to the connection attempt"
	DetailReset       Detail = "connection closed by the server"

	DetailUnknownAuthority Detail = "certificate signed by an unknown authority"
	DetailHostname         Detail = "certificate is for another host name"
	DetailExpired          Detail = "certificate expired or not yet valid"
	DetailPin              Detail = "certificate doesn't match the fingerprint"
	DetailNotTLS           Detail = "server doesn't speak TLS on this port"
	DetailHandshake        Detail = "TLS handshake failed"

	DetailHTML     Detail = "HTML instead of JSON"
	DetailRedirect Detail = "redirect"
	DetailEnvelope Detail = "no data envelope"
	DetailNotHTTP  Detail = "not an HTTP answer"
	DetailGateway  Detail = "answer of a gateway in between"

	DetailRequestSize Detail = "request larger than Proxmox takes"
	DetailDigest      Detail = "changed by someone else meanwhile"
	DetailExists      Detail = "exists already"
	DetailQueued      Detail = "while waiting for a free slot"
)

// Error is every failure of this package as a value. Strings in it never
// contain the token's secret nor the values of secret parameters, not even
// when the server echoes them.
type Error struct {
	// Op is verb and path as sent, e.g. "GET /nodes/pve1/qemu/100/config".
	Op     string
	Kind   Kind
	Detail Detail // "" if there is nothing finer to say
	// Subject is what the failure is about: "host pve1.lan:8006" below the
	// API, else the path of the object, e.g. "/nodes/pve1/qemu/100".
	Subject string
	Host    string // host:port that was asked last, "" if none
	Node    string // the node in the call's path, "" if none

	Status int    // HTTP status, 0 if there was no answer
	Reason string // the status line's reason phrase, whole
	// Message is the body's message, trimmed at its end; servers before
	// early 2025 send none and then it is the reason phrase.
	Message string
	Params  map[string]string // parameter → fault, from the body's errors

	// Of KindForbidden: the ACL path and privileges that Proxmox named. Any
	// one of Privileges is enough if AnyPrivilege is set, else all are needed.
	PermPath     string
	Privileges   []string
	AnyPrivilege bool
	RootOnly     bool // only root@pam itself may, no token
	NeedsTicket  bool // not available with any API token

	Lock string // of KindLocked: the lock's name, e.g. "backup"; "" for a file lock

	// Of KindTLS: SHA-256 of the certificate that the server showed
	// (AA:BB:…, as PROXMOX_FINGERPRINT takes it), and the pins it was held
	// against.
	Fingerprint string
	Pinned      []string
	CertNames   []string // the names the certificate is for, with DetailHostname

	Snippet string // of KindNotProxmox: the answer's first characters
	// Location is where a redirect points, without its query.
	Location string
	Tries    int      // how often the request was tried, on all hosts together
	Others   []string // with several hosts: what each other one failed with

	// Sent says that at least a part of the request was written to a server.
	Sent bool

	Err error // the cause, if any
}

// Error gives one line: operation, kind, what the server said, and for some
// kinds the setting to look at. It never spans lines.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		b.WriteString(": ")
	}
	b.WriteString(string(e.Kind))
	if e.Subject != "" && strings.HasPrefix(e.Subject, "host ") {
		b.WriteString(" (")
		b.WriteString(e.Subject)
		b.WriteByte(')')
	}
	if e.Detail != "" {
		b.WriteString(": ")
		b.WriteString(string(e.Detail))
	}
	status := e.Status >= 300 && e.Kind != KindUnknownOutcome
	if status {
		b.WriteString(": ")
		b.WriteString(strconv.Itoa(e.Status))
	}
	if m := e.message(); m != "" {
		if status {
			b.WriteByte(' ')
		} else {
			b.WriteString(": ")
		}
		b.WriteString(m)
	}
	if len(e.Params) > 0 {
		names := make([]string, 0, len(e.Params))
		for n := range e.Params {
			names = append(names, n)
		}
		sort.Strings(names)
		for i, n := range names {
			if i == 0 {
				b.WriteString(" [")
			} else {
				b.WriteString("; ")
			}
			b.WriteString(n)
			b.WriteString(": ")
			b.WriteString(strings.TrimSpace(e.Params[n]))
		}
		b.WriteByte(']')
	}
	b.WriteString(e.hint())
	return oneLine(b.String())
}

func (e *Error) message() string {
	if e.Kind == KindUnknownOutcome {
		return "the request was sent and its answer was lost, so it may or may not have been done" + causeOf(e.Err)
	}
	if e.Message != "" {
		return e.Message
	}
	if e.Reason != "" {
		return e.Reason
	}
	if e.Err != nil && (e.Detail == "" || e.Detail == DetailHandshake || e.Kind == KindBadCall) {
		return e.Err.Error()
	}
	if e.Location != "" {
		return "to " + e.Location
	}
	if e.Snippet != "" {
		return strconv.Quote(e.Snippet)
	}
	return ""
}

func causeOf(err error) string {
	var inner *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &inner):
		s := " (" + string(inner.Kind)
		if inner.Detail != "" {
			s += ": " + string(inner.Detail)
		}
		if inner.Status >= 300 {
			s += ": " + strings.TrimSpace(strconv.Itoa(inner.Status)+" "+inner.Reason)
		}
		return s + ")"
	default:
		return " (" + err.Error() + ")"
	}
}

// hint names the setting that gets a user out, for the failures that come
// before there is a server to describe anything.
func (e *Error) hint() string {
	switch {
	case e.Kind == KindTLS && e.Detail == DetailPin:
		return "; the server shows " + e.Fingerprint + ": set PROXMOX_FINGERPRINT to it only if the node's certificate was renewed"
	case e.Kind == KindTLS && e.Detail == DetailNotTLS:
		return "; is the port right? Proxmox VE listens on 8006"
	case e.Kind == KindTLS && e.Fingerprint != "":
		return "; the server shows " + e.Fingerprint +
			": compare it with the node's and set PROXMOX_FINGERPRINT to it, or set PROXMOX_CA_FILE to a copy of /etc/pve/pve-root-ca.pem"
	case e.Kind == KindNotProxmox && e.Detail == DetailRedirect:
		return "; redirects are not followed: use https and Proxmox's own port"
	}
	return ""
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf gives the Kind of the first *Error in err's chain, "" if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

// IsKind reports whether err holds an *Error of one of the kinds.
func IsKind(err error, kinds ...Kind) bool {
	k := KindOf(err)
	if k == "" {
		return false
	}
	for _, want := range kinds {
		if k == want {
			return true
		}
	}
	return false
}

// oneLine makes line breaks and other control characters into spaces, so
// that what a server says can't forge lines in a log.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.TrimSpace(s))
}
