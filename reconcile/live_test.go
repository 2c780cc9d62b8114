package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/store/storetest"
)

// TestTheLiveStreamIsCompared plants what only the stream itself knows. The reconciler of the broker's state, which would see the same in
// time, does not run.
func TestTheLiveStreamIsCompared(t *testing.T) {
	t.Parallel()
	g := newGlass(t, newSQLite(t))
	g.watchLines()
	g.publish("cto", "queued")
	g.publish("cto", "acked by nobody")
	gone := g.publish("cto", "gone")
	g.publish("cto", "not known", "Nats-Expected-Stream", fleet.StreamTasks)
	g.becomes("gone", lifecycle.StatePublished)
	tasks, err := g.js.Stream(t.Context(), fleet.StreamTasks)
	g.must(err)
	g.must(tasks.DeleteMsg(t.Context(), gone))
	g.acked("acked by nobody", time.Now())
	g.becomes("acked by nobody", lifecycle.StateCompleted)
	report := reconciled(t, g.config())
	want := `4 = 1 completed + 2 in flight + 0 in dlq + 0 exhausted + 0 terminated + 0 expired + 1 unexplained
outcome_unexplained: gone cto
held_though_settled: acked by nobody cto
held_unknown: sequence 4
no records: cto 1`
	if d := cmp.Diff(want, brief(report)); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	if s := report.Streams[0]; !s.Compared || s.Held != 3 || s.Known != 3 || s.FromSeq != 1 || s.ToSeq != 4 {
		t.Errorf("span %+v, want 1 to 4 compared with 3 known and 3 held", s)
	}
}

// TestEveryStreamOfTasksIsCompared has tasks in two streams: what a work queue beside TASKS holds and lost is compared like that of TASKS.
func TestEveryStreamOfTasksIsCompared(t *testing.T) {
	t.Parallel()
	g := newGlass(t, newSQLite(t))
	g.tasks(func(c *jetstream.StreamConfig) { c.Subjects = []string{"genbrain.agents.cto.tasks.>"} })
	g.stream("TASKS_VIP", "genbrain.agents.vip.tasks.>", jetstream.WorkQueuePolicy)
	g.stream("TASKS_LOG", "genbrain.agents.log.tasks.>", jetstream.LimitsPolicy)
	_, err := fleet.Provision(t.Context(), g.js, fleet.Streams{Contract: contract})
	g.must(err)
	g.watchLines()
	g.publish("cto", "plain")
	g.publish("vip", "waits")
	gone := g.publish("vip", "gone")
	g.publish("log", "kept")
	g.becomes("gone", lifecycle.StatePublished)
	vip, err := g.js.Stream(t.Context(), "TASKS_VIP")
	g.must(err)
	g.must(vip.DeleteMsg(t.Context(), gone))
	consumer, err := g.js.CreateConsumer(t.Context(), "TASKS_LOG", jetstream.ConsumerConfig{Durable: "log-task-worker", AckPolicy: jetstream.AckExplicitPolicy})
	g.must(err)
	m, err := consumer.Next()
	g.must(err)
	g.must(m.DoubleAck(t.Context()))
	g.becomes("kept", lifecycle.StateCompleted)
	report := reconciled(t, g.config())
	want := `4 = 1 completed + 2 in flight + 0 in dlq + 0 exhausted + 0 terminated + 0 expired + 1 unexplained
outcome_unexplained: gone vip
no records: log 1`
	if d := cmp.Diff(want, brief(report)); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	for _, s := range report.Streams {
		if !s.Compared || s.Why != "" {
			t.Errorf("%s is not compared: %s", s.Stream, s.Why)
		}
	}
	if len(report.Streams) != 3 {
		t.Errorf("streams %+v, want three", report.Streams)
	}
}

func TestAMessageThatAgedInAWorkersHandsHasExpired(t *testing.T) {
	t.Parallel()
	g := newGlass(t, newSQLite(t))
	g.watch()
	g.tasks(func(c *jetstream.StreamConfig) { c.MaxAge, c.Duplicates = 2*time.Second, time.Second })
	cto := g.works("cto", jetstream.ConsumerConfig{AckWait: time.Hour})
	g.publish("cto", "slow")
	g.take(cto)
	g.publish("cto", "deleted by hand")
	seq, err := g.take(cto).Metadata()
	g.must(err)
	tasks, err := g.js.Stream(t.Context(), fleet.StreamTasks)
	g.must(err)
	g.must(tasks.DeleteMsg(t.Context(), seq.Sequence.Stream))
	for _, task := range []string{"deleted by hand", "slow"} {
		g.becomes(task, lifecycle.StateOutcomeUnknown)
	}
	want := `2 = 0 completed + 0 in flight + 0 in dlq + 0 exhausted + 0 terminated + 1 expired + 1 unexplained
outcome_unexplained: deleted by hand cto
expired: slow cto`
	if d := cmp.Diff(want, brief(reconciled(t, g.config()))); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
}

func TestWithoutABrokerTheReportSaysWhatItDidNotCompare(t *testing.T) {
	t.Parallel()
	g := newGlass(t, newSQLite(t))
	g.watch()
	g.publish("cto", "queued")
	g.becomes("queued", lifecycle.StatePublished)
	cfg := g.config()
	cfg.Stock, cfg.Records = nil, nil
	report := reconciled(t, cfg)
	if s := report.Streams[0]; s.Compared || s.Why == "" {
		t.Errorf("span %+v, want not compared and why", s)
	}
	if report.Records.Checked || report.Records.Why == "" || len(report.Notes) == 0 {
		t.Errorf("records %+v, notes %v; want not checked, why, and a note", report.Records, report.Notes)
	}
	if report.Total.InFlight != 1 || !report.Total.Balanced() {
		t.Errorf("total %+v, want one in flight", report.Total)
	}
}

// TestAReportCoversItsPeriodOnly publishes in three spans of time and asks for the middle one, and for all of them one by one.
func TestAReportCoversItsPeriodOnly(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, s storetest.Store) {
		begin := lifecycle.MicrosOf(time.Now().Add(-6 * time.Hour)).Truncate(time.Second)
		var events []lifecycle.Event
		for seq := uint64(1); seq <= 60; seq++ {
			if seq%10 == 0 { // 10, 20, … are never seen.
				continue
			}
			events = append(events, published(seq, begin.Add(time.Duration(seq)*time.Minute)))
		}
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
			t.Fatal(err)
		}
		var sum, unseen int64
		for from := 0; from < 70; from += 20 {
			period := reconcile.Period{From: begin.Add(time.Duration(from) * time.Minute), To: begin.Add(time.Duration(from+20) * time.Minute)}
			total := reportOn(t, s, period).Total
			if !total.Balanced() {
				t.Errorf("from minute %d: %+v does not balance", from, total)
			}
			sum, unseen = sum+total.Published, unseen+total.NeverSeen
		}
		if sum != 59 || unseen != 5 { // 60 is beyond the last that is known: no stream says that it exists.
			t.Errorf("all periods together: %d published, %d never seen; want 59 and 5", sum, unseen)
		}
	})
}
