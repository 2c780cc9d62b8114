package lifecycle

import "slices"

// MayHaveDied reports whether the facts have a sign that the message died. Without one [JudgeDead] is false; a sign never goes away.
func (m *MessageFacts) MayHaveDied() bool {
	if slices.ContainsFunc(m.Consumers, func(c ConsumerFacts) bool { part := m.Of(c.Consumer); return part.MayHaveDied() }) {
		return true
	}
	return len(m.Entries) > 0 || m.MaxDeliveriesAt.Known() || m.OrphanedAt.Known() || m.Removal == RemovedToQueue ||
		slices.ContainsFunc(m.Claims, func(c Claim) bool { return c.Taken && c.Kind == Terminated }) ||
		slices.ContainsFunc(m.Attempts, func(a AttemptFacts) bool { return a.TermAt.Known() || a.TermSaidAt.Known() || a.Dead != nil })
}

// concernsEntries reports whether the message may have died, or follows one that did.
func (m *MessageFacts) concernsEntries() bool {
	return m.MayHaveDied() || (m.Stored != nil && m.Stored.RetryOf != "")
}

// keepFallen notes which messages of the task concern entries, so that what is said of the task itself reaches them. The greatest keys are kept.
func (t *TaskFacts) keepFallen(m *MessageFacts) {
	if !m.concernsEntries() {
		return
	}
	i, found := slices.BinarySearchFunc(t.Fallen, m.Key, MessageKey.Compare)
	if found {
		return
	}
	t.Fallen = slices.Insert(slices.Clip(t.Fallen), i, m.Key)
	t.Fallen = t.Fallen[max(0, len(t.Fallen)-maxFallenKept):]
}

// FallenMessage is a message of a task that changed, which may have died or follows one that did, with what is known of both.
type FallenMessage struct {
	Message MessageFacts
	Task    TaskFacts
}

// fallen lists the messages at hand of the tasks that changed which concern entries, sorted by key.
func (f *Fold) fallen() []FallenMessage {
	var out []FallenMessage
	for _, m := range f.messages {
		t := f.tasks[m.task]
		if t != nil && t.touched && m.facts.concernsEntries() {
			out = append(out, FallenMessage{Message: m.facts, Task: t.facts})
		}
	}
	slices.SortFunc(out, func(a, b FallenMessage) int { return a.Message.Key.Compare(b.Message.Key) })
	return out
}
