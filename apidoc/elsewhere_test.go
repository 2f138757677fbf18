package apidoc

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMethodElsewhere(t *testing.T) {
	for _, c := range []struct {
		version string
		verb    Verb
		path    string
		want    string
	}{
		{"8.4", GET, "/cluster/ha/rules", "GET /cluster/ha/rules is not in 8.4; it came with a later version (it is in 9.2); here there is /cluster/ha/groups"},
		{"8.4", DELETE, "/cluster/ha/rules/r1", "DELETE /cluster/ha/rules/{rule} is not in 8.4; it came with a later version (it is in 9.2); here there is /cluster/ha/groups"},
		{"7.4", GET, "/cluster/mapping/pci", "GET /cluster/mapping/pci is not in 7.4; it came with a later version (it is in 8.4)"},
		{"8.4", GET, "/nodes/pve1/ceph/pools", "GET /nodes/{node}/ceph/pools is not in 8.4 any more; 7.4 had it; here there is /nodes/{node}/ceph/pool"},
		{"9.2", PUT, "/nodes/pve1/ceph/pools/rbd", "PUT /nodes/{node}/ceph/pools/{name} is not in 9.2 any more; 7.4 had it; here there is /nodes/{node}/ceph/pool"},
		{"9.2", GET, "/nodes/pve1/scan/glusterfs", "GET /nodes/{node}/scan/glusterfs is not in 9.2 any more; 8.4 had it; GlusterFS storages are not supported any more"},
		{"9.2", POST, "/access/tfa", "POST /access/tfa is not in 9.2 any more; 7.4 had it; a login is completed by POST /access/ticket with tfa-challenge; here there is /access/ticket"},
		{"8.4", GET, "/no/such/path", ""},
		{"9.2", GET, "/cluster//", ""},
		{"9.2", GET, "bad path", ""},
	} {
		s, err := Snapshot(c.version)
		require.NoError(t, err)
		require.Equal(t, c.want, s.MethodElsewhere(c.verb, c.path), "%s %s in %s", c.verb, c.path, c.version)
	}
}

func TestParamElsewhere(t *testing.T) {
	for _, c := range []struct {
		version     string
		verb        Verb
		path, param string
		want        string
	}{
		{"9.2", POST, "/nodes/{node}/vzdump", "maxfiles", "maxfiles is not in 9.2 any more; 8.4 had it; use prune-backups, such as keep-last=3"},
		{"9.2", POST, "/storage", "server2", "server2 is not in 9.2 any more; 8.4 had it; GlusterFS storages are not supported any more"},
		{"8.4", POST, "/cluster/ha/resources", "failback", "failback is not in 8.4; it came with a later version (it is in 9.2)"},
		{"9.2", POST, "/nodes/{node}/qemu", "memroy", ""},
		{"9.2", POST, "/no/such", "x", ""},
	} {
		s, err := Snapshot(c.version)
		require.NoError(t, err)
		require.Equal(t, c.want, s.ParamElsewhere(c.verb, c.path, c.param), "%s of %s %s in %s", c.param, c.verb, c.path, c.version)
	}
}

// A build of a version that lacks what the snapshot of that version has must not
// be told that the version lacks it.
func TestElsewhereInTheSameVersion(t *testing.T) {
	s, err := Parse([]byte(`[{"path":"/version","text":"version","leaf":1,"info":{"GET":{"method":"GET"}}}]`), "9.2")
	require.NoError(t, err)
	require.Equal(t, "GET /cluster/ha/rules is not in this cluster's build of 9.2; other builds of it have it", s.MethodElsewhere(GET, "/cluster/ha/rules"))
	s.Version = ""
	require.Contains(t, s.MethodElsewhere(GET, "/cluster/ha/rules"), "is not in this cluster's version")
}

// What replaces something must be there, or the advice leads nowhere.
func TestReplacementsNameWhatThereIs(t *testing.T) {
	for _, r := range replacements {
		known := r.new == ""
		for _, v := range snapshots {
			s, err := Snapshot(v)
			require.NoError(t, err)
			known = known || s.has(r.new)
		}
		require.True(t, known, r.new)
		require.NotEmpty(t, r.since)
	}
}
