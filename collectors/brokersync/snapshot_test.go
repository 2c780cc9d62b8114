package brokersync_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/collectors/brokersync"
)

func (b *bench) snapshot() brokersync.StreamSnapshotConfig {
	return brokersync.StreamSnapshotConfig{JetStream: b.js, Incarnations: b.cfg.Incarnations, Settle: 100 * time.Millisecond}
}

// held are the sequences that stock was taken of.
func held(s brokersync.StreamSnapshot) (seqs []uint64) {
	s.Present.Between(0, s.LastSeq, func(seq uint64) bool { seqs = append(seqs, seq); return true })
	return seqs
}

// snapshotOf is a snapshot of the only stream.
func snapshotOf(ctx context.Context, cfg brokersync.StreamSnapshotConfig) (brokersync.StreamSnapshot, error) {
	streams, err := brokersync.SnapshotStreams(ctx, cfg)
	if len(streams) != 1 {
		return brokersync.StreamSnapshot{}, err
	}
	return streams[0], err
}

func TestASnapshotWaitsForTheLinesCapturedBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "stock").works(nats.ConsumerConfig{AckWait: time.Hour})
	a.publish("stock")
	a.must(a.takes().AckSync())
	a.publish("left")
	b.captured(t, "OBS_ACK", 1)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if s, err := snapshotOf(ctx, b.snapshot()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(fmt.Sprint(err), "not stored yet") {
		t.Errorf("while nobody stores lines: %+v, %v; want that it waits", s, err)
	}
	b.startLines()
	s, err := snapshotOf(t.Context(), b.snapshot())
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.store.Task(t.Context(), "stock")
	if err != nil || !r.Summary.EndedAt.Known() {
		t.Errorf("after it was taken the store says %s, %v; want completed", r.Summary.State, err)
	}
	if got := held(s); !slices.Equal(got, []uint64{2}) || s.LastSeq != 2 || s.Msgs != 1 || !s.Whole() || !s.At.Known() || !s.LastAt.Known() {
		t.Errorf("stock %+v holds %v, want message 2 of 2", s, got)
	}
}

func TestASnapshotOfALargeStreamIsWalked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.startLines()
	a := b.agent(t, "walk")
	for i := range 8 {
		a.publish(fmt.Sprintf("walk-%d", i))
	}
	for _, seq := range []uint64{2, 4, 5} {
		a.must(a.js.DeleteMsg("TASKS", seq))
	}
	cfg := b.snapshot()
	cfg.Details = -1
	for _, c := range []struct {
		walk  int
		want  []uint64
		whole bool
	}{{0, []uint64{1, 3, 6, 7, 8}, true}, {3, []uint64{1, 3, 6}, false}} {
		cfg.Walk = c.walk
		s, err := snapshotOf(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := held(s); !slices.Equal(got, c.want) || s.Whole() != c.whole {
			t.Errorf("walking %d: %v, whole %v; want %v and %v", c.walk, got, s.Whole(), c.want, c.whole)
		}
	}
	a.must(a.js.DeleteStream("TASKS"))
	if s, err := snapshotOf(t.Context(), b.snapshot()); !errors.Is(err, brokersync.ErrNoStream) {
		t.Errorf("without a stream: %+v, %v; want ErrNoStream", s, err)
	}
}
