package settings

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"time"

	"github.com/joho/godotenv"
)

// Error is what is wrong with the settings, one line for each fault.
type Error struct{ Faults []string }

func (e *Error) Error() string { return strings.Join(e.Faults, "\n") }

func (e *Error) add(format string, args ...any) {
	e.Faults = append(e.Faults, fmt.Sprintf(format, args...))
}

// Dir is our configuration directory, such as ~/.config/pve-mcp. The error
// says that the system names no such place.
func Dir() (string, error) {
	base, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "pve-mcp"), nil
}

// Options say where settings come from.
type Options struct {
	Environ []string // as os.Environ gives it
	EnvFile string   // --env-file; empty means PROXMOX_ENV_FILE, or "env" in our configuration directory if it is there
	// Offline: no connection is needed (tools, demo), so that a missing host
	// or token is no fault.
	Offline bool
}

// Load reads and checks all settings. The process environment wins over the
// env file. No file is ever read from the working directory: a repository that
// an agent opens must not steer the server. The error is of type [*Error].
func Load(o Options) (*Config, error) {
	bad := &Error{}
	given := map[string]string{}
	source := map[string]string{}
	for _, kv := range o.Environ {
		name, v, ok := strings.Cut(kv, "=")
		if ok && strings.HasPrefix(name, Prefix) {
			given[name], source[name] = v, "environment"
		}
	}
	file, vars := readEnvFile(o, given[Prefix+"ENV_FILE"], bad)
	for name, v := range vars {
		if _, ok := given[name]; !ok && strings.HasPrefix(name, Prefix) {
			given[name], source[name] = v, file
		}
	}
	c := &Config{Port: 8006, Timeout: 30 * time.Second, Parallel: 8, Mode: ReadOnly, Approval: "flags", Shell: "off", MaxWait: 50 * time.Second, Toolsets: []string{"core", "guests"}, MaxTokens: 2000, Source: map[string]string{}}
	for _, name := range sortedNames(given) {
		s := lookup(strings.TrimPrefix(name, Prefix))
		if s == nil {
			c.unknownName(name, source[name], bad)
			continue
		}
		v := value{s, strings.TrimSpace(given[name])}
		if v.text == "" {
			continue // an empty variable is how many clients leave a field open
		}
		err := v.check()
		if err == nil {
			err = s.set(c, v)
		}
		if err != nil {
			shown := ""
			if s.Kind != KindSecret {
				shown = fmt.Sprintf("=%.60q", v.text)
			}
			bad.add("%s%s (from %s): %v", name, shown, source[name], err)
			continue
		}
		c.Source[s.Name] = source[name]
	}
	c.reconcile(o, bad)
	if len(bad.Faults) > 0 {
		return c, bad
	}
	return c, nil
}

// unknownName decides what an unknown PROXMOX_ name is: a slip of the pen is a
// fault, another tool's variable is none of our business, the rest a note.
func (c *Config) unknownName(name, from string, bad *Error) {
	if isForeign(name) {
		return
	}
	for i := range table {
		if oneLetterApart(name, table[i].Env()) {
			bad.add("%s (from %s) is not a setting; did you mean %s?", name, from, table[i].Env())
			return
		}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%s (from %s) is not a setting of pve-mcp and has no effect", name, from))
}

// reconcile joins settings that say one thing in two ways, and finds what is
// missing or contradictory.
func (c *Config) reconcile(o Options, bad *Error) {
	twice := func(a, b string) {
		bad.add("%s%s and %s%s contradict each other: give one of them", Prefix, a, Prefix, b)
	}
	if c.user != "" || c.tokenName != "" {
		switch {
		case c.user == "" || c.tokenName == "":
			user, name, _ := strings.Cut(c.TokenID, "!")
			switch {
			case c.user != "" && c.TokenID != "" && c.user != user:
				twice("TOKEN_ID", "USER")
			case c.tokenName != "" && c.TokenID != "" && c.tokenName != name:
				twice("TOKEN_ID", "TOKEN_NAME")
			case c.TokenID == "":
				bad.add("%sUSER and %sTOKEN_NAME belong together: give both, or %sTOKEN_ID=USER@REALM!NAME", Prefix, Prefix, Prefix)
			}
		case c.TokenID != "" && c.TokenID != c.user+"!"+c.tokenName:
			twice("TOKEN_ID", "USER and PROXMOX_TOKEN_NAME")
		default:
			c.TokenID = c.user + "!" + c.tokenName
		}
	}
	if c.tokenValue != "" {
		if c.TokenSecret != "" && c.TokenSecret != c.tokenValue {
			twice("TOKEN_SECRET", "TOKEN_VALUE")
		}
		c.TokenSecret = c.tokenValue
	}
	if c.verifySSL != nil {
		if _, given := c.Source["TLS_INSECURE"]; given && c.Insecure == *c.verifySSL {
			twice("TLS_INSECURE", "VERIFY_SSL")
		}
		// A pinned or CA-checked certificate is verified whatever the older
		// setting of another server says.
		c.Insecure = !*c.verifySSL
	}
	if c.Insecure && c.Fingerprint != "" {
		twice("FINGERPRINT", "TLS_INSECURE (or VERIFY_SSL=false)")
	}
	if c.Insecure && c.CAFile != "" {
		twice("CA_FILE", "TLS_INSECURE (or VERIFY_SSL=false)")
	}
	if contains(c.Toolsets, "all") {
		c.Toolsets = append([]string{}, Toolsets...)
	}
	if o.Offline {
		return
	}
	if len(c.Hosts) == 0 {
		bad.add("%sHOST is not set: the node to talk to, such as https://pve1.lan:8006 (try 'pve-mcp serve --demo' without a Proxmox)", Prefix)
	}
	if c.TokenID == "" {
		bad.add("%sTOKEN_ID is not set: the API token, as USER@REALM!NAME; create one under Datacenter → Permissions → API Tokens", Prefix)
	}
	if c.TokenSecret == "" {
		bad.add("%sTOKEN_SECRET is not set: the secret that Proxmox showed when the token was created", Prefix)
	}
}

// readEnvFile gives the file's name and variables. A file that was asked for
// must be there; the one in our directory may be missing.
func readEnvFile(o Options, fromEnv string, bad *Error) (string, map[string]string) {
	name, asked := o.EnvFile, "--env-file"
	if name == "" {
		name, asked = fromEnv, Prefix+"ENV_FILE"
	}
	if name == "" {
		dir, err := Dir()
		if err != nil {
			return "", nil
		}
		name, asked = filepath.Join(dir, "env"), ""
	}
	data, err := os.ReadFile(name)
	if err != nil {
		if asked != "" || !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrPermission) {
			bad.add("env file (%s): %v", asked, err)
		}
		return "", nil
	}
	if err := private(name); err != nil {
		bad.add("env file: %v", err)
		return "", nil
	}
	vars, err := godotenv.Parse(bytes.NewReader(data))
	if err != nil {
		// The parser's error quotes the line, which may hold a secret.
		bad.add("env file %s: a line is not of the form NAME=value", name)
		return "", nil
	}
	return name, vars
}

// private refuses a file that others can read. Windows has no such bits; its
// documentation page says how to do it there.
func private(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s holds secrets and others can read it; run: chmod 600 %s", name, name)
	}
	return nil
}

// oneLetterApart: one letter more, less, other, or two neighbours swapped.
func oneLetterApart(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
