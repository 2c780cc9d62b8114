package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
)

const insertTask = `INSERT INTO tasks (state, agent, type, category, stream, seq, last_event, duplicates, attempted, anomalies, words, summary, facts,
	attempt, ran, held, cost, listed, published, id, task_id, fold) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// updateTask leaves listed and published as they are, and with them an index; updatePlace does not.
const (
	updateTask = `UPDATE tasks SET state = ?, agent = ?, type = ?, category = ?, stream = ?, seq = ?, last_event = ?, duplicates = ?, attempted = ?,
	anomalies = ?, words = ?, summary = ?, facts = ?, attempt = ?, ran = ?, held = ?, cost = ? WHERE id = ?`
	updatePlace = `UPDATE tasks SET state = ?, agent = ?, type = ?, category = ?, stream = ?, seq = ?, last_event = ?, duplicates = ?, attempted = ?,
	anomalies = ?, words = ?, summary = ?, facts = ?, attempt = ?, ran = ?, held = ?, cost = ?, listed = ?, published = ? WHERE id = ?`
	deleteTask = `DELETE FROM tasks WHERE id = ?`
)

func (c *commit) writeTask(t *lifecycle.TaskRow) error {
	sum := &t.Summary
	stream, err := c.streamOf(sum.Message)
	if err != nil {
		return err
	}
	old, stored := c.rows[t.Facts.ID]
	place := taskPlace{published: sum.PublishedAt, listed: sum.Listed, outdated: old.outdated}
	w := c.w
	q := w.statement(insertTask)
	if stored && place == old {
		q = w.statement(updateTask)
	} else if stored {
		q = w.statement(updatePlace)
	}
	q.text(string(sum.State)).text(sum.Agent).text(sum.Type).text(sum.Category).int(stream).int(int64(sum.Message.Seq)).
		int(int64(sum.LastEventAt)).int(int64(sum.Duplicates)).flag(t.AwaitsMessage()).text(columns.Anomalies(sum.Anomalies))
	q.blob(wordsOf(t))
	w.buffer = rowcodec.AppendSummary(w.buffer[:0], sum)
	q.blob(w.buffer)
	w.buffer = rowcodec.AppendTask(w.buffer[:0], t.Facts)
	q.blob(w.buffer)
	q.int(int64(sum.Attempt)).int(sum.Running.Microseconds()).int(int64(sum.HeldSince)).int(sum.Used.Cost)
	if !stored || place != old {
		q.flag(place.listed).int(int64(place.published))
	}
	q.int(c.taskRow(t.Facts.ID))
	if !stored {
		q.text(t.Facts.ID).int(lifecycle.FoldVersion)
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
