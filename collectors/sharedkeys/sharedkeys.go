package sharedkeys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"fleetglass/lifecycle"
)

// Name is the source of what this package concludes.
const Name = "sharedkeys"

// Reader is what it asks of the store.
type Reader interface {
	// Task returns what is known of the task, or ErrNotFound.
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	// ListTasks returns the tasks that f selects.
	ListTasks(ctx context.Context, f lifecycle.Filter, p lifecycle.Page) (lifecycle.TaskPage, error)
}

// Appender is an appender that also finds and tells who shares a key.
type Appender struct {
	next  lifecycle.Appender
	tasks Reader
	log   *slog.Logger

	mu      sync.Mutex
	due     map[string]bool // Tasks that changed, of which others may have to be told.
	resumed bool            // What a crash may have left untold is due.
}

// Wrap returns an appender that hands everything to next. Where a commit changed a task that shares an idempotency key, the others are told
// in further commits before Append returns. A failure to tell is logged, and made up for after the next commit.
func Wrap(next lifecycle.Appender, tasks Reader, log *slog.Logger) *Appender {
	return &Appender{next: next, tasks: tasks, log: log, due: map[string]bool{}}
}

// Append implements [lifecycle.Appender].
func (a *Appender) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	uses := usesOf(b.Events)
	b.Events = slices.Concat(b.Events, uses)
	done, err := a.next.Append(ctx, b)
	if err != nil {
		return done, err
	}
	for _, e := range uses { // What changes nothing was there before: a crash may have come between that commit and the telling.
		if _, changed := slices.BinarySearchFunc(done.Changed, e.TaskID, func(c lifecycle.TaskChange, id string) int { return strings.Compare(c.TaskID, id) }); !changed {
			a.note(e.TaskID)
		}
	}
	a.noteChanged(done.Changed)
	if err := a.tell(ctx); err != nil && ctx.Err() == nil {
		a.log.Warn("tasks with one idempotency key could not be compared yet", "error", err)
	}
	return done, nil
}

// usesOf says of the messages whose key does not name their task that this task uses the key, to the task under whose name that is kept.
func usesOf(events []lifecycle.Event) []lifecycle.Event {
	var out []lifecycle.Event
	for i := range events {
		e := &events[i]
		key := e.Detail.IdempotencyKey
		if (e.Kind != lifecycle.Published && e.Kind != lifecycle.Repaired) || key == "" || e.TaskID == "" {
			continue
		}
		if holder := lifecycle.KeyHolder(key); holder != e.TaskID {
			out = append(out, event(holder, lifecycle.SharedKey{Key: key, Task: e.TaskID, At: e.At}))
		}
	}
	return out
}

// event tells a task of another one.
func event(to string, s lifecycle.SharedKey) lifecycle.Event {
	e := lifecycle.Event{
		ID: lifecycle.NewEventID(Name, to, s.Key, s.Task, fmt.Sprint(s.At, s.DoneAt, s.Proved)), At: s.At, Kind: lifecycle.KeyShared,
		Provenance: lifecycle.Inferred, Source: Name, TaskID: to,
	}
	e.Detail.IdempotencyKey, e.Detail.Owner, e.Detail.Basis, e.Detail.Unproved = s.Key, s.Task, s.DoneAt, !s.Proved
	return e
}

func (a *Appender) note(task string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due[task] = true
}

func (a *Appender) noteChanged(changed []lifecycle.TaskChange) {
	for _, c := range changed {
		if c.Shares {
			a.note(c.TaskID)
		}
	}
}

// take is a task that is due.
func (a *Appender) take() (task string, some bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for task := range a.due {
		delete(a.due, task)
		return task, true
	}
	return "", false
}

// tell tells until nothing is due. What is said of a task changes those that are told, who then have nothing new to say.
func (a *Appender) tell(ctx context.Context) error {
	if err := a.resume(ctx); err != nil {
		return err
	}
	for {
		task, some := a.take()
		if !some {
			return nil
		}
		events, err := a.said(ctx, task)
		if err == nil && len(events) > 0 {
			var done lifecycle.Appended
			if done, err = a.next.Append(ctx, lifecycle.Batch{Events: events}); err == nil {
				a.noteChanged(done.Changed)
			}
		}
		if err != nil {
			a.note(task)
			return fmt.Errorf("tell of %q: %w", task, err)
		}
	}
}

// resumeLimit is how many tasks with a shared key are looked at after a start: those that changed last.
const resumeLimit = 200

// resume makes due, once, what an earlier process may have committed and not told.
func (a *Appender) resume(ctx context.Context) error {
	a.mu.Lock()
	was := a.resumed
	a.resumed = true
	a.mu.Unlock()
	if was {
		return nil
	}
	sharing := lifecycle.Filter{Anomalies: []lifecycle.AnomalyCode{lifecycle.AnomalySharedKey}, Sort: lifecycle.SortLastEventDesc}
	page, err := a.tasks.ListTasks(ctx, sharing, lifecycle.Page{Limit: resumeLimit})
	if err != nil {
		a.mu.Lock()
		a.resumed = false
		a.mu.Unlock()
		return err
	}
	for _, t := range page.Tasks {
		a.note(t.TaskID)
	}
	return nil
}

// groupLimit is how many tasks of one key are told of each other. The key of a hundred tasks says nothing about work.
const groupLimit = 16

// said is what tasks with a key of the given one have to be told: all of each other by the task that holds the key, else what this task did.
func (a *Appender) said(ctx context.Context, task string) ([]lifecycle.Event, error) {
	of, known, err := a.record(ctx, task)
	if err != nil || !known {
		return nil, err
	}
	var out []lifecycle.Event
	for _, key := range keysOf(of.Facts.Shared) {
		group, err := a.group(ctx, of, key)
		if err != nil {
			return nil, err
		}
		holds := lifecycle.KeyHolder(key) == task
		for i := range group {
			for j := range group {
				if i != j && (holds || group[j].Facts.ID == task) {
					out = append(out, saying(&group[i], &group[j], key)...)
				}
			}
		}
	}
	return out, nil
}

// saying is what a task is told of another one, unless it knows.
func saying(to, of *lifecycle.TaskRecord, key string) []lifecycle.Event {
	use, _ := of.KeyUse(key)
	for _, known := range to.Facts.Shared {
		if known.Key == key && known.Task == use.Task && !use.Tells(known) {
			return nil
		}
	}
	return []lifecycle.Event{event(to.Facts.ID, use)}
}

// group is the tasks that have messages with a key, as far as a task knows them.
func (a *Appender) group(ctx context.Context, of lifecycle.TaskRecord, key string) ([]lifecycle.TaskRecord, error) {
	var out []lifecycle.TaskRecord
	add := func(r lifecycle.TaskRecord) {
		if _, uses := r.KeyUse(key); uses {
			out = append(out, r)
		}
	}
	add(of)
	for _, s := range of.Facts.Shared {
		if s.Key != key || len(out) == groupLimit {
			continue
		}
		r, known, err := a.record(ctx, s.Task)
		if err != nil {
			return nil, err
		}
		if known {
			add(r)
		}
	}
	return out, nil
}

func (a *Appender) record(ctx context.Context, task string) (r lifecycle.TaskRecord, known bool, err error) {
	r, err = a.tasks.Task(ctx, task)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return r, false, nil
	}
	return r, err == nil, err
}

// keysOf are the distinct keys of some, which are sorted by key.
func keysOf(shared []lifecycle.SharedKey) []string {
	var out []string
	for _, s := range shared {
		if len(out) == 0 || out[len(out)-1] != s.Key {
			out = append(out, s.Key)
		}
	}
	return out
}
