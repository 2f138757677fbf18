package gate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

// apiPrefix is where Proxmox's API begins in a request's path.
const apiPrefix = "/api2/json"

// maxForm bounds a request body that is read for judging; Proxmox itself takes
// no more than 512 KiB.
const maxForm = 512 << 10

// Intent is one call that is about to be made, as the gate sees it.
type Intent struct {
	Verb apidoc.Verb
	Path string // decoded segments joined by "/", such as /nodes/pve1/qemu/100/config
	// Template is the method's path in the schema; empty when no version that
	// we know has it.
	Template string
	// Params are the parameters in wire form, the path's values among them.
	Params map[string][]string
	// Policy is what the overlay says of the method.
	Policy apidoc.Policy
	// Class is the policy's class, raised by the parameters.
	Class apidoc.Class

	values  []apidoc.PathValue // of the path
	judged  bool               // the overlay knows the method, or it is a plain read
	command bool               // not a call of the API: see NewCommand
	guest   apidoc.VMID        // of a command: where it runs; 0 is the host
}

// String gives "VERB /path", as it is; see Refusal.Op for one with secrets
// masked.
func (i *Intent) String() string { return string(i.Verb) + " " + i.Path }

// Policies finds what the overlay says of a method, by verb and template.
type Policies func(verb apidoc.Verb, template string) (*apidoc.Policy, bool)

// NewIntent judges a call. A write that no known version of Proxmox's API has
// counts as destroy, because a newer cluster may do anything with it; so does a
// read, for the same reason. The error says what is wrong with verb or path.
func NewIntent(policies Policies, verb, path string, params map[string][]string) (*Intent, error) {
	v, err := apidoc.ParseVerb(verb)
	if err != nil {
		return nil, err
	}
	segments, err := apidoc.SplitPath(path)
	if err != nil {
		return nil, err
	}
	for _, segment := range segments {
		// Proxmox gives them no meaning, but what stands in between might.
		if segment == "." || segment == ".." {
			return nil, fmt.Errorf("path %.80q: the segment %q has no meaning in the API", path, segment)
		}
	}
	in := &Intent{Verb: v, Path: "/" + strings.Join(segments, "/"), Params: map[string][]string{}}
	for name, values := range params {
		in.Params[name] = values
	}
	template, values, ok := findMethod(v, path)
	if !ok {
		in.Class = apidoc.Destroy
		in.Policy.Class = apidoc.Destroy
		return in, nil
	}
	in.Template, in.values = template, values
	for _, pv := range values {
		// The path's value and a parameter of the same name must be equal for
		// Proxmox; the gate looks at both.
		in.Params[pv.Name] = append([]string{pv.Value}, in.Params[pv.Name]...)
	}
	policy, judged := policies(v, template)
	switch {
	case judged:
		in.Policy, in.judged = *policy, true
	case v.Reads():
		in.Policy.Class, in.judged = apidoc.Read, true
	default:
		in.Policy.Class = apidoc.Destroy
	}
	in.Class = in.Policy.ClassOf(in.Params)
	return in, nil
}

// Command is something that is done over SSH, for which the API has no method.
type Command struct {
	Node  apidoc.Node
	Guest apidoc.VMID // it runs inside this guest; 0: on the host
	// Name says what is done, such as "run" or "zfs-send"; it binds the grant.
	Name string
	// Params are what it is given, as far as its policy asks for them: the
	// command line under "command", guests, volumes.
	Params map[string][]string
	// Policy is what the tool declares: class, raising rules, what its
	// parameters name, which are secret.
	Policy apidoc.Policy
}

// SSH is the verb of commands.
const SSH apidoc.Verb = "SSH"

// NewCommand judges a command as [NewIntent] judges a call. The error says that
// it names no node or has no class that a command can have.
func NewCommand(c Command) (*Intent, error) {
	if _, err := apidoc.ParseNode(string(c.Node)); err != nil {
		return nil, err
	}
	if c.Policy.Class.Rank() < 0 {
		return nil, fmt.Errorf("command %.40q has no class", c.Name)
	}
	segments := []string{"nodes", string(c.Node)}
	params := map[string][]string{}
	for name, values := range c.Params {
		params[name] = values
	}
	params["node"] = append([]string{string(c.Node)}, params["node"]...)
	in := &Intent{Verb: SSH, Params: params, Policy: c.Policy, judged: true, command: true, guest: c.Guest}
	if c.Guest != 0 {
		segments = append(segments, c.Guest.String())
		params["vmid"] = append([]string{c.Guest.String()}, params["vmid"]...)
		in.values = append(in.values, apidoc.PathValue{Name: "vmid", Value: c.Guest.String()})
	}
	in.values = append(in.values, apidoc.PathValue{Name: "node", Value: string(c.Node)})
	in.Path = "/" + strings.Join(append(segments, c.Name), "/")
	in.Template = in.Path
	in.Class = c.Policy.ClassOf(params)
	return in, nil
}

// routes are the methods of the version that the generated code is of. They
// are made on first use: a whole snapshot would cost far more to read.
var routes = sync.OnceValue(func() *apidoc.Routes {
	return apidoc.NewRoutes(func(yield func(apidoc.Verb, string) bool) {
		for i := range generated.Effects() {
			e := &generated.Effects()[i]
			if !yield(e.Verb, e.Path) {
				return
			}
		}
	})
})

// findMethod looks at the newest version first, then at the older snapshots, so
// that a method of an older cluster is known for what it is.
func findMethod(verb apidoc.Verb, path string) (template string, values []apidoc.PathValue, ok bool) {
	if template, values, err := routes().Lookup(verb, path); err == nil {
		return template, values, true
	}
	versions := apidoc.Snapshots()
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i] == apidoc.Newest {
			continue
		}
		s, err := apidoc.Snapshot(versions[i])
		if err != nil {
			continue
		}
		if m, err := s.Lookup(verb, path); err == nil {
			return m.Path, m.Values, true
		}
	}
	return "", nil, false
}

// requestIntent reads the intent from a request as it would go over the wire,
// and gives the body that it read, nil for none.
func requestIntent(policies Policies, req *http.Request) (*Intent, []byte, error) {
	path, ok := strings.CutPrefix(req.URL.EscapedPath(), apiPrefix)
	if !ok {
		return nil, nil, fmt.Errorf("path %.80q is not below %s", req.URL.EscapedPath(), apiPrefix)
	}
	if path == "" {
		path = "/"
	}
	params, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, nil, fmt.Errorf("query: %w", err)
	}
	var body []byte
	if req.Body != nil && req.Body != http.NoBody {
		if body, err = readBody(req); err != nil {
			return nil, nil, err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, nil, fmt.Errorf("form: %w", err)
		}
		for name, values := range form {
			params[name] = append(params[name], values...)
		}
	}
	in, err := NewIntent(policies, req.Method, path, params)
	return in, body, err
}

// readBody reads the body; what can't be read can't be judged.
func readBody(req *http.Request) ([]byte, error) {
	if ct := req.Header.Get("Content-Type"); ct != "application/x-www-form-urlencoded" {
		return nil, fmt.Errorf("a body of type %.60q can't be judged", ct)
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, maxForm+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxForm {
		return nil, fmt.Errorf("a body of more than %d bytes, which Proxmox does not take", maxForm)
	}
	return body, nil
}

// judgedRequest is the request with the body that was judged and no other,
// which can be read again for another host.
func judgedRequest(req *http.Request, body []byte) *http.Request {
	if body == nil {
		return req
	}
	out := req.WithContext(req.Context())
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.ContentLength = int64(len(body))
	return out
}

// fingerprint binds a grant to exactly one call.
func (i *Intent) fingerprint() [sha256.Size]byte {
	h := sha256.New()
	write := func(s string) { _, _ = fmt.Fprintf(h, "%d:%s", len(s), s) }
	write(string(i.Verb))
	write(i.Path)
	names := make([]string, 0, len(i.Params))
	for name := range i.Params {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		write(name)
		_, _ = fmt.Fprintf(h, "[%d]", len(i.Params[name]))
		for _, v := range i.Params[name] {
			write(v)
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

type grantKey struct{}

// grantOf finds the grant in a context.
func grantOf(ctx context.Context) *grant {
	g, _ := ctx.Value(grantKey{}).(*grant)
	return g
}
