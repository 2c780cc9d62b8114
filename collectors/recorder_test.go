package collectors_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"fleetglass/lifecycle"
)

// recorder is an appender that remembers, and that fails on demand. Events are told apart by id.
type recorder struct {
	mu          sync.Mutex
	events      map[lifecycle.EventID]lifecycle.Event
	order       []lifecycle.EventID
	repeated    int
	quarantined map[lifecycle.EventID]lifecycle.QuarantinedLine
	gaps        map[string]lifecycle.Gap
	watermarks  map[string]string
	appends     int
	sizes       []int
	refuse      func(lifecycle.Batch) error // Called under the lock; nil takes everything.
}

func newRecorder() *recorder {
	return &recorder{events: map[lifecycle.EventID]lifecycle.Event{}, quarantined: map[lifecycle.EventID]lifecycle.QuarantinedLine{},
		gaps: map[string]lifecycle.Gap{}, watermarks: map[string]string{}}
}

func (r *recorder) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	if err := ctx.Err(); err != nil {
		return lifecycle.Appended{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.appends++
	if r.refuse != nil {
		if err := r.refuse(b); err != nil {
			return lifecycle.Appended{}, err
		}
	}
	var done lifecycle.Appended
	for _, e := range b.Events {
		if _, known := r.events[e.ID]; known {
			r.repeated++
			continue
		}
		r.events[e.ID] = e
		r.order = append(r.order, e.ID)
		done.New++
	}
	for _, q := range b.Quarantined {
		r.quarantined[q.ID] = q
	}
	for _, g := range b.Gaps {
		r.gaps[fmt.Sprintf("%s@%d", g.Source, g.From)] = g
	}
	if len(b.Events) > 0 {
		r.sizes = append(r.sizes, len(b.Events))
	}
	maps.Copy(r.watermarks, b.Watermarks)
	for source, seq := range b.Reached {
		r.watermarks[source] = max(r.watermarks[source], lifecycle.ReachedText(seq))
	}
	return done, nil
}

func (r *recorder) Watermark(_ context.Context, source string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.watermarks[source], nil
}

// copy is a backup.
func (r *recorder) copy() *recorder {
	out := newRecorder()
	r.look(func(r *recorder) {
		maps.Copy(out.events, r.events)
		maps.Copy(out.gaps, r.gaps)
		maps.Copy(out.watermarks, r.watermarks)
	})
	return out
}

func (r *recorder) setRefuse(refuse func(lifecycle.Batch) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refuse = refuse
}

// look calls f under the lock.
func (r *recorder) look(f func(*recorder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r)
}

func (r *recorder) count() (n int) {
	r.look(func(r *recorder) { n = len(r.events) })
	return n
}

// texts are the raw texts of the events, sorted.
func (r *recorder) texts() (out []string) {
	r.look(func(r *recorder) {
		for _, e := range r.events {
			out = append(out, string(e.Raw))
		}
	})
	slices.Sort(out)
	return out
}

// appenderFunc changes what a recorder answers.
type appenderFunc struct {
	*recorder
	answer func(error) error
}

func (a appenderFunc) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	done, err := a.recorder.Append(ctx, b)
	return done, a.answer(err)
}
