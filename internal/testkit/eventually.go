package testkit

import (
	"testing"
	"time"
)

const (
	shortestPause = 10 * time.Millisecond // Before [Eventually] asks again, at first.
	longestPause  = 50 * time.Millisecond
)

// Eventually asks until check returns nil, and fails the test with the last error when that has not happened within timeout. Between two questions it waits a tenth
// of the time since the first one: short enough that little time is lost, long enough that it does not disturb what it waits for.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	began := time.Now()
	for {
		err := check()
		if err == nil {
			return
		}
		waited := time.Since(began)
		if waited > timeout {
			t.Fatalf("after %s: %v", timeout, err)
		}
		time.Sleep(min(max(waited/10, shortestPause), longestPause))
	}
}
