package settings

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// whole is the least that a server needs.
var whole = []string{"PROXMOX_HOST=pve1.lan", "PROXMOX_TOKEN_ID=root@pam!full", "PROXMOX_TOKEN_SECRET=01234567-89ab-cdef-0123-456789abcdef"}

func load(t *testing.T, o Options, more ...string) (*Config, error) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	o.Environ = append(append([]string{}, whole...), more...)
	return Load(o)
}

func envFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "env")
	require.NoError(t, os.WriteFile(name, []byte(text), mode))
	require.NoError(t, os.Chmod(name, mode))
	return name
}

func TestDefaultsAreCareful(t *testing.T) {
	c, err := load(t, Options{})
	require.NoError(t, err)
	require.Equal(t, ReadOnly, c.Mode)
	require.Equal(t, "off", c.Shell)
	require.False(t, c.Insecure)
	require.False(t, c.HostShell)
}

func TestUnknownValuesAreErrors(t *testing.T) {
	for _, given := range []string{
		"PROXMOX_MODE=write", "PROXMOX_APPROVAL=person", "PROXMOX_SHELL=some", "PROXMOX_HOST_SHELL=true", "PROXMOX_TOOLSETS=core,all-of-it",
		"PROXMOX_TLS_INSECURE=maybe", "PROXMOX_PORT=0", "PROXMOX_TIMEOUT=-1",
	} {
		_, err := load(t, Options{}, given)
		var bad *Error
		require.ErrorAs(t, err, &bad, given)
		require.Len(t, bad.Faults, 1, given)
	}
}

func TestUnknownNames(t *testing.T) {
	for given, meant := range map[string]string{
		"PROXMOX_PROTEKT=vmid:100": "PROXMOX_PROTECT", "PROXMOX_MODES=full": "PROXMOX_MODE", "PROXMOX_ALOW=tag:test": "PROXMOX_ALLOW",
		"PROXMOX_SHELLL=full": "PROXMOX_SHELL", "PROXMOX_OHST=pve2": "PROXMOX_HOST",
	} {
		_, err := load(t, Options{}, given)
		require.ErrorContains(t, err, "did you mean "+meant+"?", given)
	}
	c, err := load(t, Options{}, "PROXMOX_VE_ENDPOINT=https://pve9", "PROXMOX_TOKEN=x", "PROXMOX_COLOUR=red", "PATH=/bin")
	require.NoError(t, err)
	require.Len(t, c.Notes, 1, "other tools' names are none of our business, the rest is a note")
	require.Contains(t, c.Notes[0], "PROXMOX_COLOUR")
}

func TestEnvironmentWins(t *testing.T) {
	name := envFile(t, "PROXMOX_MODE=full\nPROXMOX_PORT=9006\n", 0o600)
	c, err := load(t, Options{EnvFile: name}, "PROXMOX_MODE=readonly")
	require.NoError(t, err)
	require.Equal(t, ReadOnly, c.Mode)
	require.Equal(t, "environment", c.Source["MODE"])
	require.Equal(t, 9006, c.Port)
	require.Equal(t, name, c.Source["PORT"])
}

func TestEnvFileOfOthersIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there are no such bits there
	}
	for _, mode := range []os.FileMode{0o604, 0o640, 0o660, 0o602} {
		_, err := load(t, Options{EnvFile: envFile(t, "PROXMOX_MODE=full\n", mode)})
		require.ErrorContains(t, err, "chmod 600", mode.String())
	}
	_, err := load(t, Options{EnvFile: filepath.Join(t.TempDir(), "none")})
	require.Error(t, err, "a file that was asked for must be there")
	_, err = load(t, Options{}, "PROXMOX_ENV_FILE="+envFile(t, "PROXMOX_MODE=full\n", 0o644))
	require.ErrorContains(t, err, "chmod 600")
}

// An opened repository must not steer the server.
func TestWorkingDirectoryIsNotRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".env", "env", "pve-mcp.env"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("PROXMOX_MODE=full\n"), 0o600))
	}
	t.Chdir(dir)
	c, err := load(t, Options{})
	require.NoError(t, err)
	require.Equal(t, ReadOnly, c.Mode)
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	const secret = "planted-4711"
	for _, text := range []string{"PROXMOX_TOKEN_SECRET " + secret + "\n", "PROXMOX_TOKEN_SECRET=\"" + secret + "\n", secret + "\n"} {
		_, err := load(t, Options{EnvFile: envFile(t, text, 0o600)})
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), secret)
	}
	_, err := load(t, Options{}, "PROXMOX_TOKEN_VALUE="+secret, "PROXMOX_PORT=none")
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)
}
