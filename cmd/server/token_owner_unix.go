//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file that takes the place of another one its owner, group and mode: a server that could read that one can read this one. It errors where this
// user may not.
func keepOwner(f *os.File, before fs.FileInfo) error {
	if stat, ok := before.Sys().(*syscall.Stat_t); ok {
		if err := f.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(before.Mode().Perm())
}
