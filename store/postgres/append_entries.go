package postgres

import (
	"context"
	"maps"
	"slices"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	upsertEntry = `INSERT INTO entries (stream, seq, id, subject, task, task_id, message_id, failed, status, category, detail, kind, path, agent, type,
    fingerprint, outcome, via, due, resolved, copied, words, entry)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
ON CONFLICT (stream, seq) DO UPDATE SET id = excluded.id, subject = excluded.subject, task = excluded.task, task_id = excluded.task_id,
    message_id = excluded.message_id, failed = excluded.failed, status = excluded.status, category = excluded.category, detail = excluded.detail,
    kind = excluded.kind, path = excluded.path, agent = excluded.agent, type = excluded.type, fingerprint = excluded.fingerprint,
    outcome = excluded.outcome, via = excluded.via, due = excluded.due, resolved = excluded.resolved, copied = excluded.copied,
    words = excluded.words, entry = excluded.entry`
	deleteEntry       = `DELETE FROM entries WHERE stream = $1 AND seq = $2`
	deleteEntriesOf   = `DELETE FROM entries WHERE task = ANY($1)`
	selectEntryBodies = `SELECT stream, seq, task, entry FROM entries WHERE substring(id, 1, 64) = ANY($1) AND id = ANY($2)`

	upsertFollowUp = `INSERT INTO follow_ups (stream, seq, task, entry, follow_up) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (stream, seq) DO UPDATE SET task = excluded.task, entry = excluded.entry, follow_up = excluded.follow_up`
	deleteFollowUp    = `DELETE FROM follow_ups WHERE stream = $1 AND seq = $2`
	deleteFollowUpsOf = `DELETE FROM follow_ups WHERE task = ANY($1)`
	selectFollowed    = `SELECT f.entry FROM unnest($1::integer[], $2::bigint[]) AS u (stream, seq) JOIN follow_ups f ON f.stream = u.stream AND f.seq = u.seq`
	selectFollowUps   = `SELECT entry, follow_up FROM follow_ups WHERE substring(entry, 1, 64) = ANY($1) AND entry = ANY($2)`
)

// entryWrite is the entries that a transaction touches, by id; nil for one that changes only by what follows it.
type entryWrite struct {
	f       *folding
	touched map[string]*entryRow
	by      map[string][]dlqtriage.FollowUp // What follows them.
}

type entryRow struct {
	stream int32
	task   int64
	entry  dlqtriage.Entry
}

// writeEntries queues the entries that follow from messages that changed, and those that these follow. Who is beyond the task's lock may
// write both; entries of other tasks, which a message may follow too, are written in the order of their ids by everybody.
func (f *folding) writeEntries(ctx context.Context, fallen []lifecycle.FallenMessage, writes *pgx.Batch) error {
	if len(fallen) == 0 {
		return nil
	}
	w := entryWrite{f: f, touched: map[string]*entryRow{}, by: map[string][]dlqtriage.FollowUp{}}
	if err := w.followedBefore(ctx, fallen); err != nil {
		return err
	}
	var first pgx.Batch
	for i := range fallen {
		w.message(&fallen[i], &first)
	}
	if err := send(ctx, f.tx, &first); err != nil {
		return err
	}
	if err := w.load(ctx); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(w.touched)) {
		if row := w.touched[id]; row != nil {
			e := row.entry.Followed(w.by[id])
			queueEntry(writes, row, &e)
		}
	}
	return nil
}

// followedBefore notes the entries that the messages are stored to follow.
func (w *entryWrite) followedBefore(ctx context.Context, fallen []lifecycle.FallenMessage) error {
	var streams []int32
	var seqs []int64
	stream := w.f.store.streams.memo()
	for i := range fallen {
		k := fallen[i].Message.Key
		streams, seqs = append(streams, stream(k.Stream)), append(seqs, int64(k.Seq))
	}
	rows, err := w.f.tx.Query(ctx, selectFollowed, streams, seqs)
	if err != nil {
		return err
	}
	var id []byte
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { w.touch(string(id)); return nil })
	return err
}

// message queues what a message follows, and notes its entry.
func (w *entryWrite) message(m *lifecycle.FallenMessage, writes *pgx.Batch) {
	stream, _ := w.f.store.streams.id(m.Message.Key.Stream)
	seq, task := int64(m.Message.Key.Seq), w.f.tasks[m.Task.ID].id
	if f, follows := dlqtriage.FollowUpOf(m.Message, m.Task); follows {
		w.touch(f.Of)
		writes.Queue(upsertFollowUp, stream, seq, task, []byte(f.Of), rowcodec.AppendFollowUp(nil, &f))
	} else {
		writes.Queue(deleteFollowUp, stream, seq)
	}
	if e, died := dlqtriage.EntryOf(m.Message, m.Task); died {
		w.touched[e.ID] = &entryRow{stream: stream, task: task, entry: e}
	} else {
		writes.Queue(deleteEntry, stream, seq)
	}
}

func (w *entryWrite) touch(id string) {
	if _, known := w.touched[id]; !known {
		w.touched[id] = nil
	}
}

// load reads the entries that only what follows them concerns, where they are there, and what follows all of them.
func (w *entryWrite) load(ctx context.Context) error {
	var missing [][]byte
	var all [][]byte
	for id, row := range w.touched {
		all = append(all, []byte(id))
		if row == nil {
			missing = append(missing, []byte(id))
		}
	}
	if err := w.loadFollowUps(ctx, all); err != nil || len(missing) == 0 {
		return err
	}
	rows, err := w.f.tx.Query(ctx, selectEntryBodies, beginnings(missing), missing)
	if err != nil {
		return err
	}
	var row entryRow
	var seq int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&row.stream, &seq, &row.task, &body}, func() error {
		found := row
		found.entry, err = rowcodec.Entry(body)
		w.touched[found.entry.ID] = &found
		return err
	})
	return err
}

func (w *entryWrite) loadFollowUps(ctx context.Context, ids [][]byte) error {
	rows, err := w.f.tx.Query(ctx, selectFollowUps, beginnings(ids), ids)
	if err != nil {
		return err
	}
	var id, body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		f, err := rowcodec.FollowUp(string(id), body)
		w.by[f.Of] = append(w.by[f.Of], f)
		return err
	})
	return err
}

// beginnings are the parts of the texts that indexes hold.
func beginnings(texts [][]byte) [][]byte {
	out := make([][]byte, len(texts))
	for i, t := range texts {
		out[i] = beginning(string(t))
	}
	return out
}

func queueEntry(writes *pgx.Batch, row *entryRow, e *dlqtriage.Entry) {
	writes.Queue(upsertEntry, row.stream, int64(e.Key.Seq), []byte(e.ID), []byte(e.About()), row.task, []byte(e.TaskID), []byte(e.MessageID), int64(e.FailedAt),
		[]byte(e.Status), string(e.Category), []byte(e.Detail), []byte(e.Kind), string(e.Path), []byte(e.Agent), []byte(e.Type), []byte(e.ReasonFingerprint),
		string(e.Outcome), []byte(e.Via), int64(e.DeferredUntil), int64(e.ResolvedAt), e.Copied(), columns.EntryWords(e), rowcodec.AppendEntry(nil, e))
}

// forgetEntries deletes the entries of tasks that are about to be written anew.
func (f *folding) forgetEntries(ctx context.Context, tasks []int64) error {
	var deletes pgx.Batch
	deletes.Queue(deleteEntriesOf, tasks)
	deletes.Queue(deleteFollowUpsOf, tasks)
	return send(ctx, f.tx, &deletes)
}
