package sqlite

import (
	"zombiezen.com/go/sqlite"
)

// isUnable reports whether an error is about the disk, the memory or other processes, and not about what was to be written.
func isUnable(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull, sqlite.ResultIOErr, sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultNoMem, sqlite.ResultBusy,
		sqlite.ResultLocked, sqlite.ResultPerm, sqlite.ResultCorrupt, sqlite.ResultNotADB, sqlite.ResultProtocol:
		return true
	}
	return false
}
