package pvesim

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// RequestRecord is one request that the cluster got, for tests and for
// /__sim/requests. Secrets in headers are not kept.
type RequestRecord struct {
	N        uint64              `json:"n"` // counts from 1
	Time     time.Time           `json:"time"`
	Verb     string              `json:"verb"`
	Target   string              `json:"target"`             // as sent, with query
	Path     string              `json:"path,omitempty"`     // decoded, without /api2/FORMAT
	Template string              `json:"template,omitempty"` // of the method, "" when there is none
	Params   map[string][]string `json:"params,omitempty"`   // from query and body, as texts
	Type     string              `json:"content_type,omitempty"`
	Body     string              `json:"body,omitempty"` // as sent, at most 64 KiB
	User     string              `json:"user,omitempty"` // u@pve or u@pve!token
	Agent    string              `json:"user_agent,omitempty"`
	Status   int                 `json:"status"` // 0: no answer was sent
	Reason   string              `json:"reason,omitempty"`
}

const (
	maxRecords    = 20000
	maxRecordBody = 64 << 10
)

// requestLog keeps the newest requests.
type requestLog struct {
	mu   sync.Mutex
	n    uint64
	list []RequestRecord
}

func (l *requestLog) add(r RequestRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n++
	r.N = l.n
	if len(l.list) >= maxRecords {
		l.list = append(l.list[:0], l.list[maxRecords/2:]...)
	}
	l.list = append(l.list, r)
}

// note records a request and what it got.
func (s *Server) note(x *exchange, p *response) {
	if x.raw == nil {
		return
	}
	r := RequestRecord{
		Time: s.now(), Verb: x.raw.method, Target: x.raw.target,
		Path: x.path, Template: x.template, Params: flatten(x.params),
		Type: x.raw.header("Content-Type"), User: x.who.name(), Agent: x.raw.header("User-Agent"),
	}
	body := x.raw.body
	if len(body) > maxRecordBody {
		body = body[:maxRecordBody]
	}
	r.Body = strings.ToValidUTF8(string(body), string(utf8.RuneError))
	if p != nil {
		r.Status, r.Reason = p.status, p.reason
	}
	s.log.add(r)
}

// Requests lists the requests so far, oldest first; of very many only the
// newest. Those to /__sim are not among them.
func (s *Server) Requests() []RequestRecord {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return append([]RequestRecord(nil), s.log.list...)
}

// ResetRequests forgets the requests so far; counting goes on.
func (s *Server) ResetRequests() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.list = nil
}

// control answers /__sim/…, which no Proxmox has: what a test that is another
// process wants to set and to see. It needs no login, for nobody but this
// machine reaches the server; but it wants to be asked from this machine under
// a name of this machine, so that no web page can ask.
func (s *Server) control(x *exchange, path string) *response {
	r := x.raw
	if !ownHost(r.header("Host")) || r.header("Origin") != "" {
		return sayJSON(403, map[string]any{"error": "only for programs on this machine, asked as 127.0.0.1 or localhost"})
	}
	if r.length > maxBody {
		return sayJSON(413, map[string]any{"error": "body too large"})
	}
	if err := x.readBody(); err != nil {
		return nil
	}
	what := r.method + " " + strings.TrimPrefix(path, "/__sim")
	switch {
	case what == "GET /faults":
		return sayJSON(200, s.Faults())
	case what == "POST /faults":
		return s.postFaults(r.body)
	case what == "DELETE /faults":
		s.ClearFaults()
		return sayJSON(200, []Fault{})
	case strings.HasPrefix(what, "DELETE /faults/"):
		id, err := strconv.Atoi(strings.TrimPrefix(what, "DELETE /faults/"))
		if err != nil || !s.RemoveFault(id) {
			return sayJSON(404, map[string]any{"error": "no such fault"})
		}
		return sayJSON(200, s.Faults())
	case what == "GET /requests":
		list := s.Requests()
		if list == nil {
			list = []RequestRecord{}
		}
		return sayJSON(200, list)
	case what == "DELETE /requests":
		s.ResetRequests()
		return sayJSON(200, []RequestRecord{})
	case what == "GET /state":
		return s.state()
	case what == "GET /changes":
		return s.changes()
	case strings.HasPrefix(what, "POST /step/"):
		if !s.StepTask(strings.TrimPrefix(what, "POST /step/")) {
			return sayJSON(404, map[string]any{"error": "no such task is running"})
		}
		return sayJSON(200, map[string]any{})
	}
	return sayJSON(404, map[string]any{"error": what + " is none of GET, POST, DELETE /faults, DELETE /faults/ID, GET, DELETE /requests, GET /state, GET /changes, POST /step/UPID"})
}

// postFaults takes one fault or a list of them; either all are set or none.
func (s *Server) postFaults(body []byte) *response {
	var list []Fault
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	var err error
	if strings.HasPrefix(strings.TrimSpace(string(body)), "[") {
		err = dec.Decode(&list)
	} else {
		list = make([]Fault, 1)
		err = dec.Decode(&list[0])
	}
	for _, f := range list {
		if err == nil {
			err = f.check()
		}
	}
	if err != nil {
		return sayJSON(400, map[string]any{"error": err.Error()})
	}
	ids := []int{}
	for _, f := range list {
		id, err := s.AddFault(f)
		if err != nil {
			for _, done := range ids {
				s.RemoveFault(done)
			}
			return sayJSON(400, map[string]any{"error": err.Error()})
		}
		ids = append(ids, id)
	}
	return sayJSON(200, map[string]any{"ids": ids})
}

// state gives the world as it is now.
func (s *Server) state() *response {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	return sayJSON(200, s.world.stateJSON())
}

func sayJSON(status int, v any) *response {
	body, err := marshal(v)
	if err != nil {
		return plain(500, fmt.Sprintf("pvesim: %v", err))
	}
	return &response{status: status, ctype: typeJSON, body: append(body, '\n')}
}

// ownHost tells whether a Host header names this machine, with any port.
func ownHost(host string) bool {
	host = strings.TrimSpace(host)
	name, port, found := strings.Cut(host, ":")
	if strings.HasPrefix(host, "[") {
		end := strings.IndexByte(host, ']')
		if end < 0 {
			return false
		}
		name, port = host[1:end], strings.TrimPrefix(host[end+1:], ":")
		found = port != ""
	}
	if found {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
