//go:build unix

package dirlock

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes an exclusive lock that the system releases when the file is closed or the process ends. It reports whether another process has it.
func lockFile(f *os.File) (taken bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK), err
}
