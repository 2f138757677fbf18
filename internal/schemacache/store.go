package schemacache

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"pvemcp/apidoc"
)

// Key says which schema is meant. All parts count.
type Key struct {
	// Version and RepoID are what GET /version tells: "9.2.11", "c0ffee01".
	Version, RepoID string
	// Cluster tells apart clusters of the same version, so that none can put a
	// file in the way of another; any text, such as the configured hosts.
	Cluster string
}

// Release gives the label of the key's schema, "9.2" for version "9.2.11"; ""
// for a version that has not this form.
func (k Key) Release() string {
	major, rest, _ := strings.Cut(k.Version, ".")
	minor := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = rest[:i]
	}
	if !digits(major) || !digits(minor) {
		return ""
	}
	return major + "." + minor
}

func digits(s string) bool {
	return s != "" && len(s) <= 3 && strings.Trim(s, "0123456789") == ""
}

// file gives the name under which the key's schema is kept. Version and id are
// in it for people who look into the folder; the hash makes it the key's own.
func (k Key) file() string {
	h := sha256.New()
	for _, s := range []string{k.Version, k.RepoID, k.Cluster} {
		_, _ = fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("%s%s-%s-%x%s", prefix, tame(k.Version), tame(k.RepoID), h.Sum(nil)[:6], suffix)
}

const (
	prefix = "apidoc-"
	suffix = ".js"
	// most is how many files are kept: a person looks after a few clusters.
	most = 8
)

// tame makes a text fit for a file name.
func tame(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 24)]
}

// Store is a folder of schema files. The zero value keeps nothing.
type Store struct{ dir string }

// NewStore gives the store in a folder, which is made when something is kept.
// An empty dir keeps nothing.
func NewStore(dir string) *Store { return &Store{dir: dir} }

// Load gives the schema that is kept under the key and the time at which it was
// fetched. The error is fs.ErrNotExist when there is none, or says why the file
// is not usable; such a file is as good as none and will be replaced.
func (s *Store) Load(k Key) (*apidoc.Schema, time.Time, error) {
	if s.dir == "" {
		return nil, time.Time{}, fs.ErrNotExist
	}
	f, err := os.Open(filepath.Join(s.dir, k.file()))
	if err != nil {
		return nil, time.Time{}, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, time.Time{}, err
	case !info.Mode().IsRegular():
		return nil, time.Time{}, fmt.Errorf("schema file %s: not a regular file", f.Name())
	case info.Size() > apidoc.MaxText:
		return nil, time.Time{}, fmt.Errorf("schema file %s: %d bytes, which no schema has", f.Name(), info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, time.Time{}, fmt.Errorf("schema file %s: %w", f.Name(), err)
	}
	schema, err := Read(data, k.Release())
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("schema file %s: %w", f.Name(), err)
	}
	return schema, info.ModTime(), nil
}

// Keep writes a file as it came under the key. Whoever reads meanwhile sees the
// old file or the new one, never a part; a file that a crash of the machine
// damages all the same is found out when it is read. Only its owner can read
// it. The error says what in the folder can't be written.
func (s *Store) Keep(k Key, data []byte) error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, k.file()))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	s.tidy(k.file())
	return nil
}

// tidy removes the files that were not fetched for the longest time, and what a
// killed process left half written. It never removes the file called fresh.
func (s *Store) tidy(fresh string) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	type kept struct {
		name string
		at   time.Time
	}
	var files []kept
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		switch name := e.Name(); {
		case strings.HasPrefix(name, ".new-") && time.Since(info.ModTime()) > time.Hour:
			_ = os.Remove(filepath.Join(s.dir, name))
		case strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) && name != fresh:
			files = append(files, kept{name, info.ModTime()})
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].at.After(files[j].at) })
	for _, f := range files[min(len(files), most-1):] {
		_ = os.Remove(filepath.Join(s.dir, f.name))
	}
}
