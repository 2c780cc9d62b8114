//go:build !unix

package embednats

import "os"

// lockFile does nothing where the system has no advisory locks: one server per directory is then up to the user.
func lockFile(*os.File) error { return nil }
