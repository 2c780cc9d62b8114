package postgres

import (
	"fleetglass/internal/rowcodec"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const upsertTasks = `INSERT INTO tasks (id, key, task_id, events_from, events_to, listed, attempted, state, agent, type, category, stream, seq,
    last_event, published, duplicates, anomalies, words, summary, facts, claimed)
SELECT *, false FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::boolean[], $7::boolean[], $8::text[],
    $9::bytea[], $10::bytea[], $11::bytea[], $12::integer[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::text[],
    $18::bytea[], $19::bytea[], $20::bytea[])
ON CONFLICT (id) DO UPDATE SET
    events_from = excluded.events_from, events_to = excluded.events_to, listed = excluded.listed, attempted = excluded.attempted,
    state = excluded.state, agent = excluded.agent, type = excluded.type, category = excluded.category, stream = excluded.stream,
    seq = excluded.seq, last_event = excluded.last_event, published = excluded.published, duplicates = excluded.duplicates,
    anomalies = excluded.anomalies, words = excluded.words, summary = excluded.summary, facts = excluded.facts, claimed = false`

// taskColumns collects rows of tasks column by column.
type taskColumns struct {
	ids, from, to, seqs, last, published, duplicates []int64
	keys, names, agents, types, categories           [][]byte
	words, summaries, facts                          [][]byte
	listed, attempted                                []bool
	states, anomalies                                []string
	streams                                          []int32
}

func (f *folding) queueTasks(writes *pgx.Batch, rows []lifecycle.TaskRow) {
	if len(rows) == 0 {
		return
	}
	var c taskColumns
	for i := range rows {
		stream, _ := f.store.streams.id(rows[i].Summary.Message.Stream) // Zero where there is no message.
		c.add(f.tasks[rows[i].Facts.ID], stream, &rows[i])
	}
	writes.Queue(upsertTasks, c.ids, c.keys, c.names, c.from, c.to, c.listed, c.attempted, c.states, c.agents, c.types, c.categories, c.streams,
		c.seqs, c.last, c.published, c.duplicates, c.anomalies, c.words, c.summaries, c.facts)
}

func (c *taskColumns) add(row *taskRow, stream int32, r *lifecycle.TaskRow) {
	s := &r.Summary
	c.ids, c.from, c.to = append(c.ids, row.id), append(c.from, int64(row.from)), append(c.to, int64(row.to))
	c.keys, c.names = append(c.keys, taskKey(r.Facts.ID)), append(c.names, []byte(r.Facts.ID))
	c.listed, c.attempted = append(c.listed, s.Listed), append(c.attempted, onlyAttempted(r.Facts))
	c.states, c.agents, c.types = append(c.states, string(s.State)), append(c.agents, []byte(s.Agent)), append(c.types, []byte(s.Type))
	c.categories, c.anomalies = append(c.categories, []byte(s.Category)), append(c.anomalies, anomalyList(s.Anomalies))
	c.streams, c.seqs = append(c.streams, stream), append(c.seqs, int64(s.Message.Seq))
	c.last, c.published = append(c.last, int64(s.LastEventAt)), append(c.published, int64(s.PublishedAt))
	c.duplicates, c.words = append(c.duplicates, int64(s.Duplicates)), append(c.words, wordsOf(*r))
	c.summaries = append(c.summaries, bytesOf(rowcodec.AppendSummary(nil, s)))
	c.facts = append(c.facts, bytesOf(rowcodec.AppendTask(nil, &r.Facts)))
}

// bytesOf never is NULL.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// onlyAttempted reports whether nothing but publish attempts is known of a task.
func onlyAttempted(t lifecycle.TaskFacts) bool {
	return len(t.Publishes) > 0 && t.Messages == 0 && t.Completion == nil && len(t.Reports) == 0 && !t.NotStoredAt.Known()
}
