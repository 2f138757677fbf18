package pverest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"
)

// apiPrefix is where the API with JSON answers lives.
const apiPrefix = "/api2/json"

// trace goes with a request through the layers, so that the Client learns
// what the Transport did, and masks secrets that only the Transport knows.
// It is used by one goroutine at a time: the one that makes the call.
type trace struct {
	redact redactor
	host   string
	tries  int
}

type traceKey struct{}

func traceOf(ctx context.Context) *trace {
	if tr, ok := ctx.Value(traceKey{}).(*trace); ok {
		return tr
	}
	return &trace{}
}

// clean completes an error and masks every secret in it.
func (tr *trace) clean(call Call, err error) error {
	e, ok := err.(*Error) //nolint:errorlint // the gate's own errors stay as they are, whatever they wrap
	if !ok {
		return err
	}
	c := *e
	c.Op = call.Op()
	if c.Node == "" {
		c.Node = nodeOf(call.Path)
	}
	if c.Subject == "" {
		c.Subject = subjectOf(call.Path)
	}
	if c.Host == "" {
		c.Host = tr.host
	}
	if c.Tries == 0 {
		c.Tries = tr.tries
	}
	return tr.redact.error(&c)
}

// bodyError is what a failing read of an answer's body means.
func (tr *trace) bodyError(ctx context.Context, call Call, resp *http.Response, err error) *Error {
	e := &Error{Op: call.Op(), Status: resp.StatusCode, Reason: reasonOf(resp), Sent: true, Err: err}
	var inner *Error
	switch {
	case errors.As(err, &inner):
		c := *inner
		c.Status, c.Sent = resp.StatusCode, true
		return &c
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Kind = KindTimeout
	case ctx.Err() != nil:
		e.Kind = KindCancelled
	default:
		e.Kind = KindTruncated
	}
	return e
}

// newRequest builds the request, or says why Proxmox couldn't read it.
func newRequest(ctx context.Context, call Call) (*http.Request, *trace, error) {
	tr := &trace{}
	tr.redact.addParams(call.Params)
	bad := func(e *Error) (*http.Request, *trace, error) {
		e.Op, e.Kind = call.Op(), kindOr(e.Kind, KindBadCall)
		return nil, nil, tr.clean(call, e)
	}
	inQuery := false
	switch call.Verb {
	case http.MethodGet, http.MethodDelete:
		inQuery = true
	case http.MethodPost, http.MethodPut:
	default:
		return bad(&Error{Message: fmt.Sprintf("verb %q is none of GET, POST, PUT, DELETE", call.Verb)})
	}
	u, err := apiURL(call.Path)
	if err != nil {
		return bad(&Error{Message: err.Error()})
	}
	form, fault := encodeForm(call.Params)
	if fault != nil {
		return bad(fault)
	}
	var body *bytes.Reader
	if inQuery {
		u.RawQuery = string(form)
		if n := len(u.EscapedPath()) + 1 + len(form); n > MaxRequestTarget {
			return bad(&Error{Kind: KindTooLarge, Detail: DetailRequestSize,
				Message: fmt.Sprintf("path and parameters take %d bytes; Proxmox reads at most %d of a %s", n, MaxRequestTarget, call.Verb)})
		}
	} else {
		if len(form) > MaxRequestBody {
			return bad(&Error{Kind: KindTooLarge, Detail: DetailRequestSize,
				Message: fmt.Sprintf("the encoded parameters take %d bytes; Proxmox takes at most %d", len(form), MaxRequestBody)})
		}
		body = bytes.NewReader(form)
	}
	ctx = context.WithValue(ctx, traceKey{}, tr)
	var req *http.Request
	if body != nil && body.Len() > 0 {
		// A bytes.Reader gives the request its Content-Length (Proxmox
		// refuses chunked bodies) and lets an unsent one be made again.
		req, err = http.NewRequestWithContext(ctx, call.Verb, u.String(), body)
	} else {
		req, err = http.NewRequestWithContext(ctx, call.Verb, u.String(), http.NoBody)
	}
	if err != nil {
		return bad(&Error{Message: "the call can't be made a request"})
	}
	if body != nil && body.Len() > 0 {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	req.Header.Set("Accept", "application/json")
	return req, tr, nil
}

func kindOr(k, def Kind) Kind {
	if k == "" {
		return def
	}
	return k
}

// apiURL checks that a path reaches Proxmox as it stands and means there what
// it means here: one reading for whoever decides by it.
func apiURL(path string) (*url.URL, error) {
	switch {
	case !strings.HasPrefix(path, "/"):
		return nil, errors.New(`the path must begin with "/"`)
	case strings.ContainsAny(path, "?#\\"):
		return nil, errors.New(`the path contains "?", "#" or "\": parameters are given apart, values must be escaped`)
	}
	for i := 0; i < len(path); i++ {
		if c := path[i]; c <= ' ' || c >= 0x7f {
			return nil, errors.New("the path contains white space, a control character or a character that must be escaped")
		}
	}
	if path == "/" {
		return &url.URL{Scheme: "https", Host: "proxmox", Path: apiPrefix + "/"}, nil
	}
	for _, seg := range strings.Split(strings.TrimSuffix(path[1:], "/"), "/") {
		plain, err := url.PathUnescape(seg)
		if err != nil {
			return nil, errors.New("the path has a broken percent escape")
		}
		for _, part := range strings.Split(plain, "/") {
			if err := checkSegment(part); err != nil {
				why := err.Error()
				if e, ok := errors.AsType[*Error](err); ok {
					why = e.Message
				}
				return nil, fmt.Errorf("the path can't be sent: %s", why)
			}
		}
	}
	u, err := url.Parse("https://proxmox" + apiPrefix + path)
	if err != nil {
		return nil, errors.New("the path can't be read as part of a URL")
	}
	return u, nil
}

// encodeForm writes parameters in the order of their names. Everything but
// letters, digits and "-._~" is escaped: Proxmox splits forms at ";" too, and
// takes only what stands before a second raw "=". Spaces go as %20, which
// means the same wherever a form or a query is read.
func encodeForm(params Values) ([]byte, *Error) {
	if len(params) == 0 {
		return nil, nil
	}
	size := 0
	for name, values := range params {
		for _, v := range values {
			size += len(name) + len(v) + 2
		}
	}
	b := make([]byte, 0, size+size/4)
	for _, name := range sortedKeys(params) {
		if name == "" {
			return nil, &Error{Message: "a parameter has no name"}
		}
		if !utf8.ValidString(name) {
			return nil, &Error{Message: fmt.Sprintf("the parameter name %q is not valid UTF-8", name)}
		}
		for _, v := range params[name] {
			if !utf8.ValidString(v) {
				return nil, &Error{Message: "a parameter can't be sent", Params: map[string]string{name: "not valid UTF-8"}}
			}
			if len(b) > 0 {
				b = append(b, '&')
			}
			b = appendEscaped(b, name)
			b = append(b, '=')
			b = appendEscaped(b, v)
		}
	}
	return b, nil
}

func appendEscaped(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~' {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return b
}

// nodeOf gives the node that a path is about, "" if it names none.
func nodeOf(path string) string {
	rest, ok := strings.CutPrefix(path, "/nodes/")
	if !ok {
		return ""
	}
	node, _, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(node); err == nil {
		return plain
	}
	return node
}

// subjectOf gives the path of the object that a path is about: the guest, the
// storage, the task, else the node, else the path's first two segments.
func subjectOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	n := min(2, len(parts))
	if len(parts) >= 4 && parts[0] == "nodes" {
		switch parts[2] {
		case "qemu", "lxc", "storage", "tasks":
			n = 4
		}
	}
	for i, p := range parts {
		if plain, err := url.PathUnescape(p); err == nil {
			parts[i] = plain
		}
	}
	return "/" + strings.Join(parts[:n], "/")
}
