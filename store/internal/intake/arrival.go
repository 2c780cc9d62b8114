// Package intake is what both stores do with the events of one transaction before they are written: it puts them in the order of their
// tasks, and tells each batch what came of it.
package intake

import (
	"cmp"
	"iter"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
)

// Arrival is an event of a transaction on its way into its task.
type Arrival struct {
	rowcodec.ChunkedEvent
	Task  int64 // The row of its task.
	Index int   // Among the events of the transaction.
}

// Rows gives the numbers under which a store keeps the names in an event.
type Rows struct {
	Task   func(id string) int64                   // Required.
	Stream func(lifecycle.StreamID) (int64, error) // Required. It is not asked for an event without a message.
}

// Arrivals encodes events, appending to buffer, and sorts them by task, time and id; of several that are the same the one that was given
// first comes first. The arrivals are valid as long as nobody writes over the buffer that is returned.
func Arrivals(buffer []byte, events []lifecycle.Event, rows Rows) ([]Arrival, []byte, error) {
	out := make([]Arrival, len(events))
	for i := range events {
		e := &events[i]
		var stream int64
		if !e.Message.IsZero() {
			var err error
			if stream, err = rows.Stream(e.Message.Stream); err != nil {
				return nil, buffer, err
			}
		}
		from := len(buffer)
		buffer = rowcodec.AppendEvent(buffer, e)
		out[i] = Arrival{Task: rows.Task(e.TaskID), Index: i, ChunkedEvent: rowcodec.ChunkedEvent{
			Position: rowcodec.Position{At: int64(e.At), ID: columns.StoredID(e.ID)}, Stream: stream, Seq: int64(e.Message.Seq), Body: buffer[from:],
		}}
	}
	slices.SortFunc(out, func(a, b Arrival) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), a.Compare(b.ChunkedEvent), cmp.Compare(a.Index, b.Index))
	})
	return out, buffer, nil
}

// ByTask gives the arrivals of one task after the other.
func ByTask(arrivals []Arrival) iter.Seq[[]Arrival] {
	return func(yield func([]Arrival) bool) {
		for len(arrivals) > 0 {
			n := slices.IndexFunc(arrivals, func(a Arrival) bool { return a.Task != arrivals[0].Task })
			if n < 0 {
				n = len(arrivals)
			}
			if !yield(arrivals[:n]) {
				return
			}
			arrivals = arrivals[n:]
		}
	}
}

// Events are the arrivals without their places in the transaction.
func Events(arrivals []Arrival) []rowcodec.ChunkedEvent {
	out := make([]rowcodec.ChunkedEvent, len(arrivals))
	for i, a := range arrivals {
		out[i] = a.ChunkedEvent
	}
	return out
}

// AppendFresh appends the indexes of the arrivals of one task that turned out to be new, which are given in order.
func AppendFresh(indexes []int, arrivals []Arrival, fresh []rowcodec.ChunkedEvent) []int {
	for _, a := range arrivals {
		if len(fresh) > 0 && fresh[0].Position == a.Position {
			indexes, fresh = append(indexes, a.Index), fresh[1:]
		}
	}
	return indexes
}
