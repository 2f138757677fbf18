//go:build unix

package audit

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// private refuses what others may write to (the bits say who counts as others),
// and what belongs to somebody else who is not root.
func private(path string, info fs.FileInfo, bits fs.FileMode) error {
	if info.Mode().Perm()&bits != 0 {
		return fmt.Errorf("others may write to %s (mode %#o); the audit log needs a place of its own", path, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user (uid %d)", path, st.Uid)
	}
	return nil
}

// syncDir makes a new directory entry last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return syncFile(d)
}
