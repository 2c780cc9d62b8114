package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A message is in the queue from the hour in which it was stored to the one in which it ended, in whatever batches that is told.
func TestTheQueueGrowsWhereAMessageIsStoredAndShrinksWhereItEnds(t *testing.T) {
	t.Parallel()
	stored := MicrosOf(time.Date(2026, 10, 31, 22, 59, 30, 0, time.UTC))
	acked := stored.Add(2 * time.Hour)
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
	publish := Event{ID: 1, At: stored, Kind: Published, TaskID: "t", Message: key, Agent: "cto", Detail: Detail{Naming: Naming{MsgID: "t"}}}
	ack := Event{ID: 2, At: acked, Kind: Acked, TaskID: "t", Message: key, Agent: "cto", Consumer: "cto-task-worker", Attempt: 1}
	want := Tally{
		{Metric: MetricQueue, Bucket: stored.Truncate(time.Hour), Agent: "cto"}:           1,
		{Metric: MetricQueue, Bucket: acked.Truncate(time.Hour), Agent: "cto"}:            -1,
		{Metric: MetricQueueMin, Bucket: stored.Truncate(time.Minute), Agent: "cto"}:      1,
		{Metric: MetricQueueMin, Bucket: acked.Truncate(time.Minute), Agent: "cto"}:       -1,
		{Metric: MetricQueueMonth, Bucket: MetricQueueMonth.Bucket(stored), Agent: "cto"}: 1,
		{Metric: MetricQueueMonth, Bucket: MetricQueueMonth.Bucket(acked), Agent: "cto"}:  -1,
	}
	for _, batches := range [][][]Event{{{publish, ack}}, {{publish}, {ack}}, {{ack}, {publish}}} {
		if d := cmp.Diff(want, queueOf(foldAll(batches).rollups)); d != "" {
			t.Errorf("batches of %d (-want +got):\n%s", len(batches[0]), d)
		}
	}
}

// A worker's clock may be behind the broker's: what ends before it is stored was never in the queue, which cannot hold less than nothing.
func TestAMessageThatEndsBeforeItIsStoredIsNotInTheQueue(t *testing.T) {
	t.Parallel()
	stored := MicrosOf(time.Date(2026, 10, 31, 22, 59, 30, 0, time.UTC))
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
	m := foldAll([][]Event{{
		{ID: 1, At: stored, Kind: Published, TaskID: "t", Message: key, Agent: "cto", Detail: Detail{Naming: Naming{MsgID: "t"}}},
		{ID: 2, At: stored.Add(-2 * time.Hour), Kind: Acked, TaskID: "t", Message: key, Agent: "cto", Consumer: "cto-task-worker", Attempt: 1},
	}})
	if got := queueOf(m.rollups); len(got) > 0 {
		t.Errorf("the queue changed: %v", got)
	}
}

// However a history comes in, the changes of the queue add up to the messages that are stored and have not ended, and the depth is never negative.
func TestTheQueueAddsUpToWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	r := newRand(t, 7)
	for i := range Histories(2_000) {
		history := randomHistory(r)
		r.Shuffle(len(history), func(a, b int) { history[a], history[b] = history[b], history[a] })
		m := foldAll(batches(history, 1+r.IntN(len(history))))
		checkQueue(t, m)
		if t.Failed() {
			t.Fatalf("history %d: %+v", i, history)
		}
	}
}

func checkQueue(t *testing.T, m *memory) {
	t.Helper()
	var want int64
	for _, row := range m.messages {
		v := Judge(*row.Facts, TaskFacts{})
		if v.State == StateTriaged {
			v.State = v.Death.State
		}
		if row.Facts.Stored != nil && v.State.Open() {
			want++
		}
	}
	got := map[Metric]int64{}
	for c, n := range queueOf(m.rollups) {
		got[c.Metric] += n
	}
	for _, metric := range []Metric{MetricQueue, MetricQueueMonth, MetricQueueMin} {
		if got[metric] != want {
			t.Errorf("%s adds up to %d, want %d", metric, got[metric], want)
		}
	}
	var depth int64
	for _, c := range m.cells() { // By metric, then by time.
		if c.Metric == MetricQueueMin {
			if depth += m.rollups[c]; depth < 0 {
				t.Errorf("depth %d at %v", depth, c.Bucket.Time())
			}
		}
	}
}

// queueOf is the part of the rollups that is about the queue.
func queueOf(t Tally) Tally {
	out := Tally{}
	for c, n := range t {
		if c.Metric == MetricQueue || c.Metric == MetricQueueMonth || c.Metric == MetricQueueMin {
			out[c] = n
		}
	}
	return out
}
