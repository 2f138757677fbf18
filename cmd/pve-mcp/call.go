package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"pvemcp/curated"
)

func newCallCommand() *cobra.Command {
	f := &connection{}
	cmd := &cobra.Command{
		Use: "call TOOL [JSON]", Short: "Call one tool and print its answer", Args: cobra.RangeArgs(1, 2),
		Example: `  pve-mcp call pve_vms '{"status":"running"}'` + "\n  pve-mcp call --demo pve_health",
		RunE: func(cmd *cobra.Command, args []string) error {
			input := json.RawMessage("{}")
			if len(args) == 2 {
				input = json.RawMessage(args[1])
			}
			s, done, err := f.open()
			if err != nil {
				return err
			}
			defer done()
			res, err := s.Call(cmd.Context(), args[0], input)
			if err != nil {
				return &useError{err}
			}
			out := cmd.OutOrStdout()
			if res.IsError {
				out = cmd.ErrOrStderr()
			}
			if _, err := fmt.Fprintln(out, res.Text); err != nil {
				return err
			}
			if res.IsError {
				return exitCode(1)
			}
			return nil
		},
	}
	f.add(cmd)
	return cmd
}

func newToolsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "tools", Short: "List every tool there is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, t := range curated.Catalogue() {
				line := fmt.Sprintf("%-24s %-8s %-8s %s", t.Name, t.Toolset, t.Class, t.Text)
				if asJSON {
					b, err := json.Marshal(map[string]any{"name": t.Name, "toolset": t.Toolset, "class": t.Class, "description": t.Text, "inputSchema": t.Schema})
					if err != nil {
						return err
					}
					line = string(b)
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line, with the input schema")
	return cmd
}
