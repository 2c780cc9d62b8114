package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const selectConsumers = `SELECT state FROM consumers ORDER BY stream, name`

// Consumers implements [lifecycle.FleetReader].
func (s *Store) Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error) {
	rows, err := s.pool.Query(ctx, selectConsumers)
	if err != nil {
		return nil, s.wrap("list consumers", err)
	}
	states, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (lifecycle.ConsumerState, error) {
		var state []byte
		if err := row.Scan(&state); err != nil {
			return lifecycle.ConsumerState{}, err
		}
		return columns.Consumer(state)
	})
	slices.SortFunc(states, columns.CompareConsumers)
	return states, s.wrap("list consumers", err)
}

// selectRollups asks for "now" and for the span apart, so that the index leads to both.
const selectRollups = `SELECT metric, bucket, agent, label, n FROM rollups WHERE metric = ANY($1) AND bucket = 0 AND n <> 0
UNION ALL SELECT metric, bucket, agent, label, n FROM rollups WHERE metric = ANY($1) AND bucket >= $2 AND bucket < $3 AND bucket <> 0 AND n <> 0`

// Rollups implements [lifecycle.FleetReader].
func (s *Store) Rollups(ctx context.Context, metrics []lifecycle.Metric, from, to lifecycle.Micros, byAgent bool) (lifecycle.Tally, error) {
	rows, err := s.pool.Query(ctx, selectRollups, metricNames(metrics), int64(from), int64(to))
	if err != nil {
		return nil, s.wrap("read rollups", err)
	}
	tally := lifecycle.Tally{}
	var metric string
	var bucket, n int64
	var agent, label []byte
	_, err = pgx.ForEachRow(rows, []any{&metric, &bucket, &agent, &label, &n}, func() error {
		cell := lifecycle.Cell{Metric: lifecycle.Metric(metric), Bucket: lifecycle.Micros(bucket), Label: string(label)}
		if byAgent {
			cell.Agent = string(agent)
		}
		tally[cell] += n
		return nil
	})
	if err != nil {
		return nil, s.wrap("read rollups", err)
	}
	return tally, nil
}

func metricNames(metrics []lifecycle.Metric) []string {
	names := make([]string, len(metrics))
	for i, m := range metrics {
		names[i] = string(m)
	}
	return names
}

const selectGaps = `SELECT source, since, until, from_seq, to_seq, reason, repaired FROM gaps
WHERE since < $2 AND (until = 0 OR until > $1) ORDER BY since DESC, source LIMIT $3`

// Gaps implements [lifecycle.FleetReader].
func (s *Store) Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error) {
	rows, err := s.pool.Query(ctx, selectGaps, int64(from), int64(to), limit)
	if err != nil {
		return nil, s.wrap("list gaps", err)
	}
	gaps, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g lifecycle.Gap, err error) {
		var source, reason []byte
		var fromSeq, toSeq int64
		err = row.Scan(&source, &g.From, &g.To, &fromSeq, &toSeq, &reason, &g.Repaired)
		g.Source, g.Reason, g.FromSeq, g.ToSeq = string(source), string(reason), uint64(fromSeq), uint64(toSeq)
		return g, err
	})
	return gaps, s.wrap("list gaps", err)
}

const (
	selectQuarantined = `SELECT id, at, source, source_seq, subject, headers, body, reason FROM quarantine ORDER BY at DESC, id DESC LIMIT $1`
	countQuarantined  = `SELECT count(*) FROM quarantine`
)

// Quarantine implements [lifecycle.FleetReader].
func (s *Store) Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error) {
	var lines []lifecycle.QuarantinedLine
	var n int64
	err := s.inTransaction(ctx, snapshot, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, countQuarantined).Scan(&n); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectQuarantined, limit)
		if err != nil {
			return err
		}
		lines, err = pgx.CollectRows(rows, scanQuarantined)
		return err
	})
	if err != nil {
		return nil, 0, s.wrap("list quarantined lines", err)
	}
	return lines, n, nil
}

func scanQuarantined(row pgx.CollectableRow) (q lifecycle.QuarantinedLine, err error) {
	var id, seq int64
	var source, subject, headers, reason []byte
	if err := row.Scan(&id, &q.At, &source, &seq, &subject, &headers, &q.Body, &reason); err != nil {
		return q, err
	}
	q.ID, q.Source, q.SourceSeq, q.Subject, q.Reason = columns.LoadedID(id), string(source), uint64(seq), string(subject), string(reason)
	if q.Headers, err = rowcodec.Headers(headers); err != nil {
		return q, fmt.Errorf("quarantined line %s: %w", q.ID, err)
	}
	return q, nil
}

const selectWatermark = `SELECT position FROM watermarks WHERE source = $1`

// Watermark implements [lifecycle.FleetReader].
func (s *Store) Watermark(ctx context.Context, source string) (string, error) {
	var position []byte
	err := s.pool.QueryRow(ctx, selectWatermark, []byte(source)).Scan(&position)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return string(position), s.wrap(fmt.Sprintf("read the watermark of %q", source), err)
}
