package doctor_test

import (
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/testkit"
)

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
		b.worker("hasty", func(c *jetstream.ConsumerConfig) { c.AckWait = time.Minute })
	}, []string{"heartbeat_late: consumer TASKS hasty-task-worker"}},
	{"an even backoff", func(b broker) {
		b.worker("even", func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{5 * time.Minute} })
	}, []string{"nak_ignores_backoff: consumer TASKS even-task-worker"}},
	{"no max_deliver", func(b broker) {
		b.worker("endless", func(c *jetstream.ConsumerConfig) { c.MaxDeliver = -1 })
	}, []string{"deliver_for_ever: consumer TASKS endless-task-worker"}},
	{"a consumer that expires", func(b broker) {
		b.worker("guest", func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = time.Hour })
	}, []string{"consumer_expires: consumer TASKS guest-task-worker"}},
	{"no samples", func(b broker) {
		b.worker("unheard", func(c *jetstream.ConsumerConfig) { c.SampleFrequency = "" })
	}, []string{"acks_not_sampled: consumer TASKS unheard-task-worker"}},
	{"a pause", func(b broker) {
		until := time.Now().Add(time.Hour)
		b.worker("resting", func(c *jetstream.ConsumerConfig) { c.PauseUntil = &until })
	}, []string{"consumer_paused: consumer TASKS resting-task-worker"}},
	{"a consumer in memory", func(b broker) {
		b.worker("forgetful", func(c *jetstream.ConsumerConfig) { c.MemoryStorage = true })
	}, []string{"memory_consumer: consumer TASKS forgetful-task-worker"}},
	{"messages that nobody takes", func(b broker) { b.publish("legal", 3) }, []string{"nobody_takes: stream TASKS"}},
	{"a mirror of the queue", func(b broker) {
		b.create(jetstream.StreamConfig{Name: "COPY", Mirror: &jetstream.StreamSource{Name: fleet.StreamTasks}})
	}, []string{"copy_empties_queue: stream COPY"}},
	{"a stream whose source is the queue", func(b broker) {
		b.create(jetstream.StreamConfig{Name: "COPY", Sources: []*jetstream.StreamSource{{Name: fleet.StreamTasks}}})
	}, []string{"copy_empties_queue: stream COPY"}},
	{"a durable consumer by which a mirror of the queue is fed", func(b broker) {
		_, err := b.js.CreatePushConsumer(b.t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
			Durable: "archiver", DeliverSubject: "archive.tasks", FilterSubject: "genbrain.agents.old.tasks.>", AckPolicy: jetstream.AckFlowControlPolicy, FlowControl: true, IdleHeartbeat: time.Second, MaxAckPending: 100, MaxDeliver: -1,
		})
		b.must(err)
	}, nil},
	{"a subject near its limit", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 })
		b.publish("cto", 4)
	}, []string{"limit_drops_tasks: stream TASKS"}},
	{"a stream near the limit at which it refuses", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Discard, c.MaxMsgs = jetstream.DiscardNew, 5 })
		b.publish("cto", 3)
	}, []string{"limit_refuses_tasks: stream TASKS"}},
	{"tasks that are kept while a consumer takes them", func(b broker) {
		b.anew(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy })
		b.worker("cto", func(*jetstream.ConsumerConfig) {})
		b.publish("legal", 1) // Its publisher is told that it is stored.
	}, []string{"untaken_dropped: stream TASKS"}},
	{"atomic batches", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = true })
	}, []string{"batches_unseen: stream TASKS"}},
	{"rollups", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.AllowRollup = true })
	}, []string{"rollups_allowed: stream TASKS"}},
	{"schedules", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.AllowMsgSchedules = true })
	}, []string{"schedules_undeduplicated: stream TASKS"}},
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
	{"a second stream of tasks that republishes", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Subjects = []string{contract.TaskSubject("cto", ">")} })
		b.create(jetstream.StreamConfig{
			Name: "VIP", Subjects: []string{contract.TaskSubject("vip", ">")}, Retention: jetstream.WorkQueuePolicy, Duplicates: time.Hour, MaxAge: time.Hour,
			RePublish: &jetstream.RePublish{Source: contract.TaskSubject("vip", ">"), Destination: "obs.pub.vip.>"},
		})
	}, []string{"capture_uncovered: stream VIP"}},
	{"no republish", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.RePublish = nil })
	}, []string{"no_republish: stream TASKS"}},
	{"a republish of one agent's tasks", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) {
			c.RePublish = &jetstream.RePublish{Source: contract.TaskSubject("cto", ">"), Destination: "obs.pub.cto.>"}
		})
	}, []string{"no_republish: stream TASKS"}},
	{"a capture that deduplicates", func(b broker) {
		b.anew(fleet.CapturePub, func(c *jetstream.StreamConfig) { c.Sources = nil })
	}, []string{"capture_dedupes: stream OBS_PUB"}},
	{"a capture with a window, as on a broker before 2.14", func(b broker) {
		b.edit(fleet.CaptureRaw, func(c *jetstream.StreamConfig) { c.Duplicates = fleet.LeastWindow })
	}, []string{"capture_dedupes: stream OBS_RAW"}},
	{"a capture that answers", func(b broker) {
		b.edit(fleet.CaptureEvt, func(c *jetstream.StreamConfig) { c.NoAck = false })
	}, []string{"capture_answers: stream OBS_EVT"}},
	{"a capture that refuses when it is full", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew })
	}, []string{"capture_refuses: stream OBS_ACK"}},
	{"a capture without a limit", func(b broker) {
		b.edit(fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.MaxBytes = -1 })
	}, []string{"capture_unbounded: stream OBS_ACK"}},
	{"a capture in memory", func(b broker) {
		b.anew(fleet.CapturePub, func(c *jetstream.StreamConfig) { c.Storage, c.MaxBytes = jetstream.MemoryStorage, 1<<20 })
	}, []string{"capture_in_memory: stream OBS_PUB"}},
	{"a capture whose lines go when they are read", func(b broker) {
		b.anew(fleet.CaptureReport, func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy })
	}, []string{"capture_consumed: stream OBS_REPORT"}},
	{"reports without an answer", func(b broker) {
		b.edit(fleet.CaptureReport, func(c *jetstream.StreamConfig) { c.NoAck = true })
	}, []string{"reports_unanswered: stream OBS_REPORT"}},
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
	{"records in memory", func(b broker) {
		b.anew("KV_"+fleet.BucketIdempotency, func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage })
	}, []string{"records_in_memory: bucket task-idempotency"}},
}

// beside are traps that no broker has without another one. The other is there before, and what is planted adds one finding.
var beside = []struct {
	name          string
	ground, plant func(broker)
	added         string
}{
	{"a backoff that grows", func(b broker) {
		b.worker("growing", func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{5 * time.Minute} })
	}, func(b broker) {
		b.change("growing", func(c *jetstream.ConsumerConfig) { c.BackOff = []time.Duration{5 * time.Minute, 10 * time.Minute} })
	}, "nak_delay_late: consumer TASKS growing-task-worker"}, // Any backoff is one that plain naks ignore.
	{"tasks younger than all attempts", func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute })
	}, func(b broker) {
		b.edit(fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.MaxAge = 20 * time.Minute })
	}, "tasks_expire_early: stream TASKS"}, // The broker has no duplicate window that is longer than its messages last.
}

// inACluster are traps of three servers.
var inACluster = []struct {
	name, stream string
	set          func(*jetstream.StreamConfig)
	want         string
}{
	{"tasks on one of three servers", fleet.StreamTasks, func(c *jetstream.StreamConfig) { c.Replicas = 1 }, "one_replica: stream TASKS"},
	{"a capture on one of three servers", fleet.CaptureAck, func(c *jetstream.StreamConfig) { c.Replicas = 1 }, "capture_replicas: stream OBS_ACK"},
	{"records that every replica answers for", "KV_" + fleet.BucketIdempotency, func(c *jetstream.StreamConfig) { c.AllowDirect = true }, "records_lag: bucket task-idempotency"},
}

func TestEveryPlantedTrapIsFoundAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, trap := range planted {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			b := rightBroker(t)
			trap.plant(b)
			findings := b.findings()
			if diff := gocmp.Diff(trap.want, codes(findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			byProvisioning := func(f doctor.Finding) bool { return f.Fix == "fleetglass provision --apply" }
			if !slices.ContainsFunc(findings, byProvisioning) {
				return
			}
			b.provision(rightly)
			if left := slices.DeleteFunc(b.findings(), func(f doctor.Finding) bool { return !byProvisioning(f) }); len(left) > 0 {
				t.Errorf("the command that is told mends nothing: %+v", left)
			}
		})
	}
}

func TestTheConsumerThatIsSuggestedTakesWhatWaitsAndHasNoTrap(t *testing.T) {
	t.Parallel()
	b := rightBroker(t)
	b.publish("legal", 1)
	findings := b.findings()
	const want = "nats consumer add TASKS legal-task-worker --filter 'genbrain.agents.legal.tasks.>' --pull --ack explicit --wait 5m --max-deliver 3 --max-pending 1 --sample 100 --defaults"
	if len(findings) != 1 || findings[0].Fix != want {
		t.Fatalf("findings %+v, want one that is mended by %q", findings, want)
	}
	b.worker("legal", func(c *jetstream.ConsumerConfig) {
		c.AckPolicy, c.AckWait, c.BackOff, c.MaxDeliver, c.MaxAckPending, c.SampleFrequency = jetstream.AckExplicitPolicy, 5*time.Minute, nil, 3, 1, "100"
	})
	if left := b.findings(); len(left) > 0 {
		t.Errorf("the consumer that is suggested has traps: %+v", left)
	}
}

func TestATrapBesideAnotherAddsOneFinding(t *testing.T) {
	t.Parallel()
	for _, trap := range beside {
		t.Run(trap.name, func(t *testing.T) {
			t.Parallel()
			b := rightBroker(t)
			trap.ground(b)
			want := append(b.examine(), trap.added)
			slices.Sort(want)
			trap.plant(b)
			if diff := gocmp.Diff(want, b.examine()); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// rightCluster is three servers, set up rightly, with one worker that nothing is wrong with.
func rightCluster(t *testing.T) broker {
	t.Helper()
	servers := testkit.BrokerCluster(t, contract)
	b := broker{t, connected(t, servers[0].ClientURL())}
	streams := rightly
	streams.Replicas = len(servers)
	b.provision(streams)
	b.worker("cto", func(*jetstream.ConsumerConfig) {})
	b.publish("cto", 1)
	return b
}

func TestTrapsOfACluster(t *testing.T) {
	t.Parallel()
	b := rightCluster(t)
	if got := b.examine(); len(got) > 0 {
		t.Fatalf("findings on a right cluster: %q", got)
	}
	for _, trap := range inACluster {
		var was jetstream.StreamConfig
		b.edit(trap.stream, func(c *jetstream.StreamConfig) { was = *c; trap.set(c) })
		if diff := gocmp.Diff([]string{trap.want}, b.examine()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", trap.name, diff)
		}
		b.edit(trap.stream, func(c *jetstream.StreamConfig) { *c = was })
	}

	// Now all at once that can be wrong in one cluster.
	var want []string
	for _, trap := range planted {
		if slices.Contains(atOnce, trap.name) {
			trap.plant(b)
			want = append(want, trap.want...)
		}
	}
	for _, trap := range beside {
		trap.ground(b)
		trap.plant(b)
		want = append(want, trap.added)
	}
	for _, trap := range inACluster {
		if trap.stream != fleet.StreamTasks { // A capture has too few replicas where the tasks have more.
			b.edit(trap.stream, trap.set)
			want = append(want, trap.want)
		}
	}
	want = append(want, "nak_ignores_backoff: consumer TASKS growing-task-worker")
	slices.Sort(want)
	if diff := gocmp.Diff(want, b.examine()); diff != "" {
		t.Errorf("a cluster in which %d things are wrong (-want +got):\n%s", len(want), diff)
	}
}

// atOnce are the planted traps that one cluster can have together with those of beside.
var atOnce = []string{
	"the contract's own timing", "an ack wait shorter than a heartbeat", "an even backoff", "no max_deliver", "a consumer that expires", "no samples", "a pause", "a consumer in memory",
	"messages that nobody takes", "a mirror of the queue", "a subject near its limit", "a duplicate window shorter than all attempts", "headers only", "deletions denied", "atomic batches", "schedules",
	"a capture that deduplicates", "a capture that answers", "a capture that refuses when it is full", "a capture without a limit", "a capture of every advisory", "no capture of publish attempts",
	"a capture that forgets within the hour", "reports without an answer", "no stream of retries", "dead letters that age", "dead letters near their limit",
}
