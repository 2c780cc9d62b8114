package lifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The cells do not depend on how events are cut into batches, nor on when a task completes: it counts where it was published.
func TestALateCompletionCountsInTheMonthOfItsPublish(t *testing.T) {
	t.Parallel()
	october, november := time.Date(2026, 10, 31, 12, 0, 0, 0, time.UTC), time.Date(2026, 11, 6, 12, 0, 0, 0, time.UTC)
	key := MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}
	events := []Event{
		{ID: 1, At: MicrosOf(october), Kind: Published, TaskID: "late", Message: key, Agent: "cto", Detail: Detail{Naming: Naming{MsgID: "late"}}},
		{ID: 2, At: MicrosOf(november), Kind: Acked, TaskID: "late", Message: key, Agent: "cto", Consumer: "cto-task-worker", Attempt: 1},
	}
	want := Tally{
		{Metric: MetricTasks, Bucket: MicrosOf(october), Agent: "cto", Label: "completed"}:                                           1,
		{Metric: MetricTasksMonth, Bucket: MicrosOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)), Agent: "cto", Label: "completed"}: 1,
	}
	for _, batches := range [][][]Event{{events}, {events[:1], events[1:]}, {events[1:], events[:1]}} {
		m := newMemory()
		for _, b := range batches {
			m.append(slices.Clone(b))
		}
		got := Tally{}
		for c, n := range m.rollups {
			if c.Metric == MetricTasks || c.Metric == MetricTasksMonth {
				got[c] = n
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("batches of %d (-want +got):\n%s", len(batches[0]), d)
		}
	}
}
