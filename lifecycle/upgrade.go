package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
)

const (
	// FoldVersion is the version of the rules by which facts are joined, judged and counted. A store keeps it and judges its tasks anew where
	// they were judged by an older one. It rises when the outcome of a scenario file changes, which a test finds, and when dead letters are projected
	// otherwise, such as under another fingerprint.
	FoldVersion = 133

	// FactsVersion is the version from which on stored facts mean what they mean now. Tasks that were judged by an older one are folded anew
	// from their events; of younger ones the stored facts are judged anew. When the facts of a scenario file change, FoldVersion rises by two
	// and FactsVersion to the one between, which no store has: the suite tests both ways of an upgrade by it.
	FactsVersion = 132
)

// ErrNewer says that a newer program judges this store's tasks by rules that this program does not know. Nothing was changed.
var ErrNewer = errors.New("the store is judged by a newer version of this program")

// Upgrader brings what a store's tasks were judged to be to this program's rules.
type Upgrader interface {
	// Upgrade judges the next tasks anew, at most limit of them, in one transaction, and says how far it is. It may be interrupted at any time and goes on
	// where it was; several programs may call it at once. Until it is done counts are those of the old rules, corrected by what happens
	// meanwhile; then the counts of the new rules take their place.
	Upgrade(ctx context.Context, limit int) (UpgradeProgress, error)
}

// UpgradeProgress is how far an upgrade is.
type UpgradeProgress struct {
	From, To int   // Versions of the rules. They are equal when nothing is left to do.
	Judged   int64 // Tasks judged anew so far.
	Percent  int   // Of the way through the tasks.
}

// Done reports whether nothing is left to do.
func (p UpgradeProgress) Done() bool { return p.From == p.To }

// Outdated tells the fold that a loaded task was judged by an older version of the rules, and does not yet contribute to the counts that an
// upgrade prepares. It stays so, whatever the batch brings: the upgrade comes by.
func (f *Fold) Outdated(task string) { f.tasks[task].outdated = true }

// OldFactsError says that a batch is about tasks whose stored facts mean something else ([FactsVersion]). Nothing can be joined to them: the
// store folds these tasks anew, then takes the batch in.
type OldFactsError struct {
	Tasks []string
}

// Error implements error.
func (e *OldFactsError) Error() string {
	return fmt.Sprintf("facts of an older version are stored of %q", e.Tasks)
}

// Rejudge judges all messages and tasks that were loaded, as if they had not contributed to the rollups before.
func (f *Fold) Rejudge() {
	for _, m := range f.messages {
		m.touched = true
	}
	for _, t := range f.tasks {
		t.touched = true
	}
}

// countMessage counts what a message contributes, and notes it where its task is outdated. It returns the verdict by which it was counted:
// whether the broker is done with it says the wire, not a record.
func (f *Fold) countMessage(m *foldMessage, times int64) Verdict {
	ev := evidenceOf(&m.facts, &TaskFacts{})
	v := ev.judge()
	f.tally.countMessage(&m.facts, &ev, v, times)
	if t := f.tasks[m.task]; t != nil && t.outdated {
		f.outdated.countMessage(&m.facts, &ev, v, times)
	}
	return v
}

func (f *Fold) countTask(t *foldTask, s *TaskSummary, cases []Case, times int64) {
	f.tally.countTask(&t.facts, s, cases, times)
	if t.outdated {
		f.outdated.countTask(&t.facts, s, cases, times)
	}
}

// Current is the part of the tally that belongs to tasks that are judged by the present rules.
func (c Changes) Current() Tally {
	out := maps.Clone(c.Tally)
	for cell, n := range c.Outdated {
		out[cell] -= n
	}
	maps.DeleteFunc(out, func(_ Cell, n int64) bool { return n == 0 })
	return out
}

// History is what a task and all its messages contribute to the rollups of months, hours and minutes. It stays when the task is deleted.
func History(t TaskFacts, messages []MessageFacts) Tally {
	f := NewFold()
	f.LoadTask(t)
	for _, m := range messages {
		f.LoadMessage(m, t.ID)
	}
	f.Rejudge()
	out := f.Changes().Tally
	maps.DeleteFunc(out, func(c Cell, _ int64) bool { return c.Bucket == 0 })
	return out
}
