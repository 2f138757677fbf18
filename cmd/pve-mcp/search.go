package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"pvemcp/curated"
)

func newSearchCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "search WORDS…", Short: "Find API methods by words", Args: cobra.MinimumNArgs(1),
		Example: "  pve-mcp search grow a disk",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := curated.Search(strings.Join(args, " "), limit)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), text)
			return err
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 10, "how many methods to print")
	return cmd
}
