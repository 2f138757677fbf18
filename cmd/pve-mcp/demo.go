package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"pvemcp/curated/render"
)

// demoCalls are what a person would ask first.
var demoCalls = []struct {
	tool string
	args map[string]any
}{
	{"pve_health", nil},
	{"pve_version", nil},
	{"pve_cluster_status", nil},
	{"pve_nodes", nil},
	{"pve_node_info", map[string]any{"node": "pve1"}},
	{"pve_vms", map[string]any{"status": "running", "limit": 10}},
	{"pve_vm_info", map[string]any{"vmid": 100}},
	{"pve_containers", map[string]any{"limit": 10}},
	{"pve_storage", nil},
	{"pve_storage_content", map[string]any{"storage": "local", "node": "pve1", "content": "backup", "limit": 5}},
	{"pve_tasks", map[string]any{"status": "error"}},
	{"pve_raw_get", map[string]any{"path": "/nodes/pve1/dns"}},
	{"pve_raw_get", map[string]any{"path": "/nodes/pve1/qemu/100/confg"}},
}

func newDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "Show a session of an agent against the embedded cluster", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), cmd) },
	}
}

// demo starts this very program as an agent would (stdio, own process) against
// the embedded cluster, and prints what passes between them.
func demo(ctx context.Context, cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	server := exec.CommandContext(ctx, self, "serve", "--demo")
	server.Stderr = os.Stderr
	begin := time.Now()
	client := mcp.NewClient(&mcp.Implementation{Name: "pve-mcp-demo", Version: version}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return fmt.Errorf("the server did not start: %w", err)
	}
	defer func() { _ = session.Close() }()
	out := cmd.OutOrStdout()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "Server started and %d tools listed in %s.\n", len(tools.Tools), time.Since(begin).Round(time.Millisecond))
	total := 0
	for _, call := range demoCalls {
		start := time.Now()
		res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call.tool, Arguments: call.args})
		if err != nil {
			return fmt.Errorf("%s: %w", call.tool, err)
		}
		took := time.Since(start)
		text := ""
		for _, c := range res.Content {
			if t, ok := c.(*mcp.TextContent); ok {
				text += t.Text
			}
		}
		tokens := render.Estimate(text)
		total += tokens
		args := ""
		if len(call.args) > 0 {
			args = fmt.Sprintf(" %v", jsonText(call.args))
		}
		_, _ = fmt.Fprintf(out, "\n━━ %s%s\n%s\n── %s, about %d tokens\n", call.tool, args, text, took.Round(100*time.Microsecond), tokens)
	}
	_, err = fmt.Fprintf(out, "\n%d calls, about %d tokens in all.\n", len(demoCalls), total)
	return err
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
