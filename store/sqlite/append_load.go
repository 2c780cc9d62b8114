package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
	"math"
)

// messagePlace is where a stored message stands in the indexes.
type messagePlace struct {
	task       int64
	generation int64
	open       bool
	publisher  string // Who published it, by its own word, and when it was stored.
	given      lifecycle.Micros
}

const loadMessage = `SELECT m.task, m.generation, m.open, t.task_id, t.published, t.listed, t.fold, m.facts, t.facts
FROM messages m JOIN tasks t ON t.id = m.task WHERE m.stream = ? AND m.seq = ?`

// loadMessages gives the stored ones of the messages to the fold, and with them their tasks, which it would ask for next.
func (c *commit) loadMessages(keys []lifecycle.MessageKey) error {
	load := c.w.statement(loadMessage)
	for _, k := range keys {
		stream, err := c.w.stream(k.Stream)
		if err != nil {
			return err
		}
		beyond, err := c.w.isBeyond(stream, k.Seq)
		if err != nil {
			return err
		}
		if beyond {
			continue
		}
		err = load.int(stream).int(int64(k.Seq)).each(func(r *statement) error { return c.loadMessage(k, r) })
		if err != nil {
			return err
		}
	}
	return nil
}

const highestMessage = `SELECT coalesce(max(seq), 0) FROM messages WHERE stream = ?`

// isBeyond reports whether a sequence lies beyond all stored ones of its stream, as that of a new message mostly does: it need not be
// looked for. Sequences that are kept as negative numbers are always looked for.
func (w *writer) isBeyond(stream int64, seq uint64) (bool, error) {
	if seq > math.MaxInt64 {
		return false, nil
	}
	highest, known := w.highest[stream]
	if !known {
		err := w.statement(highestMessage).int(stream).each(func(r *statement) error { highest = r.getInt(); return nil })
		if err != nil {
			return false, err
		}
		w.highest[stream] = highest
	}
	return int64(seq) > highest, nil
}

func (c *commit) loadMessage(k lifecycle.MessageKey, r *statement) error {
	place := messagePlace{task: r.getInt(), generation: r.getInt(), open: r.getFlag()}
	task := r.getText()
	at, readable := c.taskPlace(task, r)
	if !readable {
		return nil
	}
	facts, err := rowcodec.Message(k, r.getBlob())
	if err != nil {
		return err
	}
	place.publisher, place.given = facts.Given() // What the columns have too, once the task is judged by the present rules.
	c.messages[k] = place
	c.fold.LoadMessage(facts, task)
	return c.loadTask(place.task, task, at, r)
}

// taskPlace reads the columns published, listed and fold of a task. Its facts are not readable where they are of an older version; that is
// noted for [commit.checkFacts].
func (c *commit) taskPlace(task string, r *statement) (at taskPlace, readable bool) {
	at = taskPlace{published: lifecycle.Micros(r.getInt()), listed: r.getFlag()}
	version := r.getInt()
	at.outdated = version != lifecycle.FoldVersion
	if version >= lifecycle.FactsVersion {
		return at, true
	}
	c.oldFacts = append(c.oldFacts, task)
	return at, false
}

// checkFacts errors with [lifecycle.OldFactsError] where a task at hand has facts of an older version.
func (c *commit) checkFacts() error {
	if len(c.oldFacts) == 0 {
		return nil
	}
	return &lifecycle.OldFactsError{Tasks: c.oldFacts}
}

// taskPlace is where a stored task stands in the indexes that rarely change.
type taskPlace struct {
	published lifecycle.Micros
	listed    bool
	outdated  bool // Judged by an older version of the rules.
}

const selectStoredTask = `SELECT id, published, listed, fold, facts FROM tasks WHERE task_id = ?`

// loadTasks gives the stored ones of the tasks to the fold.
func (c *commit) loadTasks(ids []string) error {
	load := c.w.statement(selectStoredTask)
	for _, id := range ids {
		if _, known := c.rows[id]; known {
			continue
		}
		err := load.text(id).each(func(r *statement) error {
			row := r.getInt()
			at, readable := c.taskPlace(id, r)
			if !readable {
				return nil
			}
			return c.loadTask(row, id, at, r)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// loadTask reads the column facts of a task and gives them to the fold, unless it is known.
func (c *commit) loadTask(row int64, id string, at taskPlace, r *statement) error {
	if _, known := c.rows[id]; known {
		return nil
	}
	c.ids[id], c.rows[id] = row, at
	facts, err := rowcodec.Task(id, r.getBlob())
	if err != nil {
		return err
	}
	c.fold.LoadTask(facts)
	if at.outdated {
		c.fold.Outdated(id)
	}
	return nil
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
