package postgres

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	insertQuarantined = `INSERT INTO quarantine (id, at, source, source_seq, subject, headers, body, reason)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
	upsertGap = `INSERT INTO gaps (source, since, until, from_seq, to_seq, reason, repaired) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (since, source) DO UPDATE SET until = excluded.until, to_seq = excluded.to_seq,
    from_seq = CASE WHEN gaps.from_seq > 0 THEN LEAST(gaps.from_seq, excluded.from_seq) ELSE excluded.from_seq END,
    reason = excluded.reason, repaired = excluded.repaired
WHERE excluded.to_seq >= gaps.to_seq`
	upsertConsumer = `INSERT INTO consumers (stream, name, observed, state) VALUES ($1, $2, $3, $4)
ON CONFLICT (stream, name) DO UPDATE SET observed = excluded.observed, state = excluded.state
WHERE consumers.observed <= excluded.observed`
	upsertWatermark = `INSERT INTO watermarks (source, position) VALUES ($1, $2)
ON CONFLICT (source) DO UPDATE SET position = excluded.position`
	upsertReached = `INSERT INTO watermarks (source, position) VALUES ($1, $2)
ON CONFLICT (source) DO UPDATE SET position = greatest(watermarks.position, excluded.position)`
)

// queueRest queues all of a batch but its events and payloads, each table in the order of its keys.
func (s *Store) queueRest(writes *pgx.Batch, b lifecycle.Batch) error {
	queueQuarantined(writes, b.Quarantined)
	queueGaps(writes, b.Gaps)
	if err := s.queueConsumers(writes, b.Consumers); err != nil {
		return err
	}
	for _, source := range slices.Sorted(maps.Keys(b.Watermarks)) {
		writes.Queue(upsertWatermark, []byte(source), []byte(b.Watermarks[source]))
	}
	for _, source := range slices.Sorted(maps.Keys(b.Reached)) {
		writes.Queue(upsertReached, []byte(source), []byte(lifecycle.ReachedText(b.Reached[source])))
	}
	return nil
}

func queueQuarantined(writes *pgx.Batch, lines []lifecycle.QuarantinedLine) {
	lines = slices.Clone(lines)
	slices.SortStableFunc(lines, func(a, b lifecycle.QuarantinedLine) int { return cmp.Compare(a.ID, b.ID) })
	for _, q := range lines {
		writes.Queue(insertQuarantined, columns.StoredID(q.ID), int64(q.At), []byte(q.Source), int64(q.SourceSeq), []byte(q.Subject),
			bytesOf(rowcodec.AppendHeaders(nil, q.Headers)), bytesOf(q.Body), []byte(q.Reason))
	}
}

func queueGaps(writes *pgx.Batch, gaps []lifecycle.Gap) {
	gaps = slices.Clone(gaps)
	slices.SortStableFunc(gaps, func(a, b lifecycle.Gap) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.From, b.From))
	})
	for _, g := range gaps {
		writes.Queue(upsertGap, []byte(g.Source), int64(g.From), int64(g.To), int64(g.FromSeq), int64(g.ToSeq), []byte(g.Reason), g.Repaired)
	}
}

func (s *Store) queueConsumers(writes *pgx.Batch, consumers []lifecycle.ConsumerState) error {
	consumers = slices.Clone(consumers)
	slices.SortStableFunc(consumers, columns.CompareConsumers)
	for _, c := range consumers {
		state, err := columns.EncodeConsumer(c)
		if err != nil {
			return fmt.Errorf("state of consumer %q: %w", c.Name, err)
		}
		stream, _ := s.streams.id(c.Stream)
		writes.Queue(upsertConsumer, stream, []byte(c.Name), int64(c.ObservedAt), state)
	}
	return nil
}
