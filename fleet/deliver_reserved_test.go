package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// workReserved runs a worker for cto that reserves what it executes.
func (b *bench) workReserved(t *testing.T, reserve fleet.Reservations, timing fleet.Timing, handle fleet.Handler) {
	t.Helper()
	b.workAs(t, fleet.WorkerConfig{Records: b.records, Reserve: reserve, Handle: handle, Timing: timing})
}

func done(context.Context, fleet.Delivery) (string, error) { return "done", nil }

func TestAReservedTaskIsRecordedBeforeItIsAcknowledgedAndThenReplied(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workReserved(t, b.reservations(t), briskTiming(), func(_ context.Context, d fleet.Delivery) (string, error) {
		if got := b.answers(t); len(got) != 0 || d.Token == 0 {
			t.Errorf("answered %v, token %d", got, d.Token)
		}
		return "merged", nil
	})
	receipt := b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 +ACK")
	r, err := b.records.Find(t.Context(), "t-1", "")
	if err != nil || r == nil || r.ResultSummary != "merged" || r.NatsStreamSeq != receipt.Seq || r.AgentID != "cto" {
		t.Errorf("record %+v, %v", r, err)
	}
	awaitReports(t, b, "claimed", "completed")
}

func TestASilentHolderIsFollowedByOneWithAHigherToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var mu sync.Mutex
	var tokens []uint64
	b.workReserved(t, b.reservations(t), briskTiming(), func(_ context.Context, d fleet.Delivery) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if tokens = append(tokens, d.Token); d.Attempt == 1 {
			return "", fleet.ErrAbandoned
		}
		return "done", nil
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "2 +ACK")
	mu.Lock()
	defer mu.Unlock()
	if len(tokens) != 2 || tokens[1] <= tokens[0] {
		t.Errorf("tokens %v", tokens)
	}
}

func TestAWorkerThatComesLateIsRefusedWhenItWantsToRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	timing := briskTiming()
	timing.Heartbeat = 0
	second := make(chan struct{})
	release := sync.OnceFunc(func() { close(second) })
	defer release() // A worker that is never released would keep a failed test for ever.
	handle := func(_ context.Context, d fleet.Delivery) (string, error) {
		if d.Attempt == 1 {
			<-second
			return "of the late one", nil
		}
		return "in time", nil
	}
	for range 2 {
		b.workReserved(t, b.reservations(t), timing, handle)
	}
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "2 +ACK")
	release()
	awaitReports(t, b, "claimed", "claimed", "completed", "failed")
	b.awaitAnswers(t, "2 +ACK")
	if r, err := b.records.Find(t.Context(), "t-1", ""); err != nil || r == nil || r.ResultSummary != "in time" {
		t.Errorf("record %+v, %v", r, err)
	}
}

func TestAnAttemptEndsWhenItLosesItsReservation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lost := &losing{Reservations: b.reservations(t)}
	b.workReserved(t, lost, briskTiming(), func(ctx context.Context, d fleet.Delivery) (string, error) {
		if d.Attempt == 1 {
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "done", nil
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	awaitReports(t, b, "claimed", "failed", "claimed", "completed")
	b.awaitAnswers(t, "2 +ACK") // The lost attempt is left without an answer: not even a heartbeat.
}

// losing loses the first reservation at its first renewal.
type losing struct {
	fleet.Reservations
	once sync.Once
}

func (l *losing) Renew(ctx context.Context, r fleet.Reservation) (renewed fleet.Reservation, err error) {
	l.once.Do(func() { err = errors.Join(fleet.ErrFenced, l.Release(ctx, r)) })
	if err != nil {
		return r, err
	}
	return l.Reservations.Renew(ctx, r)
}

func TestWhatAnotherHoldsIsHandedBackUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	claim := claimOf("t-1")
	claim.PayloadHash, claim.Lease = "", 500*time.Millisecond
	if _, _, err := b.reservations(t).Reserve(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	b.workReserved(t, b.reservations(t), briskTiming(), done)
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 -NAK", "2 +ACK")
	if n := b.executed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

func TestATaskThatWasTakenUpWithAnotherPayloadIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, _, err := b.reservations(t).Reserve(t.Context(), claimOf("t-1")); err != nil {
		t.Fatal(err)
	}
	b.workReserved(t, b.reservations(t), briskTiming(), done)
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 +TERM key_conflict: this task id was taken up with another payload")
	if n := b.executed.Load(); n != 0 {
		t.Errorf("executed %d times", n)
	}
}

func TestAFailedAttemptFreesTheKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	timing := briskTiming()
	timing.AckWait = time.Hour // So that a key that is not freed stays taken.
	b.workReserved(t, b.reservations(t), timing, func(_ context.Context, d fleet.Delivery) (string, error) {
		switch d.Attempt {
		case 1:
			return "", errors.New("rate limit")
		case 2:
			return "", fleet.Terminate("admission rejected")
		}
		return "done", nil
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 -NAK", "2 +TERM admission rejected")
	if _, _, err := b.reservations(t).Reserve(t.Context(), claimOf("t-1")); err != nil {
		t.Errorf("the key of a rejected admission is not free: %v", err)
	}
}

func TestAWorkerThatCannotReserveDoesNotExecute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workReserved(t, &unreachable{Reservations: b.reservations(t)}, briskTiming(), done)
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 -NAK", "2 +ACK")
	if n := b.executed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

type unreachable struct {
	fleet.Reservations
	once sync.Once
}

func (u *unreachable) Reserve(ctx context.Context, c fleet.Claim) (r fleet.Reservation, found *fleet.Record, err error) {
	u.once.Do(func() { err = errors.New("unreachable") })
	if err != nil {
		return r, nil, err
	}
	return u.Reservations.Reserve(ctx, c)
}

func TestSlowReservedWorkKeepsItsReservation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := make(chan struct{})
	timing := fleet.Timing{AckWait: 2 * time.Second, MaxDeliver: 3, Heartbeat: 300 * time.Millisecond} // A busy machine may stop everything for most of the lease.
	b.workReserved(t, b.reservations(t), timing, func(ctx context.Context, _ fleet.Delivery) (string, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "done", nil
	})
	receipt := b.publish(t, fleet.NewTask{ID: "t-1"})
	testkit.Eventually(t, 10*time.Second, func() error {
		n := len(b.answers(t))
		if n == 0 {
			return errors.New("no heartbeat")
		}
		claim := claimOf("t-1")
		claim.PayloadHash = ""
		if _, _, err := b.reservations(t).Reserve(t.Context(), claim); !errors.Is(err, fleet.ErrReserved) {
			t.Fatalf("a rival of %+v: %v", receipt, err)
		}
		if n < 10 { // Ten heartbeats are longer than the lease.
			return fmt.Errorf("%d heartbeats", n)
		}
		return nil
	})
	close(release)
	testkit.Eventually(t, 5*time.Second, func() error {
		if got := b.answers(t); got[len(got)-1] != "1 +ACK" {
			return fmt.Errorf("answers %v", got)
		}
		return nil
	})
}
