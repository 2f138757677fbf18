package curated

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/apidoc"
	"pvemcp/curated/render"
	"pvemcp/internal/pvesim"
)

// panicArgs are the arguments of the tools that fail.
type panicArgs struct {
	Where string `json:"where,omitempty"`
	Shape
}

// panicking is a tool with a fault of ours, at each place where one can be.
var panicking = Tool[panicArgs, doc]{
	Name: "pve_test_panic", Text: "Panics.", Toolset: "core", Class: apidoc.Read,
	Run: func(_ context.Context, _ *Call, in panicArgs) (doc, error) {
		switch in.Where {
		case "nil":
			var d *doc
			return *d, nil
		case "render":
			d := &render.Doc{}
			d.Add(&render.Table[int]{ID: "t", Rows: []int{1}, Columns: []render.Column[int]{
				{Name: "n", Cell: func(*int) render.Cell { panic("in a cell: " + pvesim.TokenSecret) }},
			}})
			return doc{Doc: d}, nil
		case "error":
			panic(fmt.Errorf("wrapped %s", pvesim.TokenSecret))
		}
		panic("secret " + pvesim.TokenSecret)
	},
}

// TestPanicEndsOneCall: a fault of ours is an error of its call. The session
// goes on, and neither answer nor log repeats what was in the panic's value.
func TestPanicEndsOneCall(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			r := newRig(t, sharedSim(t, 3, 60), setup{protocol: protocol})
			e := panicking.entry()
			r.server.tools = append(r.server.tools, e)
			r.server.byName[e.name] = e
			r.connect(protocol)
			for _, where := range []string{"", "nil", "render", "error"} {
				r.fails(e.name, args{"where": where}, "fault of pve-mcp itself", "stderr")
				r.ok("pve_version", nil)
			}
			assert.Contains(t, r.log.String(), "a tool panicked")
			assert.Contains(t, r.log.String(), e.name)
		})
	}
}

// TestPanicInProtocol: a fault outside of a tool leaves the session alive too.
func TestPanicInProtocol(t *testing.T) {
	r := newRig(t, sharedSim(t, 3, 60), setup{})
	ours, theirs := mcp.NewInMemoryTransports()
	m := r.server.MCP()
	m.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return r.server.guard(func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				panic("secret " + pvesim.TokenSecret)
			}
			return next(ctx, method, req)
		})
	})
	ss, err := m.Connect(t.Context(), ours, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ss.Close() })
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), theirs, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	_, err = session.ListTools(t.Context(), nil)
	require.ErrorContains(t, err, "internal fault of pve-mcp")
	noSecret(t, err.Error())
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pve_version"})
	require.NoError(t, err)
	assert.False(t, res.IsError)
}
