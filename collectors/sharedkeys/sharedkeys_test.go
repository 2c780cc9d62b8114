package sharedkeys_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/collectors/sharedkeys"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

var noon = lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))

// fails is a store that takes events about messages, and fails at once when somebody is to be told something.
type fails struct{ lifecycle.Appender }

func (f fails) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if len(b.Events) > 0 && b.Events[0].Source == sharedkeys.Name {
		return lifecycle.Appended{}, errors.New("it is killed")
	}
	return f.Appender.Append(ctx, b)
}

func openStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "fleet.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func published(seq uint64, task, key string) lifecycle.Event {
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("test", fmt.Sprint(seq)), At: noon.Add(time.Duration(seq) * time.Second), Kind: lifecycle.Published,
		Provenance: lifecycle.Observed, TaskID: task, Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}, Agent: "cto",
	}
	e.Detail.MsgID, e.Detail.IdempotencyKey = task, key
	return e
}

func recorded(task, key string, after time.Duration) lifecycle.Event {
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("records", task), At: noon.Add(after), Kind: lifecycle.CompletionRecorded, Provenance: lifecycle.Recorded, TaskID: task,
	}
	e.Detail.IdempotencyKey = key
	return e
}

func add(t *testing.T, a lifecycle.Appender, events ...lifecycle.Event) {
	t.Helper()
	if _, err := a.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
		t.Fatal(err)
	}
}

// findings are what the ledgers of tasks say: layer and other task.
func findings(t *testing.T, s lifecycle.TraceReader, tasks ...string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, id := range tasks {
		r, err := s.Task(t.Context(), id)
		if err != nil {
			t.Fatalf("task %q: %v", id, err)
		}
		for _, c := range lifecycle.Ledger(&r.Facts) {
			out[id] = append(out[id], string(c.Layer)+" "+c.Other)
		}
	}
	return out
}

func TestTasksWithOneKeyAreToldOfEachOtherInEveryOrder(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"the key names one of them": "a-1", "the key names neither": "order-4711"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := []lifecycle.Event{
				published(1, "a", key), published(2, "b", key), recorded("a", key, 10*time.Second), recorded("b", key, 20*time.Second),
			}
			permute(events, 0, func(order []lifecycle.Event) {
				s := openStore(t)
				a := sharedkeys.Wrap(s, s, slog.New(slog.DiscardHandler))
				for _, e := range order {
					add(t, a, e)
				}
				want := map[string][]string{"a": {"execution b"}, "b": {"execution a"}}
				if d := cmp.Diff(want, findings(t, s, "a", "b")); d != "" {
					t.Errorf("order %v (-want +got):\n%s", order, d)
				}
				numbers, err := s.Rollups(t.Context(), []lifecycle.Metric{lifecycle.MetricDuplicates}, noon.Add(-time.Hour), noon.Add(time.Hour), false)
				if err != nil || len(numbers) != 1 {
					t.Fatalf("rollups %v: %v", numbers, err)
				}
				for cell, n := range numbers {
					if n != 1 || cell.Label != string(lifecycle.LayerExecution) {
						t.Errorf("the fleet counts %d of %s, want one execution", n, cell.Label)
					}
				}
			})
		})
	}
}

func permute(s []lifecycle.Event, k int, visit func([]lifecycle.Event)) {
	if k == len(s) {
		visit(s)
		return
	}
	for i := k; i < len(s); i++ {
		s[k], s[i] = s[i], s[k]
		permute(s, k+1, visit)
		s[k], s[i] = s[i], s[k]
	}
}

func TestTasksAreToldAfterACrash(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	first := sharedkeys.Wrap(s, s, slog.New(slog.DiscardHandler))
	add(t, first, published(1, "a", "a-1"), published(2, "b", "a-1"), recorded("a", "a-1", 10*time.Second))
	killed := sharedkeys.Wrap(fails{s}, s, slog.New(slog.DiscardHandler))
	add(t, killed, recorded("b", "a-1", 20*time.Second))
	if got := findings(t, s, "a"); len(got) > 0 {
		t.Fatalf("it was told before the crash: %v", got)
	}
	next := sharedkeys.Wrap(s, s, slog.New(slog.DiscardHandler))
	add(t, next, published(3, "c", "c-1"))
	want := map[string][]string{"a": {"execution b"}, "b": {"execution a"}}
	if d := cmp.Diff(want, findings(t, s, "a", "b")); d != "" {
		t.Errorf("after the next start (-want +got):\n%s", d)
	}
}

func TestAKeyThatNamesItsTaskIsToldToNobody(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	a := sharedkeys.Wrap(s, s, slog.New(slog.DiscardHandler))
	done, err := a.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{published(1, "a", "a-2"), published(2, "b", "b-1")}})
	if err != nil || done.New != 2 {
		t.Errorf("%d new events, want the two that were given: %v", done.New, err)
	}
}

// counted counts the tasks that are read.
type counted struct {
	sharedkeys.Reader
	reads int
}

func (c *counted) Task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	c.reads++
	return c.Reader.Task(ctx, id)
}

func TestAKeyOfOneTaskCostsNoRead(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	tasks := &counted{Reader: s}
	a := sharedkeys.Wrap(s, tasks, slog.New(slog.DiscardHandler))
	for n := range uint64(20) {
		task := fmt.Sprint("t", n)
		add(t, a, published(n+1, task, fmt.Sprint("order-", 4711+n)), recorded(task, fmt.Sprint("order-", 4711+n), time.Minute))
	}
	if tasks.reads > 0 {
		t.Errorf("%d tasks were read for twenty keys of one task each", tasks.reads)
	}
}

func TestTheHolderOfAKeyIsTheTaskThatItNames(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"a-1": "a", "a-99": "a", "a-100": "a-100", "a-01": "a-01", "a-0": "a-0", "a": "a", "-1": "-1", "a-b-2": "a-b", "a-x": "a-x", "order-4711": "order-4711",
	} {
		if got := lifecycle.KeyHolder(key); got != want {
			t.Errorf("KeyHolder(%q) = %q, want %q", key, got, want)
		}
	}
}
