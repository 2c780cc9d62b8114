package fleet_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// The shard of an agent's publishes, attempts and reports is that of its worker's answers and advisories, for any name; lines of other forms are in
// the first shard; and every line is in one shard.
func TestAnAgentsLinesAreInOneShardOfEveryStream(t *testing.T) {
	t.Parallel()
	c := fleet.NewContract("")
	for _, n := range []int{2, 8, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			js := testkit.JetStream(t, testkit.BareBroker(t))
			if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: c, Shards: n}); err != nil {
				t.Fatal(err)
			}
			agents := []string{"cto", "cso", "x", "marketing", "legal-review_2", "Ωmega", "a-task-worker"}
			lines := map[string][]string{}
			for _, a := range agents {
				w := fleet.WorkerName(a)
				lines[a] = []string{
					"obs.pub." + a + ".code.review", "obs.raw." + a + ".x", c.ReportSubject(a, "started"), "$JS.ACK.TASKS." + w + ".1.2.3.4.5",
					"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.TASKS." + w, "$JS.EVENT.METRIC.CONSUMER.ACK.TASKS." + w,
				}
			}
			lines[""] = []string{"$JS.ACK.hub.hash.TASKS.cto-task-worker.1.2.3.4.5", "$JS.EVENT.ADVISORY.STREAM.CREATED.TASKS"}
			for _, a := range append(agents, "") {
				for _, subject := range lines[a] {
					if err := js.Conn().Publish(subject, []byte("+ACK")); err != nil {
						t.Fatal(err)
					}
				}
			}
			for stream, want := range map[string]uint64{fleet.CapturePub: 7, fleet.CaptureRaw: 7, fleet.CaptureReport: 7, fleet.CaptureAck: 8, fleet.CaptureEvt: 15} {
				testkit.Eventually(t, 10*time.Second, func() error {
					s, err := js.Stream(t.Context(), stream)
					if err != nil || s.CachedInfo().State.Msgs < want {
						return fmt.Errorf("%s has not %d lines yet: %w", stream, want, err)
					}
					return nil
				})
			}
			shards := map[string]int{}
			for _, source := range []fleet.Reader{
				{Stream: fleet.CapturePub, Source: "publishes"}, {Stream: fleet.CaptureRaw, Source: "attempts"}, {Stream: fleet.CaptureReport, Source: "reports"},
				{Stream: fleet.CaptureAck, Source: "acks"}, {Stream: fleet.CaptureEvt, Source: "advisories"},
			} {
				for _, source.Shard = range fleet.Shards(n) {
					for _, subject := range readAll(t, js, source.Stream, source.Config(c)) {
						if was, twice := shards[subject]; twice && subject != "$JS.EVENT.ADVISORY.STREAM.CREATED.TASKS" {
							t.Errorf("%s is in shards %d and %d", subject, was, source.Shard.Index)
						}
						shards[subject] = source.Shard.Index
					}
				}
			}
			for _, a := range append(agents, "") {
				for _, subject := range lines[a] {
					want := shards[lines[a][0]]
					if got, read := shards[subject]; !read || got != want || (a == "" && got != 0) {
						t.Errorf("%s is in shard %d (read: %t), and the agent %q in %d", subject, got, read, a, want)
					}
				}
			}
		})
	}
}

// readAll reads what a durable delivers, as the subjects were.
func readAll(t *testing.T, js jetstream.JetStream, stream string, cfg jetstream.ConsumerConfig) (subjects []string) {
	t.Helper()
	consumer, err := js.CreateConsumer(t.Context(), stream, cfg)
	if err != nil {
		t.Fatal(err)
	}
	how := []jetstream.FetchOpt{jetstream.FetchMaxWait(5 * time.Second), jetstream.FetchPriorityGroup(fleet.ReaderGroup), jetstream.FetchPrioritized(4)}
	for waiting := consumer.CachedInfo().NumPending; waiting > 0; {
		batch, err := consumer.Fetch(int(waiting), how...)
		if err != nil {
			t.Fatal(err)
		}
		for msg := range batch.Messages() {
			subjects = append(subjects, fleet.OriginalSubject(msg.Subject()))
			if err := msg.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		info, err := consumer.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting = info.NumPending
	}
	return subjects
}

// Who sets nothing has the streams, durables and permissions of before.
func TestOneShardIsTheWholeStream(t *testing.T) {
	t.Parallel()
	c := fleet.NewContract("")
	whole, one := fleet.Streams{Contract: c, Readers: true}, fleet.Streams{Contract: c, Readers: true, Shards: 1}
	for i, cfg := range one.Configs() {
		if cfg.SubjectTransform != nil || !reflect.DeepEqual(cfg, whole.Configs()[i]) {
			t.Errorf("%s differs", cfg.Name)
		}
	}
	if !reflect.DeepEqual(whole.Permissions(), one.Permissions()) {
		t.Error("the permissions differ")
	}
	r := fleet.Reader{Stream: fleet.CaptureAck, Source: "acks", Shard: fleet.Shards(1)[0]}
	if got, want := r.Config(c), fleet.ReaderConfig("fleetglass-acks"); !reflect.DeepEqual(got, want) {
		t.Errorf("the durable is %+v, want %+v", got, want)
	}
}

// The observer may read each of its shards, and what the streams say about themselves is asked for once.
func TestPermissionsNameTheDurableOfEachShard(t *testing.T) {
	t.Parallel()
	observer := fleet.Streams{Contract: fleet.NewContract(""), Shards: 4}.Permissions()[0].Publish
	for k := range 4 {
		want := fmt.Sprintf("$JS.API.CONSUMER.MSG.NEXT.OBS_EVT.fleetglass-advisories_s%dof4", k)
		if !slices.Contains(observer, want) {
			t.Errorf("the observer may not publish to %s", want)
		}
	}
	if slices.Contains(observer, "$JS.API.CONSUMER.MSG.NEXT.OBS_EVT.fleetglass-advisories") {
		t.Error("the observer may read a durable that does not exist")
	}
	seen := map[string]bool{}
	for _, subject := range observer {
		if seen[subject] {
			t.Errorf("%s is named twice", subject)
		}
		seen[subject] = true
	}
}

// A number of shards that the broker's hash does not divide evenly for both is refused before anything is changed.
func TestTheNumberOfShardsIsAPowerOfTwo(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	for _, n := range []int{-1, 3, 6, 128} {
		if _, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: fleet.NewContract(""), Shards: n}); err == nil {
			t.Errorf("%d shards are planned", n)
		}
	}
}

// The broker's floor of a shard stays at the shard's own last line, and passes lines that were discarded unread.
func TestWhatTheFloorOfAShardSays(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	c := fleet.NewContract("")
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: c, Shards: 2}); err != nil {
		t.Fatal(err)
	}
	own, others := "$JS.ACK.TASKS.cto-task-worker.1.%d.3.4.5", "$JS.ACK.TASKS.cso-task-worker.1.%d.3.4.5"
	say := func(form string, lines int) {
		t.Helper()
		before := lastOf(t, js)
		for i := range lines {
			if err := js.Conn().Publish(fmt.Sprintf(form, i+1), []byte("+ACK")); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, 10*time.Second, func() error {
			if got := lastOf(t, js); got != before+uint64(lines) {
				return fmt.Errorf("%d lines, want %d", got, before+uint64(lines))
			}
			return nil
		})
	}
	shard := 0
	readers := make([]jetstream.Consumer, 2)
	for i, s := range fleet.Shards(2) {
		var err error
		readers[i], err = js.CreateConsumer(t.Context(), fleet.CaptureAck, fleet.Reader{Stream: fleet.CaptureAck, Source: "acks", Shard: s}.Config(c))
		if err != nil {
			t.Fatal(err)
		}
	}
	say(own, 3)
	if pending(t, readers[1]) > 0 {
		shard = 1
	}
	read(t, readers[shard], 3)
	say(others, 5)
	if pending(t, readers[shard]) > 0 {
		t.Fatal("both agents are in one shard: choose other names")
	}
	if floor := floorOf(t, readers[shard]); floor != 3 {
		t.Errorf("the floor is %d after lines of another shard, want that of the own last line, 3", floor)
	}
	say(own, 4) // Lines 9 to 12.
	stream, err := js.Stream(t.Context(), fleet.CaptureAck)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(11)); err != nil { // As a bound does: lines 9 and 10 are gone unread.
		t.Fatal(err)
	}
	read(t, readers[shard], 2)
	if floor := floorOf(t, readers[shard]); floor != 12 {
		t.Errorf("the floor is %d after two lines were discarded and two acknowledged, want 12", floor)
	}
}

func lastOf(t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	stream, err := js.Stream(t.Context(), fleet.CaptureAck)
	if err != nil {
		t.Fatal(err)
	}
	return stream.CachedInfo().State.LastSeq
}

func info(t *testing.T, c jetstream.Consumer) *jetstream.ConsumerInfo {
	t.Helper()
	i, err := c.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func pending(t *testing.T, c jetstream.Consumer) uint64 { t.Helper(); return info(t, c).NumPending }
func floorOf(t *testing.T, c jetstream.Consumer) uint64 {
	t.Helper()
	return info(t, c).AckFloor.Stream
}

// read reads and acknowledges so many lines.
func read(t *testing.T, c jetstream.Consumer, lines int) {
	t.Helper()
	batch, err := c.Fetch(lines, jetstream.FetchMaxWait(10*time.Second), jetstream.FetchPriorityGroup(fleet.ReaderGroup), jetstream.FetchPrioritized(1))
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		lines--
		if err := msg.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if lines != 0 {
		t.Fatalf("%d lines did not come: %v", lines, batch.Error())
	}
}

// A pull of better rank gets the lines while it waits, and the other one as soon as it does not.
func TestLinesGoToTheReplicaThatWantsTheShardMost(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	c := fleet.NewContract("")
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: c, Shards: 2}); err != nil {
		t.Fatal(err)
	}
	r := fleet.Reader{Stream: fleet.CaptureAck, Source: "acks", Shard: fleet.Shards(2)[0]}
	reader, err := js.CreateConsumer(t.Context(), fleet.CaptureAck, r.Config(c))
	if err != nil {
		t.Fatal(err)
	}
	pull := func(rank uint8, lines int) jetstream.MessageBatch {
		t.Helper()
		batch, err := reader.Fetch(lines, jetstream.FetchMaxWait(10*time.Second), jetstream.FetchPriorityGroup(fleet.ReaderGroup), jetstream.FetchPrioritized(rank))
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	second, first := pull(5, 4), pull(0, 4)
	testkit.Eventually(t, 10*time.Second, func() error {
		if n := info(t, reader).NumWaiting; n != 2 {
			return fmt.Errorf("%d pulls wait", n)
		}
		return nil
	})
	for i := range 8 { // The uncut form is in the first shard.
		if err := js.Conn().Publish(fmt.Sprintf("$JS.ACK.hub.hash.TASKS.x.1.%d.3.4.5", i+1), []byte("+ACK")); err != nil {
			t.Fatal(err)
		}
	}
	for name, batch := range map[string]jetstream.MessageBatch{"first": first, "second": second} {
		for msg := range batch.Messages() {
			meta, err := msg.Metadata()
			if err != nil {
				t.Fatal(err)
			}
			if (meta.Sequence.Stream <= 4) != (name == "first") {
				t.Errorf("line %d went to the %s", meta.Sequence.Stream, name)
			}
		}
	}
}
