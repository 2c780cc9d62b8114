//go:build !unix

package dirlock

import "os"

// lockFile does nothing where the system has no advisory locks: one process per directory is then up to the user.
func lockFile(*os.File) (taken bool, err error) { return false, nil }
