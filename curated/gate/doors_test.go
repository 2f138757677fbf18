package gate

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/generated"
)

func try(t testing.TB, g *Gate, ctx context.Context, verb apidoc.Verb, path string, params url.Values) error {
	t.Helper()
	resp, err := g.RoundTrip(request(t, ctx, verb, path, params))
	if err == nil {
		_ = resp.Body.Close()
	}
	return err
}

// Every method that changes something stays shut: in readonly, without a grant,
// with that of another call, with one that was used, with another parameter.
func TestEveryWriteIsShut(t *testing.T) {
	ctx := context.Background()
	for _, e := range writes(t) {
		name := string(e.Verb) + " " + e.Path
		path := fillPath(e.Path, nil)
		params := url.Values{"x-test": {"1"}}

		below := &spy{}
		g := open(t, Options{Mode: ReadOnly, Next: below, Shell: ShellFull})
		require.Equal(t, NotInReadonly, kindOf(t, try(t, g, ctx, e.Verb, path, params)), name)
		in, err := g.Judge(string(e.Verb), path, params)
		require.NoError(t, err, name)
		require.Equal(t, e.Path, in.Template, name)
		_, err = g.Grant(ctx, in, yes)
		require.Equal(t, NotInReadonly, kindOf(t, err), name)
		require.Zero(t, below.count(), name)

		// A mode that is none is readonly.
		g = New("Full", nil, below)
		require.Equal(t, NotInReadonly, kindOf(t, try(t, g, ctx, e.Verb, path, params)), name)

		g = open(t, Options{Next: below, Shell: ShellFull})
		require.Equal(t, NoGrant, kindOf(t, try(t, g, ctx, e.Verb, path, params)), name)
		in, err = g.Judge(string(e.Verb), path, params)
		require.NoError(t, err)

		_, err = g.Grant(ctx, in, Consent{})
		require.Equal(t, NeedsConfirm, kindOf(t, err), name)
		_, err = g.Grant(ctx, in, Consent{DataLoss: true})
		require.Equal(t, NeedsConfirm, kindOf(t, err), name)
		_, err = g.Grant(ctx, in, Consent{Confirm: true})
		if in.Class.Rank() >= apidoc.Destroy.Rank() && !in.readsShell() {
			require.Equal(t, NeedsDataLoss, kindOf(t, err), name)
		} else {
			require.NoError(t, err, name)
		}
		require.Zero(t, below.count(), name)

		granted, err := g.Grant(ctx, in, yes)
		require.NoError(t, err, name)
		other := url.Values{"x-test": {"2"}}
		require.Equal(t, NoGrant, kindOf(t, try(t, g, granted, e.Verb, path, other)), name)
		more := url.Values{"x-test": {"1"}, "force": {"1"}}
		require.Equal(t, NoGrant, kindOf(t, try(t, g, granted, e.Verb, path, more)), name)
		twice := url.Values{"x-test": {"1", "1"}}
		require.Equal(t, NoGrant, kindOf(t, try(t, g, granted, e.Verb, path, twice)), name)
		require.Equal(t, NoGrant, kindOf(t, try(t, g, granted, apidoc.DELETE, "/nodes/pve1/qemu/201", params)), name)
		twin := open(t, Options{Next: below, Shell: ShellFull})
		require.Equal(t, NoGrant, kindOf(t, try(t, twin, granted, e.Verb, path, params)), "%s: a grant of another gate", name)
		require.Zero(t, below.count(), name)

		require.NoError(t, try(t, g, granted, e.Verb, path, params), name)
		require.Equal(t, 1, below.count(), name)
		require.Equal(t, NoGrant, kindOf(t, try(t, g, granted, e.Verb, path, params)), "%s: a grant works once", name)
		require.Equal(t, 1, below.count(), name)
	}
}

func TestHarmlessReadsPass(t *testing.T) {
	for _, mode := range []Mode{ReadOnly, Full} {
		below := &spy{}
		g := open(t, Options{Mode: mode, Next: below, Protect: rules(t, "vmid:100,tag:prod,pool:core,node:pve1"), Allow: rules(t, "vmid:950")})
		n := 0
		for _, e := range generated.Effects() {
			if e.Verb != apidoc.GET || e.Policy.Class != apidoc.Read {
				continue
			}
			n++
			require.NoError(t, try(t, g, context.Background(), e.Verb, fillPath(e.Path, map[string]string{"vmid": "100"}), nil), e.Path)
		}
		require.Greater(t, n, 250)
		require.Equal(t, n, below.count())
	}
}

func TestRisingParametersRaise(t *testing.T) {
	g := open(t, Options{Shell: ShellFull})
	n := 0
	for _, e := range writes(t) {
		for _, rule := range e.Policy.Raise {
			params, set, ok := satisfy(e.Path, rule.Conds)
			if !ok {
				t.Errorf("%s %s: no parameters for %q", e.Verb, e.Path, rule)
				continue
			}
			n++
			in, err := g.Judge(string(e.Verb), fillPath(e.Path, set), params)
			require.NoError(t, err)
			require.GreaterOrEqual(t, in.Class.Rank(), rule.Class.Rank(), "%s %s %s", e.Verb, e.Path, rule)
			_, err = g.Grant(context.Background(), in, Consent{Confirm: true})
			if rule.Class.Rank() >= apidoc.Destroy.Rank() {
				require.Equal(t, NeedsDataLoss, kindOf(t, err), "%s %s %s", e.Verb, e.Path, rule)
			}
			if rule.Class == apidoc.Shell {
				closed := open(t, Options{})
				_, err = closed.Grant(context.Background(), in, yes)
				require.Equal(t, ShellClosed, kindOf(t, err), "%s %s %s", e.Verb, e.Path, rule)
			}
		}
	}
	require.Greater(t, n, 200)
}

// satisfy makes parameters that meet all conditions.
func satisfy(template string, conds []apidoc.Condition) (params url.Values, path map[string]string, ok bool) {
	params, path = url.Values{}, map[string]string{}
	for _, c := range conds {
		value, need := "", true
		switch c.Op {
		case apidoc.OpSet:
			value = "x"
		case apidoc.OpTrue:
			value = "1"
		case apidoc.OpFalse:
			value = "0"
		case apidoc.OpIs:
			value = c.Value
		case apidoc.OpMatches, apidoc.OpHas:
			value = glob(c.Value)
		default: // the tests for what is absent
			need = false
		}
		if need {
			name, val := wire(c.Param, value)
			if inPath(template, name) {
				path[name] = val
			} else if !params.Has(name) {
				params.Set(name, val)
			}
		}
	}
	all := map[string][]string{}
	for k, v := range params {
		all[k] = v
	}
	for k, v := range path {
		all[k] = []string{v}
	}
	for _, c := range conds {
		if !c.Applies(all) {
			return nil, nil, false
		}
	}
	return params, path, true
}

func glob(pattern string) string {
	out := ""
	for _, r := range pattern {
		switch r {
		case '*':
			out += "0"
		case '?':
			out += "x"
		default:
			out += string(r)
		}
	}
	if pattern[0] == '*' && pattern[1] == ':' { // a task
		return "UPID:pve1:00001234:00005678:6745A3C1" + pattern[1:len(pattern)-1] + "200:root@pam:"
	}
	return out
}

// wire gives a parameter's name and value as they go over the wire.
func wire(ref apidoc.ParamRef, value string) (name, text string) {
	name = ref.Param()
	if len(name) > 3 && name[len(name)-3:] == "[n]" {
		name = name[:len(name)-3] + "0"
	}
	for i := range ref {
		if ref[i] == '.' {
			return name, string(ref[i+1:]) + "=" + value
		}
	}
	return name, value
}

func TestShellsAreClosed(t *testing.T) {
	ctx := context.Background()
	n := 0
	for _, e := range writes(t) {
		if e.Policy.Class != apidoc.Shell {
			continue
		}
		n++
		name := string(e.Verb) + " " + e.Path
		path := fillPath(e.Path, nil)
		below := &spy{}
		for _, mode := range []ShellMode{"", ShellOff, ShellRead} {
			g := open(t, Options{Next: below, Shell: mode})
			in, err := g.Judge(string(e.Verb), path, nil)
			require.NoError(t, err)
			_, err = g.Grant(ctx, in, yes)
			if mode == ShellRead && in.readsShell() {
				require.NoError(t, err, name)
				continue
			}
			require.Equal(t, ShellClosed, kindOf(t, err), name)
			require.ErrorContains(t, err, "PROXMOX_SHELL")
			require.Equal(t, ShellClosed, kindOf(t, try(t, g, ctx, e.Verb, path, nil)), name)
		}
		require.Zero(t, below.count(), name)

		// Open, but rules of use are set: those of hosts stay closed, and those
		// of protected guests.
		for _, o := range []Options{{Protect: rules(t, "vmid:100")}, {Allow: rules(t, "vmid:200")}} {
			o.Next, o.Shell = below, ShellFull
			g := open(t, o)
			in, err := g.Judge(string(e.Verb), path, nil)
			require.NoError(t, err)
			_, err = g.Grant(ctx, in, yes)
			if in.guestShell() {
				require.True(t, inPath(e.Path, "vmid"), name)
				require.NoError(t, err, name)
			} else {
				require.Equal(t, HostShellClosed, kindOf(t, err), name)
			}
			o.HostShell = true
			_, err = open(t, o).Grant(ctx, in, yes)
			require.NoError(t, err, name)
		}
		if inPath(e.Path, "vmid") {
			g := open(t, Options{Next: below, Shell: ShellFull, HostShell: true, Protect: rules(t, "vmid:100")})
			in, err := g.Judge(string(e.Verb), fillPath(e.Path, map[string]string{"vmid": "100"}), nil)
			require.NoError(t, err)
			_, err = g.Grant(ctx, in, yes)
			require.Equal(t, Protected, kindOf(t, err), name)
		}
	}
	require.Greater(t, n, 20)
	// What a host runs is none of a guest's, and the monitor neither.
	for _, e := range []struct {
		verb, path string
		params     url.Values
		guest      bool
	}{
		{"POST", "/nodes/pve1/qemu/200/monitor", nil, false},
		{"POST", "/nodes/pve1/qemu/200/mtunnel", nil, false},
		{"PUT", "/nodes/pve1/qemu/200/config", url.Values{"args": {"-x"}}, false},
		{"PUT", "/nodes/pve1/lxc/200/config", url.Values{"hookscript": {"local:snippets/x"}, "entrypoint": {"/x"}}, false},
		{"PUT", "/nodes/pve1/lxc/200/config", url.Values{"entrypoint": {"/x"}}, true},
		{"POST", "/nodes/pve1/vzdump", url.Values{"script": {"/x"}}, false},
		{"POST", "/nodes/pve1/termproxy", nil, false},
		{"POST", "/nodes/pve1/qemu/200/termproxy", nil, true},
		{"POST", "/nodes/pve1/qemu/200/agent/exec", nil, true},
	} {
		in, err := NewIntent(generatedPolicies, e.verb, e.path, e.params)
		require.NoError(t, err)
		require.Equal(t, apidoc.Shell, in.Class, e.path)
		require.Equal(t, e.guest, in.guestShell(), "%s %v", e.path, e.params)
	}
}

func TestWhatNobodyKnowsIsDangerous(t *testing.T) {
	ctx := context.Background()
	for _, verb := range []string{"GET", "POST", "PUT", "DELETE"} {
		below := &spy{}
		g := open(t, Options{Mode: ReadOnly, Next: below})
		require.Equal(t, NotInReadonly, kindOf(t, try(t, g, ctx, apidoc.Verb(verb), "/cluster/brand-new", nil)), verb)
		g = open(t, Options{Next: below, Protect: rules(t, "tag:prod")})
		in, err := g.Judge(verb, "/cluster/brand-new", nil)
		require.NoError(t, err)
		require.Equal(t, apidoc.Destroy, in.Class)
		_, err = g.Grant(ctx, in, yes)
		require.Equal(t, Protected, kindOf(t, err), verb)
		require.Zero(t, below.count())
	}
}

func TestWhatCantBeJudgedIsNotSent(t *testing.T) {
	below := &spy{}
	g := open(t, Options{Next: below})
	ctx := context.Background()
	for name, change := range map[string]func(r *http.Request){
		"another prefix":  func(r *http.Request) { r.URL.Path = "/api2/extjs/version" },
		"no prefix":       func(r *http.Request) { r.URL.Path = "/version" },
		"a longer prefix": func(r *http.Request) { r.URL.Path = "/api2/jsonx" },
		"another method":  func(r *http.Request) { r.Method = "PATCH" },
		"lower case":      func(r *http.Request) { r.Method = "post" },
		"JSON":            func(r *http.Request) { r.Header.Set("Content-Type", "application/json") },
		"multipart":       func(r *http.Request) { r.Header.Set("Content-Type", "multipart/form-data; boundary=x") },
		"a bad query":     func(r *http.Request) { r.URL.RawQuery = "a=%zz" },
		"semicolons":      func(r *http.Request) { r.URL.RawQuery = "a=1;b=2" },
		"a dot segment":   func(r *http.Request) { r.URL.Path = "/api2/json/nodes/../access/users" },
		"an encoded dot": func(r *http.Request) {
			r.URL.RawPath = "/api2/json/nodes/%2e%2e/x"
			r.URL.Path = "/api2/json/nodes/../x"
		},
		"a body of a crowd": func(r *http.Request) { r.Body = http.NoBody; r.Body = endless{}; r.GetBody = nil },
	} {
		req := request(t, ctx, apidoc.POST, "/pools", url.Values{"poolid": {"x"}})
		change(req)
		_, err := g.RoundTrip(req)
		require.Equal(t, NotJudged, kindOf(t, err), name)
	}
	require.Zero(t, below.count())
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func (endless) Close() error { return nil }

// What is sent is what was judged, also where the body could be read twice with
// another result.
func TestTheJudgedBodyIsSent(t *testing.T) {
	below := &spy{}
	g := open(t, Options{Next: below})
	in, err := g.Judge("POST", "/pools", map[string][]string{"poolid": {"x"}})
	require.NoError(t, err)
	ctx, err := g.Grant(context.Background(), in, yes)
	require.NoError(t, err)
	req := request(t, ctx, apidoc.POST, "/pools", url.Values{"poolid": {"x"}})
	other := request(t, ctx, apidoc.POST, "/pools", url.Values{"poolid": {"evil"}})
	req.GetBody = other.GetBody
	resp, err := g.RoundTrip(req)
	require.NoError(t, err)
	_ = resp.Body.Close()
	require.Equal(t, []string{"poolid=x"}, below.bodies)
}
