package collectors_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// noMessages is a store that knows no message.
type noMessages struct{}

func (noMessages) TaskOf(context.Context, lifecycle.MessageKey) (string, error) {
	return "", lifecycle.ErrNotFound
}

// In a backlog the publish of what an answer names may come with it, but for a message that is older than what capture keeps.
func TestAnAnswerInABacklogToWhatRetentionDeletedIsLeftOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.createStream(jetstream.StreamConfig{})
	now := time.Now()
	b.rec.watermarks[lifecycle.WatermarkRetained] = fmt.Sprint(int64(lifecycle.MicrosOf(now.Add(-time.Hour))))
	ages := map[string]time.Duration{"deleted": 72 * time.Hour, "not read yet": 2 * time.Hour}
	b.src.Resolves = true
	b.src.Stored = func(line collectors.Line) (lifecycle.Micros, bool) {
		age, answers := ages[string(line.Body)]
		return lifecycle.MicrosOf(now.Add(-age)), answers
	}
	b.cfg.Messages = noMessages{}
	b.cfg.Coordinator = collectors.NewBatchCoordinator(b.rec)
	b.publish(numbered(1, 500)...)
	b.publish("deleted", "not read yet")
	b.publish(numbered(501, 1000)...)
	b.start()
	b.waitFor(1001)
	testkit.Eventually(t, patience, func() (err error) {
		b.rec.look(func(r *recorder) {
			if len(r.quarantined) != 1 {
				err = fmt.Errorf("%d lines in quarantine, want one", len(r.quarantined))
			}
			for _, q := range r.quarantined {
				if string(q.Body) != "deleted" {
					err = fmt.Errorf("%q is in quarantine", q.Body)
				}
			}
		})
		return err
	})
	if texts := strings.Join(b.rec.texts(), "\n"); strings.Contains(texts, "deleted") || !strings.Contains(texts, "not read yet") {
		t.Error("the answer to what is deleted makes an event, or the other one makes none")
	}
}
