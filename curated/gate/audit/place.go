package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// DefaultPath gives where the log is when no setting says so: audit.jsonl in
// our directory below the user's state directory ($XDG_STATE_HOME, else
// ~/.local/state; on Windows and macOS where applications keep such data). The
// error says that the user has no home.
func DefaultPath() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pve-mcp", "audit.jsonl"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("no place for the audit log: %w; set PROXMOX_AUDIT_LOG", err)
		}
		return filepath.Join(dir, "pve-mcp", "audit.jsonl"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no place for the audit log: %w; set PROXMOX_AUDIT_LOG", err)
	}
	return filepath.Join(home, ".local", "state", "pve-mcp", "audit.jsonl"), nil
}

// prepare makes the log's directory and refuses a place where others could
// put another file in its stead.
func prepare(path string) (resolved string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", dir)
	}
	if err := private(dir, info, 0o002); err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// openFile opens one of the log's files, which must be a plain file of its own:
// no link elsewhere, and nobody else may be able to write to it.
func openFile(path string, flag int) (f *os.File, created bool, err error) {
	before, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		created = true
	case err != nil:
		return nil, false, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, false, fmt.Errorf("%s is a symbolic link", path)
	case !before.Mode().IsRegular():
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	f, err = os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		return nil, false, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err == nil {
		err = private(path, info, 0o022)
	}
	if err != nil {
		_ = f.Close()
		return nil, false, err
	}
	return f, created, nil
}
