package gate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sort"
	"strings"

	"pvemcp/apidoc"
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
}

// String gives "VERB /path".
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
	in := &Intent{Verb: v, Path: "/" + strings.Join(segments, "/"), Params: map[string][]string{}}
	for name, values := range params {
		in.Params[name] = values
	}
	match, ok := findMethod(v, path)
	if !ok {
		in.Class = apidoc.Destroy
		in.Policy.Class = apidoc.Destroy
		return in, nil
	}
	in.Template = match.Path
	for _, pv := range match.Values {
		// The path's value and a parameter of the same name must be equal for
		// Proxmox; the gate looks at both.
		in.Params[pv.Name] = append([]string{pv.Value}, in.Params[pv.Name]...)
	}
	policy, judged := policies(v, match.Path)
	switch {
	case judged:
		in.Policy = *policy
	case v.Reads():
		in.Policy.Class = apidoc.Read
	default:
		in.Policy.Class = apidoc.Destroy
	}
	in.Class = in.Policy.ClassOf(in.Params)
	return in, nil
}

// findMethod looks in all snapshots, the newest first, so that a method of an
// older cluster is known for what it is.
func findMethod(verb apidoc.Verb, path string) (apidoc.Match, bool) {
	versions := apidoc.Snapshots()
	for i := len(versions) - 1; i >= 0; i-- {
		s, err := apidoc.Snapshot(versions[i])
		if err != nil {
			continue
		}
		if m, err := s.Lookup(verb, path); err == nil {
			return m, true
		}
	}
	return apidoc.Match{}, false
}

// requestIntent reads the intent from a request as it would go over the wire.
func requestIntent(policies Policies, req *http.Request) (*Intent, error) {
	path, ok := strings.CutPrefix(req.URL.EscapedPath(), apiPrefix)
	if !ok {
		return nil, fmt.Errorf("path %.80q is not below %s", req.URL.EscapedPath(), apiPrefix)
	}
	if path == "" {
		path = "/"
	}
	params, err := url.ParseQuery(req.URL.RawQuery)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	if req.Body != nil && req.Body != http.NoBody {
		form, err := readForm(req)
		if err != nil {
			return nil, err
		}
		for name, values := range form {
			params[name] = append(params[name], values...)
		}
	}
	return NewIntent(policies, req.Method, path, params)
}

// readForm reads a copy of the body; what can't be read can't be judged.
func readForm(req *http.Request) (url.Values, error) {
	if ct := req.Header.Get("Content-Type"); ct != "application/x-www-form-urlencoded" {
		return nil, fmt.Errorf("a body of type %.60q can't be judged", ct)
	}
	if req.GetBody == nil {
		return nil, fmt.Errorf("a body that can't be read twice can't be judged")
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, maxForm+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxForm {
		return nil, fmt.Errorf("a body of more than %d bytes, which Proxmox does not take", maxForm)
	}
	return url.ParseQuery(string(text))
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
