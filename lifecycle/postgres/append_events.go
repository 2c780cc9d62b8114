package postgres

import (
	"cmp"
	"context"
	"slices"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// place is where an event is stored. Events are told apart by it.
type place struct {
	task, at, id int64
	event        int // Which of the events it is.
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.task, o.task), cmp.Compare(p.at, o.at), cmp.Compare(p.id, o.id))
}

// fresh returns the events that are not stored, each once, in the order of their places. Only what lies in the span of a task's
// events can be stored.
func (f *folding) fresh(ctx context.Context, events []lifecycle.Event) ([]place, error) {
	places := make([]place, len(events))
	for i := range events {
		e := &events[i]
		places[i] = place{f.tasks[e.TaskID].id, int64(e.At), storedID(e.ID), i}
	}
	slices.SortFunc(places, place.compare)
	places = slices.CompactFunc(places, func(a, b place) bool { return a.compare(b) == 0 })
	var doubtful []int
	for i, p := range places {
		if t := f.tasks[events[p.event].TaskID]; events[p.event].At >= t.from && events[p.event].At <= t.to {
			doubtful = append(doubtful, i)
		}
	}
	return f.withoutStored(ctx, places, doubtful)
}

const selectStored = `SELECT u.n FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS u (task, at, id, n)
CROSS JOIN LATERAL (SELECT FROM events WHERE task = u.task AND at = u.at AND id = u.id OFFSET 0) e`

// withoutStored drops those of the doubtful places that are stored.
func (f *folding) withoutStored(ctx context.Context, places []place, doubtful []int) ([]place, error) {
	if len(doubtful) == 0 {
		return places, nil
	}
	var tasks, ats, ids []int64
	for _, i := range doubtful {
		tasks, ats, ids = append(tasks, places[i].task), append(ats, places[i].at), append(ids, places[i].id)
	}
	rows, err := f.tx.Query(ctx, selectStored, tasks, ats, ids)
	if err != nil {
		return nil, err
	}
	var n int
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error { places[doubtful[n-1]].event = -1; return nil })
	return slices.DeleteFunc(places, func(p place) bool { return p.event < 0 }), err
}

const copyEvents = `COPY events (task, at, id, stream, seq, body) FROM STDIN BINARY`

func (f *folding) copyEvents(ctx context.Context, events []lifecycle.Event, fresh []place) error {
	stream := f.store.streams.memo()
	return copyRows(ctx, f.tx, copyEvents, len(fresh), func(t *tuple, i int) {
		e := &events[fresh[i].event]
		t.columns(6)
		t.int64(fresh[i].task)
		t.int64(fresh[i].at)
		t.int64(fresh[i].id)
		t.int32(stream(e.Message.Stream)) // Zero where there is no message.
		t.int64(int64(e.Message.Seq))
		t.value(func(b []byte) []byte { return rowcodec.AppendEvent(b, e) })
	})
}
