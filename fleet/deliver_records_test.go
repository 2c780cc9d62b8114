package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// slowRecords answers as late as a store of records may.
type slowRecords struct {
	fleet.Records
	wait time.Duration
}

func (s *slowRecords) Find(ctx context.Context, taskID, key string) (*fleet.Record, error) {
	<-time.After(s.wait)
	return s.Records.Find(ctx, taskID, key)
}

func (s *slowRecords) Complete(ctx context.Context, r fleet.Record) error {
	<-time.After(s.wait)
	return s.Records.Complete(ctx, r)
}

// slowReservations likewise; what it takes to renew is not what the task waits for.
type slowReservations struct {
	fleet.Reservations
	wait time.Duration
}

func (s *slowReservations) Reserve(ctx context.Context, c fleet.Claim) (fleet.Reservation, *fleet.Record, error) {
	<-time.After(s.wait)
	return s.Reservations.Reserve(ctx, c)
}

func (s *slowReservations) Confirm(ctx context.Context, r fleet.Reservation, record fleet.Record) (fleet.Record, error) {
	<-time.After(s.wait)
	return s.Reservations.Confirm(ctx, r, record)
}

// awaitWait waits for a report of the kind and returns what it says of its wait. No report before it may say anything of one.
func awaitWait(t *testing.T, b *bench, kind lifecycle.Kind) time.Duration {
	t.Helper()
	var said time.Duration
	testkit.Eventually(t, 10*time.Second, func() error {
		stream, err := b.js.Stream(t.Context(), fleet.CaptureReport)
		if err != nil {
			return err
		}
		for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
			msg, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				return err
			}
			events, err := fleet.DecodeReports(nil, msg.Data, fleet.ReportOrigin{Source: "OBS_REPORT", Seq: seq, At: 1})
			if err != nil {
				return err
			}
			switch e := events[0]; {
			case e.Kind == kind:
				said = e.Detail.RecordsWait
				return nil
			case e.Detail.RecordsWait != 0:
				t.Errorf("%s says that it waited %s", e.Kind, e.Detail.RecordsWait)
			}
		}
		return fmt.Errorf("no report %s", kind)
	})
	return said
}

const work = 250 * time.Millisecond

func working(context.Context, fleet.Delivery) (string, error) {
	<-time.After(work)
	return "done", nil
}

// checkWait compares what was said with the delays injected, and with the time since the task was published, of which the work is no
// part of the wait.
func checkWait(t *testing.T, got, injected, since time.Duration) {
	t.Helper()
	if got < injected || got > since-work {
		t.Errorf("said that it waited %s for records, want at least the %s injected, and at most %s but for the work", got, injected, since)
	}
}

func TestAWorkerSaysWhatItWaitedForRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, &slowRecords{b.records, 40 * time.Millisecond}, working)
	began := time.Now()
	b.publish(t, fleet.NewTask{ID: "t-1"})
	said := awaitWait(t, b, lifecycle.ReportCompleted)
	checkWait(t, said, 80*time.Millisecond, time.Since(began))
}

func TestAWorkerThatReservesSaysWhatItWaitedForThat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.workAs(t, fleet.WorkerConfig{
		Records: &slowRecords{b.records, 20 * time.Millisecond}, Reserve: &slowReservations{b.reservations(t), 40 * time.Millisecond},
		Handle: working, Timing: fleet.Timing{AckWait: 5 * time.Second, MaxDeliver: 3},
	})
	began := time.Now()
	b.publish(t, fleet.NewTask{ID: "t-1"})
	said := awaitWait(t, b, lifecycle.ReportCompleted)
	checkWait(t, said, 100*time.Millisecond, time.Since(began))
}

func TestAWorkerThatCatchesADuplicateSaysWhatItWaitedForTheLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	crashing := &checking{Records: b.records, after: fleet.ErrAbandoned}
	b.work(t, &slowRecords{crashing, 40 * time.Millisecond}, working)
	began := time.Now()
	b.publish(t, fleet.NewTask{ID: "t-1"})
	said := awaitWait(t, b, lifecycle.ReportDuplicateCaught)
	checkWait(t, said, 40*time.Millisecond, time.Since(began))
}

func TestWhatIsHandedBackSaysNothingOfRecords(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, &slowRecords{b.records, time.Millisecond}, func(context.Context, fleet.Delivery) (string, error) {
		return "", errors.New("rate limit")
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	if got := awaitWait(t, b, lifecycle.ReportFailed); got != 0 {
		t.Errorf("a failed attempt says that it waited %s", got)
	}
}
