package sqlite

import (
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"
)

// putPayloads stores the payloads that belong to the messages as the fold knows them. The others are lines of somebody else.
func (w *writer) putPayloads(jobs []*job, fold *lifecycle.Fold) error {
	for _, j := range jobs {
		kept, displaced := fold.Displaced(j.batch.Payloads)
		for i := range kept {
			if err := w.putPayload(&kept[i]); err != nil {
				return fmt.Errorf("store payload of %v: %w", kept[i].Message, err)
			}
		}
		if err := w.putLines(displaced); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putLines(lines []lifecycle.QuarantinedLine) error {
	for i := range lines {
		if err := w.putQuarantined(&lines[i]); err != nil {
			return fmt.Errorf("quarantine line %v: %w", lines[i].ID, err)
		}
	}
	return nil
}

// putRest stores what a batch has beside events and payloads. Quarantined lines stay as they were first seen; the rest replaces itself.
func (w *writer) putRest(b *lifecycle.Batch) error {
	if err := w.putLines(b.Quarantined); err != nil {
		return err
	}
	for _, g := range b.Gaps {
		if err := w.putGap(g); err != nil {
			return fmt.Errorf("store gap of %s: %w", g.Source, err)
		}
	}
	for _, c := range b.Consumers {
		if err := w.putConsumer(c); err != nil {
			return fmt.Errorf("store consumer %s: %w", c.Name, err)
		}
	}
	for source, position := range b.Watermarks {
		if err := w.statement(upsertWatermark).text(source).text(position).exec(); err != nil {
			return fmt.Errorf("store watermark of %s: %w", source, err)
		}
	}
	for source, seq := range b.Reached {
		if err := w.statement(upsertReached).text(source).text(lifecycle.ReachedText(seq)).exec(); err != nil {
			return fmt.Errorf("store how far %s is stored: %w", source, err)
		}
	}
	return nil
}

const insertQuarantined = `INSERT INTO quarantine (id, at, source, source_seq, subject, headers, body, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING`

func (w *writer) putQuarantined(l *lifecycle.QuarantinedLine) error {
	w.buffer = rowcodec.AppendHeaders(w.buffer[:0], l.Headers)
	return w.statement(insertQuarantined).int(columns.StoredID(l.ID)).int(int64(l.At)).text(l.Source).int(int64(l.SourceSeq)).text(l.Subject).
		blob(w.buffer).blob(l.Body).text(l.Reason).exec()
}

const upsertGap = `INSERT INTO gaps (source, since, until, from_seq, to_seq, reason, repaired) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (since, source) DO UPDATE SET until = excluded.until, to_seq = excluded.to_seq,
	from_seq = CASE WHEN from_seq > 0 THEN min(from_seq, excluded.from_seq) ELSE excluded.from_seq END,
	reason = excluded.reason, repaired = excluded.repaired
WHERE excluded.to_seq >= to_seq`

func (w *writer) putGap(g lifecycle.Gap) error {
	return w.statement(upsertGap).text(g.Source).int(int64(g.From)).int(int64(g.To)).int(int64(g.FromSeq)).int(int64(g.ToSeq)).
		text(g.Reason).flag(g.Repaired).exec()
}

const upsertConsumer = `INSERT INTO consumers (stream, name, observed, state) VALUES (?, ?, ?, ?)
ON CONFLICT (stream, name) DO UPDATE SET observed = excluded.observed, state = excluded.state WHERE excluded.observed >= observed`

func (w *writer) putConsumer(c lifecycle.ConsumerState) error {
	stream, err := w.stream(c.Stream)
	if err != nil {
		return err
	}
	state, err := columns.EncodeConsumer(c)
	if err != nil {
		return err
	}
	return w.statement(upsertConsumer).int(stream).text(c.Name).int(int64(c.ObservedAt)).blob(state).exec()
}

const upsertReached = `INSERT INTO watermarks (source, position) VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET position = max(position, excluded.position)`

const upsertWatermark = `INSERT INTO watermarks (source, position) VALUES (?, ?) ON CONFLICT (source) DO UPDATE SET position = excluded.position`
