package pverest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Call is one method call of the API.
type Call struct {
	// Verb is GET, POST, PUT or DELETE.
	Verb string
	// Path is the path below /api2/json as it is sent: it begins with "/" and
	// its values are escaped by EscapeSegment or EscapeTail.
	Path string
	// Params go in the query of GET and DELETE and in the form body of the
	// others. Booleans are "1" and "0" already.
	Params Values
}

// Op is verb and path, as in Error.Op.
func (c Call) Op() string { return c.Verb + " " + c.Path }

// Reply is a successful answer.
type Reply struct {
	// Data is the envelope's data as valid JSON; "null" if Proxmox sent none.
	// An answer of plain text (a task log with download=1) is one JSON string.
	Data json.RawMessage
	// Total is the number of rows that there are, where Proxmox counts them
	// (task lists and logs); Data may hold fewer.
	Total *int64
	// Changes is the pending difference that some methods (/nodes/{node}/network)
	// put beside the data, "" if there is none.
	Changes string
	Host    string // host:port that answered; "" if no Transport was asked
	Tries   int    // how often the request was sent or tried, 1 if all went well
}

// Client makes calls through a RoundTripper: the gate around a Transport, or
// a Transport itself. It keeps no state and may be used by many goroutines.
type Client struct {
	rt http.RoundTripper
}

// NewClient makes a Client. rt gets requests for https://proxmox/api2/json/…;
// the host is a placeholder that the Transport replaces. rt's own errors that
// are no *Error (a gate's refusals) are passed on as they are.
func NewClient(rt http.RoundTripper) *Client { return &Client{rt: rt} }

// Do makes the call. Every error is an *Error, except what the gate says.
func (c *Client) Do(ctx context.Context, call Call) (Reply, error) {
	r, err := c.do(ctx, call)
	if err != nil {
		return Reply{}, err
	}
	if !json.Valid(r.Data) {
		return Reply{}, lostAnswer(call, &Error{Op: call.Op(), Kind: KindMalformed, Subject: subjectOf(call.Path), Node: nodeOf(call.Path),
			Host: r.Host, Status: http.StatusOK, Message: "the answer's data is not valid JSON", Sent: true})
	}
	return r, nil
}

// Into makes the call and decodes its data into v, as json.Unmarshal does;
// with null, v stays as it is. With v nil the data is dropped. Data that
// doesn't fit v is an error of KindMalformed; a write was done all the same,
// and then Message says so.
func (c *Client) Into(ctx context.Context, call Call, v any) (Reply, error) {
	r, err := c.do(ctx, call)
	if err != nil {
		return Reply{}, err
	}
	if v == nil {
		return r, nil
	}
	if err := json.Unmarshal(r.Data, v); err != nil {
		e := &Error{Op: call.Op(), Kind: KindMalformed, Subject: subjectOf(call.Path), Node: nodeOf(call.Path),
			Host: r.Host, Status: http.StatusOK, Sent: true, Err: err, Message: "the answer's data has another form than expected: " + describeJSONError(err)}
		if call.Verb != http.MethodGet {
			e.Message += "; Proxmox accepted the call"
		}
		return Reply{}, e
	}
	return r, nil
}

// Call is Into for generated methods: it encodes p by EncodeParams first.
func (c *Client) Call(ctx context.Context, verb, path string, p, v any) error {
	params, err := EncodeParams(p)
	if err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Op, e.Subject, e.Node = verb+" "+path, subjectOf(path), nodeOf(path)
		}
		return err
	}
	_, err = c.Into(ctx, Call{Verb: verb, Path: path, Params: params}, v)
	return err
}

// Get calls GET path and decodes its data into v.
func (c *Client) Get(ctx context.Context, path string, params Values, v any) error {
	_, err := c.Into(ctx, Call{Verb: http.MethodGet, Path: path, Params: params}, v)
	return err
}

// do gives a Reply whose Data is sound in its structure but not yet validated.
func (c *Client) do(ctx context.Context, call Call) (Reply, error) {
	req, tr, err := newRequest(ctx, call)
	if err != nil {
		return Reply{}, err
	}
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return Reply{}, tr.clean(call, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readAll(resp)
	if err != nil {
		e := tr.bodyError(ctx, call, resp, err)
		// A status of 400 and more is an answer in itself: Proxmox closes the
		// connection after it, and its reason phrase says the essential.
		if resp.StatusCode < 400 || e.Kind == KindCancelled {
			return Reply{}, tr.clean(call, lostAnswer(call, e))
		}
	}
	r, err := readAnswer(call, resp, body)
	if err != nil {
		return Reply{}, tr.clean(call, err)
	}
	r.Host, r.Tries = tr.host, tr.tries
	return r, nil
}

// lostAnswer makes the failure of a write that was sent into KindUnknownOutcome.
func lostAnswer(call Call, e *Error) *Error {
	if call.Verb == http.MethodGet || !e.Sent {
		return e
	}
	return &Error{Op: e.Op, Kind: KindUnknownOutcome, Subject: subjectOf(call.Path), Node: nodeOf(call.Path),
		Host: e.Host, Status: e.Status, Reason: e.Reason, Tries: e.Tries, Sent: true, Err: e}
}

func describeJSONError(err error) string {
	var t *json.UnmarshalTypeError
	if errors.As(err, &t) {
		where := t.Field
		if where == "" {
			where = "data"
		}
		return t.Value + " at " + where + " instead of " + t.Type.String()
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
