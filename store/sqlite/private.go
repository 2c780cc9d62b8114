package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

// keepPrivate creates the file for its owner alone, and closes one that others may read. SQLite gives the files that it makes beside the database the same rights.
func keepPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if err := os.Chmod(name, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
