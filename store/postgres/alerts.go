package postgres

import (
	"context"
	"encoding/json"

	"fleetglass/alerts"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	selectBoard     = `SELECT version, seq FROM alert_board WHERE one = 1`
	lockBoard       = selectBoard + ` FOR UPDATE`
	updateBoard     = `UPDATE alert_board SET version = version + 1, seq = seq + $1 WHERE one = 1`
	selectAlerts    = `SELECT body FROM alerts WHERE ended = 0 OR ended >= $1`
	selectAlert     = `SELECT body FROM alerts WHERE id = $1`
	upsertAlert     = `INSERT INTO alerts (id, ended, body) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, body = excluded.body`
	forgetAlert     = `DELETE FROM alerts WHERE id = $1`
	selectSilences  = `SELECT body FROM silences WHERE ended >= $1 ORDER BY id`
	upsertSilence   = `INSERT INTO silences (id, ended, body) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, body = excluded.body`
	insertNotice    = `INSERT INTO alert_notices (seq, at, body) VALUES ($1, $2, $3)`
	retainAlerts    = `DELETE FROM alerts WHERE ended > 0 AND ended < $1`
	retainSilences  = `DELETE FROM silences WHERE ended < $1`
	retainNotices   = `DELETE FROM alert_notices WHERE at < $1`
	retainDelivered = `DELETE FROM alert_deliveries WHERE at < $1`
)

// Board implements [alerts.BoardStore].
func (s *Store) Board(ctx context.Context, resolvedSince lifecycle.Micros) (b alerts.Board, err error) {
	err = s.inTransaction(ctx, snapshot, func(tx pgx.Tx) error {
		b = alerts.Board{}
		if err := tx.QueryRow(ctx, selectBoard).Scan(&b.Version, &b.Seq); err != nil {
			return err
		}
		if b.Alerts, err = bodies[alerts.Alert](ctx, tx, selectAlerts, int64(max(resolvedSince, 1))); err != nil {
			return err
		}
		alerts.SortByID(b.Alerts)
		b.Silences, err = bodies[alerts.Silence](ctx, tx, selectSilences, int64(resolvedSince))
		return err
	})
	return b, s.wrap("read the board", err)
}

// asker is a pool or a transaction.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// bodies decodes the one column of a query.
func bodies[T any](ctx context.Context, in asker, query string, args ...any) ([]T, error) {
	rows, err := in.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (one T, err error) {
		var body []byte
		if err := row.Scan(&body); err != nil {
			return one, err
		}
		return one, json.Unmarshal(body, &one)
	})
}

// Alert implements [alerts.BoardStore].
func (s *Store) Alert(ctx context.Context, id string) (alerts.Alert, error) {
	found, err := bodies[alerts.Alert](ctx, s.pool, selectAlert, []byte(id))
	if err == nil && len(found) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return alerts.Alert{}, s.wrap("read alert", err)
	}
	return found[0], nil
}

// CommitBoard implements [alerts.BoardStore].
func (s *Store) CommitBoard(ctx context.Context, c alerts.Change) error {
	return s.wrap("commit the board", retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			var b alerts.Board
			if err := tx.QueryRow(ctx, lockBoard).Scan(&b.Version, &b.Seq); err != nil {
				return err
			}
			if err := c.Check(b); err != nil {
				return err
			}
			var writes pgx.Batch
			writes.Queue(updateBoard, len(c.Notices))
			if err := queueBoard(&writes, c); err != nil {
				return err
			}
			return tx.SendBatch(ctx, &writes).Close()
		})
	}))
}

func queueBoard(writes *pgx.Batch, c alerts.Change) error {
	for _, a := range c.Alerts {
		if err := queueBody(writes, upsertAlert, []byte(a.ID), a.ResolvedAt, a); err != nil {
			return err
		}
	}
	for _, id := range c.Forget {
		writes.Queue(forgetAlert, []byte(id))
	}
	for _, silence := range c.Silences {
		if err := queueBody(writes, upsertSilence, []byte(silence.ID), silence.Ends(), silence); err != nil {
			return err
		}
	}
	for _, n := range c.Notices {
		if err := queueBody(writes, insertNotice, int64(n.Seq), n.At, n); err != nil {
			return err
		}
	}
	for i := range c.Audit {
		queueAudit(writes, &c.Audit[i])
	}
	return nil
}

func queueBody(writes *pgx.Batch, query string, key any, at lifecycle.Micros, of any) error {
	body, err := json.Marshal(of)
	if err == nil {
		writes.Queue(query, key, int64(at), body)
	}
	return err
}

// RetainAlerts implements [alerts.BoardStore].
func (s *Store) RetainAlerts(ctx context.Context, cutoff lifecycle.Micros) (n int64, err error) {
	for _, query := range []string{retainAlerts, retainSilences, retainNotices, retainDelivered} {
		tag, err := s.pool.Exec(ctx, query, int64(cutoff))
		if err != nil {
			return n, s.wrap("delete old alerts", err)
		}
		n += tag.RowsAffected()
	}
	return n, nil
}
