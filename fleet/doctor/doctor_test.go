package doctor_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/testkit"
)

var contract = fleet.NewContract("")

// patient is the timing of a worker in which nothing is wrong.
var patient = fleet.Timing{AckWait: 10 * time.Minute, MaxDeliver: 3}

// broker is a real one, set up rightly, with one worker that nothing is wrong with.
type broker struct {
	t  *testing.T
	js jetstream.JetStream
}

func rightBroker(t *testing.T) broker {
	t.Helper()
	srv := testkit.BareBroker(t)
	testkit.Provision(t, srv, fleet.Streams{Contract: contract, RecordRetention: 9 * 24 * time.Hour})
	b := broker{t, testkit.JetStream(t, srv)}
	b.worker("cto", func(*jetstream.ConsumerConfig) {})
	b.publish("cto", 1)
	return b
}

func (b broker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// worker creates the consumer of an agent, changed as the caller likes.
func (b broker) worker(agent string, change func(*jetstream.ConsumerConfig)) {
	b.t.Helper()
	b.consumer(fleet.StreamTasks, agent, change)
}

func (b broker) consumer(stream, agent string, change func(*jetstream.ConsumerConfig)) {
	b.t.Helper()
	cfg := contract.Worker(agent, patient)
	change(&cfg)
	_, err := b.js.CreateConsumer(b.t.Context(), stream, cfg)
	b.must(err)
}

// edit changes a stream that exists.
func (b broker) edit(stream string, change func(*jetstream.StreamConfig)) {
	b.t.Helper()
	s, err := b.js.Stream(b.t.Context(), stream)
	b.must(err)
	cfg := s.CachedInfo().Config
	change(&cfg)
	_, err = b.js.UpdateStream(b.t.Context(), cfg)
	b.must(err)
}

// anew deletes a stream and creates it again otherwise.
func (b broker) anew(stream string, change func(*jetstream.StreamConfig)) {
	b.t.Helper()
	s, err := b.js.Stream(b.t.Context(), stream)
	b.must(err)
	cfg := s.CachedInfo().Config
	b.must(b.js.DeleteStream(b.t.Context(), stream))
	change(&cfg)
	b.create(cfg)
}

func (b broker) create(cfg jetstream.StreamConfig) {
	b.t.Helper()
	_, err := b.js.CreateStream(b.t.Context(), cfg)
	b.must(err)
}

func (b broker) remove(stream string) {
	b.t.Helper()
	b.must(b.js.DeleteStream(b.t.Context(), stream))
}

func (b broker) publish(agent string, n int) {
	b.t.Helper()
	for range n {
		_, err := b.js.Publish(b.t.Context(), contract.TaskSubject(agent, "review"), []byte("{}"))
		b.must(err)
	}
}

// workers creates the consumers of n agents more.
func (b broker) workers(n int) {
	b.t.Helper()
	for i := range n {
		b.worker(fmt.Sprintf("agent-%d", i), func(*jetstream.ConsumerConfig) {})
	}
}

// refused asserts that the broker itself takes no more consumers.
func (b broker) refused(agent string) {
	b.t.Helper()
	if _, err := b.js.CreateConsumer(b.t.Context(), fleet.StreamTasks, contract.Worker(agent, patient)); err == nil || !strings.Contains(err.Error(), "maximum consumers limit reached") {
		b.t.Fatalf("a consumer at the limit: %v", err)
	}
}

// acknowledge claims n acknowledgements of messages that never were, and waits until they were recorded.
func (b broker) acknowledge(n int) {
	b.t.Helper()
	for i := range n {
		b.must(b.js.Conn().Publish(fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.1.0", fleet.StreamTasks, fleet.WorkerName("cto"), 1000+i), []byte("+ACK")))
	}
	testkit.Eventually(b.t, 10*time.Second, func() error {
		s, err := b.js.Stream(b.t.Context(), fleet.CaptureAck)
		if err != nil {
			return err
		}
		if last := s.CachedInfo().State.LastSeq; last < uint64(n) {
			return fmt.Errorf("%d of %d acknowledgements recorded", last, n)
		}
		return nil
	})
}

// examine says what the doctor finds, by code and resource.
func (b broker) examine() []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	c, err := doctor.Read(ctx, b.js, contract)
	b.must(err)
	return codes(doctor.Rules{Contract: contract}.Examine(c))
}

func codes(findings []doctor.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Code+": "+f.Resource)
	}
	slices.Sort(out)
	return out
}

func TestARightBrokerHasNoFinding(t *testing.T) {
	t.Parallel()
	if got := rightBroker(t).examine(); len(got) > 0 {
		t.Errorf("findings on a right broker: %q", got)
	}
}

// planted are traps that a broker lets anybody make, each alone on a right broker, and what the doctor says of it.
var planted = []struct {
	name  string
	plant func(broker)
	want  []string
}{
	{"the contract's own timing", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) {
			c.BackOff, c.MaxDeliver = fleet.DefaultTiming().Backoff, fleet.DefaultTiming().MaxDeliver
		})
	}, []string{"heartbeat_late: consumer TASKS ceo-task-worker", "nak_delay_late: consumer TASKS ceo-task-worker", "nak_ignores_backoff: consumer TASKS ceo-task-worker"}},
	{"an ack wait shorter than a heartbeat", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.AckWait = time.Minute })
	}, []string{"heartbeat_late: consumer TASKS ceo-task-worker"}},
	{"an even backoff", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{5 * time.Minute} })
	}, []string{"nak_ignores_backoff: consumer TASKS ceo-task-worker"}},
	{"no max_deliver", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.MaxDeliver = -1 })
	}, []string{"deliver_for_ever: consumer TASKS ceo-task-worker"}},
	{"a consumer that expires", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = time.Hour })
	}, []string{"consumer_expires: consumer TASKS ceo-task-worker"}},
	{"no samples", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.SampleFrequency = "" })
	}, []string{"acks_not_sampled: consumer TASKS ceo-task-worker"}},
	{"a pause", func(b broker) {
		until := time.Now().Add(time.Hour)
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.PauseUntil = &until })
	}, []string{"consumer_paused: consumer TASKS ceo-task-worker"}},
	{"a consumer in memory", func(b broker) {
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.MemoryStorage = true })
	}, []string{"memory_consumer: consumer TASKS ceo-task-worker"}},
	{"messages that nobody takes", func(b broker) { b.publish("legal", 3) }, []string{"nobody_takes: stream TASKS"}},
	{"a mirror of the queue", func(b broker) {
		b.create(jetstream.StreamConfig{Name: "COPY", Mirror: &jetstream.StreamSource{Name: fleet.StreamTasks}})
	}, []string{"copy_empties_queue: stream COPY"}},
	{"a stream whose source is the queue", func(b broker) {
		b.create(jetstream.StreamConfig{Name: "COPY", Sources: []*jetstream.StreamSource{{Name: fleet.StreamTasks}}})
	}, []string{"copy_empties_queue: stream COPY"}},
	{"a subject near its limit", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 })
		b.publish("cto", 4)
	}, []string{"limit_drops_tasks: stream TASKS"}},
	{"a duplicate window shorter than all attempts", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute })
	}, []string{"short_duplicate_window: stream TASKS"}},
	{"consumers near the stream's limit", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxConsumers = 10 })
		b.workers(8)
	}, []string{"consumers_nearly_full: stream TASKS"}},
	{"consumers at the stream's limit", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxConsumers = 10 })
		b.workers(9)
		b.refused("one-too-many")
	}, []string{"consumers_full: stream TASKS"}},
	{"headers only", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.RePublish.HeadersOnly = true })
	}, []string{"headers_only: stream TASKS"}},
	{"tasks in memory", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage })
	}, []string{"tasks_in_memory: stream TASKS"}},
	{"deletions denied", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.DenyDelete = true })
	}, []string{"undeletable: stream TASKS"}},
	{"no stream of tasks", func(b broker) { b.remove(fleet.StreamTasks) }, []string{"no_task_stream: stream TASKS"}},
	{"two workers of one subject under limits", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy })
		b.worker("cto", func(*jetstream.ConsumerConfig) {})
		b.worker("ceo", func(c *jetstream.ConsumerConfig) { c.FilterSubject = contract.TaskSubject("cto", ">") })
	}, []string{"several_takers: stream TASKS"}},
	{"a consumer that only hears what is new", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy })
		b.worker("cto", func(c *jetstream.ConsumerConfig) { c.DeliverPolicy = jetstream.DeliverNewPolicy })
	}, []string{"not_all_delivered: consumer TASKS cto-task-worker"}},
	{"a worker that acknowledges nothing", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy })
		b.worker("cto", func(c *jetstream.ConsumerConfig) {
			c.AckPolicy, c.AckWait, c.MaxDeliver = jetstream.AckNonePolicy, 0, 0
		})
	}, []string{"ack_not_explicit: consumer TASKS cto-task-worker"}},
	{"a filter outside of the stream", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.LimitsPolicy })
		b.worker("cto", func(c *jetstream.ConsumerConfig) { c.FilterSubject = "other.tasks.>" })
	}, []string{"filter_takes_nothing: consumer TASKS cto-task-worker"}},
	{"no capture of acknowledgements", func(b broker) { b.remove(fleet.CaptureAck) }, []string{"capture_missing: stream OBS_ACK"}},
	{"no capture of publish attempts", func(b broker) { b.remove(fleet.CaptureRaw) }, []string{"attempts_unseen: stream OBS_RAW"}},
	{"a second stream of tasks", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Subjects = []string{contract.TaskSubject("cto", ">")} })
		b.create(jetstream.StreamConfig{Name: "VIP", Subjects: []string{contract.TaskSubject("vip", ">")}, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour, MaxAge: time.Hour})
	}, []string{"capture_uncovered: stream VIP", "no_republish: stream VIP"}},
	{"no republish", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.RePublish = nil })
	}, []string{"no_republish: stream TASKS"}},
	{"a capture that deduplicates", func(b broker) {
		b.anew(fleet.CapturePub, func(c *jetstream.StreamConfig) { c.Sources = nil })
	}, []string{"capture_dedupes: stream OBS_PUB"}},
	{"a capture that answers", func(b broker) {
		b.edit(fleet.CaptureEvt, func(c *jetstream.StreamConfig) { c.NoAck = false })
	}, []string{"capture_answers: stream OBS_EVT"}},
	{"a capture that refuses when it is full", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew })
	}, []string{"capture_refuses: stream OBS_ACK"}},
	{"a capture without a limit", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.MaxBytes = -1 })
	}, []string{"capture_unbounded: stream OBS_ACK"}},
	{"a capture that few lines fill", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 12 })
		b.acknowledge(100)
	}, []string{"capture_short: stream OBS_ACK"}},
	{"a capture of few lines", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.MaxMsgs = 20 })
		b.acknowledge(100)
	}, []string{"capture_short: stream OBS_ACK"}},
	{"a capture that forgets within the hour", func(b broker) {
		b.edit(fleet.CaptureReport, func(c *jetstream.StreamConfig) { c.MaxAge = 59 * time.Minute })
	}, []string{"capture_short: stream OBS_REPORT"}},
	{"a stream that records acknowledgements of all", func(b broker) {
		b.remove(fleet.CaptureAck)
		b.create(jetstream.StreamConfig{Name: fleet.CaptureAck, Subjects: []string{"$JS.ACK.>"}, NoAck: true, MaxBytes: 1 << 20})
	}, []string{"captures_own_acks: stream OBS_ACK"}},
	{"a capture of every advisory", func(b broker) {
		b.edit(fleet.CaptureEvt, func(c *jetstream.StreamConfig) { c.Subjects = []string{"$JS.EVENT.>"} })
	}, []string{"captures_api_calls: stream OBS_EVT"}},
	{"a capture stream with other subjects", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: "$JS.ACK.>", Destination: "mine.>"}
		})
	}, []string{"capture_rewritten: stream OBS_ACK"}},
	{"shards that nobody reads as such", func(b broker) {
		cut := fleet.Streams{Contract: contract, Shards: 4}.Configs()
		b.edit(fleet.CaptureEvt, func(c *jetstream.StreamConfig) {
			c.SubjectTransform = cut[slices.IndexFunc(cut, func(w jetstream.StreamConfig) bool { return w.Name == c.Name })].SubjectTransform
		})
	}, []string{"capture_shards: stream OBS_EVT"}},
	{"no stream of dead letters", func(b broker) { b.remove(fleet.StreamDLQ) }, []string{"no_dlq: stream DLQ"}},
	{"dead letters in a work queue", func(b broker) {
		b.anew(fleet.StreamDLQ, func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy })
	}, []string{"dlq_consumed: stream DLQ"}},
	{"dead letters that age", func(b broker) {
		b.edit(fleet.StreamDLQ, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
	}, []string{"dlq_expires: stream DLQ"}},
	{"dead letters near their limit", func(b broker) {
		b.edit(fleet.StreamDLQ, func(c *jetstream.StreamConfig) { c.MaxMsgs = 1 })
		_, err := b.js.Publish(b.t.Context(), contract.DLQSubject("cto", "transient"), []byte("{}"))
		b.must(err)
	}, []string{"dlq_nearly_full: stream DLQ"}},
	{"no stream of retries", func(b broker) { b.remove(fleet.StreamRetry) }, []string{"no_retry_stream: stream RETRY"}},
	{"retries with a backoff", func(b broker) {
		b.consumer(fleet.StreamRetry, "x", func(c *jetstream.ConsumerConfig) {
			c.FilterSubject, c.BackOff = "", []time.Duration{time.Minute, 2 * time.Minute}
		})
	}, []string{"retry_backoff: consumer RETRY x-task-worker"}},
	{"records that go before their tasks", func(b broker) {
		b.edit("KV_"+fleet.BucketIdempotency, func(c *jetstream.StreamConfig) { c.MaxAge = 72 * time.Hour })
	}, []string{"records_go_early: bucket task-idempotency"}},
}

func TestEveryPlantedTrapIsFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, trap := range planted {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			b := rightBroker(t)
			trap.plant(b)
			if diff := gocmp.Diff(trap.want, b.examine()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// Traps of a cluster of several servers cannot be made on one.
func TestTrapsOfReplicas(t *testing.T) {
	t.Parallel()
	streams := fleet.Streams{Contract: contract, RecordRetention: 9 * 24 * time.Hour, Replicas: 3}
	var c doctor.Cluster
	for _, cfg := range streams.Configs() {
		c.Streams = append(c.Streams, doctor.Stream{Config: cfg, Servers: 3})
	}
	rules := doctor.Rules{Contract: contract}
	if got := codes(rules.Examine(c)); len(got) > 0 {
		t.Errorf("a right cluster: %q", got)
	}
	for _, trap := range []struct {
		stream, want string
		set          func(*jetstream.StreamConfig)
	}{
		{fleet.StreamTasks, "one_replica: stream TASKS", func(cfg *jetstream.StreamConfig) { cfg.Replicas = 1 }},
		{fleet.CaptureAck, "capture_replicas: stream OBS_ACK", func(cfg *jetstream.StreamConfig) { cfg.Replicas = 1 }},
		{"KV_" + fleet.BucketIdempotency, "records_lag: bucket task-idempotency", func(cfg *jetstream.StreamConfig) { cfg.AllowDirect = true }},
	} {
		i := slices.IndexFunc(c.Streams, func(s doctor.Stream) bool { return s.Config.Name == trap.stream })
		was := c.Streams[i].Config
		trap.set(&c.Streams[i].Config)
		if got := codes(rules.Examine(c)); !slices.Equal(got, []string{trap.want}) {
			t.Errorf("%q, want %s", got, trap.want)
		}
		c.Streams[i].Config = was
	}
}

func TestEveryCodeIsPlantedSomewhere(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"one_replica": true, "capture_replicas": true, "records_lag": true} // TestTrapsOfReplicas.
	for _, trap := range planted {
		for _, w := range trap.want {
			code, _, _ := strings.Cut(w, ":")
			seen[code] = true
		}
	}
	for _, trap := range doctor.Traps() {
		if !seen[trap.Code] {
			t.Errorf("no test plants %s", trap.Code)
		}
	}
}

func TestFindingsAreSortedAndComplete(t *testing.T) {
	t.Parallel()
	findings := doctor.Rules{Contract: contract}.Examine(doctor.Cluster{})
	if len(findings) == 0 {
		t.Fatal("an empty broker has no finding")
	}
	if !slices.IsSortedFunc(findings, func(a, b doctor.Finding) int {
		return cmp.Compare(slices.Index(doctor.Severities(), a.Severity), slices.Index(doctor.Severities(), b.Severity))
	}) {
		t.Errorf("not the worst first: %+v", findings)
	}
	for _, f := range findings {
		if f.What == "" || f.Why == "" || f.Fix == "" || f.Resource == "" {
			t.Errorf("incomplete: %+v", f)
		}
	}
}

func TestTheDocumentNamesEveryTrap(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, trap := range doctor.Traps() {
		row := fmt.Sprintf("| `%s` | %s | %s. | %s |", trap.Code, trap.Severity, trap.Title, trap.Why)
		if !strings.Contains(string(document), row) {
			t.Errorf("docs/doctor.md lacks the row:\n%s", row)
		}
	}
}

func TestManyReadersCostOneLook(t *testing.T) {
	t.Parallel()
	b := rightBroker(t)
	now := time.Now()
	d, err := doctor.New(doctor.Config{JetStream: b.js, Rules: doctor.Rules{Contract: contract}, Now: func() time.Time { return now }})
	b.must(err)
	first, err := d.Report(t.Context())
	b.must(err)
	if len(first.Findings) != 0 || first.Streams < 9 || first.Consumers != 1 {
		t.Errorf("report of a right broker: %+v", first)
	}
	b.remove(fleet.StreamDLQ)
	if again, err := d.Report(t.Context()); err != nil || len(again.Findings) != 0 {
		t.Errorf("a fresh report was not given again: %+v, %v", again, err)
	}
	now = now.Add(time.Minute)
	if later, err := d.Report(t.Context()); err != nil || !slices.Equal(codes(later.Findings), []string{"no_dlq: stream DLQ"}) {
		t.Errorf("a minute later: %+v, %v", later, err)
	}
	b.js.Conn().Close()
	now = now.Add(time.Minute)
	if r, err := d.Report(t.Context()); err == nil {
		t.Errorf("no broker, and yet a report: %+v", r)
	}
}
