package collectors_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// emptied shows streams without their messages for a while, as a broker does that is restoring them.
type emptied struct {
	jetstream.JetStream
	is atomic.Bool
}

func (e *emptied) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	s, err := e.JetStream.Stream(ctx, name)
	if err != nil || !e.is.Load() {
		return s, err
	}
	return empty{s}, nil
}

type empty struct{ jetstream.Stream }

func (s empty) CachedInfo() *jetstream.StreamInfo {
	info := *s.Stream.CachedInfo()
	info.State.Msgs = 0
	return &info
}

// A stream that is restored may be there before its messages are: they are found once they show, however often it was looked at before.
func TestAStreamIsKnownAsRestoredOnceItsMessagesShow(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	away := &emptied{JetStream: js}
	rec := newRecorder()
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: away, Appender: rec, Watermarks: rec, Contract: fleet.NewContract("")})
	if err != nil {
		t.Fatal(err)
	}
	look := func() collectors.Incarnations {
		t.Helper()
		s, err := inc.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Known[fleet.StreamTasks]
	}
	live(t, js)
	live(t, js)
	look()
	backup, err := testkit.BackUp(t.Context(), js, fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	look()
	if err := backup.Restore(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	away.is.Store(true)
	for range 10 {
		look()
	}
	away.is.Store(false)
	if known := look(); len(known) != 2 || known[1].Restored != 2 {
		t.Fatalf("after its messages showed: %+v", known)
	}
}
