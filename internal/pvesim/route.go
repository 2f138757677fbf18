package pvesim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"pvemcp/apidoc"
)

var (
	apiPath    = regexp.MustCompile(`(?s)^/api2/([A-Za-z0-9]+)(/.*)?$`)
	uploadPath = regexp.MustCompile(`^/nodes/([^/]+)/storage/([^/]+)/upload$`)
)

// authWait is what Proxmox waits before it says 401.
const authWait = 3 * time.Second

// handle answers a request. nil means that the connection is to be closed
// without an answer.
func (s *Server) handle(x *exchange) *response {
	r := x.raw
	path := unescape(r.path)
	if strings.HasPrefix(path, "/__sim/") {
		return s.control(x, path)
	}
	m := apiPath.FindStringSubmatch(path)
	if m == nil {
		return s.static(r, path)
	}
	x.format, x.path = m[1], m[2]
	if x.path == "" {
		x.path = "/"
	}
	if !formats[x.format] {
		return plain(501, "no formatter for uri "+printable(x.path)+", "+x.format)
	}
	faults := s.faults.take(r.method, x.path)
	for _, f := range faults {
		if f.Kind == FaultSlow && !s.pause(time.Duration(f.Delay)) {
			return nil
		}
		if f.Kind == FaultDrop {
			s.note(x, nil)
			return nil
		}
		if p := f.answer(x.path, s.opts.Hang); p != nil {
			s.note(x, p)
			return p
		}
	}
	p := s.api(x)
	for _, f := range faults {
		switch f.Kind {
		case FaultLose:
			s.note(x, p)
			return nil
		case FaultCut:
			x.cut = true
		}
	}
	s.note(x, p)
	if p != nil && p.status == 401 && !s.opts.NoAuthDelay {
		p.wait = authWait
	}
	return p
}

// api is the way of an API call, in Proxmox's order: authentication, the
// form of the body, then what dispatch does.
func (s *Server) api(x *exchange) *response {
	r := x.raw
	upload := r.method == "POST" && uploadPath.MatchString(x.path) &&
		(!s.opts.CheckOnly || strings.HasPrefix(r.header("Content-Type"), "multipart/"))
	if p := s.enter(x, upload); p != nil {
		return p
	}
	body, p := s.content(x, upload)
	if p != nil || x.raw.length > 0 && !x.bodyRead() {
		return p
	}
	params := body
	for k, v := range decodeForm(r.query) {
		params[k] = v
	}
	delete(params, "_dc")
	x.params = params
	return s.dispatch(x)
}

// enter authenticates the caller; for an upload it looks at the storage's
// permission too, as Proxmox does before it takes the file. nil lets pass.
func (s *Server) enter(x *exchange, upload bool) *response {
	if s.opts.CheckOnly {
		x.who = identity{user: "root@pam", root: true}
		return nil
	}
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	who, err := s.authenticate(s.world, x.raw, s.isOpen(x.raw.method, x.path), upload)
	var bad *authError
	if errors.As(err, &bad) {
		return bare(bad.status, bad.reason)
	}
	x.who = who
	if upload {
		storage := uploadPath.FindStringSubmatch(x.path)[2]
		if !who.holds(s.world, "/storage/"+storage, "Datastore.AllocateTemplate") {
			p := bare(403, "Permission check failed (/storage/"+storage+", Datastore.AllocateTemplate)")
			if !s.opts.NoAuthDelay {
				p.wait = authWait
			}
			return p
		}
	}
	return nil
}

// isOpen tells whether a call needs no login: the schema says "world".
func (s *Server) isOpen(verb, path string) bool {
	m, err := s.schema.Lookup(apidoc.Verb(verb), lookupPath(path))
	if err != nil {
		return false
	}
	method, err := m.Method()
	return err == nil && method.Permission.User == "world"
}

// content reads the body into parameters. A response says why not; neither
// response nor a read body means that the connection broke.
func (s *Server) content(x *exchange, upload bool) (values, *response) {
	r := x.raw
	if upload {
		return s.upload(x)
	}
	if r.length == 0 {
		return values{}, nil
	}
	if r.method != "POST" && r.method != "PUT" {
		return nil, plain(501, "Unexpected content for method '"+r.method+"'")
	}
	if r.length > int64(s.limit(maxBody, maxBodyOfCheck)) {
		return nil, plain(501, "for data too large")
	}
	declared := r.header("Content-Type")
	kind, _, _ := strings.Cut(declared, ";")
	kind, _, _ = strings.Cut(kind, ",")
	kind = strings.TrimSpace(kind)
	switch kind {
	case "", "application/x-www-form-urlencoded", "application/json":
	default:
		return nil, plain(506, "upload 'Content-Type '"+printable(declared)+"' not implemented")
	}
	if x.readBody() != nil {
		return nil, nil
	}
	if kind != "application/json" {
		return decodeForm(string(r.body)), nil
	}
	v, err := decodeJSON(r.body)
	if err != nil {
		p := plain(500, err.Error()+"\n")
		p.reason = err.Error()
		return nil, p
	}
	return v, nil
}

// dispatch is what follows once the request is read: route, token, permission,
// hand-over, parameters, handler. The world's lock is held throughout.
func (s *Server) dispatch(x *exchange) (p *response) {
	if x.raw.method == "GET" {
		s.world.mu.RLock()
		defer s.world.mu.RUnlock()
	} else {
		s.world.mu.Lock()
		defer s.world.mu.Unlock()
		s.remember()
	}
	x.who.view = newACLView(s.world)
	defer func() {
		if v := recover(); v != nil {
			p = plain(500, fmt.Sprintf("pvesim: %v", v))
			p.body = append(p.body, debug.Stack()...)
		}
	}()
	c, err := s.prepare(x)
	var data any
	if err == nil {
		data, err = s.run(c)
	}
	if err == nil {
		if direct, ok := data.(*response); ok {
			return direct
		}
		if p, err = success(x.format, data, c.meta); err == nil {
			p.forwarded = c.forwarded
			return p
		}
	}
	var e *apiError
	if !errors.As(err, &e) {
		e = &apiError{Status: 500, Message: strings.TrimRight(err.Error(), "\n") + "\n"}
	}
	if p, err = s.failure(x.format, e); err != nil {
		return plain(500, err.Error())
	}
	p.wait = e.Wait
	p.forwarded = c != nil && c.forwarded && p.status < 400
	return p
}

// lookupPath gives a decoded path in the form that Schema.Lookup takes apart
// into exactly these segments.
func lookupPath(path string) string {
	var segments []string
	for _, seg := range strings.Split(path, "/") {
		if seg != "" {
			segments = append(segments, seg)
		}
	}
	return apidoc.JoinPath(segments)
}

// prepare does everything that comes before the handler.
func (s *Server) prepare(x *exchange) (*call, error) {
	verb, path := x.raw.method, x.path
	c := &call{
		srv: s, world: s.world, who: x.who, now: s.now(),
		rng: rand.New(rand.NewPCG(s.opts.Seed, s.count.Add(1))),
	}
	if strings.Trim(path, "/") == "" && verb == "GET" {
		c.path, c.params = map[string]string{}, map[string][]string{}
		return c, nil
	}
	match, err := s.schema.Lookup(apidoc.Verb(verb), lookupPath(path))
	if err != nil {
		return nil, &apiError{Status: 501, Message: "Method '" + verb + " " + path + "' not implemented"}
	}
	x.template = match.Path
	method, err := match.Method()
	if err != nil {
		return nil, err
	}
	c.ep, c.method = match.Endpoint, method
	c.path = make(map[string]string, len(match.Values))
	for _, v := range match.Values {
		c.path[v.Name] = v.Value
		if given, ok := x.params[v.Name]; ok && scalar(given) != v.Value {
			return nil, refuse(v.Name, "duplicate parameter (already defined in URI) with conflicting values!")
		}
	}
	c.params = flatten(x.params)
	for name, v := range c.path {
		c.params[name] = []string{v}
	}
	if !s.opts.CheckOnly {
		if c.who.token != "" && !method.AllowToken {
			return nil, deny("URI '%s' not available with API token, need proper ticket.\n", path)
		}
		if err := c.permitted(method.Permission); err != nil {
			return nil, err
		}
		if err := c.reachable(x); err != nil {
			return nil, err
		}
	}
	if node := c.path["node"]; node == "localhost" && !s.opts.CheckOnly {
		c.path["node"] = s.world.localNode()
		c.params["node"] = []string{s.world.localNode()}
	}
	c.forwarded = method.Protected || c.elsewhere()
	return c, checkParams(method, match.Values, x.params)
}

// reachable is the hand-over to the node that the path names.
func (c *call) reachable(x *exchange) error {
	if c.method.ProxyTo != "node" {
		return nil
	}
	node := c.path["node"]
	if node == "localhost" || node == c.world.localNode() {
		return nil
	}
	if strings.EqualFold(strings.TrimSpace(x.raw.header("PVEDisableProxy")), "true") {
		return &apiError{Status: 500, Message: "proxy loop detected", Text: true}
	}
	known, online := c.world.nodeState(node)
	if !known {
		return fail("hostname lookup '%s' failed - failed to get address info for: %s: Temporary failure in name resolution", node, node)
	}
	if !online {
		return &apiError{Status: 595, Message: "Connection refused", Bare: true}
	}
	return nil
}

// elsewhere tells whether another node than ours answers.
func (c *call) elsewhere() bool {
	return c.method != nil && c.method.ProxyTo == "node" && c.path["node"] != c.world.localNode()
}

// run calls the handler, after the demands that the schema does not show.
func (s *Server) run(c *call) (any, error) {
	if c.ep == nil {
		return s.tree.index("", "subdir"), nil
	}
	if s.opts.CheckOnly {
		return nil, nil
	}
	if err := c.hidden(); err != nil {
		return nil, err
	}
	if h := handlers[c.ep.String()]; h != nil {
		return h(c)
	}
	if list, ok := s.tree.answer(c); ok {
		return list, nil
	}
	return nil, &apiError{Status: 501, Message: "Method '" + string(c.ep.Verb) + " " + c.ep.Path + "' not implemented in this simulated cluster\n"}
}
