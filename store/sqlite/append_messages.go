package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

// A message that stays where it is in the indexes is written without them.
const (
	insertMessage = `INSERT INTO messages (facts, open, task, generation, publisher, given, stream, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	moveMessage   = `UPDATE messages SET facts = ?, open = ?, task = ?, generation = ?, publisher = ?, given = ? WHERE stream = ? AND seq = ?`
	settleMessage = `UPDATE messages SET facts = ?, open = ? WHERE stream = ? AND seq = ?`
	updateMessage = `UPDATE messages SET facts = ? WHERE stream = ? AND seq = ?`
)

func (c *commit) writeMessage(m *lifecycle.MessageRow) error {
	stream, err := c.w.stream(m.Facts.Key.Stream)
	if err != nil {
		return err
	}
	place := messagePlace{task: c.taskRow(m.TaskID), generation: int64(m.Facts.Generation()), open: m.Open}
	place.publisher, place.given = m.Facts.Given()
	old, stored := c.messages[m.Facts.Key]
	w := c.w
	w.buffer = rowcodec.AppendMessage(w.buffer[:0], m.Facts)
	var q *statement
	switch {
	case !stored:
		if highest, known := w.highest[stream]; known {
			w.highest[stream] = max(highest, int64(m.Facts.Key.Seq))
		}
		q = w.statement(insertMessage).blob(w.buffer).flag(place.open).int(place.task).int(place.generation).text(place.publisher).int(int64(place.given))
	case place.task != old.task || place.generation != old.generation || place.publisher != old.publisher || place.given != old.given:
		q = w.statement(moveMessage).blob(w.buffer).flag(place.open).int(place.task).int(place.generation).text(place.publisher).int(int64(place.given))
	case place.open != old.open:
		q = w.statement(settleMessage).blob(w.buffer).flag(place.open)
	default:
		q = w.statement(updateMessage).blob(w.buffer)
	}
	return q.int(stream).int(int64(m.Facts.Key.Seq)).exec()
}
