package pverest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Statuses by which pveproxy tells of trouble with the node that a call is
// for (from AnyEvent::HTTP, as observed: connect; TLS, no answer, time-out;
// answer cut).
const (
	statusNodeConnect = 595
	statusNodeProxy   = 596
	statusNodeCut     = 597
)

// maxRefusal bounds what is read of an answer that is no success: its reason
// stands in the status line, its faults in a few lines.
const maxRefusal = 1 << 20

// readAll reads a body that the transport has bounded.
func readAll(resp *http.Response) ([]byte, error) {
	var buf bytes.Buffer
	if resp.StatusCode >= 300 {
		_, err := buf.ReadFrom(io.LimitReader(resp.Body, maxRefusal))
		return buf.Bytes(), err
	}
	if n := resp.ContentLength; n > 0 {
		buf.Grow(int(min(n, 8<<20)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(resp.Body)
	return buf.Bytes(), err
}

// reasonOf gives the status line's reason phrase, in which Proxmox puts its
// message.
func reasonOf(resp *http.Response) string {
	_, reason, _ := strings.Cut(resp.Status, " ")
	return strings.ToValidUTF8(strings.TrimSpace(reason), "\uFFFD")
}

// readAnswer makes an answer a Reply or an Error.
func readAnswer(call Call, resp *http.Response, body []byte) (Reply, error) {
	env, envErr := readEnvelope(body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if envErr != nil {
			env = envelope{}
		}
		return Reply{}, statusError(call, resp, body, env)
	}
	e := &Error{Status: resp.StatusCode, Reason: reasonOf(resp), Sent: true}
	switch {
	case envErr == nil && env.hasData:
		return reply(env), nil
	case isPlainText(resp) && utf8.Valid(body):
		text, err := json.Marshal(string(body))
		if err == nil {
			return Reply{Data: text}, nil
		}
		e.Kind, e.Err = KindMalformed, err
	case errors.Is(envErr, errDeep):
		e.Kind = KindTooDeep
		e.Message = "the answer nests deeper than " + strconv.Itoa(MaxDepth) + " levels"
	case looksLikeHTML(resp, body):
		notProxmox(e, DetailHTML, body)
	case errors.Is(envErr, errCut) && len(body) > 0:
		e.Kind, e.Message = KindTruncated, "the answer ends in the middle, after "+strconv.Itoa(len(body))+" bytes"
	default:
		notProxmox(e, DetailEnvelope, body)
	}
	e.Reason = "" // "OK" would only hide what is wrong
	return Reply{}, lostAnswer(call, fill(call, e))
}

func fill(call Call, e *Error) *Error {
	e.Op, e.Subject, e.Node = call.Op(), subjectOf(call.Path), nodeOf(call.Path)
	return e
}

func reply(env envelope) Reply {
	r := Reply{Data: env.data}
	if len(env.total) > 0 {
		var n Int
		if n.UnmarshalJSON(env.total) == nil && n.Set {
			r.Total = &n.V
		}
	}
	r.Changes = partText(env.changes)
	return r
}

func isPlainText(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain")
}

func looksLikeHTML(resp *http.Response, body []byte) bool {
	if strings.Contains(resp.Header.Get("Content-Type"), "html") {
		return true
	}
	return bytes.HasPrefix(bytes.TrimSpace(body[:min(len(body), 512)]), []byte("<"))
}

// snippetSize is how much of a foreign answer an error shows.
const snippetSize = 120

func notProxmox(e *Error, d Detail, body []byte) {
	e.Kind, e.Detail = KindNotProxmox, d
	s := strings.ToValidUTF8(string(body[:min(len(body), 4*snippetSize)]), "\uFFFD")
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > snippetSize {
		s = string(r[:snippetSize]) + "…"
	}
	e.Snippet = s
}

// statusError reads an answer that is no success.
func statusError(call Call, resp *http.Response, body []byte, env envelope) *Error {
	e := fill(call, &Error{Status: resp.StatusCode, Reason: reasonOf(resp), Sent: true})
	e.Message = strings.TrimSpace(partText(env.message))
	e.Params = partErrors(env.errs)
	if e.Message == "" {
		e.Message = e.Reason
	}
	enveloped := env.hasData || env.message != nil || env.errs != nil
	switch s := resp.StatusCode; {
	case s >= 300 && s < 400:
		e.Kind, e.Detail, e.Message = KindNotProxmox, DetailRedirect, ""
		e.Location = redirectTarget(resp)
		if e.Location != "" {
			e.Message = e.Reason + ", to " + e.Location
		}
	case s == statusNodeConnect:
		e.Kind = KindNodeOffline
	case s == statusNodeProxy, s == statusNodeCut:
		e.Kind = KindProxy
		if call.Verb != http.MethodGet && !(s == statusNodeProxy && isTLSText(e.Reason)) {
			// The node may have got it: only its answer didn't come back.
			return lostAnswer(call, e)
		}
	case !enveloped && looksLikeHTML(resp, body) && len(body) > 0:
		notProxmox(e, DetailHTML, body)
		if s == http.StatusBadGateway || s == http.StatusServiceUnavailable || s == http.StatusGatewayTimeout {
			e.Detail = DetailGateway
		}
		if s == http.StatusBadGateway || s == http.StatusGatewayTimeout {
			return lostAnswer(call, e)
		}
	case !enveloped && (s == http.StatusBadGateway || s == http.StatusGatewayTimeout):
		e.Kind, e.Detail = KindNotProxmox, DetailGateway
		return lostAnswer(call, e)
	case s == http.StatusUnauthorized:
		e.Kind = KindUnauthorized
	case s == http.StatusForbidden:
		e.Kind = KindForbidden
		readPermission(e)
	case s == http.StatusBadRequest:
		e.Kind = KindParameter
	case s == http.StatusNotImplemented && strings.Contains(e.Reason, "data too large"):
		e.Kind, e.Detail = KindTooLarge, DetailRequestSize
	case s == http.StatusNotImplemented:
		e.Kind = KindNotImplemented
	default:
		readServerError(e)
	}
	return e
}

func isTLSText(s string) bool {
	return strings.Contains(s, "SSL") || strings.Contains(s, "certificate") || strings.Contains(s, "fingerprint")
}

// redirectTarget gives where a redirect points, without what may be secret.
func redirectTarget(resp *http.Response) string {
	u, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || u.Host == "" && u.Path == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// readPermission takes apart "Permission check failed (/vms/100, VM.Audit)"
// and its relatives (pve-access-control 9.1, as observed).
func readPermission(e *Error) {
	_, rest, ok := strings.Cut(e.Message, "Permission check failed (")
	if !ok {
		return
	}
	rest = strings.TrimSuffix(strings.TrimSpace(rest), ")")
	switch {
	case strings.HasPrefix(rest, "user != root@pam"):
		e.RootOnly = true
	case strings.HasPrefix(rest, "URI ") && strings.Contains(rest, "not available with API token"):
		e.NeedsTicket = true
	case strings.HasPrefix(rest, "/"):
		path, privs, ok := strings.Cut(rest, ", ")
		if !ok {
			return
		}
		e.PermPath = path
		e.AnyPrivilege = strings.Contains(privs, "|")
		e.Privileges = strings.FieldsFunc(privs, func(r rune) bool { return r == '|' || r == ',' || r == ' ' })
	}
}

// readServerError tells the refusals apart that Proxmox sends as 500 and that
// call for different next steps. The texts are those of qemu-server,
// pve-container, pve-common and pve-storage as observed on 9.2.
func readServerError(e *Error) {
	m := e.Message
	switch {
	case strings.Contains(m, "VM is locked"), strings.Contains(m, "CT is locked"):
		e.Kind = KindLocked
		if _, lock, ok := strings.Cut(m, "is locked ("); ok {
			e.Lock, _, _ = strings.Cut(lock, ")")
		}
	case strings.Contains(m, "can't lock file"):
		e.Kind = KindLocked
	case strings.Contains(m, "file change by other user"), strings.Contains(m, "file changed by other user"),
		strings.Contains(m, "detected modified configuration"):
		e.Kind, e.Detail = KindConflict, DetailDigest
	case strings.Contains(m, "already exists"), strings.Contains(m, "already defined"):
		e.Kind, e.Detail = KindConflict, DetailExists
	case strings.HasPrefix(m, "Configuration file '") && strings.HasSuffix(m, "' does not exist"),
		strings.HasPrefix(m, "unable to find configuration file for"),
		strings.HasPrefix(m, "hostname lookup '"),
		strings.HasPrefix(m, "no such "),
		strings.HasSuffix(m, " does not exist"):
		e.Kind = KindNotFound
	default:
		e.Kind = KindServer
	}
}
