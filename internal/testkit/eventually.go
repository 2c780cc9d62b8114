package testkit

import (
	"testing"
	"time"
)

// pollEvery is short enough that waiting costs little, long enough that it does not disturb what it waits for.
const pollEvery = 10 * time.Millisecond

// Eventually polls until check returns nil, and fails the test with the last error when that has not happened within timeout.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", timeout, err)
		}
		<-ticker.C
	}
}
