package main

import (
	"context"
	"time"
)

// again does something at every interval until ctx is done, and returns nil.
func again(ctx context.Context, every time.Duration, do func()) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			do()
		}
	}
}
