package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"pvemcp/apidoc"
	"pvemcp/gen"
)

func newRoot() *cobra.Command {
	var (
		src          source
		in, out      string
		overlay      string
		check, drift bool
	)
	root := &cobra.Command{
		Use:   "pvegen",
		Short: "make the typed client of Proxmox VE's API from its schema",
		Long: `pvegen reads the schema that Proxmox VE publishes about its API (apidoc.js,
apidata.js or JSON, each also gzipped; a file, or a node itself) and the
overlay, and writes a Go package. It never runs what it reads.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := src.schema(cmd.Context(), in)
			if err != nil {
				return err
			}
			o, err := readOverlay(overlay)
			if err != nil {
				return err
			}
			result, err := gen.Generate(schema, o, gen.Options{AllowDrift: drift})
			if err != nil {
				return err
			}
			if drift {
				for _, d := range result.Drift {
					_, _ = fmt.Fprintln(cmd.OutOrStdout(), d)
				}
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%d methods, %d places where overlay and schema disagree\n", result.Methods, len(result.Drift))
			}
			if check {
				return result.Check(out)
			}
			return result.Write(out)
		},
	}
	f := root.Flags()
	f.StringVar(&in, "in", "", "the schema: a file, or a node as https://NODE:8006")
	f.StringVar(&out, "out", "generated", "the directory to write to")
	f.StringVar(&overlay, "overlay", "", "another overlay than the built-in one")
	f.BoolVar(&check, "check", false, "write nothing; fail if the directory is not what would be written")
	f.BoolVar(&drift, "drift", false, "list where overlay and schema disagree instead of failing, for versions that the overlay was not written for")
	src.flags(root)
	root.AddCommand(newFacts(), newDiff())
	return root
}

func readOverlay(file string) (*gen.Overlay, error) {
	if file == "" {
		return gen.DefaultOverlay()
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	o, err := gen.ReadOverlay(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

func newFacts() *cobra.Command {
	var (
		src     source
		in, out string
	)
	cmd := &cobra.Command{
		Use:   "facts",
		Short: "write a schema without Proxmox's prose, one method a line",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := src.schema(cmd.Context(), in)
			if err != nil {
				return err
			}
			if out == "" || out == "-" {
				return apidoc.WriteFacts(cmd.OutOrStdout(), schema)
			}
			var b bytes.Buffer
			if err := apidoc.WriteFacts(&b, schema); err != nil {
				return err
			}
			return os.WriteFile(out, b.Bytes(), 0o644)
		},
	}
	cmd.Flags().StringVar(&in, "in", "", "the schema: a file, or a node as https://NODE:8006")
	cmd.Flags().StringVar(&out, "out", "", "the file to write; standard output if absent")
	src.flags(cmd)
	return cmd
}

func newDiff() *cobra.Command {
	var src source
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "print what changed between two versions of the API",
		Long: `diff prints methods that were added, removed or changed, and for each changed
one its parameters and permissions. OLD and NEW are files, nodes as
https://NODE:8006, or versions whose facts are built in.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var schemas [2]*apidoc.Schema
			for i, in := range args {
				s, err := apidoc.Snapshot(in)
				if err != nil {
					if s, err = src.schema(cmd.Context(), in); err != nil {
						return err
					}
				}
				schemas[i] = s
			}
			return printDiff(cmd.OutOrStdout(), schemas[0], schemas[1])
		},
	}
	src.flags(cmd)
	return cmd
}

func printDiff(w io.Writer, older, newer *apidoc.Schema) error {
	changes, err := apidoc.Diff(older, newer)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, changes.Text())
	return err
}

var errNoInput = errors.New("-in is missing: the schema to read, a file or a node as https://NODE:8006")
