package gen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// ownFile tells files that this package writes from tests that people put
// beside them.
func ownFile(name string) bool {
	return strings.HasSuffix(name, ".gen.go") || name == schemasName
}

// Write puts the files into a directory, which is made if need be, and removes
// what an earlier run left there. Files that are the same are not touched.
func (o *Output) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	have, err := listDir(dir)
	if err != nil {
		return err
	}
	for _, name := range have {
		if _, keep := o.Files[name]; !keep && ownFile(name) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range sortedNames(o.Files) {
		path := filepath.Join(dir, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, o.Files[name]) {
			continue
		}
		if err := os.WriteFile(path, o.Files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// StaleError says in what a directory differs from what would be written.
type StaleError struct {
	Dir    string
	Differ []string // file: how
}

// Error gives one file a line.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%s is stale; run go generate ./...\n  %s", e.Dir, strings.Join(e.Differ, "\n  "))
}

// Check compares a directory as a whole with the files and changes nothing:
// nil, a [*StaleError], or what went wrong in reading. Tests in the directory
// don't count.
func (o *Output) Check(dir string) error {
	have, err := listDir(dir)
	if err != nil {
		return err
	}
	var differ []string
	for _, name := range have {
		if _, known := o.Files[name]; !known && !strings.HasSuffix(name, "_test.go") {
			differ = append(differ, name+": does not belong here")
		}
	}
	for _, name := range sortedNames(o.Files) {
		old, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			differ = append(differ, name+": missing")
		case err != nil:
			return err
		case !bytes.Equal(old, o.Files[name]):
			differ = append(differ, name+": "+firstDifference(old, o.Files[name]))
		}
	}
	if len(differ) > 0 {
		sort.Strings(differ)
		return &StaleError{dir, differ}
	}
	return nil
}

func firstDifference(have, want []byte) string {
	line := 1
	for i := 0; i < len(have) && i < len(want) && have[i] == want[i]; i++ {
		if have[i] == '\n' {
			line++
		}
	}
	return fmt.Sprintf("differs from line %d on", line)
}

// listDir gives the names of the files in a directory, sorted; none if there
// is no directory.
func listDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
