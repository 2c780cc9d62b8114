//go:build unix

package dirlock

import (
	"os"
	"syscall"
)

// lockFile takes an exclusive lock that the system releases when the file is closed or the process ends.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
