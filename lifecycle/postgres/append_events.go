package postgres

import (
	"context"

	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const insertEvents = `INSERT INTO events (task, at, id, stream, seq, body)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[], $6::bytea[])
ON CONFLICT DO NOTHING RETURNING task, at, id`

// eventKey tells events apart.
type eventKey struct{ task, at, id int64 }

// insertEvents stores the events and returns the places of those that were not there before.
func (f *folding) insertEvents(ctx context.Context, events []lifecycle.Event) ([]int, error) {
	var (
		n                     = len(events)
		tasks, ats, ids, seqs = make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n), make([]int64, 0, n)
		streams, bodies       = make([]int32, 0, n), make([][]byte, 0, n)
	)
	given := make(map[eventKey]int, len(events))
	for i := range events {
		e := &events[i]
		k := eventKey{f.tasks[e.TaskID].id, int64(e.At), storedID(e.ID)}
		if _, again := given[k]; again {
			continue
		}
		given[k] = i
		stream, _ := f.store.streams.id(e.Message.Stream) // Zero where there is no message.
		tasks, ats, ids = append(tasks, k.task), append(ats, k.at), append(ids, k.id)
		streams, seqs = append(streams, stream), append(seqs, int64(e.Message.Seq))
		bodies = append(bodies, bytesOf(rowcodec.AppendEvent(nil, e)))
	}
	rows, err := f.tx.Query(ctx, insertEvents, tasks, ats, ids, streams, seqs, bodies)
	if err != nil {
		return nil, err
	}
	fresh := make([]int, 0, len(events))
	var k eventKey
	_, err = pgx.ForEachRow(rows, []any{&k.task, &k.at, &k.id}, func() error {
		fresh = append(fresh, given[k])
		return nil
	})
	return fresh, err
}
