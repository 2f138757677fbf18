package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Half of the older form beside the token id may repeat it, never contradict it.
func TestHalfTokenBesideTokenID(t *testing.T) {
	for _, good := range []string{"PROXMOX_USER=root@pam", "PROXMOX_TOKEN_NAME=full"} {
		c, err := load(t, Options{}, good)
		require.NoError(t, err)
		require.Equal(t, "root@pam!full", c.TokenID)
	}
	for _, bad := range []string{"PROXMOX_USER=other@pam", "PROXMOX_TOKEN_NAME=other"} {
		_, err := load(t, Options{}, bad)
		require.ErrorContains(t, err, "contradict", bad)
	}
}
