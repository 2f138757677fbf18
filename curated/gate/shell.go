package gate

import (
	"fmt"
	"strings"

	"pvemcp/apidoc"
)

// ShellMode says what of class shell is open.
type ShellMode string

// The modes of shells.
const (
	ShellOff  ShellMode = "off"  // nothing
	ShellRead ShellMode = "read" // files and ended commands of guests may be read
	ShellFull ShellMode = "full" // commands and consoles
)

// readShells are the GETs of class shell that run nothing.
var readShells = []string{"/agent/file-read", "/agent/exec-status"}

// guestShells are the methods of class shell that stay inside one guest, by the
// end of their template behind {vmid}. All others count as shells of a host:
// the QEMU monitor can start programs there, and what goes through a migration
// tunnel can't be looked into.
var guestShells = []string{
	"/agent/exec", "/agent/exec-status", "/agent/file-read", "/agent/file-write", "/agent/set-user-password",
	"/sendkey", "/spiceproxy", "/termproxy", "/vncproxy", "/vncwebsocket",
}

// hostParams raise a call to class shell because the host runs what they say.
var hostParams = []string{"args", "hookscript", "script"}

// guestShell tells whether a call of class shell stays inside one guest.
func (i *Intent) guestShell() bool {
	if i.command {
		return i.guest != 0
	}
	if i.Policy.Class == apidoc.Shell {
		_, behind, ok := strings.Cut(i.Template, "/{vmid}")
		return ok && hasSuffixOf(behind, guestShells)
	}
	for _, name := range hostParams {
		if len(i.Params[name]) > 0 {
			return false
		}
	}
	// What else raises to shell is judged by its one known rule.
	return len(i.Params["entrypoint"]) > 0
}

func hasSuffixOf(s string, ends []string) bool {
	for _, end := range ends {
		if s == end || strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// hostShell tells that a call of class shell can reach beyond one guest.
func (i *Intent) hostShell() bool { return i.Class == apidoc.Shell && !i.guestShell() }

// mayShell refuses calls of class shell that are not open.
func (g *Gate) mayShell(in *Intent) error {
	if in.Class != apidoc.Shell {
		return nil
	}
	need := ShellFull
	if in.readsShell() {
		need = ShellRead
	}
	switch {
	case g.shell == ShellFull:
		return nil
	case g.shell == ShellRead && need == ShellRead:
		return nil
	}
	r := refuse(in, ShellClosed)
	r.Err = fmt.Errorf("PROXMOX_SHELL=%s is needed, which only the user can set", need)
	return r
}

// readsShell tells that a call of class shell only reads.
func (i *Intent) readsShell() bool {
	return i.Class == apidoc.Shell && i.Verb.Reads() && hasSuffixOf(i.Template, readShells)
}
