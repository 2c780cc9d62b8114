package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"fleetglass/collectors/idempotency"
	"fleetglass/internal/firestoretest"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func TestWithoutProjectAndEmulatorItIsNotConfigured(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Project, b.cfg.Emulator = "", ""
	c, stop := b.run()
	if part := c.Health()[0]; part.State != health.NotConfigured || part.Name != "firestore" {
		t.Errorf("health %+v", part)
	}
	stop()
}

func TestAnIncompleteConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := idempotency.NewFirestore(idempotency.FirestoreConfig{Project: "p"}); err == nil || !strings.Contains(err.Error(), "Appender") {
		t.Errorf("got %v", err)
	}
	b := newBench(t, nil)
	b.cfg.Page = -1
	if _, err := idempotency.NewFirestore(b.cfg); err == nil || !strings.Contains(err.Error(), "page") {
		t.Errorf("got %v", err)
	}
}

func (b *bench) wantHealth(c *idempotency.Firestore, state health.State, detail string) {
	b.t.Helper()
	b.eventually(func() error {
		if part := c.Health()[0]; part.State != state || !strings.Contains(part.Detail, detail) {
			return fmt.Errorf("health %+v, want %s because of %q", part, state, detail)
		}
		return nil
	})
}

func TestHealthSaysWhatIsWrongUntilItIsRight(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	c, _ := b.start()
	if part := c.Health()[0]; part.LastAt.IsZero() {
		t.Errorf("health %+v, want the time of the last answer", part)
	}
	b.server.Hang(firestoretest.BatchGetDocuments)
	b.wantHealth(c, health.Down, "does not answer")
	b.server.Heal()
	b.wantHealth(c, health.OK, "")

	b.server.Fail(firestoretest.Listen, codes.PermissionDenied, -1)
	b.server.BreakListeners(codes.PermissionDenied)
	b.wantHealth(c, health.Down, "PermissionDenied")
	b.server.Heal()
	b.wantHealth(c, health.OK, "")
}

func TestAServerThatIsNotThereIsDownAndIsFoundLater(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Timeout = 50 * time.Millisecond
	b.server.Hang(firestoretest.BatchGetDocuments)
	b.complete("t", time.Now())
	c, _ := b.run()
	b.wantHealth(c, health.Down, "does not answer")
	b.server.Heal()
	b.wantOnce("t")
	b.wantHealth(c, health.OK, "")
}

func TestAFailingSweepGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.cfg.Page = 3
	tasks := names("t", 10)
	b.completeAll(time.Now().Add(-24*time.Hour), tasks...)
	b.server.Fail(firestoretest.RunQuery, codes.PermissionDenied, 5)
	c, _ := b.run()
	b.wantOnce(tasks...)
	b.wantHealth(c, health.OK, "")
}

// reluctant refuses batches at first.
type reluctant struct {
	lifecycle.Appender
	refusals atomic.Int32
}

func (r *reluctant) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if len(b.Events) > 0 && r.refusals.Add(-1) >= 0 {
		return lifecycle.Appended{}, errors.New("the disk is full")
	}
	return r.Appender.Append(ctx, b)
}

func TestWhatTheStoreRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	r := &reluctant{Appender: b.store}
	b.cfg.Appender = r
	c, _ := b.start()
	r.refusals.Store(1 << 20)
	b.completeAll(time.Now(), names("t", 3)...)
	b.wantHealth(c, health.Down, "the disk is full")
	r.refusals.Store(0)
	b.wantOnce(names("t", 3)...)
	b.wantHealth(c, health.OK, "")
}

func TestTheEnvironmentMayNameTheEmulatorToo(t *testing.T) {
	b := newBench(t, nil)
	t.Setenv("FIRESTORE_EMULATOR_HOST", b.server.Addr())
	b.complete("t", time.Now())
	b.run()
	b.wantOnce("t")
}

func TestPositionsAreStoredWithWhatTheyStandFor(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.start()
	at := time.Now().Add(30 * 24 * time.Hour) // An agent's clock that is a month ahead.
	b.complete("t", at)
	b.wantOnce("t")
	text, err := b.store.Watermark(t.Context(), "firestore:test-project/(default):task-idempotency:number:listener")
	if err != nil || text == "" {
		t.Fatalf("position %q, %v", text, err)
	}
	var position struct{ At lifecycle.Micros }
	if _, err := fmt.Sscanf(text, `{"at":%d`, &position.At); err != nil {
		t.Fatalf("position %s: %v", text, err)
	}
	if ahead := time.Until(position.At.Time()); ahead > 0 {
		t.Errorf("the position is %v ahead of Firestore's time", ahead)
	}
}

// TestWhateverHappensEachCompletionIsStoredOnce lets everything go wrong at random while agents with clocks of their own write.
func TestWhateverHappensEachCompletionIsStoredOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			b := newBench(t, nil)
			b.cfg.Poll, b.cfg.Rotate, b.cfg.Page = 60*time.Millisecond, 300*time.Millisecond, 7
			_, stop := b.run()
			var tasks []string
			for i := range 40 {
				for j := range 1 + random.IntN(8) {
					task := fmt.Sprintf("t%d-%d", i, j)
					tasks = append(tasks, task)
					b.complete(task, time.Now().Add(time.Duration(random.IntN(600)-300)*time.Second))
				}
				switch random.IntN(8) {
				case 0:
					b.server.BreakListeners(codes.Aborted)
				case 1:
					b.server.BreakListeners(codes.Unavailable)
				case 2:
					b.server.StallListeners()
				case 3:
					b.server.Fail(firestoretest.RunQuery, codes.PermissionDenied, 3)
				case 4:
					b.server.Fail(firestoretest.Listen, codes.PermissionDenied, 5)
				case 5:
					stop()
					_, stop = b.run()
				case 6:
					b.wantOnce(tasks[len(tasks)-1])
				}
			}
			b.wantOnce(tasks...)
		})
	}
}
