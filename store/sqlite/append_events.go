package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/intake"
	"fleetglass/store/internal/rowcodec"
	"math"
)

// insertEvents stores the events and joins those that were not there, which it notes in the log.
func (c *commit) insertEvents(events []lifecycle.Event, log *intake.ChangeLog) (err error) {
	var arrivals []intake.Arrival
	arrivals, c.w.bodies, err = intake.Arrivals(c.w.bodies[:0], events, intake.Rows{Task: c.taskRow, Stream: c.w.stream})
	if err != nil {
		return err
	}
	for some := range intake.ByTask(arrivals) {
		fresh, err := c.insertInto(some, events)
		if err != nil {
			return err
		}
		for _, i := range fresh {
			c.fold.Add(events[i])
			log.Added(i, events[i].TaskID)
		}
	}
	return nil
}

// insertInto stores the arrivals of one task and returns the indexes of the new ones.
func (c *commit) insertInto(arrivals []intake.Arrival, events []lifecycle.Event) ([]int, error) {
	task := arrivals[0].Task
	_, known := c.rows[events[arrivals[0].Index].TaskID]
	fresh, err := c.w.putEvents(task, intake.Events(arrivals), known || c.moved[task])
	return intake.AppendFresh(nil, arrivals, fresh), err
}

// streamOf returns the row id of a message's stream, zero for no message.
func (c *commit) streamOf(k lifecycle.MessageKey) (int64, error) {
	if k.IsZero() {
		return 0, nil
	}
	return c.w.stream(k.Stream)
}

const deleteEventsOf = `DELETE FROM events WHERE task = ?`

// moveEvents gives the stored events of messages to the tasks that they were found to belong to.
func (c *commit) moveEvents(moves []lifecycle.Move) error {
	for _, m := range moves {
		stream, err := c.w.stream(m.Key.Stream)
		if err != nil {
			return err
		}
		if err := c.w.moveEvents(c.taskRow(m.From), c.taskRow(m.To), stream, int64(m.Key.Seq)); err != nil {
			return err
		}
		c.moved[c.taskRow(m.To)] = true
	}
	return nil
}

func (w *writer) moveEvents(from, to, stream, seq int64) error {
	all, places, err := w.overlapping(from, rowcodec.Position{At: math.MinInt64, ID: math.MinInt64}, rowcodec.Position{At: math.MaxInt64, ID: math.MaxInt64})
	if err != nil || len(places) == 0 {
		return err
	}
	var stay, move []rowcodec.ChunkedEvent
	for _, e := range all {
		if e.Stream == stream && e.Seq == seq {
			move = append(move, e)
		} else {
			stay = append(stay, e)
		}
	}
	if len(move) == 0 {
		return nil
	}
	if err := w.statement(deleteEventsOf).int(from).exec(); err != nil {
		return err
	}
	if err := w.writeChunks(from, stay); err != nil {
		return err
	}
	_, err = w.putEvents(to, move, true)
	return err
}
