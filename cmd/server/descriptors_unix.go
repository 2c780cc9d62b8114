//go:build unix

package main

import "syscall"

// descriptors is how many files and connections this process may have open. The runtime raises the limit as far as it may at start.
func descriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fewDescriptors
	}
	return int(min(limit.Cur, 1<<20))
}
