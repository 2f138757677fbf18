package schemacache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"pvemcp/apidoc"
)

// Path is where every node serves its schema, beside the API and without login.
const Path = "/pve-docs/api-viewer/apidoc.js"

// MaxAge is how long a kept file is used without asking the cluster again. The
// schema belongs to a package of its own, which may be upgraded while the
// version that the key holds stays the same.
const MaxAge = 3 * 24 * time.Hour

// landmarks are methods that every published schema of Proxmox VE has and no
// other product: Backup Server and Mail Gateway serve schemas of the same form.
var landmarks = [...]struct {
	verb apidoc.Verb
	path string
}{
	{apidoc.GET, "/version"},
	{apidoc.GET, "/cluster/resources"},
	{apidoc.GET, "/nodes/{node}/qemu/{vmid}/config"},
	{apidoc.POST, "/nodes/{node}/lxc"},
}

// Read parses a schema file and holds it to be one of Proxmox VE. The release
// ("9.2") labels it and decides about rules that changed between releases.
func Read(data []byte, release string) (*apidoc.Schema, error) {
	schema, err := apidoc.Parse(data, release)
	if err != nil {
		return nil, err
	}
	for _, l := range landmarks {
		if _, ok := schema.Endpoint(l.verb, l.path); !ok {
			return nil, fmt.Errorf("schema: not of Proxmox VE, which has %s %s", l.verb, l.path)
		}
	}
	return schema, nil
}

// Origin says where a schema came from.
type Origin string

// The origins, best first.
const (
	Fetched  Origin = "fetched"  // from the cluster, now
	Kept     Origin = "kept"     // from disk, no older than [MaxAge]
	Old      Origin = "old"      // from disk, older, because no better could be had
	Snapshot Origin = "snapshot" // carried by this program; near to the cluster's version
)

// Own tells whether it is the cluster's own schema, not one that stands in.
func (o Origin) Own() bool { return o != Snapshot }

// Choice is the schema to check a cluster's calls by.
type Choice struct {
	Schema *apidoc.Schema
	Origin Origin
	// Since is when the cluster served it; the zero time for a snapshot.
	Since time.Time
	// Trouble is why the origin is no better than it is; nil for Fetched and Kept.
	Trouble error
	// Unkept is why a fetched file could not be kept; nil when it was.
	Unkept error
}

// Fetch gets the cluster's schema file, in any form that apidoc reads.
type Fetch func(ctx context.Context) ([]byte, error)

// Choose gives the best schema that can be had: a kept file, unless it is older
// than [MaxAge] or anew is set; the file that the cluster serves, which is kept;
// the older file; the snapshot nearest to the version. The error, that not even
// a snapshot can be read, is a fault of the build.
func (s *Store) Choose(ctx context.Context, k Key, now time.Time, anew bool, fetch Fetch) (Choice, error) {
	kept, at, err := s.Load(k)
	if err == nil && !anew && now.Sub(at) <= MaxAge {
		return Choice{Schema: kept, Origin: Kept, Since: at}, nil
	}
	data, trouble := fetch(ctx)
	if trouble == nil {
		var schema *apidoc.Schema
		if schema, trouble = Read(data, k.Release()); trouble == nil {
			c := Choice{Schema: schema, Origin: Fetched, Since: now}
			c.Unkept = s.Keep(k, data)
			return c, nil
		}
	}
	if err == nil {
		return Choice{Schema: kept, Origin: Old, Since: at, Trouble: trouble}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		trouble = errors.Join(trouble, err)
	}
	return Nearest(k.Version, trouble)
}

// Nearest gives the snapshot that stands in for a version, "" for one that is
// not known, because of some trouble.
func Nearest(version string, trouble error) (Choice, error) {
	schema, err := apidoc.Snapshot(apidoc.NearestSnapshot(version))
	if err != nil {
		return Choice{}, err
	}
	return Choice{Schema: schema, Origin: Snapshot, Trouble: trouble}, nil
}
