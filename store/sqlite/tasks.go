package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

// taskPlace is where a stored task stands in the indexes that rarely change.
type taskPlace struct {
	published lifecycle.Micros
	listed    bool
}

const selectStoredTask = `SELECT id, published, listed, facts FROM tasks WHERE task_id = ?`

// loadTasks gives the stored ones of the tasks to the fold.
func (c *commit) loadTasks(ids []string) error {
	load := c.w.statement(selectStoredTask)
	for _, id := range ids {
		facts, known := c.loaded[id]
		if known {
			c.fold.LoadTask(facts)
			continue
		}
		err := load.text(id).each(func(r *statement) error {
			if err := c.loadTask(r.getInt(), id, r); err != nil {
				return err
			}
			c.fold.LoadTask(c.loaded[id])
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loadTask reads the columns published, listed and facts of a task, unless it is known.
func (c *commit) loadTask(row int64, id string, r *statement) error {
	if _, known := c.loaded[id]; known {
		return nil
	}
	c.ids[id] = row
	c.rows[id] = taskPlace{published: lifecycle.Micros(r.getInt()), listed: r.getFlag()}
	facts, err := rowcodec.Task(id, r.getBlob())
	c.loaded[id] = facts
	return err
}

const lastTask = `SELECT coalesce(max(id), 0) FROM tasks`

// begin reads the highest row id of a task.
func (c *commit) begin() error {
	return c.w.statement(lastTask).each(func(r *statement) error { c.last = r.getInt(); return nil })
}

// taskRow returns the row id of a task at hand. A new one gets the next.
func (c *commit) taskRow(id string) int64 {
	row, known := c.ids[id]
	if !known {
		c.last++
		row = c.last
		c.ids[id] = row
	}
	return row
}

const insertTask = `INSERT INTO tasks (state, agent, type, category, stream, seq, last_event, duplicates, attempted, anomalies, words, summary, facts,
	listed, published, id, task_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// updateTask leaves listed and published as they are, and with them an index; updatePlace does not.
const (
	updateTask = `UPDATE tasks SET state = ?, agent = ?, type = ?, category = ?, stream = ?, seq = ?, last_event = ?, duplicates = ?, attempted = ?,
	anomalies = ?, words = ?, summary = ?, facts = ? WHERE id = ?`
	updatePlace = `UPDATE tasks SET state = ?, agent = ?, type = ?, category = ?, stream = ?, seq = ?, last_event = ?, duplicates = ?, attempted = ?,
	anomalies = ?, words = ?, summary = ?, facts = ?, listed = ?, published = ? WHERE id = ?`
	deleteTask = `DELETE FROM tasks WHERE id = ?`
)

func (c *commit) writeTask(t *lifecycle.TaskRow) error {
	sum := &t.Summary
	stream, err := c.streamOf(sum.Message)
	if err != nil {
		return err
	}
	old, stored := c.rows[t.Facts.ID]
	place := taskPlace{published: sum.PublishedAt, listed: sum.Listed}
	w := c.w
	q := w.statement(insertTask)
	if stored && place == old {
		q = w.statement(updateTask)
	} else if stored {
		q = w.statement(updatePlace)
	}
	q.text(string(sum.State)).text(sum.Agent).text(sum.Type).text(sum.Category).int(stream).int(int64(sum.Message.Seq)).
		int(int64(sum.LastEventAt)).int(int64(sum.Duplicates)).flag(t.OnlyAttempted()).text(columns.Anomalies(sum.Anomalies))
	q.blob(wordsOf(t))
	w.buffer = rowcodec.AppendSummary(w.buffer[:0], sum)
	q.blob(w.buffer)
	w.buffer = rowcodec.AppendTask(w.buffer[:0], &t.Facts)
	q.blob(w.buffer)
	if !stored || place != old {
		q.flag(place.listed).int(int64(place.published))
	}
	q.int(c.taskRow(t.Facts.ID))
	if !stored {
		q.text(t.Facts.ID)
	}
	return q.exec()
}

// wordsOf is what a search looks through. A task id in lower case is looked for where it stands already, in the column task_id.
func wordsOf(t *lifecycle.TaskRow) []byte {
	texts := t.SearchTexts()
	if texts[0] == t.Facts.ID {
		texts = texts[1:]
	}
	return columns.Words(texts)
}

const selectTaskRow = `SELECT id FROM tasks WHERE task_id = ?`

// taskRowOf returns the row id of a task.
func taskRowOf(conn *sqlite.Conn, id string) (row int64, found bool, err error) {
	query := prepare(conn, selectTaskRow).text(id)
	if found = query.next(); found {
		row = query.getInt()
	}
	return row, found, query.done()
}

const selectTask = `SELECT id, stream, seq, summary, facts FROM tasks WHERE task_id = ?`

// selectMessagesOf gives the newest messages of a task first.
const selectMessagesOf = `SELECT stream, seq, facts FROM messages INDEXED BY messages_of_task WHERE task = ?
ORDER BY generation DESC, stream DESC, seq DESC LIMIT +?`

// Task implements [lifecycle.TraceReader].
func (s *Store) Task(ctx context.Context, id string) (lifecycle.TaskRecord, error) {
	var out lifecycle.TaskRecord
	err := s.readShort(ctx, "read task", func(conn *sqlite.Conn) error {
		names, err := loadStreams(conn)
		if err != nil {
			return err
		}
		row, found := int64(0), false
		err = prepare(conn, selectTask).text(id).each(func(r *statement) error {
			row, found = r.getInt(), true
			out.Summary = lifecycle.TaskSummary{TaskID: id, Message: getKey(r, names)}
			if err := rowcodec.ReadSummary(&out.Summary, r.getBlob(), nil); err != nil {
				return err
			}
			var err error
			out.Facts, err = rowcodec.Task(id, r.getBlob())
			return err
		})
		if err == nil && !found {
			err = fmt.Errorf("task %q: %w", id, lifecycle.ErrNotFound)
		}
		if err != nil {
			return err
		}
		out.Messages, err = getMessagesOf(conn, names, row)
		return err
	})
	if err != nil {
		return lifecycle.TaskRecord{}, err
	}
	return out, nil
}

func getMessagesOf(conn *sqlite.Conn, names *streams, task int64) ([]lifecycle.MessageFacts, error) {
	var out []lifecycle.MessageFacts
	err := prepare(conn, selectMessagesOf).int(task).int(lifecycle.MessagesPerTask).each(func(r *statement) error {
		m, err := rowcodec.Message(getKey(r, names), r.getBlob())
		out = append(out, m)
		return err
	})
	slices.SortFunc(out, func(a, b lifecycle.MessageFacts) int {
		return cmp.Or(cmp.Compare(a.Generation(), b.Generation()), cmp.Compare(a.Key.Stream.Epoch, b.Key.Stream.Epoch), a.Key.Compare(b.Key))
	})
	return out, err
}

// getKey reads the columns stream and seq.
func getKey(r *statement, names *streams) lifecycle.MessageKey {
	return lifecycle.MessageKey{Stream: names.names[r.getInt()], Seq: uint64(r.getInt())}
}

const selectUnlisted = `SELECT task_id, facts FROM tasks INDEXED BY tasks_unlisted
WHERE listed = 0 AND attempted = 1 AND last_event < ? ORDER BY last_event, task_id LIMIT +?`

// UnlistedTasks implements [lifecycle.OpenReader]: the oldest first.
func (s *Store) UnlistedTasks(ctx context.Context, before lifecycle.Micros, limit int) ([]lifecycle.TaskFacts, error) {
	var out []lifecycle.TaskFacts
	err := s.read(ctx, "read unlisted tasks", func(conn *sqlite.Conn) error {
		return prepare(conn, selectUnlisted).int(int64(before)).int(int64(limit)).each(func(r *statement) error {
			t, err := rowcodec.Task(r.getText(), r.getBlob())
			out = append(out, t)
			return err
		})
	})
	return out, err
}
