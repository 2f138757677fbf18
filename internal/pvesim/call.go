package pvesim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// call is one API request after routing, authentication, permission check,
// hand-over to the node and parameter check. Handlers get nothing else.
//
// The server holds world.mu while a handler runs: shared for GET, exclusive
// for the other verbs. Handlers neither lock nor wait nor start goroutines that
// keep the call.
type call struct {
	srv    *Server
	world  *World
	ep     *apidoc.Endpoint
	method *apidoc.Method
	path   map[string]string   // values of the path's parameters, decoded
	params map[string][]string // all parameters as wire text, the path's among them; a list has several values
	who    identity
	now    time.Time
	rng    *rand.Rand // for order and jitter; a function of seed and request number

	// forwarded: another process than the one that listens answers, the daemon
	// that runs as root or one on another node.
	forwarded bool

	// What a handler may say beside its data: members of the envelope, such as
	// total (node tasks, log tails) and changes (network).
	meta map[string]any
}

// handler answers one method. data is marshalled with encoding/json as the
// member "data". An error of type *apiError is answered as it says; any other
// becomes a 500 with its text.
type handler func(c *call) (data any, err error)

// handlers holds what this simulator can answer, by "VERB /template", such as
// "GET /nodes/{node}/qemu". Files add theirs with register in func init.
var handlers = map[string]handler{}

// register adds a handler. A key that is registered twice is a mistake of this
// package and stops the program at start.
func register(key string, h handler) {
	if _, dup := handlers[key]; dup {
		panic("pvesim: two handlers for " + key)
	}
	handlers[key] = h
}

// apiError is an error with the status, reason and body that Proxmox would
// send for it.
type apiError struct {
	Status  int
	Message string            // whole text; its first line becomes the reason phrase
	Errors  map[string]string // parameter → text, for 400
	// Bare: no JSON body at all, as errors before the API layer and from the
	// hand-over to another node have it.
	Bare bool
	// Text: the body is the message as plain text.
	Text bool
	// Wait is how long the answer takes; nothing is locked meanwhile.
	Wait time.Duration
}

func (e *apiError) Error() string { return strings.TrimRight(e.Message, "\n") }

// fail is a die of a Perl handler: status 500 with that text.
func fail(format string, args ...any) error {
	return &apiError{Status: 500, Message: fmt.Sprintf(format, args...) + "\n"}
}

// refuse is a parameter exception: status 400 naming one parameter.
func refuse(param, text string) error {
	return &apiError{Status: 400, Message: paramsWrong, Errors: map[string]string{param: text}}
}

// deny is a failed permission check: status 403.
func deny(format string, args ...any) error {
	return &apiError{Status: 403, Message: "Permission check failed (" + fmt.Sprintf(format, args...) + ")\n"}
}

const paramsWrong = "Parameter verification failed.\n"

// has tells whether the parameter was given.
func (c *call) has(name string) bool { return len(c.params[name]) > 0 }

// param gives the parameter's text (the first of several), or "".
func (c *call) param(name string) string {
	if v := c.params[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// list gives the items of a list parameter, whether it came as repeated keys
// or as one text with separators.
func (c *call) list(name string) []string {
	var out []string
	for _, v := range c.params[name] {
		out = append(out, apidoc.ListItems(v)...)
	}
	return out
}

// flag gives a boolean parameter, or def when it was not given. The check has
// already refused what is no boolean.
func (c *call) flag(name string, def bool) bool {
	if !c.has(name) {
		return def
	}
	switch strings.ToLower(c.param(name)) {
	case "1", "on", "yes", "true":
		return true
	}
	return false
}

// number gives an integer parameter, or def when it was not given.
func (c *call) number(name string, def int64) int64 {
	n, err := strconv.ParseInt(c.param(name), 10, 64)
	if err != nil {
		return def
	}
	return n
}

// node gives the node that the path names, after "localhost" was resolved.
func (c *call) node() string { return c.path["node"] }

// vmid gives the guest that the path names, or 0.
func (c *call) vmid() int {
	n, err := strconv.Atoi(c.path["vmid"])
	if err != nil {
		return 0
	}
	return n
}

// priv tells whether the caller holds all of privs on an ACL path such as
// "/vms/100". It never refuses; lists filter by it.
func (c *call) priv(path string, privs ...string) bool {
	for _, p := range privs {
		if !c.who.holds(c.world, path, p) {
			return false
		}
	}
	return true
}

// anyPriv tells whether the caller holds one of privs on an ACL path.
func (c *call) anyPriv(path string, privs ...string) bool {
	for _, p := range privs {
		if c.who.holds(c.world, path, p) {
			return true
		}
	}
	return false
}

// need is priv as an error: the 403 that Proxmox answers.
func (c *call) need(path string, privs ...string) error {
	if c.priv(path, privs...) {
		return nil
	}
	return deny("%s, %s", path, strings.Join(privs, ", "))
}

// root tells whether the caller is root@pam by ticket, to whom nothing is
// closed; a token of root@pam is not.
func (c *call) root() bool { return c.who.root }

// say adds a member to the envelope beside "data", such as total.
func (c *call) say(key string, value any) {
	if c.meta == nil {
		c.meta = map[string]any{}
	}
	c.meta[key] = value
}

// hang is the answer of a call that waits for something that does not come
// back, such as a dead NFS server: in the end the proxy gives up.
func (c *call) hang() error {
	return &apiError{Status: 596, Message: "Connection timed out", Bare: true, Wait: c.srv.opts.Hang}
}
