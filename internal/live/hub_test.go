package live

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"fleetglass/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func change(id string, at int) lifecycle.TaskChange {
	return lifecycle.TaskChange{TaskID: id, State: lifecycle.StatePublished, Agent: "cto", At: lifecycle.Micros(at)}
}

func publish(h *Hub, from, to int, id func(i int) string) {
	for i := from; i < to; i++ {
		h.Publish([]lifecycle.TaskChange{change(id(i), i)})
	}
}

func task(i int) string { return "t" + strconv.Itoa(i) }

func ids(c Change) []string {
	out := []string{}
	for _, t := range c.Tasks {
		out = append(out, t.TaskID)
	}
	return out
}

func isReady(s *Subscription) bool {
	select {
	case <-s.Ready():
		return true
	default:
		return false
	}
}

func mustTake(t *testing.T, s *Subscription) Change {
	t.Helper()
	if !isReady(s) {
		t.Fatal("subscription is not ready")
	}
	c, ok := s.Take()
	if !ok {
		t.Fatal("nothing to take")
	}
	return c
}

func TestSubscriberGetsWhatChangesFromNowOn(t *testing.T) {
	t.Parallel()
	h := NewHub(10)
	publish(h, 0, 3, task)
	s := h.Subscribe("")
	defer s.Close()
	if isReady(s) {
		t.Error("ready before anything changed")
	}
	publish(h, 3, 5, task)
	if diff := cmp.Diff([]string{"t3", "t4"}, ids(mustTake(t, s))); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	if _, ok := s.Take(); ok {
		t.Error("took the same changes twice")
	}
}

func TestChangesOfOneTaskAreMergedToTheLatest(t *testing.T) {
	t.Parallel()
	h := NewHub(10)
	s := h.Subscribe("")
	defer s.Close()
	publish(h, 0, 1000, func(i int) string { return task(i % 2) })
	got := mustTake(t, s)
	want := []lifecycle.TaskChange{change("t0", 998), change("t1", 999)}
	if diff := cmp.Diff(want, got.Tasks); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func TestResumingFromAnIDLosesNothing(t *testing.T) {
	t.Parallel()
	h := NewHub(10)
	first := h.Subscribe("")
	publish(h, 0, 2, task)
	id := mustTake(t, first).ID
	first.Close()
	publish(h, 2, 5, task)
	second := h.Subscribe(id)
	defer second.Close()
	if diff := cmp.Diff([]string{"t2", "t3", "t4"}, ids(mustTake(t, second))); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func TestAnOperationThatGoesOnIsToldOnceWithItsLatestState(t *testing.T) {
	t.Parallel()
	h := NewHub(10)
	s := h.Subscribe("")
	defer s.Close()
	for n := range 5 {
		h.PublishOperation(OperationChange{ID: "op", Done: int64(n)})
	}
	publish(h, 0, 1, func(int) string { return "op" })
	got := mustTake(t, s)
	if diff := cmp.Diff([]OperationChange{{ID: "op", Done: 4}}, got.Operations); diff != "" || len(got.Tasks) != 1 {
		t.Errorf("%d tasks; operations (-want +got):\n%s", len(got.Tasks), diff)
	}
}

func TestUnknownIDsReset(t *testing.T) {
	t.Parallel()
	h := NewHub(3)
	old := h.ID()
	publish(h, 0, 10, task)
	for name, id := range map[string]string{
		"too old": old, "another process": NewHub(1).ID(), "not an id": "<script>", "the future": h.boot + "-11", "not a number": h.boot + "-x",
	} {
		s := h.Subscribe(id)
		c := mustTake(t, s)
		if !c.Reset || len(c.Tasks) != 0 || c.ID != h.ID() {
			t.Errorf("%s (%q): got %+v, want a reset at %s", name, id, c, h.ID())
		}
		if _, more := s.Take(); more {
			t.Errorf("%s: more after the reset", name)
		}
		s.Close()
	}
}

func TestARingThatForgotNothingNeededDoesNotReset(t *testing.T) {
	t.Parallel()
	h := NewHub(3)
	id := h.ID()
	publish(h, 0, 1000, func(i int) string { return task(i % 3) })
	s := h.Subscribe(id)
	defer s.Close()
	if c := mustTake(t, s); c.Reset || len(c.Tasks) != 3 {
		t.Errorf("got %+v, want three tasks and no reset", c)
	}
}

func TestASubscriberFarBehindIsReset(t *testing.T) {
	t.Parallel()
	h := NewHub(3)
	s := h.Subscribe("")
	defer s.Close()
	publish(h, 0, 4, task)
	if c := mustTake(t, s); !c.Reset {
		t.Errorf("got %+v, want a reset", c)
	}
	publish(h, 4, 5, task)
	if diff := cmp.Diff([]string{"t4"}, ids(mustTake(t, s))); diff != "" {
		t.Errorf("after the reset (-want +got):\n%s", diff)
	}
}

func TestALargeBacklogComesInParts(t *testing.T) {
	t.Parallel()
	h := NewHub(10_000)
	s := h.Subscribe("")
	defer s.Close()
	publish(h, 0, 2*maxTasksPerChange+1, task)
	var got []string
	for range 3 {
		got = append(got, ids(mustTake(t, s))...)
	}
	if isReady(s) {
		t.Error("ready after everything was taken")
	}
	if len(got) != 2*maxTasksPerChange+1 || got[0] != "t0" || got[len(got)-1] != task(2*maxTasksPerChange) {
		t.Errorf("got %d tasks from %q to %q", len(got), got[0], got[len(got)-1])
	}
}

func TestCloseIsIdempotentAndForgetsTheSubscriber(t *testing.T) {
	t.Parallel()
	h := NewHub(3)
	s := h.Subscribe("")
	s.Close()
	s.Close()
	if n := h.Subscribers(); n != 0 {
		t.Errorf("subscribers = %d, want 0", n)
	}
	publish(h, 0, 3, task)
}

func TestMemoryIsBoundedByTheSize(t *testing.T) {
	t.Parallel()
	h := NewHub(100)
	s := h.Subscribe("")
	defer s.Close()
	publish(h, 0, 10_000, task)
	if h.order.Len() != 100 || len(h.byKey) != 100 {
		t.Errorf("kept %d entries and %d tasks, want 100", h.order.Len(), len(h.byKey))
	}
}

// A reader that takes at any moments, drops its connection and resumes, ends with the latest change of every task, or was told to load
// everything anew.
func TestReadersConvergeWhateverTheirPace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := NewHub(rapid.IntRange(1, 8).Draw(rt, "size"))
		truth, seen := map[string]lifecycle.Micros{}, map[string]lifecycle.Micros{}
		s, last := h.Subscribe(""), h.ID()
		take := func() {
			c, ok := s.Take()
			if !ok {
				return
			}
			last = c.ID
			if c.Reset {
				for id, at := range truth {
					seen[id] = at
				}
			}
			for _, tc := range c.Tasks {
				seen[tc.TaskID] = tc.At
			}
		}
		for i, step := range rapid.SliceOfN(rapid.IntRange(0, 9), 1, 200).Draw(rt, "steps") {
			switch step {
			case 8:
				take()
			case 9:
				s.Close()
				s = h.Subscribe(last)
			default:
				c := change(task(step), i+1)
				truth[c.TaskID] = c.At
				h.Publish([]lifecycle.TaskChange{c})
			}
		}
		take()
		if diff := cmp.Diff(truth, seen); diff != "" {
			rt.Fatalf("seen (-want +got):\n%s", diff)
		}
	})
}

func TestManyReadersAndWritersAtOnce(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 4, 500, 8
	h := NewHub(writers * each)
	var writing, reading sync.WaitGroup
	totals := make([]int, readers)
	for r := range readers {
		s := h.Subscribe("")
		reading.Go(func() {
			defer s.Close()
			for totals[r] < writers*each {
				<-s.Ready()
				c, _ := s.Take()
				totals[r] += len(c.Tasks)
			}
		})
	}
	for w := range writers {
		writing.Go(func() { publish(h, 0, each, func(i int) string { return fmt.Sprintf("%d-%d", w, i) }) })
	}
	writing.Wait()
	reading.Wait()
	for r, n := range totals {
		if n != writers*each {
			t.Errorf("reader %d got %d tasks, want %d", r, n, writers*each)
		}
	}
}

type appenderFunc func(context.Context, lifecycle.Batch) (lifecycle.Appended, error)

func (f appenderFunc) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return f(ctx, b)
}

func TestWrapPublishesOnlyWhatWasCommitted(t *testing.T) {
	t.Parallel()
	h := NewHub(3)
	s := h.Subscribe("")
	defer s.Close()
	var failure error
	a := Wrap(appenderFunc(func(context.Context, lifecycle.Batch) (lifecycle.Appended, error) {
		return lifecycle.Appended{New: 1, Changed: []lifecycle.TaskChange{change("t", 1)}}, failure
	}), h)
	failure = errors.New("disk full")
	if _, err := a.Append(t.Context(), lifecycle.Batch{}); !errors.Is(err, failure) {
		t.Errorf("error = %v, want %v", err, failure)
	}
	if isReady(s) {
		t.Error("published what was not committed")
	}
	failure = nil
	if done, err := a.Append(t.Context(), lifecycle.Batch{}); err != nil || done.New != 1 {
		t.Errorf("append = %+v, %v", done, err)
	}
	if diff := cmp.Diff([]string{"t"}, ids(mustTake(t, s))); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func BenchmarkPublishWithHundredSlowSubscribers(b *testing.B) {
	h := NewHub(4096)
	for range 100 {
		s := h.Subscribe("")
		defer s.Close()
	}
	batch := make([]lifecycle.TaskChange, 1000)
	for i := range batch {
		batch[i] = change(task(i), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Publish(batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/change")
}

// Two commits about one task end one after the other, and are told of in any order.
func TestAChangeThatIsToldLateIsNone(t *testing.T) {
	t.Parallel()
	h := NewHub(10)
	s := h.Subscribe("")
	defer s.Close()
	first, second := change("t", 1), change("t", 2)
	first.Number, second.Number = 1, 2
	second.State = lifecycle.StateTriaged
	h.Publish([]lifecycle.TaskChange{second})
	h.Publish([]lifecycle.TaskChange{first})
	if c := mustTake(t, s); len(c.Tasks) != 1 || c.Tasks[0] != second {
		t.Errorf("told %+v, want %+v alone", c.Tasks, second)
	}
	if c, some := s.Take(); some {
		t.Errorf("told %+v after it, want nothing", c)
	}
}
