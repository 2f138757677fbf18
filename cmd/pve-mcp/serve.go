package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"pvemcp/curated"
	"pvemcp/curated/gate"
	"pvemcp/curated/gate/audit"
	"pvemcp/internal/pverest"
	"pvemcp/internal/settings"
)

// connection are the flags of every command that talks to a cluster.
type connection struct {
	envFile string
	demo    bool
	world   string
}

func (f *connection) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.envFile, "env-file", "", "file of NAME=value lines with settings; the environment wins")
	cmd.Flags().BoolVar(&f.demo, "demo", false, "use the embedded cluster instead of a real one")
	cmd.Flags().StringVar(&f.world, "world", "", "with --demo: file that describes the embedded cluster (see docs/world-file.md)")
}

// open makes the server of tools for the configured cluster, or for the
// embedded one. close ends what was started for it.
func (f *connection) open() (s *curated.Server, close func(), err error) {
	c, err := settings.Load(settings.Options{Environ: os.Environ(), EnvFile: f.envFile, Offline: f.demo})
	if err != nil {
		return nil, nil, &useError{err}
	}
	for _, note := range c.Notes {
		fmt.Fprintln(os.Stderr, "pve-mcp: "+note)
	}
	close = func() {}
	if f.world != "" && !f.demo {
		return nil, nil, &useError{errors.New("--world belongs to --demo: it describes the embedded cluster")}
	}
	if f.demo {
		if close, err = startDemo(c, f.world); err != nil {
			return nil, nil, &useError{err}
		}
	}
	s, err = connect(c, f.cacheDir(), f.demo)
	if err != nil {
		close()
		return nil, nil, &useError{err}
	}
	return s, close, nil
}

// cacheDir is where files are kept that may be lost at any time. The embedded
// cluster is another one at every start, so nothing of it is kept.
func (f *connection) cacheDir() string {
	dir, err := os.UserCacheDir()
	if f.demo || err != nil {
		return ""
	}
	return filepath.Join(dir, "pve-mcp")
}

// connect puts transport and tools together. Nothing is sent yet.
func connect(c *settings.Config, cacheDir string, demo bool) (*curated.Server, error) {
	token, err := pverest.ParseTokenID(c.TokenID, c.TokenSecret)
	if err != nil {
		return nil, fmt.Errorf("PROXMOX_TOKEN_ID or PROXMOX_TOKEN_SECRET: %w", err)
	}
	transport, err := pverest.NewTransport(pverest.Config{
		Hosts: c.Hosts, Port: c.Port, Token: token, CAFile: c.CAFile, Fingerprint: c.Fingerprint,
		Insecure: c.Insecure, Timeout: c.Timeout, Parallel: c.Parallel, UserAgent: "pve-mcp/" + version,
	})
	if err != nil {
		return nil, err
	}
	o := curated.Options{
		Version: version, Transport: transport, TokenID: c.TokenID, Toolsets: c.Toolsets, MaxTokens: c.MaxTokens, MaxWait: c.MaxWait,
		Hosts: strings.Join(c.Hosts, ","), CacheDir: cacheDir, Expose: c.Expose,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	if err := permit(c, &o, demo); err != nil {
		return nil, err
	}
	return curated.New(o)
}

// permit brings over what may be done. The log of changes is opened only where
// there can be changes; those of the embedded cluster are not logged.
func permit(c *settings.Config, o *curated.Options, demo bool) (err error) {
	o.Mode, o.Approval, o.Shell, o.HostShell = gate.ReadOnly, gate.Approval(c.Approval), gate.ShellMode(c.Shell), c.HostShell
	if o.Protect, err = gate.ParseRules(c.Protect); err != nil {
		return fmt.Errorf("PROXMOX_PROTECT: %w", err)
	}
	if o.Allow, err = gate.ParseRules(c.Allow); err != nil {
		return fmt.Errorf("PROXMOX_ALLOW: %w", err)
	}
	if c.Mode != settings.Full {
		return nil
	}
	o.Mode = gate.Full
	if demo && c.AuditLog == "" {
		o.Unlogged = true
		return nil
	}
	path := c.AuditLog
	if path == "" {
		if path, err = audit.DefaultPath(); err != nil {
			return fmt.Errorf("PROXMOX_AUDIT_LOG: %w", err)
		}
	}
	if o.Audit, err = audit.Open(path, []byte(c.AuditKey)); err != nil {
		return fmt.Errorf("PROXMOX_AUDIT_LOG: %w", err)
	}
	o.AuditLog, o.AuditKey = o.Audit.Path(), []byte(c.AuditKey)
	return nil
}

func newServeCommand() *cobra.Command {
	f := &connection{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve over stdio (the default)", Args: cobra.NoArgs,
		Long: "Serves the tools over the Model Context Protocol on standard input and output.\nLogs go to standard error.\n\nSettings (environment variables):\n" + settingsHelp(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			if os.Getenv("GOGC") == "" {
				debug.SetGCPercent(50) // a server that waits most of the time: memory before speed
			}
			return ended(s.MCP().Run(cmd.Context(), stdio(os.Stdin, os.Stdout)))
		},
	}
	f.add(cmd)
	return cmd
}

// ended takes away the errors by which a session ends as it should: the client
// has closed its end, or the program was told to stop.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// settingsHelp lists all settings, from their one declaration.
func settingsHelp() string {
	text, group := "", ""
	for _, s := range settings.All() {
		if s.Group != group {
			group = s.Group
			text += "\n  " + group + "\n"
		}
		text += fmt.Sprintf("    %-22s %s", s.Env(), s.Help)
		if s.Default != "" {
			text += " Default " + s.Default + "."
		}
		text += "\n"
	}
	return text
}
