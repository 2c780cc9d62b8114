package sqlite

import (
	"bytes"
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"zombiezen.com/go/sqlite"
)

const selectConsumers = `SELECT state FROM consumers ORDER BY stream, name`

// Consumers implements [lifecycle.FleetReader].
func (s *Store) Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error) {
	var out []lifecycle.ConsumerState
	err := s.read(ctx, "read consumers", func(conn *sqlite.Conn) error {
		return prepare(conn, selectConsumers).each(func(r *statement) error {
			c, err := columns.Consumer(r.getBlob())
			out = append(out, c)
			return err
		})
	})
	slices.SortFunc(out, columns.CompareConsumers)
	return out, err
}

const selectRollups = `SELECT bucket, agent, label, n FROM rollups WHERE metric = ? AND bucket >= ? AND bucket < ? AND n <> 0`

// Rollups implements [lifecycle.FleetReader].
func (s *Store) Rollups(ctx context.Context, metrics []lifecycle.Metric, from, to lifecycle.Micros, byAgent bool) (lifecycle.Tally, error) {
	out := lifecycle.Tally{}
	err := s.read(ctx, "read rollups", func(conn *sqlite.Conn) error {
		for _, metric := range metrics {
			parts := [][2]lifecycle.Micros{{from, to}}
			if from > 0 || to <= 0 {
				parts = append(parts, [2]lifecycle.Micros{0, 1}) // What is so now.
			}
			for _, part := range parts {
				if err := addCells(out, prepare(conn, selectRollups).text(string(metric)).int(int64(part[0])).int(int64(part[1])), metric, byAgent); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out, err
}

func addCells(out lifecycle.Tally, query *statement, metric lifecycle.Metric, byAgent bool) error {
	return query.each(func(r *statement) error {
		cell := lifecycle.Cell{Metric: metric, Bucket: lifecycle.Micros(r.getInt()), Agent: r.getText(), Label: r.getText()}
		if !byAgent {
			cell.Agent = ""
		}
		out[cell] += r.getInt()
		return nil
	})
}

const selectGaps = `SELECT source, since, until, from_seq, to_seq, reason, repaired FROM gaps
WHERE since < ? AND (until = 0 OR until > ?) ORDER BY since DESC, source LIMIT +?`

// Gaps implements [lifecycle.FleetReader].
func (s *Store) Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error) {
	var out []lifecycle.Gap
	err := s.read(ctx, "read gaps", func(conn *sqlite.Conn) error {
		return prepare(conn, selectGaps).int(int64(to)).int(int64(from)).int(int64(limit)).each(func(r *statement) error {
			out = append(out, lifecycle.Gap{
				Source: r.getText(), From: lifecycle.Micros(r.getInt()), To: lifecycle.Micros(r.getInt()),
				FromSeq: uint64(r.getInt()), ToSeq: uint64(r.getInt()), Reason: r.getText(), Repaired: r.getFlag(),
			})
			return nil
		})
	})
	return out, err
}

const selectQuarantined = `SELECT id, at, source, source_seq, subject, reason, headers, body FROM quarantine ORDER BY at DESC, id DESC LIMIT +?`

const countQuarantined = `SELECT count(*) FROM quarantine`

// Quarantine implements [lifecycle.FleetReader].
func (s *Store) Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error) {
	var out []lifecycle.QuarantinedLine
	var n int64
	err := s.read(ctx, "read quarantine", func(conn *sqlite.Conn) error {
		err := prepare(conn, countQuarantined).each(func(r *statement) error { n = r.getInt(); return nil })
		if err != nil {
			return err
		}
		return prepare(conn, selectQuarantined).int(int64(limit)).each(func(r *statement) error {
			line := lifecycle.QuarantinedLine{
				ID: columns.LoadedID(r.getInt()), At: lifecycle.Micros(r.getInt()), Source: r.getText(), SourceSeq: uint64(r.getInt()),
				Subject: r.getText(), Reason: r.getText(),
			}
			var err error
			line.Headers, err = rowcodec.Headers(r.getBlob())
			line.Body = bytes.Clone(r.getBlob())
			out = append(out, line)
			return err
		})
	})
	return out, n, err
}

const selectWatermark = `SELECT position FROM watermarks WHERE source = ?`

// Watermark implements [lifecycle.FleetReader].
func (s *Store) Watermark(ctx context.Context, source string) (string, error) {
	var out string
	err := s.readShort(ctx, "read watermark", func(conn *sqlite.Conn) error {
		return prepare(conn, selectWatermark).text(source).each(func(r *statement) error { out = r.getText(); return nil })
	})
	return out, err
}
