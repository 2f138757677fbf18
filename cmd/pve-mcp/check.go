package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/spf13/cobra"

	"pvemcp/apidoc"
	"pvemcp/internal/checklines"
)

func newCheckCommand() *cobra.Command {
	var file, release string
	cmd := &cobra.Command{
		Use: "check", Short: "Say of API calls on standard input whether Proxmox would accept their parameters",
		Long: `check reads one call a line and writes one verdict a line, in order:

  {"method":"PUT","path":"/nodes/pve1/qemu/100/config","params":{"cores":"4"}}
  {"ok":true,"errors":{}}

It is strict: a string is the text that goes on the wire, a list is a repeated
key, true and false are 1 and 0, a number is its text. Nothing is sent anywhere.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := checkSchema(file, release)
			if err != nil {
				return err
			}
			return checklines.Run(cmd.InOrStdin(), cmd.OutOrStdout(), schema)
		},
	}
	cmd.Flags().StringVar(&file, "schema", "", "schema `FILE`: apidoc.js, .json or .json.gz (default: the snapshot of "+apidoc.Newest+")")
	cmd.Flags().StringVar(&release, "release", "", "`VERSION` whose rules apply, such as 8.4 (default: what the file's name says, else "+apidoc.Newest+")")
	return cmd
}

// checkSchema reads the schema to check by.
func checkSchema(file, release string) (*apidoc.Schema, error) {
	if release != "" && !releaseForm.MatchString(release) {
		return nil, &useError{fmt.Errorf("--release %q: a version such as 8.4 is needed", release)}
	}
	if file == "" {
		if release == "" {
			release = apidoc.Newest
		}
		return apidoc.Snapshot(apidoc.NearestSnapshot(release))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if release == "" {
		release = releaseInName.FindString(filepath.Base(file))
	}
	schema, err := apidoc.Parse(data, release)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return schema, nil
}

var (
	releaseForm   = regexp.MustCompile(`\A[6-9]\.[0-9]+(\.[0-9]+)?\z|\A[1-9][0-9]\.[0-9]+(\.[0-9]+)?\z`)
	releaseInName = regexp.MustCompile(`\b[6-9]\.[0-9]+(\.[0-9]+)?\b`)
)
