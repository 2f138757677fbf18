package pvesim

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Limits of pveproxy, as observed.
const (
	maxHeaderBytes = 8 << 10 // request line and headers together
	maxHeaderLines = 64      // one less is served
	maxBody        = 512 << 10
	maxPerConn     = 100 // requests on one connection
	maxConns       = 500 // open connections

	// A cluster that only checks judges calls that a real one would not even
	// take from the wire, such as a GET with a very long value.
	maxHeaderBytesOfCheck = 4 << 20
	maxBodyOfCheck        = 16 << 20
)

// field is one header line. Values keep their trailing blanks: Proxmox does
// not cut them, and a token with a blank behind it fails there.
type field struct{ name, value string }

// rawRequest is a request as it came over the wire, its body not yet read.
type rawRequest struct {
	method string
	target string // as sent
	path   string // raw, without query
	query  string // raw
	proto  string // "HTTP/1.1" or "HTTP/1.0"
	fields []field
	length int64 // of the body; 0 without one
	body   []byte
}

// header gives the first value of a header, "" when absent.
func (r *rawRequest) header(name string) string {
	for _, f := range r.fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return ""
}

// keepAlive tells whether the client wants to go on with the connection.
func (r *rawRequest) keepAlive() bool {
	conn := strings.ToLower(r.header("Connection"))
	if r.proto == "HTTP/1.0" {
		return strings.Contains(conn, "keep-alive")
	}
	return !strings.Contains(conn, "close")
}

// badRequest is a request that is answered before anybody looks at its path:
// plain text, connection closed.
type badRequest struct {
	status int
	reason string
	empty  bool // no body at all
}

func (e *badRequest) Error() string { return e.reason }

// errSilent is a request to which Proxmox gives no answer: it lets the
// connection time out.
var errSilent = errors.New("request outside of the server's limits")

var (
	requestLine = regexp.MustCompile(`(\S+) (\S+) HTTP/(\d+)\.(\d+)`)
	headerLine  = regexp.MustCompile(`^([^:\s]+)\s*:\s*(.*)$`)
	knownVerbs  = map[string]bool{"GET": true, "POST": true, "PUT": true, "DELETE": true}
)

// readRequest reads request line and headers, left bytes at most. Errors: *badRequest for what is
// answered, errSilent for what is not, io errors (io.EOF on an idle connection
// that the client closed).
func readRequest(br *bufio.Reader, left int) (*rawRequest, error) {
	line, err := readLine(br, &left)
	for err == nil && line == "" {
		line, err = readLine(br, &left)
	}
	if err != nil {
		return nil, err
	}
	m := requestLine.FindStringSubmatch(line)
	if m == nil {
		return nil, &badRequest{status: 400, reason: "bad request"}
	}
	r := &rawRequest{method: m[1], target: m[2]}
	if m[3] != "1" || m[4] != "0" && m[4] != "1" {
		return nil, &badRequest{status: 506, reason: "http protocol version " + m[3] + "." + m[4] + " not supported"}
	}
	r.proto = "HTTP/1." + m[4]
	for lines := 0; ; lines++ {
		line, err := readLine(br, &left)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if line == "" {
			break
		}
		if lines+1 >= maxHeaderLines {
			return nil, errSilent
		}
		if (line[0] == ' ' || line[0] == '\t') && len(r.fields) > 0 {
			r.fields[len(r.fields)-1].value += "\n" + strings.TrimLeft(line, " \t")
			continue
		}
		h := headerLine.FindStringSubmatch(line)
		if h == nil {
			return r, &badRequest{status: 506, reason: "unable to parse request header"}
		}
		r.fields = append(r.fields, field{h[1], h[2]})
	}
	r.split()
	return r, r.judge()
}

// split takes the target apart; an absolute URI loses scheme and host.
func (r *rawRequest) split() {
	path := r.target
	if i := strings.Index(path, "://"); i > 0 && !strings.HasPrefix(path, "/") {
		rest := path[i+3:]
		if j := strings.IndexAny(rest, "/?#"); j >= 0 {
			path = rest[j:]
		} else {
			path = "/"
		}
	}
	path, _, _ = strings.Cut(path, "#")
	r.path, r.query, _ = strings.Cut(path, "?")
}

// judge finds what Proxmox refuses before authentication.
func (r *rawRequest) judge() error {
	if !knownVerbs[r.method] {
		return &badRequest{status: 501, reason: "method '" + r.method + "' not available", empty: true}
	}
	if te := r.header("Transfer-Encoding"); strings.EqualFold(te, "chunked") {
		return &badRequest{status: 501, reason: "chunked transfer encoding not supported"}
	} else if te != "" {
		return &badRequest{status: 501, reason: "Unknown transfer encoding '" + printable(te) + "'"}
	}
	if cl := strings.TrimSpace(r.header("Content-Length")); cl != "" {
		n, err := strconv.ParseInt(cl, 10, 64)
		if err != nil || n < 0 {
			return &badRequest{status: 400, reason: "bad request"}
		}
		r.length = n
	}
	return nil
}

// readLine reads up to a newline, without line end, taking its length from
// left. Too long a line is errSilent.
func readLine(br *bufio.Reader, left *int) (string, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if *left -= len(part); *left < 0 {
			return "", errSilent
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(line) > 0:
			return "", io.ErrUnexpectedEOF
		default:
			return "", err
		}
	}
}

// printable makes foreign text fit for a reason phrase.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
