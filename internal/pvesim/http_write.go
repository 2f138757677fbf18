package pvesim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// response is an answer before it is put on the wire.
type response struct {
	status int
	reason string
	ctype  string
	body   []byte
	bare   bool    // neither body nor Content-Length
	extra  []field // more headers
	// forwarded: the answer came through the daemon that runs as root, whose
	// "Connection: close" Proxmox passes on beside its own header.
	forwarded bool
	wait      time.Duration // before it is sent
}

const (
	typeJSON = "application/json;charset=UTF-8"
	typeHTML = "text/html;charset=UTF-8"
)

// plain is an answer from the HTTP layer: the reason is the body, too.
func plain(status int, reason string) *response {
	return &response{status: status, reason: reason, body: []byte(reason)}
}

// bare is an answer of which nothing but the status line matters.
func bare(status int, reason string) *response {
	return &response{status: status, reason: reason, bare: true}
}

// encode puts the response into wire form for a request; keep tells whether
// the connection stays open afterwards.
func (p *response) encode(r *rawRequest, now time.Time, keep bool) []byte {
	proto := "HTTP/1.0"
	if r != nil && r.proto != "" {
		proto = r.proto
	}
	reason := p.reason
	if reason == "" {
		reason = http.StatusText(p.status)
	}
	body := p.body
	zipped := false
	if r != nil && len(body) > 1024 && strings.Contains(r.header("Accept-Encoding"), "gzip") {
		if z := compress(body); len(z) < len(body) {
			body, zipped = z, true
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %d %s\r\n", proto, p.status, firstLine(reason))
	date := now.UTC().Format(http.TimeFormat)
	line := func(name, value string) { b.WriteString(name + ": " + value + "\r\n") }
	line("Cache-Control", "max-age=0")
	if p.forwarded {
		line("Connection", "close")
	}
	if keep {
		line("Connection", "Keep-Alive")
	} else if !p.forwarded {
		line("Connection", "close")
	}
	line("Date", date)
	line("Pragma", "no-cache")
	for _, f := range p.extra {
		line(f.name, f.value)
	}
	line("Server", "pve-api-daemon/3.0")
	if zipped {
		line("Content-Encoding", "gzip")
	}
	if !p.bare {
		line("Content-Length", strconv.Itoa(len(body)))
	}
	if p.ctype != "" {
		line("Content-Type", p.ctype)
	}
	line("Expires", date)
	b.WriteString("\r\n")
	if !p.bare {
		b.Write(body)
	}
	return b.Bytes()
}

// firstLine gives what of a text fits into a status line.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return printable(s)
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return body
	}
	if _, err := z.Write(body); err != nil || z.Close() != nil {
		return body
	}
	return b.Bytes()
}

// formats are the answers that /api2/FORMAT/ can give.
var formats = map[string]bool{"json": true, "extjs": true, "html": true}

// success makes the answer of a handler that went well.
func success(format string, data any, meta map[string]any) (*response, error) {
	envelope := map[string]any{}
	for k, v := range meta {
		envelope[k] = v
	}
	envelope["data"] = data
	if format == "extjs" {
		envelope["success"] = 1
	}
	return render(format, 200, "OK", envelope)
}

// failure makes the answer for an error of the API layer.
func (s *Server) failure(format string, e *apiError) (*response, error) {
	if e.Bare {
		return bare(e.Status, e.Message), nil
	}
	if e.Text {
		p := plain(e.Status, e.Message)
		p.reason = firstLine(e.Message)
		return p, nil
	}
	envelope := map[string]any{"data": nil}
	if !s.opts.OldErrors || format == "extjs" {
		envelope["message"] = e.Message
	}
	if len(e.Errors) > 0 {
		envelope["errors"] = e.Errors
	}
	if format != "extjs" {
		return render(format, e.Status, e.Message, envelope)
	}
	// With extjs every answer is a 200; the status of a parameter fault comes
	// as a string there, others as numbers.
	envelope["success"] = 0
	envelope["status"] = e.Status
	if e.Status == 400 {
		envelope["status"] = "400"
	}
	return render(format, 200, "OK", envelope)
}

func render(format string, status int, reason string, envelope map[string]any) (*response, error) {
	body, err := marshal(envelope)
	if err != nil {
		return nil, err
	}
	p := &response{status: status, reason: firstLine(reason), ctype: typeJSON, body: body}
	if format == "html" {
		p.ctype = typeHTML
		p.body = []byte("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Proxmox VE API</title></head>" +
			"<body><pre>" + html.EscapeString(string(body)) + "</pre></body></html>\n")
	}
	return p, nil
}

// marshal is encoding/json without the escaping of <, > and &. Data that is
// written already goes in as it is: encoding/json would read all of it again.
func marshal(v any) ([]byte, error) {
	if envelope, ok := v.(map[string]any); ok {
		if data, ok := envelope["data"].(rawJSON); ok {
			dst := make([]byte, 0, len(data)+64)
			for _, k := range sortedKeys(envelope) {
				part := []byte(data)
				if k != "data" {
					var err error
					if part, err = marshal(envelope[k]); err != nil {
						return nil, err
					}
				}
				dst = append(append(appendString(append(dst, ','), k), ':'), part...)
			}
			dst[0] = '{'
			return append(dst, '}'), nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
