package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"

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

func TestAPublishedTaskReadsBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	trace := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	b.publish(t, fleet.NewTask{ID: "t-1", Version: 3, CreatedAt: at, TraceParent: trace, Publisher: "ceo", Payload: map[string]any{"title": "Review the retry path"}})
	stream, err := b.js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := fleet.ReadTask(msg.Header, msg.Data, key)
	want := fleet.Task{
		ID: "t-1", MsgID: "t-1-3", IdempotencyKey: "t-1-3", Type: "code_review", TraceParent: trace, Publisher: "ceo", Title: "Review the retry path",
		CreatedAt: lifecycle.MicrosOf(at), Size: int64(len(msg.Data)), PayloadHash: fleet.Fingerprint(msg.Data),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUnfitTasksAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, task := range []fleet.NewTask{
		{}, {ID: "x", Agent: "a.b", Type: "t"}, {ID: "x", Agent: "a", Type: ">"}, {ID: "x", Agent: "a", Type: "t."}, {ID: "a\nb", Agent: "a", Type: "t"},
		{ID: strings.Repeat("x", 201), Agent: "a", Type: "t"}, {ID: "x", Agent: "a", Type: "t", Payload: func() {}}, {ID: "x", Agent: "a", Type: "t", Publisher: "a\nb"},
	} {
		if _, err := b.publisher.Publish(t.Context(), task); err == nil {
			t.Errorf("published %+v", task.ID)
		}
	}
}

func TestRecordsReadLeniently(t *testing.T) {
	t.Parallel()
	want := fleet.Record{TaskID: "t", AgentID: "cto", CompletedAt: 1763650000123e3, ExpiresAt: 1763650000124e3, NatsStreamSeq: 4}
	for _, body := range []string{
		`{"taskId":"t","agentId":"cto","completedAt":1763650000123,"expiresAt":1763650000124,"natsStreamSeq":4,"other":{}}`,
		`{"taskId":"t","agentId":"cto","completedAt":"2025-11-20T14:46:40.123Z","expiresAt":"1763650000124","natsStreamSeq":4,"resultSummary":7}`,
	} {
		got, err := fleet.ReadRecord([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
	}
	written, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(written); !strings.Contains(got, `"completedAt":1763650000123,"expiresAt":1763650000124`) {
		t.Errorf("written as %s", got)
	}
	for _, body := range []string{``, `[]`, `{}`, `{"taskId":""}`, "\xff"} {
		if r, err := fleet.ReadRecord([]byte(body)); err == nil {
			t.Errorf("%q read as %+v", body, r)
		}
	}
}

func TestRecordsOfOddTaskIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"TASKS:7", "=eA", "x", ".x", "a..b", "日本", "a b", "a.b", "a*>", "a/=b", "a/b"} {
		if err := b.records.Complete(t.Context(), fleet.Record{TaskID: id, CompletedAt: 1e15}); err != nil {
			t.Fatalf("%q: %v", id, err)
		}
		if err := b.records.Complete(t.Context(), fleet.Record{TaskID: id}); !errors.Is(err, fleet.ErrRecorded) {
			t.Errorf("%q, second record: %v", id, err)
		}
		if r, err := b.records.Find(t.Context(), id, ""); err != nil || r == nil || r.TaskID != id {
			t.Errorf("%q: found %+v, %v", id, r, err)
		}
		for _, key := range []string{"", id, id + "-1", id + "-2", "another"} {
			if got := fleet.TaskOfRecordKey(fleet.RecordKey(id, key)); got != id {
				t.Errorf("%q with key %q reads back as %q", id, key, got)
			}
		}
	}
}

func TestKeysAreDeterministicAndDistinct(t *testing.T) {
	t.Parallel()
	a, err := fleet.StepKey("s", "m", "1", "github.create_pr", map[string]any{"b": 1, "a": []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := fleet.StepKey("s", "m", "1", "github.create_pr", json.RawMessage(`{ "a": [2], "b": 1 }`))
	if err != nil {
		t.Fatal(err)
	}
	if a != b {
		t.Errorf("the order of members changes the key: %s, %s", a, b)
	}
	if fleet.Key("ab", "c") == fleet.Key("a", "bc") || fleet.Key("a", "") == fleet.Key("a") {
		t.Error("parts are not kept apart")
	}
	if fleet.CompensationKey("w", "j", "t", "c", 1) == fleet.CompensationKey("w", "j", "t", "c", 2) {
		t.Error("steps share a compensation key")
	}
	if _, err := fleet.StepKey("s", "m", "1", "t", func() {}); err == nil {
		t.Error("a function is no input")
	}
}

func TestAWorkerWhoseConsumerIsDeletedGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.work(t, b.records, func(context.Context, fleet.Delivery) (string, error) { return "x", nil })
	b.publish(t, fleet.NewTask{ID: "t-1"})
	b.awaitAnswers(t, "1 +ACK")
	if err := b.js.DeleteConsumer(t.Context(), fleet.StreamTasks, fleet.WorkerName("cto")); err != nil {
		t.Fatal(err)
	}
	b.publish(t, fleet.NewTask{ID: "t-2"})
	b.awaitAnswers(t, "1 +ACK", "1 +ACK")
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

// electing is a broker that finds a consumer once, and then elects a leader: a cluster answers 503 for a while.
type electing struct {
	jetstream.JetStream
	asked atomic.Int32
}

func (e *electing) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	if e.asked.Add(1) > 1 {
		return nil, &jetstream.APIError{Code: 503, ErrorCode: 10008, Description: "JetStream system temporarily unavailable"}
	}
	return e.JetStream.Consumer(ctx, stream, name)
}

func TestAnOpenedWorkerRunsWhileTheClusterElectsALeader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, err := fleet.NewWorker(fleet.WorkerConfig{
		JetStream: &electing{JetStream: b.js}, Contract: b.contract, Agent: "cto", Records: b.records, Timing: briskTiming(),
		Handle: func(context.Context, fleet.Delivery) (string, error) { return "done", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	b.publish(t, fleet.NewTask{ID: "t"})
	b.awaitAnswers(t, "1 +ACK")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAWorkerWithoutATaskStreamErrors(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	w, err := fleet.NewWorker(fleet.WorkerConfig{
		JetStream: js, Contract: fleet.NewContract(""), Agent: "cto", Records: &checking{},
		Handle: func(context.Context, fleet.Delivery) (string, error) { return "", nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil {
		t.Error("ran without a stream")
	}
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte(`{"taskId":"t","agentId":"cto","completedAt":1763650000123,"expiresAt":"x","natsStreamSeq":-1}`))
	f.Add([]byte(`{"taskId":{},"completedAt":[]}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := fleet.ReadRecord(body)
		if err != nil {
			return
		}
		if r.TaskID == "" || len(r.TaskID) > 200 {
			t.Fatalf("task id %q", r.TaskID)
		}
		written, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := fleet.ReadRecord(written)
		if err != nil || again.TaskID != r.TaskID {
			t.Fatalf("wrote %s, read %+v, %v", written, again, err)
		}
	})
}
