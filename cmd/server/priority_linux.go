package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// lowerPriority makes the process wait for others that want the processor. On Linux every thread has its own priority, and new threads
// take that of the one that makes them.
func lowerPriority(nice int) error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return fmt.Errorf("list threads: %w", err)
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return fmt.Errorf("list threads: %w", err)
		}
		if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, nice); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("set priority: %w", err)
		}
	}
	return nil
}
