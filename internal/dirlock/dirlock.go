// Package dirlock keeps a second process from a directory that only one may use.
package dirlock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Take takes the lock of a directory: the file of this name in it, until the result is closed or the process ends. It errors where another process
// has it.
func Take(dir, name string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	switch taken, err := lockFile(f); {
	case taken:
		return nil, errors.Join(fmt.Errorf("directory %s is in use by another process; stop that one first, or name another directory", dir), f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock directory %s: %w", dir, err), f.Close())
	}
	return f, nil
}
