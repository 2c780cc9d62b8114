package sqlite

import (
	"maps"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
)

const (
	upsertEntry = `INSERT OR REPLACE INTO entries (stream, seq, id, subject, task, task_id, message_id, failed, status, category, detail, kind, path, agent, type,
	fingerprint, outcome, via, due, resolved, copied, words, entry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	deleteEntry     = `DELETE FROM entries WHERE stream = ? AND seq = ?`
	deleteEntriesOf = `DELETE FROM entries WHERE task = ?`
	selectEntryBody = `SELECT task, entry FROM entries WHERE id = ?`

	upsertFollowUp    = `INSERT OR REPLACE INTO follow_ups (stream, seq, task, entry, follow_up) VALUES (?, ?, ?, ?, ?)`
	selectFollowed    = `SELECT entry FROM follow_ups WHERE stream = ? AND seq = ?`
	deleteFollowUp    = `DELETE FROM follow_ups WHERE stream = ? AND seq = ?`
	deleteFollowUpsOf = `DELETE FROM follow_ups WHERE task = ?`
	selectFollowUps   = `SELECT follow_up FROM follow_ups WHERE entry = ?`
)

// entryWrite is the entries that a transaction touches, by id; nil for one that changes only by what follows it.
type entryWrite struct {
	c       *commit
	touched map[string]*entryRow
}

type entryRow struct {
	task  int64
	entry dlqtriage.Entry
}

// writeEntries writes the entries that follow from messages that changed, and those that these follow.
func (c *commit) writeEntries(fallen []lifecycle.FallenMessage) error {
	w := entryWrite{c: c, touched: map[string]*entryRow{}}
	for i := range fallen {
		if err := w.message(&fallen[i]); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.touched)) {
		if err := w.write(id); err != nil {
			return err
		}
	}
	return nil
}

// message writes what a message follows, and notes its entry.
func (w *entryWrite) message(m *lifecycle.FallenMessage) error {
	stream, err := w.c.w.stream(m.Message.Key.Stream)
	if err != nil {
		return err
	}
	seq, task := int64(m.Message.Key.Seq), w.c.taskRow(m.Task.ID)
	if err := w.follow(m, stream, seq, task); err != nil {
		return err
	}
	e, died := dlqtriage.EntryOf(m.Message, m.Task)
	if !died {
		delete(w.touched, dlqtriage.EntryID(m.Message.Key))
		return w.c.w.statement(deleteEntry).int(stream).int(seq).exec()
	}
	w.touched[e.ID] = &entryRow{task: task, entry: e}
	return nil
}

// follow notes the entries that the message follows, and followed before.
func (w *entryWrite) follow(m *lifecycle.FallenMessage, stream, seq, task int64) error {
	err := w.c.w.statement(selectFollowed).int(stream).int(seq).each(func(r *statement) error { w.touch(r.getText()); return nil })
	if err != nil {
		return err
	}
	f, follows := dlqtriage.FollowUpOf(m.Message, m.Task)
	if !follows {
		return w.c.w.statement(deleteFollowUp).int(stream).int(seq).exec()
	}
	w.touch(f.Of)
	return w.c.w.statement(upsertFollowUp).int(stream).int(seq).int(task).text(f.Of).blob(rowcodec.AppendFollowUp(nil, &f)).exec()
}

func (w *entryWrite) touch(id string) {
	if _, known := w.touched[id]; !known {
		w.touched[id] = nil
	}
}

// write writes an entry with what became of the message that followed it. One that only that concerns is read first; it need not be there.
func (w *entryWrite) write(id string) error {
	row := w.touched[id]
	if row == nil {
		err := w.c.w.statement(selectEntryBody).text(id).each(func(r *statement) error {
			row = &entryRow{task: r.getInt()}
			var err error
			row.entry, err = rowcodec.Entry(r.getBlob())
			return err
		})
		if err != nil || row == nil {
			return err
		}
	}
	var by []dlqtriage.FollowUp
	err := w.c.w.statement(selectFollowUps).text(id).each(func(r *statement) error {
		f, err := rowcodec.FollowUp(id, r.getBlob())
		by = append(by, f)
		return err
	})
	if err != nil {
		return err
	}
	e := row.entry.Followed(by)
	return w.put(&e, row.task)
}

func (w *entryWrite) put(e *dlqtriage.Entry, task int64) error {
	stream, err := w.c.w.stream(e.Key.Stream)
	if err != nil {
		return err
	}
	return w.c.w.statement(upsertEntry).int(stream).int(int64(e.Key.Seq)).text(e.ID).text(string(e.About())).int(task).text(e.TaskID).text(e.MessageID).
		int(int64(e.FailedAt)).text(string(e.Status)).text(string(e.Category)).text(e.Detail).text(string(e.Kind)).text(string(e.Path)).text(e.Agent).
		text(e.Type).text(e.ReasonFingerprint).text(string(e.Outcome)).text(e.Via).int(int64(e.DeferredUntil)).int(int64(e.ResolvedAt)).
		flag(e.Copied()).blob(columns.EntryWords(e)).blob(rowcodec.AppendEntry(nil, e)).exec()
}
