package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// bench is a broker with one worker and what it needs.
type bench struct {
	js        jetstream.JetStream
	records   fleet.Records
	publisher *fleet.Publisher
	contract  fleet.Contract
	executed  atomic.Int32
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{js: testkit.JetStream(t, testkit.Broker(t)), contract: fleet.NewContract("")}
	records, err := fleet.NewKVRecords(t.Context(), b.js)
	if err != nil {
		t.Fatal(err)
	}
	b.records = records
	if b.publisher, err = fleet.NewPublisher(fleet.PublisherConfig{JetStream: b.js, Contract: b.contract}); err != nil {
		t.Fatal(err)
	}
	return b
}

// work runs a worker for cto until the test ends.
func (b *bench) work(t *testing.T, records fleet.Records, handle fleet.Handler) {
	t.Helper()
	b.workAs(t, fleet.WorkerConfig{Records: records, Handle: handle, Timing: briskTiming()})
}

// briskTiming lets tests see redeliveries soon.
func briskTiming() fleet.Timing {
	return fleet.Timing{AckWait: 300 * time.Millisecond, MaxDeliver: 3, Heartbeat: 50 * time.Millisecond}
}

// workAs is work with a configuration of which the connection and the agent are filled in.
func (b *bench) workAs(t *testing.T, cfg fleet.WorkerConfig) {
	t.Helper()
	reporter, err := fleet.NewReporter(fleet.ReporterConfig{JetStream: b.js, Contract: b.contract, Agent: "cto"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.JetStream, cfg.Contract, cfg.Agent, cfg.Reporter, cfg.NakDelay = b.js, b.contract, "cto", reporter, 100*time.Millisecond
	handle := cfg.Handle
	cfg.Handle = func(ctx context.Context, d fleet.Delivery) (string, error) {
		b.executed.Add(1)
		return handle(ctx, d)
	}
	w, err := fleet.NewWorker(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func (b *bench) publish(t *testing.T, task fleet.NewTask) fleet.Receipt {
	t.Helper()
	task.Agent, task.Type = "cto", "code_review"
	receipt, err := b.publisher.Publish(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// answers lists "attempt body" of the acknowledgements captured so far.
func (b *bench) answers(t *testing.T) []string {
	t.Helper()
	stream, err := b.js.Stream(t.Context(), fleet.CaptureAck)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
		msg, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		body, _, _ := strings.Cut(string(msg.Data), " {")
		out = append(out, strings.Split(msg.Subject, ".")[4]+" "+body)
	}
	return out
}

func (b *bench) awaitAnswers(t *testing.T, want ...string) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() error {
		if diff := cmp.Diff(want, b.answers(t)); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

func TestAWorkerRecordsBeforeItAcknowledges(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, &checking{Records: b.records, onComplete: func(r fleet.Record) error {
		if got := b.answers(t); len(got) != 0 {
			t.Errorf("answered before the record: %v", got)
		}
		return nil
	}}, func(context.Context, fleet.Delivery) (string, error) { return "merged", nil })
	receipt := b.publish(t, fleet.NewTask{ID: "t-1", Payload: map[string]string{"title": "Review"}})
	b.awaitAnswers(t, "1 +ACK")
	r, err := b.records.Find(t.Context(), "t-1", "")
	if err != nil || r == nil {
		t.Fatalf("record %v, %v", r, err)
	}
	if r.AgentID != "cto" || r.ResultSummary != "merged" || r.NatsStreamSeq != receipt.Seq || r.PayloadHash == "" ||
		r.ExpiresAt.Sub(r.CompletedAt) != fleet.RecordRetention {
		t.Errorf("record %+v", r)
	}
	if again := b.publish(t, fleet.NewTask{ID: "t-1"}); !again.Duplicate || again.Seq != receipt.Seq {
		t.Errorf("second publish: %+v", again)
	}
}

type checking struct {
	fleet.Records
	onFind     func() error
	onComplete func(fleet.Record) error
	after      error
}

func (c *checking) Find(ctx context.Context, taskID, key string) (*fleet.Record, error) {
	if c.onFind != nil {
		if err := c.onFind(); err != nil {
			return nil, err
		}
	}
	return c.Records.Find(ctx, taskID, key)
}

func (c *checking) Complete(ctx context.Context, r fleet.Record) error {
	if c.onComplete != nil {
		if err := c.onComplete(r); err != nil {
			return err
		}
	}
	return errors.Join(c.Records.Complete(ctx, r), c.after)
}

func TestACrashAfterRecordingIsNotExecutedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, &checking{Records: b.records, after: fleet.ErrAbandoned}, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "2 +ACK")
	if n := b.executed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
	awaitReports(t, b, "claimed", "duplicate_caught")
}

func awaitReports(t *testing.T, b *bench, want ...string) {
	t.Helper()
	testkit.Eventually(t, 5*time.Second, func() error {
		stream, err := b.js.Stream(t.Context(), fleet.CaptureReport)
		if err != nil {
			return err
		}
		var got []string
		for seq := uint64(1); seq <= stream.CachedInfo().State.LastSeq; seq++ {
			msg, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				return err
			}
			agent, kind, _ := b.contract.ParseReportSubject(msg.Subject)
			events, err := fleet.DecodeReports(nil, msg.Data, fleet.ReportOrigin{Source: "OBS_REPORT", Seq: seq, At: 1, Agent: agent})
			if err != nil {
				return err
			}
			if e := events[0]; e.TaskID != "t-1" || e.Agent != "cto" || e.Detail.MsgID != "t-1" || e.Attempt < 1 || e.Detail.LeaseOwner == "" {
				return fmt.Errorf("report %+v", e)
			}
			got = append(got, kind)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}

func TestACrashBeforeRecordingIsExecutedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, b.records, func(_ context.Context, d fleet.Delivery) (string, error) {
		if d.Attempt == 1 {
			return "", fleet.ErrAbandoned
		}
		return "x", nil
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "2 +ACK")
	awaitReports(t, b, "claimed", "claimed", "completed")
}

func TestAWorkerThatCannotAskDoesNotExecute(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var asked atomic.Int32
	b.work(t, &checking{Records: b.records, onFind: func() error {
		if asked.Add(1) == 1 {
			return errors.New("unreachable")
		}
		return nil
	}}, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 -NAK", "2 +ACK")
	if n := b.executed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

func TestACompletionThatCannotBeRecordedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var tries atomic.Int32
	b.work(t, &checking{Records: b.records, onComplete: func(fleet.Record) error {
		if tries.Add(1) == 1 {
			return errors.New("unreachable")
		}
		return nil
	}}, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 -NAK", "2 +ACK")
}

func TestWhatAHandlerReturnsDecidesTheAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"terminate": {fleet.Terminate("context_window_overflow: 210000 tokens"), []string{"1 +TERM context_window_overflow: 210000 tokens"}},
		"delay":     {fleet.Delay(10*time.Millisecond, errors.New("rate limit")), []string{"1 -NAK", "2 +ACK"}},
		"any error": {errors.New("boom"), []string{"1 -NAK", "2 +ACK"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.work(t, b.records, func(_ context.Context, d fleet.Delivery) (string, error) {
				if d.Attempt == 1 {
					return "", tc.err
				}
				return "x", nil
			})
			b.publish(t, fleet.NewTask{ID: "t-1"})
			b.awaitAnswers(t, tc.want...)
		})
	}
}

func TestSlowWorkHeartbeatsAndIsNotHandedOutAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	release := make(chan struct{})
	b.work(t, b.records, func(ctx context.Context, _ fleet.Delivery) (string, error) {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return "x", nil
	})
	b.publish(t, fleet.NewTask{ID: "t-1"})
	testkit.Eventually(t, 10*time.Second, func() error {
		if n := len(b.answers(t)); n < 10 { // Ten heartbeats are longer than the ack wait.
			return fmt.Errorf("%d heartbeats", n)
		}
		return nil
	})
	close(release)
	testkit.Eventually(t, 5*time.Second, func() error {
		got := b.answers(t)
		if last := got[len(got)-1]; last != "1 +ACK" {
			return fmt.Errorf("last answer %q", last)
		}
		return nil
	})
	if n := b.executed.Load(); n != 1 {
		t.Errorf("executed %d times", n)
	}
}

func TestTheSameIDWithAnotherPayloadIsRefusedAndANewVersionIsNot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, b.records, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	at := time.Now()
	b.publish(t, fleet.NewTask{ID: "t-1", Payload: "a", CreatedAt: at})
	b.awaitAnswers(t, "1 +ACK")
	msg := fmt.Appendf(nil, `{"taskId":"t-1","payload":"b"}`)
	if _, err := b.js.Publish(t.Context(), b.contract.TaskSubject("cto", "x"), msg); err != nil {
		t.Fatal(err)
	}
	b.awaitAnswers(t, "1 +ACK", "1 +TERM key_conflict: this task id completed with another payload")
	b.publish(t, fleet.NewTask{ID: "t-1", Payload: "b", Version: 2, CreatedAt: at})
	b.awaitAnswers(t, "1 +ACK", "1 +TERM key_conflict: this task id completed with another payload", "1 +ACK")
	if n := b.executed.Load(); n != 2 {
		t.Errorf("executed %d times", n)
	}
}

func TestAStoppingWorkerAnswersWhatItHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	started := make(chan struct{})
	w, err := fleet.NewWorker(fleet.WorkerConfig{
		JetStream: b.js, Contract: b.contract, Agent: "cto", Records: b.records,
		Handle: func(ctx context.Context, d fleet.Delivery) (string, error) {
			if d.Task.ID == "finishes" {
				close(started)
				<-ctx.Done()
				return "done in time", nil
			}
			close(started)
			<-ctx.Done()
			return "", ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range []struct {
		id   string
		want []string
	}{{"finishes", []string{"1 +ACK"}}, {"gives up", []string{"1 +ACK", "1 -NAK"}}} {
		started = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		b.publish(t, fleet.NewTask{ID: task.id})
		<-started
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", task.id, err)
		}
		b.awaitAnswers(t, task.want...)
	}
	if r, err := b.records.Find(t.Context(), "finishes", ""); err != nil || r == nil {
		t.Errorf("what was done while stopping is not recorded: %v", err)
	}
}
