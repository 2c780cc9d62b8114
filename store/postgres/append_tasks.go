package postgres

import (
	"context"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	copyTasks = `COPY tasks (id, key, task_id, events_from, events_to, listed, attempted, state, agent, type, category, stream, seq, last_event,
    published, duplicates, anomalies, words, summary, facts, attempt, ran, held, cost, fold) FROM STDIN BINARY`
	updateTasks = `UPDATE tasks t SET events_from = u.events_from, events_to = u.events_to, listed = u.listed, attempted = u.attempted,
    state = u.state, agent = u.agent, type = u.type, category = u.category, stream = u.stream, seq = u.seq, last_event = u.last_event,
    published = u.published, duplicates = u.duplicates, anomalies = u.anomalies, words = u.words, summary = u.summary, facts = u.facts,
    attempt = u.attempt, ran = u.ran, held = u.held, cost = u.cost
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::boolean[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[],
    $10::integer[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], $15::text[], $16::bytea[], $17::bytea[], $18::bytea[],
    $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[])
AS u (id, events_from, events_to, listed, attempted, state, agent, type, category, stream, seq, last_event, published, duplicates,
    anomalies, words, summary, facts, attempt, ran, held, cost)
WHERE t.id = u.id`
	deleteTasks = `DELETE FROM tasks WHERE id = ANY($1)`
)

func (f *folding) writeTasks(ctx context.Context, c lifecycle.Changes, writes *pgx.Batch) error {
	var added, changed []*lifecycle.TaskRow
	for i := range c.Tasks {
		if f.tasks[c.Tasks[i].Facts.ID].stored {
			changed = append(changed, &c.Tasks[i])
		} else {
			added = append(added, &c.Tasks[i])
		}
	}
	f.queueTasks(writes, changed)
	var gone []int64
	for _, t := range c.Removed {
		gone = append(gone, f.tasks[t].id)
	}
	if len(gone) > 0 {
		writes.Queue(deleteTasks, gone)
		writes.Queue(deleteTracesOf, gone)
	}
	stream := f.store.streams.memo()
	return copyRows(ctx, f.tx, copyTasks, len(added), func(t *tuple, i int) {
		f.addTask(t, added[i], stream(added[i].Summary.Message.Stream))
	})
}

func (f *folding) addTask(t *tuple, r *lifecycle.TaskRow, stream int32) {
	s, row := &r.Summary, f.tasks[r.Facts.ID]
	t.columns(25)
	t.int64(row.id)
	t.bytes(taskKey(r.Facts.ID))
	t.text(r.Facts.ID)
	t.int64(int64(row.from))
	t.int64(int64(row.to))
	t.bool(s.Listed)
	t.bool(r.AwaitsMessage())
	t.text(string(s.State))
	t.text(s.Agent)
	t.text(s.Type)
	t.text(s.Category)
	t.int32(stream) // Zero where there is no message.
	t.int64(int64(s.Message.Seq))
	t.int64(int64(s.LastEventAt))
	t.int64(int64(s.PublishedAt))
	t.int64(int64(s.Duplicates))
	t.text(columns.Anomalies(s.Anomalies))
	t.bytes(columns.Words(r.SearchTexts()))
	t.value(func(b []byte) []byte { return rowcodec.AppendSummary(b, s) })
	t.value(func(b []byte) []byte { return rowcodec.AppendTask(b, r.Facts) })
	t.int64(int64(s.Attempt))
	t.int64(s.Running.Microseconds())
	t.int64(int64(s.HeldSince))
	t.int64(s.Used.Cost)
	t.int32(lifecycle.FoldVersion)
}

// taskColumns collects rows of tasks column by column.
type taskColumns struct {
	ids, from, to, seqs, last, published, duplicates []int64
	attempts, ran, held, costs                       []int64
	agents, types, categories                        [][]byte
	words, summaries, facts                          [][]byte
	listed, attempted                                []bool
	states, anomalies                                []string
	streams                                          []int32
	all                                              byteArena
}

func (f *folding) queueTasks(writes *pgx.Batch, rows []*lifecycle.TaskRow) {
	if len(rows) == 0 {
		return
	}
	var c taskColumns
	stream := f.store.streams.memo()
	for _, r := range rows {
		c.add(f.tasks[r.Facts.ID], stream(r.Summary.Message.Stream), r)
	}
	writes.Queue(updateTasks, c.ids, c.from, c.to, c.listed, c.attempted, c.states, c.agents, c.types, c.categories, c.streams, c.seqs,
		c.last, c.published, c.duplicates, c.anomalies, c.words, c.summaries, c.facts, c.attempts, c.ran, c.held, c.costs)
}

func (c *taskColumns) add(row *taskRow, stream int32, r *lifecycle.TaskRow) {
	s := &r.Summary
	c.ids, c.from, c.to = append(c.ids, row.id), append(c.from, int64(row.from)), append(c.to, int64(row.to))
	c.listed, c.attempted = append(c.listed, s.Listed), append(c.attempted, r.AwaitsMessage())
	c.states, c.agents, c.types = append(c.states, string(s.State)), append(c.agents, []byte(s.Agent)), append(c.types, []byte(s.Type))
	c.categories, c.anomalies = append(c.categories, []byte(s.Category)), append(c.anomalies, columns.Anomalies(s.Anomalies))
	c.streams, c.seqs = append(c.streams, stream), append(c.seqs, int64(s.Message.Seq))
	c.last, c.published = append(c.last, int64(s.LastEventAt)), append(c.published, int64(s.PublishedAt))
	c.duplicates, c.words = append(c.duplicates, int64(s.Duplicates)), append(c.words, columns.Words(r.SearchTexts()))
	c.attempts, c.ran, c.held = append(c.attempts, int64(s.Attempt)), append(c.ran, s.Running.Microseconds()), append(c.held, int64(s.HeldSince))
	c.costs = append(c.costs, s.Used.Cost)
	c.summaries = append(c.summaries, c.all.add(func(b []byte) []byte { return rowcodec.AppendSummary(b, s) }))
	c.facts = append(c.facts, c.all.add(func(b []byte) []byte { return rowcodec.AppendTask(b, r.Facts) }))
}
