package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/internal/pvesim"
)

// asProgram in the environment makes the test binary be the program itself, so
// that tests run what users run, as a process of its own.
const asProgram = "PVE_MCP_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// program prepares a run of the program with no settings but those given, and
// with a home of its own.
func program(t testing.TB, env []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	self, err := os.Executable()
	require.NoError(t, err)
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = home
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PROXMOX_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, asProgram+"=1", "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_STATE_HOME="+home, "APPDATA="+home, "LOCALAPPDATA="+home)
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// result is what a run gave.
type result struct {
	code     int
	out, err string
}

func start(t testing.TB, env []string, args ...string) result {
	t.Helper()
	return finish(t, program(t, env, args...))
}

func finish(t testing.TB, cmd *exec.Cmd) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r := result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	for _, text := range []string{r.out, r.err} {
		if strings.Contains(text, pvesim.TokenSecret) {
			t.Errorf("the secret slipped into: %s", text)
		}
		if strings.Contains(text, "panic:") || strings.Contains(text, "goroutine ") {
			t.Errorf("a panic: %s", text)
		}
	}
	return r
}

// cluster starts an embedded cluster and gives the settings that lead to it.
func cluster(t testing.TB) (*pvesim.Server, []string) {
	t.Helper()
	sim, err := pvesim.Start(pvesim.Options{World: pvesim.Generate(3, 60, 1), NoAuthDelay: true})
	require.NoError(t, err)
	t.Cleanup(sim.Close)
	return sim, []string{"PROXMOX_HOST=" + sim.URL(), "PROXMOX_TOKEN_ID=root@pam!full", "PROXMOX_TOKEN_SECRET=" + pvesim.TokenSecret}
}

// TestCall: one tool from a shell. What a tool says goes to stdout, its errors
// to stderr with exit code 1, wrong use is 2.
func TestCall(t *testing.T) {
	_, env := cluster(t)
	r := start(t, env, "call", "pve_version")
	assert.Equal(t, 0, r.code, r.err)
	assert.Contains(t, r.out, "version: 9.2")
	assert.Empty(t, r.err)
	r = start(t, env, "call", "pve_vms", `{"status":"running","limit":1,"format":"json"}`)
	assert.Equal(t, 0, r.code, r.err)
	assert.True(t, json.Valid([]byte(r.out)), r.out)
	for _, c := range []struct {
		args  []string
		code  int
		words []string
	}{
		{[]string{"call", "pve_vm_info", `{"vmid":1166}`}, 1, []string{"no guest", "116"}},
		{[]string{"call", "pve_vms", `{"stat":"x"}`}, 1, []string{"stat", "status"}},
		{[]string{"call", "pve_vms", `{`}, 1, []string{"valid JSON"}},
		{[]string{"call", "pve_vm"}, 2, []string{`no tool "pve_vm"`, "pve_vms"}},
		{[]string{"call"}, 2, []string{"arg"}},
		{[]string{"call", "pve_vms", "{}", "more"}, 2, []string{"arg"}},
		{[]string{"call", "--nonsense", "pve_vms"}, 2, []string{"--nonsense"}},
		{[]string{"calls"}, 2, []string{"calls"}},
		{[]string{"version", "more"}, 2, []string{"more"}},
		{[]string{"sim", "--nodes", "0"}, 2, []string{"--nodes"}},
		{[]string{"sim", "--listen", "0.0.0.0:0"}, 1, []string{"loopback"}},
	} {
		r := start(t, env, c.args...)
		assert.Equal(t, c.code, r.code, "%v: %s", c.args, r.err)
		assert.Empty(t, r.out, "%v", c.args)
		for _, w := range c.words {
			assert.Contains(t, r.err, w, "%v", c.args)
		}
	}
}

// TestToolsAndVersion: what there is, for people and for programs.
func TestToolsAndVersion(t *testing.T) {
	r := start(t, nil, "version")
	assert.Equal(t, 0, r.code)
	assert.Regexp(t, `\Apve-mcp \S+\n\z`, r.out)
	r = start(t, nil, "tools")
	assert.Equal(t, 0, r.code)
	assert.Contains(t, r.out, "pve_health")
	r = start(t, nil, "tools", "--json")
	assert.Equal(t, 0, r.code)
	for _, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
		var tool struct{ Name, Description, Toolset, Class string }
		require.NoError(t, json.Unmarshal([]byte(line), &tool), line)
		assert.NotEmpty(t, tool.Name)
		assert.NotEmpty(t, tool.Description)
		assert.NotEmpty(t, tool.Class)
	}
}

// TestHelp: every command explains itself, on stdout and without settings.
func TestHelp(t *testing.T) {
	for _, c := range newRoot().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		r := start(t, nil, c.Name(), "--help")
		assert.Equal(t, 0, r.code, c.Name())
		assert.Contains(t, r.out, "Usage:", c.Name())
		assert.NotEmpty(t, c.Short, c.Name())
		assert.Empty(t, r.err, c.Name())
	}
	r := start(t, nil, "--help")
	assert.Equal(t, 0, r.code)
	for _, name := range []string{"serve", "demo", "sim", "call", "tools", "version"} {
		assert.Contains(t, r.out, name)
	}
	r = start(t, nil, "serve", "--help")
	for _, name := range []string{"PROXMOX_HOST", "PROXMOX_TOKEN_ID", "PROXMOX_TOKEN_SECRET", "PROXMOX_MODE", "PROXMOX_TLS_INSECURE", "PROXMOX_FINGERPRINT", "PROXMOX_TIMEOUT"} {
		assert.Contains(t, r.out, name)
	}
}

// TestSettings: what is missing, unknown, misspelt or contradictory ends the
// program at its start, with a line for each fault and none of the secrets.
func TestSettings(t *testing.T) {
	good := []string{"PROXMOX_HOST=127.0.0.1:1", "PROXMOX_TOKEN_ID=root@pam!full", "PROXMOX_TOKEN_SECRET=" + pvesim.TokenSecret}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	for name, c := range map[string]struct {
		env   []string
		words []string
	}{
		"nothing":           {nil, []string{"PROXMOX_HOST is not set", "PROXMOX_TOKEN_ID is not set", "PROXMOX_TOKEN_SECRET is not set", "--demo"}},
		"no host":           {good[1:], []string{"PROXMOX_HOST is not set"}},
		"unknown value":     {with("PROXMOX_MODE=banana"), []string{"PROXMOX_MODE", "banana", "readonly", "full"}},
		"misspelt name":     {with("PROXMOX_MOD=full"), []string{"PROXMOX_MOD", "did you mean PROXMOX_MODE"}},
		"misspelt insecure": {with("PROXMOX_TLS_INSECUR=true"), []string{"PROXMOX_TLS_INSECURE"}},
		"contradiction":     {with("PROXMOX_TLS_INSECURE=true", "PROXMOX_FINGERPRINT="+strings.Repeat("AA:", 31)+"AA"), []string{"PROXMOX_FINGERPRINT", "contradict"}},
		"two ways":          {with("PROXMOX_TLS_INSECURE=true", "PROXMOX_VERIFY_SSL=true"), []string{"PROXMOX_VERIFY_SSL", "contradict"}},
		"two tokens":        {with("PROXMOX_USER=other@pam", "PROXMOX_TOKEN_NAME=x1"), []string{"PROXMOX_TOKEN_ID", "contradict"}},
		"half a token":      {[]string{good[0], good[2], "PROXMOX_USER=root@pam"}, []string{"PROXMOX_TOKEN_NAME"}},
		"bad token":         {[]string{good[0], good[2], "PROXMOX_TOKEN_ID=root"}, []string{"PROXMOX_TOKEN_ID", "USER@REALM!NAME"}},
		"bad number":        {with("PROXMOX_TIMEOUT=soon"), []string{"PROXMOX_TIMEOUT", "soon", "seconds"}},
		"bad boolean":       {with("PROXMOX_TLS_INSECURE=maybe"), []string{"PROXMOX_TLS_INSECURE", "maybe"}},
		"plain http":        {[]string{"PROXMOX_HOST=http://192.0.2.1:8006", good[1], good[2]}, []string{"http"}},
		"unknown toolset":   {with("PROXMOX_TOOLSETS=core,gests"), []string{"gests", "guests"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{{"serve"}, {}, {"call", "pve_version"}} {
				r := start(t, c.env, args...)
				assert.Equal(t, 2, r.code, r.err)
				assert.Empty(t, r.out)
				for _, w := range c.words {
					assert.Contains(t, r.err, w)
				}
				for _, line := range strings.Split(strings.TrimSpace(r.err), "\n") {
					assert.True(t, strings.HasPrefix(line, "pve-mcp: "), line)
				}
			}
		})
	}
	t.Run("names of others", func(t *testing.T) {
		_, env := cluster(t)
		r := start(t, append(env, "PROXMOX_VE_ENDPOINT=x", "PROXMOX_URL=x", "PROXMOX_SOMETHING_ELSE=1"), "call", "pve_version")
		assert.Equal(t, 0, r.code, r.err)
		assert.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
		assert.Contains(t, r.err, "PROXMOX_SOMETHING_ELSE")
	})
}

// TestEnvFile: settings from a file that only its owner can read; the
// environment wins; nothing is read from the working directory.
func TestEnvFile(t *testing.T) {
	sim, env := cluster(t)
	file := filepath.Join(t.TempDir(), "settings")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(env, "\n")+"\nPROXMOX_MAX_TOKENS=300\n"), 0o600))
	r := start(t, nil, "call", "--env-file", file, "pve_version")
	assert.Equal(t, 0, r.code, r.err)
	r = start(t, []string{"PROXMOX_ENV_FILE=" + file}, "call", "pve_version")
	assert.Equal(t, 0, r.code, r.err)
	r = start(t, []string{"PROXMOX_TOKEN_ID=root@pam!gone"}, "call", "--env-file", file, "pve_version")
	assert.Equal(t, 1, r.code, "the environment wins")
	assert.Contains(t, r.err, "root@pam!gone")
	r = start(t, nil, "call", "--env-file", file+".none", "pve_version")
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.err, "--env-file")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(file, 0o644))
		r = start(t, nil, "call", "--env-file", file, "pve_version")
		assert.Equal(t, 2, r.code)
		assert.Contains(t, r.err, "chmod 600 "+file)
	}
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("PROXMOX_TOKEN_SECRET "+pvesim.TokenSecret+"\n'\n"), 0o600))
	r = start(t, nil, "call", "--env-file", broken, "pve_version")
	assert.Equal(t, 2, r.code)
	cmd := program(t, nil, "call", "pve_version")
	require.NoError(t, os.WriteFile(filepath.Join(cmd.Dir, ".env"), []byte(strings.Join(env, "\n")), 0o600))
	before := len(sim.Requests())
	assert.Equal(t, 2, finish(t, cmd).code, "a .env of the working directory counts for nothing")
	assert.Len(t, sim.Requests(), before)
}

// TestServe: a session over stdio with the real program, for each protocol.
// Standard output carries the protocol alone.
func TestServe(t *testing.T) {
	_, env := cluster(t)
	for _, protocol := range []string{"2025-06-18", "2026-07-28"} {
		for _, args := range [][]string{{"serve"}, {}} {
			cmd := program(t, env, args...)
			var logs bytes.Buffer
			cmd.Stderr = &logs
			client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
			session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
			require.NoError(t, err)
			assert.Equal(t, protocol, session.InitializeResult().ProtocolVersion)
			tools, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			assert.GreaterOrEqual(t, len(tools.Tools), 14)
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pve_vms", Arguments: map[string]any{"limit": 2}})
			require.NoError(t, err)
			assert.False(t, res.IsError)
			assert.Contains(t, res.Content[0].(*mcp.TextContent).Text, "35 VMs")
			res, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pve_vm_action", Arguments: map[string]any{"vmid": 116, "action": "stop"}})
			require.NoError(t, err)
			assert.True(t, res.IsError, "readonly is the default")
			require.NoError(t, session.Close())
			assert.Equal(t, 0, cmd.ProcessState.ExitCode())
			assert.Empty(t, logs.String())
		}
	}
}

// TestStdoutIsProtocol: with logs to write and faults to report, each line on
// stdout is still a message; the end of the input ends the program well.
func TestStdoutIsProtocol(t *testing.T) {
	_, env := cluster(t)
	cmd := program(t, append(env, "PROXMOX_UNHEARD_OF=1"), "serve")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	go func() {
		for _, line := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pve_version","arguments":"{}"}}`,
			`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"pve_nonsense","arguments":{}}}`,
			`{"jsonrpc":"2.0","id":4,"method":"no/such/method"}`,
			`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pve_vms","arguments":[1,2]}}`,
		} {
			_, _ = io.WriteString(in, line+"\n")
		}
		time.Sleep(500 * time.Millisecond)
		_ = in.Close()
	}()
	r := finish(t, cmd)
	assert.Equal(t, 0, r.code, r.err)
	assert.Contains(t, r.err, "PROXMOX_UNHEARD_OF")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	assert.Len(t, lines, 5)
	for _, line := range lines {
		var m struct {
			JSONRPC string
			ID      any
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		assert.Equal(t, "2.0", m.JSONRPC)
	}
}

// TestDemo runs to its end and tells what each call costs.
func TestDemo(t *testing.T) {
	r := start(t, nil, "demo")
	assert.Equal(t, 0, r.code, r.err)
	assert.Empty(t, r.err)
	calls := regexp.MustCompile(`(?m)^── \S+, about \d+ tokens$`).FindAllString(r.out, -1)
	assert.Len(t, calls, len(demoCalls))
	assert.Regexp(t, `\d+ calls, about \d+ tokens in all\.\n\z`, r.out)
	assert.NotContains(t, r.out, "fault of pve-mcp")
}

// TestServeDemo: an agent can be tried without a Proxmox.
func TestServeDemo(t *testing.T) {
	r := start(t, nil, "call", "--demo", "pve_health")
	assert.Equal(t, 0, r.code, r.err)
	assert.Contains(t, r.out, "3 nodes, 60 guests")
}
