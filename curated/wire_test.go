package curated

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	goflag "flag"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"pvemcp/apidoc"
	"pvemcp/curated/gate"
	"pvemcp/internal/pverest"
	"pvemcp/internal/pvesim"
)

var update = goflag.Bool("update", false, "rewrite the golden files")

// protocols are the versions of MCP that every behaviour is tested with.
var protocols = []string{"2025-06-18", "2026-07-28"}

// The tokens of generated worlds that the tests use.
const (
	fullToken  = "root@pam!full"
	blindToken = "root@pam!sep" // separated and without any permission
	auditToken = "audit@pve!read"
	poolToken  = "dev@pve!pool"
)

// now is the moment at which all embedded clusters and servers live.
var now = pvesim.GeneratedEpoch.Add(90 * time.Minute)

// allSims are the clusters that any test started; TestMain looks at what they
// were asked.
var allSims struct {
	sync.Mutex
	list []*pvesim.Server
}

func TestMain(m *testing.M) {
	goflag.Parse()
	code := m.Run()
	allSims.Lock()
	defer allSims.Unlock()
	asked := 0
	for _, sim := range allSims.list {
		sim.Close()
		for _, r := range sim.Requests() {
			asked++
			if err := harmless(r); err != nil {
				fmt.Fprintf(os.Stderr, "FAIL: a readonly server sent %s %s: %v\n", r.Verb, r.Target, err)
				code = 1
			}
		}
	}
	if testing.Verbose() {
		fmt.Printf("%d requests to %d embedded clusters, all looked at\n", asked, len(allSims.list))
	}
	os.Exit(code)
}

// harmless tells why a request may not leave a readonly server.
func harmless(r pvesim.RequestRecord) error {
	if r.Verb != "GET" {
		return errors.New("it is no GET")
	}
	u, err := url.Parse(r.Target)
	if err != nil {
		return err
	}
	path, found := strings.CutPrefix(u.EscapedPath(), "/api2/json")
	if !found {
		if path == "/pve-docs/api-viewer/apidoc.js" {
			return nil // the node's own schema
		}
		return errors.New("it is no path of the API")
	}
	in, err := gate.NewIntent(policyOf, r.Verb, path, u.Query())
	if err != nil {
		return err
	}
	if in.Class != apidoc.Read {
		return fmt.Errorf("its class is %s", in.Class)
	}
	if r.Body != "" {
		return errors.New("it has a body")
	}
	return nil
}

// startSim starts an embedded cluster that ends with the test binary.
func startSim(t testing.TB, nodes, guests int, change ...func(*pvesim.Options)) *pvesim.Server {
	t.Helper()
	o := pvesim.Options{World: pvesim.Generate(nodes, guests, 1), NoAuthDelay: true, Clock: func() time.Time { return now }}
	for _, f := range change {
		f(&o)
	}
	sim, err := pvesim.Start(o)
	require.NoError(t, err)
	allSims.Lock()
	defer allSims.Unlock()
	allSims.list = append(allSims.list, sim)
	return sim
}

// sharedSim gives one cluster per size to all tests that change nothing in it
// and set no faults.
func sharedSim(t testing.TB, nodes, guests int) *pvesim.Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	size := [2]int{nodes, guests}
	if shared.by[size] == nil {
		shared.by[size] = startSim(t, nodes, guests)
	}
	return shared.by[size]
}

var shared = struct {
	sync.Mutex
	by map[[2]int]*pvesim.Server
}{by: map[[2]int]*pvesim.Server{}}

// setup is what a test may want otherwise.
type setup struct {
	token, secret string
	protocol      string
	rest          func(*pverest.Config)
	options       func(*Options)
}

// rig is a client, the server of tools and the cluster behind it.
type rig struct {
	t       testing.TB
	sim     *pvesim.Server
	server  *Server
	session *mcp.ClientSession
	log     *logBuffer
}

// newRig connects a real client over the protocol to a server of tools in front
// of the cluster. Everything that passes is searched for the token's secret.
func newRig(t testing.TB, sim *pvesim.Server, s setup) *rig {
	t.Helper()
	if s.token == "" {
		s.token = fullToken
	}
	if s.secret == "" {
		s.secret = pvesim.TokenSecret
	}
	if s.protocol == "" {
		s.protocol = protocols[1]
	}
	token, err := pverest.ParseTokenID(s.token, s.secret)
	require.NoError(t, err)
	c := pverest.Config{Token: token, Timeout: 10 * time.Second}
	if sim != nil {
		c.Hosts = []string{sim.URL()}
	}
	if s.rest != nil {
		s.rest(&c)
	}
	transport, err := pverest.NewTransport(c)
	require.NoError(t, err)
	r := &rig{t: t, sim: sim, log: &logBuffer{}}
	o := Options{
		Version: "test", Transport: transport, TokenID: s.token, Mode: gate.ReadOnly, Now: func() time.Time { return now },
		Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if s.options != nil {
		s.options(&o)
	}
	r.server, err = New(o)
	require.NoError(t, err)
	r.connect(s.protocol)
	t.Cleanup(func() { noSecret(t, r.log.String()) })
	return r
}

func (r *rig) connect(protocol string) {
	r.t.Helper()
	ctx := r.t.Context()
	ours, theirs := mcp.NewInMemoryTransports()
	ss, err := r.server.MCP().Connect(ctx, ours, nil)
	require.NoError(r.t, err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	r.session, err = client.Connect(ctx, theirs, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	require.NoError(r.t, err)
	require.Equal(r.t, protocol, r.session.InitializeResult().ProtocolVersion)
	r.t.Cleanup(func() { _ = r.session.Close(); _ = ss.Close() })
}

// on gives the same rig for a subtest.
func (r *rig) on(t testing.TB) *rig {
	sub := *r
	sub.t = t
	return &sub
}

type args = map[string]any

// call makes one call over the protocol and gives the answer's text.
func (r *rig) call(tool string, a any) (text string, isError bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	res, err := r.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: a})
	require.NoError(r.t, err, tool)
	require.Len(r.t, res.Content, 1, tool)
	content, ok := res.Content[0].(*mcp.TextContent)
	require.True(r.t, ok, tool)
	r.clean(content.Text)
	return content.Text, res.IsError
}

// ok is a call that must succeed.
func (r *rig) ok(tool string, a any) string {
	r.t.Helper()
	text, isError := r.call(tool, a)
	require.False(r.t, isError, "%s %v: %s", tool, a, text)
	return text
}

// fails is a call that must fail, with all of the words in its text.
func (r *rig) fails(tool string, a any, words ...string) string {
	r.t.Helper()
	text, isError := r.call(tool, a)
	require.True(r.t, isError, "%s %v: %s", tool, a, text)
	require.True(r.t, strings.HasPrefix(text, "Error: "), text)
	for _, w := range words {
		require.Contains(r.t, text, w, "%s %v", tool, a)
	}
	return text
}

// asked gives the requests that f causes, as "GET /path?query", in their order.
func (r *rig) asked(f func()) []string {
	before := len(r.sim.Requests())
	f()
	var out []string
	offline := map[string]bool{}
	for _, q := range r.sim.Requests()[before:] {
		if offline[q.Target] {
			continue // tried again because its node could not be reached
		}
		offline[q.Target] = q.Status == 595 || q.Status == 596
		out = append(out, q.Verb+" "+strings.TrimPrefix(q.Target, "/api2/json"))
	}
	return out
}

// clean holds what is true of every text that we give out.
func (r *rig) clean(text string) {
	r.t.Helper()
	noSecret(r.t, text)
	if !utf8.ValidString(text) {
		r.t.Errorf("an answer is not valid UTF-8: %q", text)
	}
	for _, c := range text {
		if c < 0x20 && c != '\n' && c != '\t' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			r.t.Errorf("an answer holds the control character %U: %q", c, text)
			return
		}
	}
}

// noSecret searches for the secret of the tokens, in every form in which it
// could slip through.
func noSecret(t testing.TB, text string) {
	t.Helper()
	for _, s := range []string{pvesim.TokenSecret, strings.ReplaceAll(pvesim.TokenSecret, "-", ""), "PVEAPIToken", "wrong-secret"} {
		if strings.Contains(text, s) {
			t.Errorf("%q slipped into: %s", s, text)
		}
	}
}

// logBuffer is a log that may be written and read side by side.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// tokens counts o200k tokens with the real vocabulary.
func tokens(t testing.TB, s string) int {
	t.Helper()
	enc, err := codec()
	require.NoError(t, err)
	n, err := enc.Count(s)
	require.NoError(t, err)
	return n
}

var codec = sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) })

// object reads an answer that must be one JSON object.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v map[string]any
	require.NoError(t, dec.Decode(&v), text)
	require.False(t, dec.More(), "more than one JSON value: %s", text)
	return v
}

func jsonOf(t testing.TB, v any) string {
	t.Helper()
	if m, ok := v.(args); ok && m == nil {
		return "{}"
	}
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}
