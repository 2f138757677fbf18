package apidoc

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed facts/*.json
var factFiles embed.FS

// snapshots lists the versions whose facts are in the tree, oldest first.
var snapshots = [...]string{"7.4", "8.4", "9.2"}

// Newest is the version of the newest snapshot, which the generated code is of.
const Newest = "9.2"

var loaded [len(snapshots)]struct {
	once   sync.Once
	schema *Schema
	err    error
}

// Snapshots lists the versions of which this package carries the facts, oldest
// first, as "major.minor".
func Snapshots() []string { return append([]string(nil), snapshots[:]...) }

// Snapshot gives the facts of one of the versions that [Snapshots] lists. It is
// read on first use and shared afterwards; an unknown version is an error.
func Snapshot(version string) (*Schema, error) {
	for i, v := range snapshots {
		if v != version {
			continue
		}
		l := &loaded[i]
		l.once.Do(func() {
			var data []byte
			if data, l.err = factFiles.ReadFile("facts/pve-" + v + ".json"); l.err == nil {
				l.schema, l.err = Parse(data, v)
			}
		})
		return l.schema, l.err
	}
	return nil, fmt.Errorf("no snapshot of version %q; there are %s", version, strings.Join(snapshots[:], ", "))
}

// NearestSnapshot gives the version of the snapshot that fits a cluster best: the
// newest one that is not newer than the given version ("8.2.4", "9.2.11"), or
// the oldest. What can't be read as a version gets the newest.
func NearestSnapshot(version string) string {
	want, ok := versionNumber(version)
	if !ok {
		return Newest
	}
	best := snapshots[0]
	for _, v := range snapshots {
		if n, _ := versionNumber(v); n <= want {
			best = v
		}
	}
	// Within a major release, the later snapshot of the same major is closer
	// than the last of the major before: 9.0 is nearer to 9.2 than to 8.4.
	for _, v := range snapshots {
		if n, _ := versionNumber(v); n/1000 == want/1000 {
			return v
		}
	}
	return best
}

// versionNumber turns "9.2.11" or "9.2" into 9002.
func versionNumber(v string) (int, bool) {
	major, rest, _ := strings.Cut(v, ".")
	minor, _, _ := strings.Cut(rest, ".")
	minor, _, _ = strings.Cut(minor, "-")
	a, err1 := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	if err1 != nil || minor != "" && err2 != nil || a < 0 || b < 0 || b > 999 {
		return 0, false
	}
	return a*1000 + b, true
}
