package health

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestATurnThatFailsIsToldOnceAndEndsWithTheNextThatSucceeds(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	turns := NewTurns(Part{Name: "retries", State: Starting}, slog.New(slog.NewTextHandler(&log, nil)), "retries are not sent")
	first, second := time.Unix(100, 0), time.Unix(200, 0)
	turns.Ended(t.Context(), nil, first)
	turns.Ended(t.Context(), errors.New("no broker"), second)
	turns.Ended(t.Context(), errors.New("no broker"), second)
	if got := turns.Health()[0]; got.State != Down || got.Detail != "no broker" || !got.LastAt.Equal(first) {
		t.Errorf("after a failure: %+v, want it down, and last well at the first turn", got)
	}
	if n := strings.Count(log.String(), "retries are not sent"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, &log)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	turns.Ended(stopped, nil, second)
	if got := turns.Health()[0]; got.State != Down {
		t.Errorf("a turn that was stopped ended the failure: %+v", got)
	}
	turns.Handled()
	turns.Ended(t.Context(), nil, second)
	if got := turns.Health()[0]; got.State != OK || got.Detail != "" || !got.LastAt.Equal(second) || got.Handled != 1 {
		t.Errorf("after a success: %+v", got)
	}
}
