//go:build linux

package situations

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// figures are what statistics and counts say of an agent, or what its tasks add up to.
type figures struct {
	published, completed int64
	queue                *int64           // Nil where it is not known.
	failed               map[string]int64 // Attempts, by how they ended.
	states               map[string]int64 // Tasks.
}

// figuresTold holds when the statistics and counts of the world's agent agree with what its tasks say one by one, and with what its clients published.
func (w *life) figuresTold(s story) error {
	if *withForgery {
		return nil
	}
	want := figures{queue: new(int64), failed: map[string]int64{}, states: map[string]int64{}}
	tasks := map[string]bool{}
	for _, m := range w.letters {
		s.task = m.task
		switch {
		case s.messageAt(m.letter) != nil:
			want.published++
		case !m.unwanted: // It counts, and nobody knows of which task it is.
			return nil
		}
		if t := s.told(); t != nil && !tasks[m.task] && t.Agent == w.agent {
			tasks[m.task] = true
			want.add(t)
		}
	}
	got, err := w.figuresOf(s)
	if err != nil {
		return err
	}
	if w.renewed { // What was done before a reset waits again, and reads completed.
		got.queue = nil
	}
	switch {
	case got.published != want.published:
		return fmt.Errorf("the statistics say that %d messages were published, and %d of them are known", got.published, want.published)
	case got.completed != want.completed:
		return fmt.Errorf("the statistics say that %d tasks completed, and %d say so", got.completed, want.completed)
	case got.queue != nil && *got.queue != *want.queue:
		return fmt.Errorf("the statistics say that %d messages are in the queue, and %d say so", *got.queue, *want.queue)
	case !w.talks && !maps.Equal(got.failed, want.failed), w.talks && !within(got.failed, want.failed): // Of some only reports tell: they are not counted.
		return fmt.Errorf("the statistics say that attempts ended as %v, and the attempts %v", got.failed, want.failed)
	case !maps.Equal(got.states, want.states):
		return fmt.Errorf("the counts say that tasks are %v, and they are %v", got.states, want.states)
	}
	return w.agentTold(s, want)
}

// add adds what one task says.
func (f *figures) add(t *seen) {
	f.states[t.State]++
	if t.State == "completed" {
		f.completed++
	}
	for _, m := range t.Messages {
		if slices.Contains(waits, m.State) {
			*f.queue++
		}
		for _, part := range append([]seenTaker{{Attempts: m.Attempts}}, m.Others...) {
			for _, a := range part.Attempts {
				if slices.Contains([]string{"naked", "terminated", "timed_out"}, a.End) {
					f.failed[a.End]++
				}
			}
		}
	}
}

// within reports whether no number is above its bound.
func within(got, bounds map[string]int64) bool {
	for name, n := range got {
		if n > bounds[name] {
			return false
		}
	}
	return true
}

// figuresOf are what is said of the agent of the world.
func (w *life) figuresOf(s story) (figures, error) {
	out := figures{failed: map[string]int64{}}
	var history struct {
		Steps []struct {
			Published, Completed int64
			Queue                *int64           `json:"queue_depth"`
			Failed               map[string]int64 `json:"failed_attempts"`
		}
	}
	agent := url.QueryEscape(w.agent)
	if err := s.glass.ask(s.ctx, "/api/v1/stats/history?from=1h&agent="+agent, &history); err != nil {
		return out, err
	}
	for _, step := range history.Steps {
		out.published += step.Published
		out.completed += step.Completed
		out.queue = step.Queue
		for how, n := range step.Failed {
			out.failed[how] += n
		}
	}
	var counts struct{ Counts map[string]int64 }
	if err := s.glass.ask(s.ctx, "/api/v1/tasks/counts?agent="+agent, &counts); err != nil {
		return out, err
	}
	out.states = counts.Counts
	maps.DeleteFunc(out.states, func(_ string, n int64) bool { return n == 0 })
	return out, nil
}
