package dlqtriage

import (
	"context"
	"testing"
)

// taskEntries is a store that knows the entries of one task.
type taskEntries struct {
	EntryReader
	all []Entry
}

func (s taskEntries) EntriesOf(context.Context, string, int) ([]Entry, error) { return s.all, nil }

func TestWhatWasTriedBeforeIsReadFromTheEntriesOfTheTask(t *testing.T) {
	t.Parallel()
	store := taskEntries{all: []Entry{
		{Generation: 0, Class: ClassOf("", LLMProviderTimeout)}, {Generation: 1, Class: ClassOf("", NodePreemption)},
		{Generation: 2, Class: ClassOf("", ContextWindowOverflow)}, {Generation: 3, Class: ClassOf("", ContextWindowOverflow)},
	}}
	for generation, want := range []struct {
		retries  int
		eligible bool
	}{{3, true}, {2, true}, {1, true}, {0, false}} {
		e := store.all[generation]
		e.Status = StatusOpen
		past, err := Examiner{Entries: store}.past(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		c := CaseOf(e, nil)
		c.Past = past
		if p := DefaultPolicy().PlanFor(c, planNow); p.MaxAdditionalRetries != want.retries || p.Eligible != want.eligible {
			t.Errorf("generation %d, past %v: %d retries, eligible %v; want %+v", generation, past, p.MaxAdditionalRetries, p.Eligible, want)
		}
	}
}
