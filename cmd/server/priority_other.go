//go:build !linux

package main

import "errors"

// lowerPriority is only known for Linux.
func lowerPriority(int) error { return errors.New("not supported on this system") }
