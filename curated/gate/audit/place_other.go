//go:build !unix

package audit

import "io/fs"

// Links are refused by a look before; there is no flag for it here.
const noFollow = 0

// private can't judge by mode bits here: who may write is said by access
// control lists, which a user's own directories inherit.
func private(string, fs.FileInfo, fs.FileMode) error { return nil }

// A directory can't be synced here.
func syncDir(string) error { return nil }
