// Package pverest carries calls to Proxmox VE and brings its answers back.
//
// It exists so that everything Proxmox's HTTP server does in its own way is
// known in one place and nowhere else: the reason phrase that holds the error,
// the statuses 595 to 597, the five seconds after which an idle connection is
// closed, the hundred requests per connection, the refusal of chunked bodies,
// the self-signed certificate of every fresh node. Above it there are calls,
// data and errors that are values.
//
// There are two layers, and the safety gate goes between them:
//
//	Client     encodes a Call, decodes the answer's envelope, makes the Error
//	(gate)     any http.RoundTripper that decides whether a request may go
//	Transport  TLS and pinning, the token, keep-alive, hosts, retries, bounds
//
// The Transport adds the token itself, so no layer above ever sees the secret,
// and it alone chooses the host, so no layer above can send the token elsewhere.
//
// Two promises hold for writes (POST, PUT, DELETE). A write is put on the wire
// at most once: it is never retried, and it moves to another host only if not
// one byte of it was written. And a write whose answer was lost is never
// reported as failed but as KindUnknownOutcome. Reads (GET) are retried, a
// bounded number of times and inside the caller's deadline.
//
// The package also has what all generated clients share: EncodeParams, which
// turns a params struct into wire parameters, EscapeSegment and EscapeTail for
// path values, and the lenient scalars Int, Float, Bool and Str for results,
// because Proxmox sends numbers as strings and truth as 1, "1", true or "".
package pverest
