package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

//go:embed breakages.toml
var breakagesTOML string

// breakage is one change of the code that some test must notice.
type breakage struct {
	Name string
	// Why says what it would mean for a user if the code were like this.
	Why string
	// File is the broken file, with slashes, seen from the module's root.
	File string
	// Old stands in the file exactly once; New takes its place.
	Old, New string
	// Package holds the tests, as the go command takes it: ./curated/gate.
	Package string
	// Tests are the top-level tests that run; at least one must fail.
	Tests []string
}

// readBreakages reads a list. The error names the entry that is not whole.
func readBreakages(text string) ([]breakage, error) {
	var file struct{ Breakage []breakage }
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, err
	}
	if odd := meta.Undecoded(); len(odd) > 0 {
		return nil, fmt.Errorf("unknown key %s", odd[0])
	}
	seen := map[string]bool{}
	for i, b := range file.Breakage {
		switch {
		case b.Name == "" || strings.ContainsAny(b.Name, " ,\t\n"):
			return nil, fmt.Errorf("breakage %d: %q is no name; it is one word without commas", i+1, b.Name)
		case seen[b.Name]:
			return nil, fmt.Errorf("breakage %s stands twice", b.Name)
		case b.Why == "" || b.File == "" || b.Old == "" || b.Package == "" || len(b.Tests) == 0:
			return nil, fmt.Errorf("breakage %s: why, file, old, package and tests are needed", b.Name)
		case b.Old == b.New:
			return nil, fmt.Errorf("breakage %s changes nothing", b.Name)
		case strings.HasSuffix(b.File, "_test.go"):
			return nil, fmt.Errorf("breakage %s: tests are not what is broken", b.Name)
		}
		seen[b.Name] = true
	}
	return file.Breakage, nil
}

// broken gives the text of the broken file. The error says that the file is not
// there, or that the old text is not in it exactly once.
func (b breakage) broken(root string) ([]byte, error) {
	text, err := os.ReadFile(b.path(root))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(text), b.Old); n != 1 {
		return nil, fmt.Errorf("the old text stands %d times in %s, not once", n, b.File)
	}
	return []byte(strings.Replace(string(text), b.Old, b.New, 1)), nil
}

func (b breakage) path(root string) string { return filepath.Join(root, filepath.FromSlash(b.File)) }

// moduleRoot finds go.mod above dir.
func moduleRoot(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no go.mod above %s", dir)
		}
	}
}
