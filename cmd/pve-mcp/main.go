// Command pve-mcp is an MCP server that lets an AI agent look after a Proxmox
// VE cluster. Without a subcommand it serves over stdio.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the build (-ldflags -X main.version=…).
var version = "0.1.0-dev"

func main() { os.Exit(run()) }

// run gives the exit code: 0 well, 1 failed, 2 wrong use or settings.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newRoot().ExecuteContext(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintln(os.Stderr, "pve-mcp: "+line)
	}
	var use *useError
	if errors.As(err, &use) {
		return 2
	}
	return 1
}

// exitCode ends the program without another word; what there was to say has
// been printed.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// useError is a fault of the command line or the settings.
type useError struct{ err error }

func (e *useError) Error() string { return e.err.Error() }
func (e *useError) Unwrap() error { return e.err }

func newRoot() *cobra.Command {
	serve := newServeCommand()
	root := &cobra.Command{
		Use:   "pve-mcp",
		Short: "MCP server for Proxmox VE",
		Long: `pve-mcp lets an AI agent look after a Proxmox VE cluster over the Model Context
Protocol. Without a subcommand it serves over stdio, as 'pve-mcp serve' does.

Settings come from environment variables; 'pve-mcp serve --help' lists them.
Try it without a Proxmox: pve-mcp demo`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          serve.RunE,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &useError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(serve, newDemoCommand(), newSimCommand(), newCallCommand(), newToolsCommand(), newSearchCommand(), newAuditCommand(), newVersionCommand(), newCheckCommand())
	wrongUse(root)
	return root
}

// wrongUse makes what a command says of its arguments a fault of the command
// line, for all commands below c too.
func wrongUse(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return &useError{err}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		wrongUse(sub)
	}
}

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "pve-mcp "+version)
			return err
		},
	}
}
