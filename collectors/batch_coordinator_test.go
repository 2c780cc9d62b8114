package collectors

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fleetglass/lifecycle"
)

// ledger is an appender that notes the sizes of batches.
type ledger struct {
	mu    sync.Mutex
	sizes []int
	err   error
}

func (l *ledger) Append(_ context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sizes = append(l.sizes, len(b.Events))
	return lifecycle.Appended{New: len(b.Events)}, l.err
}

func events(n int) lifecycle.Batch { return lifecycle.Batch{Events: make([]lifecycle.Event, n)} }

// outcome is what a participant saw of an epoch.
type outcome struct {
	cut   lifecycle.Micros
	added int
	err   error
}

// step goes through one epoch with a backlog up to that time and a batch of that many events.
func step(ctx context.Context, m *participant, upTo lifecycle.Micros, n int) outcome {
	r := m.next(ctx, upTo)
	added, err := m.commit(ctx, r, events(n))
	return outcome{r.cut, added, err}
}

func TestMembersWithABacklogCommitTogether(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	p := NewBatchCoordinator(l)
	a, b, c := p.join(), p.join(), p.join()
	c.idle()
	out := make(chan outcome, 2)
	go func() { out <- step(t.Context(), a, 20, 3) }()
	go func() { out <- step(t.Context(), b, 10, 4) }()
	first, second := <-out, <-out
	if first.cut != 10 || second.cut != 10 || first.err != nil || second.err != nil || first.added+second.added != 7 {
		t.Errorf("got %+v and %+v, want both up to 10, and 7 new events in all", first, second)
	}
	if len(l.sizes) != 1 || l.sizes[0] != 7 {
		t.Errorf("commits of %v events, want one of 7", l.sizes)
	}
}

func TestAFailedRoundFailsForAll(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	p := NewBatchCoordinator(&ledger{err: refused})
	a, b := p.join(), p.join()
	out := make(chan outcome, 2)
	go func() { out <- step(t.Context(), a, 20, 3) }()
	go func() { out <- step(t.Context(), b, 10, 4) }()
	for range 2 {
		if got := <-out; !errors.Is(got.err, refused) {
			t.Errorf("got %v, want what the store said", got.err)
		}
	}
}

func TestAMemberThatHasNothingLeavesTheRoundToTheOthers(t *testing.T) {
	t.Parallel()
	for _, last := range []bool{true, false} {
		l := &ledger{}
		p := NewBatchCoordinator(l)
		a, b := p.join(), p.join()
		out := make(chan outcome, 1)
		first := b.enter(5)
		go func() { out <- step(t.Context(), a, 20, 3) }()
		<-first.open
		if last {
			synced(t, p, first, 1)
		}
		told := b.withdraw(t.Context(), first)
		got := <-out
		if told += got.added; got.err != nil || told != 3 {
			t.Errorf("last %v: %d new events are told, %v; want 3", last, told, got.err)
		}
		if len(l.sizes) != 1 || l.sizes[0] != 3 {
			t.Errorf("last %v: commits of %v events, want one of 3", last, l.sizes)
		}
	}
}

// synced waits until only that many participants have not handed in.
func synced(t *testing.T, p *BatchCoordinator, r *epoch, parts int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		p.mu.Lock()
		n := r.parts
		p.mu.Unlock()
		if n == parts {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d participants are missing, want %d", n, parts)
		}
	}
}

func TestNobodyWaitsLongForAMemberThatDoesNotCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{}
		p := NewBatchCoordinator(l)
		a, stuck := p.join(), p.join()
		began := time.Now()
		step(t.Context(), a, 10, 1)
		if waited := time.Since(began); waited != epochWait {
			t.Errorf("waited %s for the stuck participant, want %s", waited, epochWait)
		}
		began = time.Now()
		step(t.Context(), a, 20, 1)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s for a participant that is known to be stuck", waited)
		}
		out := make(chan outcome, 1)
		go func() { out <- step(t.Context(), stuck, 15, 2) }() // It is worth waiting for again.
		if got := <-out; got.err != nil || got.cut != 15 {
			t.Errorf("the participant that came back: %+v", got)
		}
	})
}

func TestALeavingMemberReleasesTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewBatchCoordinator(&ledger{})
		a, b := p.join(), p.join()
		out := make(chan outcome, 1)
		began := time.Now()
		go func() { out <- step(t.Context(), a, 10, 1) }()
		synctest.Wait()
		b.leave()
		if got := <-out; got.err != nil || time.Since(began) != 0 {
			t.Errorf("%+v after %s, want at once", got, time.Since(began))
		}
	})
}

func TestAloneThereIsNoRound(t *testing.T) {
	t.Parallel()
	var none *BatchCoordinator
	m := none.join()
	m.idle()
	if r := m.next(t.Context(), 1); r != nil {
		t.Errorf("an epoch without a coordinator: %+v", r)
	}
	m.withdraw(t.Context(), nil)
	m.leave()
}
