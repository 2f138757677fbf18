package curated

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

// live is what a test of changes may want otherwise.
type live struct {
	protocol string
	token    string
	mode     gate.Mode
	approval gate.Approval
	client   *mcp.ClientOptions
	options  func(*Options)
	// step is how long a task rests at a time; short where nothing is said.
	step time.Duration
	// sim is a cluster that is there already; nil starts one.
	sim *pvesim.Server
}

// labWorld is the world of the tests that change something.
func labWorld(t testing.TB) *pvesim.World {
	t.Helper()
	text, err := os.ReadFile("testdata/world/changes.json")
	require.NoError(t, err)
	w, err := pvesim.ReadWorld(bytes.NewReader(text), now)
	require.NoError(t, err)
	return w
}

// labSim starts an embedded cluster that ends with the test. The clusters of
// readonly servers are looked at by TestMain; these are not among them.
func labSim(t testing.TB, step time.Duration) *pvesim.Server {
	t.Helper()
	if step == 0 {
		step = time.Millisecond
	}
	sim, err := pvesim.Start(pvesim.Options{
		World: labWorld(t), NoAuthDelay: true, Clock: func() time.Time { return now },
		TaskStep: step, HACycle: 5 * time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	return sim
}

// labRig is a client, a server of tools that may change things, and a cluster
// of its own behind them.
func labRig(t testing.TB, l live) *rig {
	t.Helper()
	if l.sim == nil {
		l.sim = labSim(t, l.step)
	}
	if l.mode == "" {
		l.mode = gate.Full
	}
	if l.protocol == "" {
		l.protocol = protocols[1]
	}
	r := newRig(t, l.sim, setup{
		token: l.token, protocol: l.protocol,
		rest: func(c *pverest.Config) { c.Timeout = 30 * time.Second },
		options: func(o *Options) {
			o.Mode, o.Approval, o.Unlogged = l.mode, l.approval, true
			// Without the door for files the kept snapshots of the schema do: that
			// the cluster's own is asked for is tested elsewhere, and costs more
			// than all the rest.
			o.Transport = struct{ http.RoundTripper }{o.Transport}
			if l.options != nil {
				l.options(o)
			}
		},
	})
	if l.client != nil {
		r.connectAs(l.protocol, l.client)
	}
	return r
}

// connectAs puts a client in the place of the one before, which can do more.
func (r *rig) connectAs(protocol string, o *mcp.ClientOptions) {
	r.t.Helper()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := r.server.MCP().Connect(r.t.Context(), ours, nil)
	require.NoError(r.t, err)
	r.session, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(r.t.Context(), theirs, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = r.session.Close(); _ = ss.Close() })
}

// writes gives what f sends beside GETs, as "POST /path name=value …", with the
// parameters in order and the digest, which no test can know, as a star.
func (r *rig) writes(f func()) []string {
	before := len(r.sim.Requests())
	f()
	return writesAfter(r.sim, before)
}

func writesAfter(sim *pvesim.Server, before int) []string {
	out := []string{}
	for _, q := range sim.Requests()[before:] {
		if q.Verb != "GET" {
			out = append(out, requestLine(q))
		}
	}
	return out
}

func requestLine(q pvesim.RequestRecord) string {
	words := []string{q.Verb, q.Path}
	if q.Path == "" { // nobody looked at it: the connection was dropped before
		u, _ := url.Parse(q.Target)
		words[1] = strings.TrimPrefix(u.Path, "/api2/json")
	}
	names := make([]string, 0, len(q.Params))
	for name := range q.Params {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		value := strings.Join(q.Params[name], "+")
		if name == "digest" {
			value = "*"
		}
		words = append(words, name+"="+value)
	}
	return strings.Join(words, " ")
}

// with gives arguments with more of them, key, value, key, value…
func with(a args, more ...any) args {
	out := maps.Clone(a)
	if out == nil {
		out = args{}
	}
	for i := 0; i+1 < len(more); i += 2 {
		name, ok := more[i].(string)
		if !ok {
			panic("a name is needed")
		}
		out[name] = more[i+1]
	}
	return out
}

// guestNow gives a copy of a guest as it is in the world; nil when there is none.
func guestNow(sim *pvesim.Server, id apidoc.VMID) *pvesim.Guest {
	var out *pvesim.Guest
	sim.World().View(func(w *pvesim.World) {
		if g := w.Guest(id); g != nil {
			c := *g
			c.Config, c.Pending = g.Config.Clone(), g.Pending.Clone()
			c.Snapshots = append([]*pvesim.Snapshot(nil), g.Snapshots...)
			out = &c
		}
	})
	return out
}

// volumesNow lists the volumes of a storage as a node sees it.
func volumesNow(sim *pvesim.Server, storage apidoc.Storage, node apidoc.Node) []string {
	out := []string{}
	sim.World().View(func(w *pvesim.World) {
		for _, v := range w.Storage(storage).Place(node).Volumes() {
			out = append(out, string(v.ID))
		}
	})
	return out
}

// eventually waits for what the cluster does by itself.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never happened: %s", what)
		}
	}
}

// inProcess makes a call without a client, for what a client that has gone
// would not see any more.
func (r *rig) inProcess(ctx context.Context, tool string, a args) Result {
	r.t.Helper()
	text, err := json.Marshal(a)
	require.NoError(r.t, err)
	res, err := r.server.Call(ctx, tool, text)
	require.NoError(r.t, err)
	r.clean(res.Text)
	return res
}

// fault sets one on the cluster and gives how to end it.
func (r *rig) fault(f pvesim.Fault) (end func()) {
	r.t.Helper()
	id, err := r.sim.AddFault(f)
	require.NoError(r.t, err)
	return func() { r.sim.RemoveFault(id) }
}

// answers makes the options of a client whose person answers questions.
func answers(answer func(question string) *mcp.ElicitResult) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return answer(req.Params.Message), nil
	}}
}

func says(action string, approve any) func(string) *mcp.ElicitResult {
	return func(string) *mcp.ElicitResult {
		res := &mcp.ElicitResult{Action: action}
		if approve != nil {
			res.Content = map[string]any{"approve": approve}
		}
		return res
	}
}
