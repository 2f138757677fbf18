package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"pvemcp/apidoc"
	"pvemcp/curated/gate/audit"
	"pvemcp/internal/pverest"
)

// longestPeek is how much of an answer is read for the log. Answers to writes
// are far shorter: a task id, an error.
const longestPeek = 64 << 10

// record is a change between its two lines in the log.
type record struct {
	g       *Gate
	in      *Intent
	pending *audit.Pending
}

// begin logs the intent. Without it the change is not made.
func (g *Gate) begin(ctx context.Context, in *Intent, gr *grant) (*record, error) {
	if g.audit == nil {
		return &record{g: g, in: in}, nil
	}
	c := callerOf(ctx)
	e := audit.Entry{
		Who: g.tokenID, Client: cut(c.Client, longestWord), Cluster: g.cluster, Tool: cut(c.Tool, longestWord),
		Reason: cut(in.mask(c.Reason), longestWord), Verb: string(in.Verb), Path: cut(in.maskedPath(), longestValue),
		Params: bounded(in.Masked()), Class: string(in.Class), Plan: gr.plan, Approval: string(gr.by),
	}
	p, err := g.audit.Begin(e)
	if err != nil {
		r := refuse(in, NotLogged)
		r.Err = err
		return nil, r
	}
	return &record{g: g, in: in, pending: p}, nil
}

// end logs the outcome. That it can't be logged does not undo the change: the
// log then shows it as one whose end is unknown, and the user is told.
func (r *record) end(o audit.Outcome) {
	if r.pending == nil {
		return
	}
	o.Message = cut(r.in.mask(o.Message), longestWord)
	if err := r.pending.End(o); err != nil {
		r.g.fault(fmt.Errorf("%s: its outcome (%s) was not logged: %w", r.in.shown(), o.Result, err))
	}
}

// send makes a change that was authorised and logs it.
func (g *Gate) send(req *http.Request, in *Intent, gr *grant) (*http.Response, error) {
	rec, err := g.begin(req.Context(), in, gr)
	if err != nil {
		return nil, err
	}
	resp, err := g.next.RoundTrip(req)
	if err != nil {
		rec.end(outcomeOfError(err))
		return resp, err
	}
	if rec.pending != nil {
		rec.end(outcomeOf(resp))
	}
	return resp, nil
}

// Do makes a change that is no call of the API, such as a command over SSH:
// authorised, logged before, its outcome logged after. send is not called when
// Do refuses. The error is send's own, or a [*Refusal].
func (g *Gate) Do(ctx context.Context, in *Intent, send func(ctx context.Context) (audit.Outcome, error)) error {
	gr, err := g.authorize(ctx, in)
	if err != nil {
		return err
	}
	if gr == nil { // a harmless read
		_, err := send(ctx)
		return err
	}
	rec, err := g.begin(ctx, in, gr)
	if err != nil {
		return err
	}
	o, err := send(ctx)
	if o.Result == "" {
		o.Result = audit.Unknown
	}
	rec.end(o)
	return err
}

// outcomeOfError judges a call that got no answer.
func outcomeOfError(err error) audit.Outcome {
	o := audit.Outcome{Result: audit.Unknown, Message: err.Error()}
	var e *pverest.Error
	if errors.As(err, &e) && e.Kind != pverest.KindUnknownOutcome && !e.Sent {
		o.Result = audit.NotSent
	}
	return o
}

// bodyCut is an answer's body of which the beginning was read already.
type bodyCut struct {
	io.Reader
	io.Closer
}

// failing gives an error that happened while looking ahead, at its place.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// outcomeOf judges an answer by status and beginning, and leaves the whole of
// it to be read. Which statuses leave open whether the change was made is
// decided as the transport's client decides it.
func outcomeOf(resp *http.Response) audit.Outcome {
	head, err := io.ReadAll(io.LimitReader(resp.Body, longestPeek))
	rest := io.Reader(resp.Body)
	if err != nil {
		rest = failing{err}
	}
	resp.Body = bodyCut{io.MultiReader(bytes.NewReader(head), rest), resp.Body}

	var envelope struct {
		Data    json.RawMessage `json:"data"`
		Message any             `json:"message"`
		Errors  map[string]any  `json:"errors"`
	}
	enveloped := json.Unmarshal(head, &envelope) == nil
	o := audit.Outcome{Status: resp.StatusCode}
	_, reason, _ := strings.Cut(resp.Status, " ")
	o.Message = strings.TrimSpace(reason)
	if text, ok := envelope.Message.(string); ok && strings.TrimSpace(text) != "" {
		o.Message = strings.TrimSpace(text)
	}
	for name, fault := range envelope.Errors {
		o.Message += fmt.Sprintf("; %s: %v", name, fault)
	}
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
		o.Message = ""
		switch {
		case err != nil:
			o.Result, o.Message = audit.Unknown, "the answer was cut off: "+err.Error()
		case enveloped && envelope.Data != nil, len(head) == longestPeek, strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
			o.Result = audit.OK
			var upid string
			if json.Unmarshal(envelope.Data, &upid) == nil {
				if _, err := apidoc.ParseUPID(upid); err == nil {
					o.UPID = upid
				}
			}
		default:
			o.Result, o.Message = audit.Unknown, "the answer is not Proxmox's"
		}
	case s == 596 && (strings.Contains(reason, "SSL") || strings.Contains(reason, "certificate") || strings.Contains(reason, "fingerprint")):
		o.Result = audit.Refused
	case s == 596, s == 597:
		o.Result = audit.Unknown
	case (s == http.StatusBadGateway || s == http.StatusGatewayTimeout) && !enveloped:
		o.Result = audit.Unknown
	default:
		o.Result = audit.Refused
	}
	return o
}
