package pvesim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"pvemcp/apidoc"
)

// FaultKind says what goes wrong.
type FaultKind string

// The faults that a test can set. Those that end a call with a status are
// answered before anybody looks at the call; FaultLose, FaultCut and FaultSlow let it happen.
const (
	// FaultOffline: the node can't be reached, 595 with an empty body.
	FaultOffline FaultKind = "offline"
	// FaultSlow: the answer comes after Delay.
	FaultSlow FaultKind = "slow"
	// FaultHang: no answer for Delay (Options.Hang when zero), then 596, as when a storage
	// hangs behind a node.
	FaultHang FaultKind = "hang"
	// FaultDrop: the connection is closed, the call was not made.
	FaultDrop FaultKind = "drop"
	// FaultLose: the call is made, then the connection is closed without an answer.
	FaultLose FaultKind = "lose"
	// FaultCut: the call is made, half of the body is sent, then the connection is
	// closed.
	FaultCut FaultKind = "cut"
	// FaultStatus: answered with Status, Reason and Body.
	FaultStatus FaultKind = "status"
	// FaultHTML: 200 with a page of HTML, as from a proxy that wants a login.
	FaultHTML FaultKind = "html"
	// FaultRedirect: 301 to Body, or to the same path on port 1 when that is empty.
	FaultRedirect FaultKind = "redirect"
	// FaultNested: 200 with JSON nested Size deep (10 MB of it by default).
	FaultNested FaultKind = "nested"
	// FaultHuge: 200 with a JSON text of Size bytes (64 MB by default).
	FaultHuge FaultKind = "huge"
	// FaultWrongCert: TLS handshakes show another certificate. Path, Method and
	// Times are not looked at.
	FaultWrongCert FaultKind = "wrong-cert"
)

// The faults below are not of calls but of what they set going: they look at
// Task and Guest, not at Method and Path.
const (
	// FaultTaskFail: a task fails with Reason after After of its steps; what it
	// says around that and what it cleans up is as for any failure.
	FaultTaskFail FaultKind = "task-fail"
	// FaultTaskSlow: each step of a task takes Delay.
	FaultTaskSlow FaultKind = "task-slow"
	// FaultTaskHold: a task stands still at its next step until the fault is
	// removed or [Server.StepTask] lets it go on. Times and Skip are not looked at.
	FaultTaskHold FaultKind = "task-hold"
	// FaultDeaf: a guest takes no notice of being asked to shut down.
	FaultDeaf FaultKind = "deaf"
)

var faultKinds = []FaultKind{
	FaultOffline, FaultSlow, FaultHang, FaultDrop, FaultLose, FaultCut,
	FaultStatus, FaultHTML, FaultRedirect, FaultNested, FaultHuge, FaultWrongCert,
	FaultTaskFail, FaultTaskSlow, FaultTaskHold, FaultDeaf,
}

// Fault is one thing that goes wrong, and for which calls.
type Fault struct {
	ID   int       `json:"id"` // given by the server
	Kind FaultKind `json:"kind"`
	// Method is the verb, "" any.
	Method string `json:"method,omitempty"`
	// Path is a glob over the API path without format, "" any: "*" is within
	// a segment, "**" is any rest: /nodes/pve2/**
	Path string `json:"path,omitempty"`
	// Times is how many calls it takes, 0 all.
	Times int `json:"times,omitempty"`
	// Skip is how many matching calls pass before it begins.
	Skip int `json:"skip,omitempty"`

	// Task is the type of task that is meant, such as qmclone, "" any; Guest is
	// the guest whose task it is, or the guest that is deaf, 0 any.
	Task  string      `json:"task,omitempty"`
	Guest apidoc.VMID `json:"guest,omitempty"`
	After int         `json:"after,omitempty"` // of FaultTaskFail: steps that pass before

	Delay  Delay  `json:"delay,omitempty"` // of FaultSlow, FaultHang and FaultTaskSlow
	Status int    `json:"status,omitempty"`
	Reason string `json:"reason,omitempty"`
	Body   string `json:"body,omitempty"`
	Size   int    `json:"size,omitempty"`
}

// Delay is a duration that reads and writes itself as "1.5s" in JSON.
type Delay time.Duration

// MarshalText gives the form of time.Duration.
func (d Delay) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText takes the form of time.ParseDuration.
func (d *Delay) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err == nil && (v < 0 || v > maxDelay) {
		err = fmt.Errorf("%s is not between 0s and %s", v, maxDelay)
	}
	*d = Delay(v)
	return err
}

const (
	maxDelay  = 10 * time.Minute
	maxFaults = 1000
	maxSize   = 256 << 20
)

func (f Fault) check() error {
	if !slices.Contains(faultKinds, f.Kind) {
		return fmt.Errorf("fault kind %q is none of %v", f.Kind, faultKinds)
	}
	if f.Kind == FaultStatus && (f.Status < 200 || f.Status > 999) {
		return fmt.Errorf("fault status %d is not between 200 and 999", f.Status)
	}
	if f.Size < 0 || f.Size > maxSize {
		return fmt.Errorf("fault size %d is not between 0 and %d", f.Size, maxSize)
	}
	if f.Times < 0 || f.Skip < 0 || f.After < 0 {
		return fmt.Errorf("fault times, skip and after may not be negative")
	}
	if f.ofTasks() && (f.Method != "" || f.Path != "") {
		return fmt.Errorf("fault %s looks at task and guest, not at method and path", f.Kind)
	}
	if !f.ofTasks() && (f.Task != "" || f.Guest != 0 || f.After != 0) {
		return fmt.Errorf("fault %s looks at method and path, not at task, guest and after", f.Kind)
	}
	return nil
}

func (f Fault) matches(method, path string) bool {
	return (f.Method == "" || f.Method == method) && (f.Path == "" || glob(f.Path, path))
}

// glob matches segments: "*" stands for any text within one, "**" at the end
// for any rest, none included.
func glob(pattern, path string) bool {
	ps, ss := strings.Split(strings.Trim(pattern, "/"), "/"), strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range ps {
		if p == "**" {
			return true
		}
		if i >= len(ss) || !wild(p, ss[i]) {
			return false
		}
	}
	return len(ps) == len(ss)
}

func wild(p, s string) bool {
	parts := strings.Split(p, "*")
	if len(parts) == 1 {
		return p == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, m := range parts[1 : len(parts)-1] {
		i := strings.Index(s, m)
		if i < 0 {
			return false
		}
		s = s[i+len(m):]
	}
	return strings.HasSuffix(s, last)
}

// faultBook holds the faults of a server.
type faultBook struct {
	mu   sync.Mutex
	next int
	list []*Fault

	changed chan struct{} // closed at the next change; nil while nobody waits
}

func (b *faultBook) add(f Fault) (int, error) {
	if err := f.check(); err != nil {
		return 0, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) >= maxFaults {
		return 0, fmt.Errorf("no more than %d faults at a time", maxFaults)
	}
	b.next++
	f.ID = b.next
	b.list = append(b.list, &f)
	b.tell()
	return f.ID, nil
}

func (b *faultBook) remove(id int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.list)
	b.list = slices.DeleteFunc(b.list, func(f *Fault) bool { return f.ID == id })
	b.tell()
	return len(b.list) < n
}

func (b *faultBook) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = nil
	b.tell()
}

func (b *faultBook) all() []Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]Fault, len(b.list))
	for i, f := range b.list {
		out[i] = *f
	}
	return out
}

// take gives the faults that hit this call, each of them used once more.
func (b *faultBook) take(method, path string) []Fault {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []Fault
	b.list = slices.DeleteFunc(b.list, func(f *Fault) bool {
		if f.Kind == FaultWrongCert || f.ofTasks() || !f.matches(method, path) {
			return false
		}
		if f.Skip > 0 {
			f.Skip--
			return false
		}
		out = append(out, *f)
		if f.Times > 0 {
			f.Times--
			return f.Times == 0
		}
		return false
	})
	return out
}

func (b *faultBook) wrongCert() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.list, func(f *Fault) bool { return f.Kind == FaultWrongCert })
}

// answer is what a fault says instead of the API; nil when it lets the call
// happen. hang is how long a call waits where the fault does not say.
func (f Fault) answer(path string, hang time.Duration) *response {
	reason := func(def string) string {
		if f.Reason != "" {
			return f.Reason
		}
		return def
	}
	switch f.Kind {
	case FaultOffline:
		return bare(595, reason("Connection refused"))
	case FaultHang:
		p := bare(596, reason("Connection timed out"))
		p.wait = time.Duration(f.Delay)
		if p.wait == 0 {
			p.wait = hang
		}
		return p
	case FaultStatus:
		p := &response{status: f.Status, reason: f.Reason, body: []byte(f.Body), bare: f.Body == ""}
		if strings.HasPrefix(f.Body, "{") {
			p.ctype = typeJSON
		}
		return p
	case FaultHTML:
		body := f.Body
		if body == "" {
			body = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><form>Please sign in.</form></body></html>\n"
		}
		return &response{status: 200, reason: "OK", ctype: typeHTML, body: []byte(body)}
	case FaultRedirect:
		to := f.Body
		if to == "" {
			to = "https://127.0.0.1:1" + path
		}
		p := plain(301, reason("Moved Permanently"))
		p.extra = []field{{"Location", to}}
		return p
	case FaultNested:
		n := f.Size
		if n == 0 {
			n = 5 << 20
		}
		body := `{"data":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}"
		return &response{status: 200, reason: "OK", ctype: typeJSON, body: []byte(body)}
	case FaultHuge:
		n := f.Size
		if n == 0 {
			n = 64 << 20
		}
		body := append([]byte(`{"data":"`), bytes.Repeat([]byte("x"), n)...)
		return &response{status: 200, reason: "OK", ctype: typeJSON, body: append(body, `"}`...)}
	}
	return nil
}
