package pverest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"pvemcp/internal/pverest"
)

func TestExpandPath(t *testing.T) {
	for _, c := range []struct {
		template string
		values   []string
		want     string
	}{
		{"/version", nil, "/version"},
		{"/nodes/{node}/qemu/{vmid}/config", []string{"pve1", "100"}, "/nodes/pve1/qemu/100/config"},
		{"/access/users/{userid}", []string{"a%b@pam"}, "/access/users/a%25b@pam"},
		{"/nodes/{node}/storage/{storage}/content/{volume}", []string{"pve1", "local", "local:iso/a?.iso"}, "/nodes/pve1/storage/local/content/local:iso%2Fa%3F.iso"},
		{"/cluster/firewall/ipset/{name}/{cidr}", []string{"s", "fd00::/64"}, "/cluster/firewall/ipset/s/fd00::%2F64"},
	} {
		got, err := pverest.ExpandPath(c.template, c.values...)
		require.NoError(t, err, c.template)
		assert.Equal(t, c.want, got)
	}

	// A value that can't be sent is named.
	_, err := pverest.ExpandPath("/nodes/{node}/qemu/{vmid}", "pve1", "1/2")
	var e *pverest.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, pverest.KindBadCall, e.Kind)
	assert.Contains(t, e.Params, "vmid")
	// Slashes are for the last parameter of such paths alone.
	_, err = pverest.ExpandPath("/nodes/{node}/storage/{storage}/content/{volume}", "pve1", "a/b", "c")
	require.ErrorAs(t, err, &e)
	assert.Contains(t, e.Params, "storage")

	_, err = pverest.ExpandPath("/nodes/{node}", "a", "b")
	require.ErrorContains(t, err, "too many")
	_, err = pverest.ExpandPath("/nodes/{node}")
	require.ErrorContains(t, err, "too few")
}

type indexedResult struct {
	Name pverest.Str         `json:"name"`
	Net  map[int]pverest.Str `json:"-" pve:"net[n]"`
	MP   map[int]pverest.Int `json:"-" pve:"mp[n]"`
}

func (r *indexedResult) UnmarshalJSON(data []byte) error {
	type plain indexedResult
	return pverest.UnmarshalIndexed(data, (*plain)(r))
}

func TestUnmarshalIndexed(t *testing.T) {
	var r indexedResult
	require.NoError(t, json.Unmarshal([]byte(`{"name":"a","net0":"x","net31":7,"net01":"no","net":"no","net99999999999999999999":"no","mp2":"5","netx":1,"other":{}}`), &r))
	assert.Equal(t, "a", r.Name.V)
	require.Len(t, r.Net, 2)
	assert.Equal(t, "x", r.Net[0].V)
	assert.Equal(t, "7", r.Net[31].V)
	require.Len(t, r.MP, 1)
	assert.Equal(t, int64(5), r.MP[2].V)

	r = indexedResult{}
	require.NoError(t, json.Unmarshal([]byte(`{"name":"b"}`), &r))
	assert.Nil(t, r.Net)
	require.Error(t, json.Unmarshal([]byte(`[]`), &r))

	var wrong struct {
		Net map[string]string `json:"-" pve:"net[n]"`
	}
	require.ErrorContains(t, pverest.UnmarshalIndexed([]byte(`{}`), &wrong), "map[int]")
}
