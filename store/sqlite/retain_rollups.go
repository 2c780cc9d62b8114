package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// endedTasks is what the deletion of tasks changes in the rollups.
type endedTasks struct {
	history lifecycle.Tally // What they contributed, and what stays.
	now     lifecycle.Tally // What is so no longer.
	names   *streams
}

const selectFactsOf = `SELECT stream, seq, facts FROM messages WHERE task = ?`

// end counts a task that is about to be deleted.
func (w *writer) end(t oldTask, gone *endedTasks) error {
	var messages []lifecycle.MessageFacts
	err := w.statement(selectFactsOf).int(t.id).each(func(r *statement) error {
		m, err := rowcodec.Message(getKey(r, gone.names), r.getBlob())
		messages = append(messages, m)
		return err
	})
	if err != nil {
		return err
	}
	for cell, n := range lifecycle.History(t.facts, messages) {
		gone.history[cell] += n
	}
	gone.now.Deleted(t.listed, t.agent, t.state)
	return nil
}

func (w *writer) countEnded(gone endedTasks) error {
	if err := w.addTo(rollupsEnded, gone.history); err != nil {
		return err
	}
	if w.upgrading {
		if err := w.addTo(rollupsNext, gone.now); err != nil {
			return err
		}
	}
	return w.addTo(rollups, gone.now)
}
