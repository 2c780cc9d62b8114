package postgres_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
	"fleetglass/store/storetest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// overlapping tells of n messages of few tasks, whose lines come in an order that makes placeholders, moves and heads that are in no
// batch: several messages per task, records and reports of the task itself, acks that name no task.
func overlapping(n int) []lifecycle.Event {
	var out []lifecycle.Event
	at := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	tell := func(e lifecycle.Event) {
		at += 1000
		e.At, e.Source, e.SourceSeq = at, "OBS", uint64(len(out)+1)
		e.ID = lifecycle.NewEventID(e.Source, strconv.Itoa(len(out)))
		e.Provenance = cmp.Or(e.Provenance, lifecycle.Observed)
		out = append(out, e)
	}
	for i := range n {
		task, agent := fmt.Sprintf("task-%d", i/3), []string{"cto", "ceo", "devops"}[i%3]
		k := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: []string{"TASKS", "OTHER"}[i%2]}, Seq: uint64(i + 1)}
		id := fmt.Sprintf("%s:r%d", task, i%3)
		tell(lifecycle.Event{Kind: lifecycle.PublishAttempted, TaskID: task, Agent: agent, Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: id}}})
		tell(lifecycle.Event{Kind: lifecycle.Published, TaskID: task, Message: k, Agent: agent, Detail: lifecycle.Detail{
			Naming:      lifecycle.Naming{MsgID: id, Type: "review"},
			Publication: lifecycle.Publication{Generation: i % 3},
		}})
		tell(lifecycle.Event{Kind: lifecycle.Heartbeat, Message: k, Attempt: 1, Consumer: agent})
		if i%4 == 0 {
			tell(lifecycle.Event{Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: task, Agent: agent})
		}
		if i%5 != 0 {
			tell(lifecycle.Event{Kind: lifecycle.Acked, Message: k, Attempt: 1, Consumer: agent})
		}
	}
	return out
}

// partition cuts shuffled events into batches of up to 40, with repetitions.
func partition(r *rand.Rand, events []lifecycle.Event) [][]lifecycle.Event {
	all := slices.Concat(events, events[:len(events)/4])
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out [][]lifecycle.Event
	for len(all) > 0 {
		n := 1 + r.IntN(min(40, len(all)))
		out, all = append(out, all[:n]), all[n:]
	}
	return out
}

// answers is what a store says about tasks, and its counters.
type answers struct {
	Tasks  map[string]lifecycle.TaskRecord
	Events map[string][]lifecycle.Event
	Open   []lifecycle.OpenMessage
	Tally  lifecycle.Tally
}

func answersOf(t *testing.T, s storetest.Store) answers {
	t.Helper()
	out := answers{Tasks: map[string]lifecycle.TaskRecord{}, Events: map[string][]lifecycle.Event{}}
	page, err := s.ListTasks(t.Context(), lifecycle.Filter{}, lifecycle.Page{Limit: math.MaxInt32})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Tasks {
		record, err := s.Task(t.Context(), row.TaskID)
		if err != nil {
			t.Fatal(err)
		}
		events, err := s.Events(t.Context(), row.TaskID, lifecycle.EventPosition{}, math.MaxInt32)
		if err != nil {
			t.Fatal(err)
		}
		out.Tasks[row.TaskID], out.Events[row.TaskID] = record, events
	}
	if out.Open, err = s.OpenMessages(t.Context(), lifecycle.StreamID{}, 0, math.MaxInt32); err != nil {
		t.Fatal(err)
	}
	if out.Tally, err = s.Rollups(t.Context(), lifecycle.Metrics(), 0, math.MaxInt64, true); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestReplicasAppendAsOneWould lets several programs append batches that share messages and tasks, most of them new to all, and
// compares with one program that appends everything in order.
func TestReplicasAppendAsOneWould(t *testing.T) {
	t.Parallel()
	events := overlapping(240)
	alone := open(t, testkit.Postgres(t))
	if _, err := alone.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
	want := answersOf(t, alone)
	url := testkit.Postgres(t)
	var work sync.WaitGroup
	var fresh atomic.Int64
	for replica := range uint64(4) {
		s := open(t, url)
		for writer := range uint64(3) {
			batches := partition(rand.New(rand.NewPCG(replica, writer)), events)
			work.Go(func() { fresh.Add(appendAll(t, s, batches)) })
		}
	}
	work.Wait()
	if got := fresh.Load(); got != int64(len(events)) {
		t.Errorf("new events of all appends: got %d, want %d", got, len(events))
	}
	if d := gocmp.Diff(want, answersOf(t, open(t, url)), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("answers after concurrent appends (-alone +together):\n%s", d)
	}
}

func appendAll(t *testing.T, s *postgres.Store, batches [][]lifecycle.Event) (fresh int64) {
	for _, b := range batches {
		done, err := s.Append(t.Context(), lifecycle.Batch{Events: b})
		if err != nil {
			t.Errorf("append: %v", err)
			return fresh
		}
		fresh += int64(done.New)
	}
	return fresh
}

// TestRetentionAndRebuildBesideAppends shows that upkeep and appends neither lose anything nor get stuck.
func TestRetentionAndRebuildBesideAppends(t *testing.T) {
	t.Parallel()
	events := overlapping(120)
	url := testkit.Postgres(t)
	upkeep := open(t, url)
	var work sync.WaitGroup
	for writer := range uint64(3) {
		s := open(t, url)
		batches := partition(rand.New(rand.NewPCG(9, writer)), events)
		work.Go(func() { appendAll(t, s, batches) })
	}
	work.Go(func() {
		now := lifecycle.MicrosOf(time.Now())
		for range 5 {
			if _, err := upkeep.Retain(t.Context(), now.Add(-24*time.Hour), now); err != nil {
				t.Errorf("retain: %v", err)
			}
			if _, err := upkeep.Rebuild(t.Context()); err != nil {
				t.Errorf("rebuild: %v", err)
			}
		}
	})
	work.Wait()
	alone := open(t, testkit.Postgres(t))
	if _, err := alone.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(answersOf(t, alone), answersOf(t, upkeep), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("answers after appends beside upkeep (-alone +together):\n%s", d)
	}
}

// TestAMessageOfAStreamThatOnlyAnotherReplicaKnows lets a replica that has heard of no stream yet judge a task by its newest message.
func TestAMessageOfAStreamThatOnlyAnotherReplicaKnows(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	late, first := open(t, url), open(t, url)
	k := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}
	at := lifecycle.MicrosOf(time.Now().Add(-time.Hour))
	event := func(n int, e lifecycle.Event) lifecycle.Batch {
		e.ID, e.At, e.Provenance = lifecycle.EventID(n), at+lifecycle.Micros(n), lifecycle.Observed
		return lifecycle.Batch{Events: []lifecycle.Event{e}}
	}
	for _, step := range []struct {
		by    *postgres.Store
		batch lifecycle.Batch
	}{
		{first, event(1, lifecycle.Event{Kind: lifecycle.Published, TaskID: "task", Message: k, Agent: "cto", Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "task"}}})},
		{late, event(2, lifecycle.Event{Kind: lifecycle.CompletionRecorded, TaskID: "task", Agent: "cto"})},
	} {
		if _, err := step.by.Append(t.Context(), step.batch); err != nil {
			t.Fatal(err)
		}
	}
	counts, _, err := late.CountTasks(t.Context(), lifecycle.Filter{})
	if want := map[lifecycle.State]int64{lifecycle.StateCompleting: 1}; err != nil || !gocmp.Equal(counts, want) {
		t.Errorf("counts %v, %v; want %v", counts, err, want)
	}
	if got, err := late.Task(t.Context(), "task"); err != nil || !got.Summary.Listed || got.Summary.State != lifecycle.StateCompleting {
		t.Errorf("task: %+v, %v; want it listed as completing", got.Summary, err)
	}
}
