package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"pvemcp/curated/gate/audit"
	"pvemcp/internal/settings"
)

func newAuditCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Work with the log of changes"}
	cmd.AddCommand(newAuditVerifyCommand())
	return cmd
}

func newAuditVerifyCommand() *cobra.Command {
	var envFile string
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Find edited, removed, reordered and cut-off lines", Args: cobra.MaximumNArgs(1),
		Long: `Reads the whole log and holds it against its chain of hashes and its anchor
file. Without FILE it is the log of PROXMOX_AUDIT_LOG, or the default one. A log
with a key needs PROXMOX_AUDIT_HMAC_KEY. Exit code 1 says that it is not intact.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := settings.Load(settings.Options{Environ: os.Environ(), EnvFile: envFile, Offline: true})
			if err != nil {
				return &useError{err}
			}
			path := c.AuditLog
			if len(args) == 1 {
				path = args[0]
			}
			if path == "" {
				if path, err = audit.DefaultPath(); err != nil {
					return err
				}
			}
			report, err := audit.Verify(path, []byte(c.AuditKey))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprint(cmd.OutOrStdout(), report.String()); err != nil {
				return err
			}
			if !report.Intact() {
				return exitCode(1)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&envFile, "env-file", "", "file of NAME=value lines with settings; the environment wins")
	return cmd
}
