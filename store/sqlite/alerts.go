package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"fleetglass/alerts"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	selectBoard     = `SELECT version, seq FROM alert_board WHERE one = 1`
	updateBoard     = `UPDATE alert_board SET version = version + 1, seq = seq + ? WHERE one = 1`
	selectAlerts    = `SELECT body FROM alerts WHERE ended = 0 UNION ALL SELECT body FROM alerts WHERE ended >= ? AND ended > 0`
	selectAlert     = `SELECT body FROM alerts WHERE id = ?`
	upsertAlert     = `INSERT INTO alerts (id, ended, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, body = excluded.body`
	forgetAlert     = `DELETE FROM alerts WHERE id = ?`
	selectSilences  = `SELECT body FROM silences WHERE ended >= ? ORDER BY id`
	upsertSilence   = `INSERT INTO silences (id, ended, body) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, body = excluded.body`
	insertNotice    = `INSERT INTO alert_notices (seq, at, body) VALUES (?, ?, ?)`
	retainAlerts    = `DELETE FROM alerts WHERE ended > 0 AND ended < ? RETURNING id`
	retainSilences  = `DELETE FROM silences WHERE ended < ? RETURNING id`
	retainNotices   = `DELETE FROM alert_notices WHERE at < ? RETURNING seq`
	retainDelivered = `DELETE FROM alert_deliveries WHERE at < ? RETURNING seq`
)

// Board implements [alerts.BoardStore].
func (s *Store) Board(ctx context.Context, resolvedSince lifecycle.Micros) (b alerts.Board, err error) {
	err = s.read(ctx, "read the board", func(conn *sqlite.Conn) error {
		b = alerts.Board{}
		if err := boardVersion(prepare(conn, selectBoard), &b); err != nil {
			return err
		}
		if b.Alerts, err = bodies[alerts.Alert](prepare(conn, selectAlerts).int(int64(resolvedSince))); err != nil {
			return err
		}
		alerts.SortByID(b.Alerts)
		b.Silences, err = bodies[alerts.Silence](prepare(conn, selectSilences).int(int64(resolvedSince)))
		return err
	})
	return b, err
}

func boardVersion(query *statement, b *alerts.Board) error {
	return query.each(func(r *statement) error {
		b.Version, b.Seq = uint64(r.getInt()), uint64(r.getInt())
		return nil
	})
}

// bodies decodes the one column of a query.
func bodies[T any](query *statement) (out []T, err error) {
	err = query.each(func(r *statement) error {
		var one T
		if err := json.Unmarshal(r.getBlob(), &one); err != nil {
			return err
		}
		out = append(out, one)
		return nil
	})
	return out, err
}

// Alert implements [alerts.BoardStore].
func (s *Store) Alert(ctx context.Context, id string) (a alerts.Alert, err error) {
	err = s.readShort(ctx, "read alert", func(conn *sqlite.Conn) error {
		found, err := bodies[alerts.Alert](prepare(conn, selectAlert).text(id))
		if err == nil && len(found) == 0 {
			return fmt.Errorf("alert %q: %w", id, lifecycle.ErrNotFound)
		}
		if err == nil {
			a = found[0]
		}
		return err
	})
	return a, err
}

// CommitBoard implements [alerts.BoardStore].
func (s *Store) CommitBoard(ctx context.Context, c alerts.Change) error {
	return s.write(ctx, "commit the board", func(w *writer) error {
		var b alerts.Board
		if err := boardVersion(w.statement(selectBoard), &b); err != nil {
			return err
		}
		if err := c.Check(b); err != nil {
			return err
		}
		if err := w.statement(updateBoard).int(int64(len(c.Notices))).exec(); err != nil {
			return err
		}
		return w.changeBoard(c)
	})
}

func (w *writer) changeBoard(c alerts.Change) error {
	for _, a := range c.Alerts {
		if err := w.putBody(upsertAlert, a.ID, a.ResolvedAt, a); err != nil {
			return err
		}
	}
	for _, id := range c.Forget {
		if err := w.statement(forgetAlert).text(id).exec(); err != nil {
			return err
		}
	}
	for _, silence := range c.Silences {
		if err := w.putBody(upsertSilence, silence.ID, silence.Ends(), silence); err != nil {
			return err
		}
	}
	for _, n := range c.Notices {
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		if err := w.statement(insertNotice).int(int64(n.Seq)).int(int64(n.At)).blob(body).exec(); err != nil {
			return err
		}
	}
	for i := range c.Audit {
		if err := w.addAudit(&c.Audit[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) putBody(query, id string, ended lifecycle.Micros, of any) error {
	body, err := json.Marshal(of)
	if err != nil {
		return err
	}
	return w.statement(query).text(id).int(int64(ended)).blob(body).exec()
}

// RetainAlerts implements [alerts.BoardStore].
func (s *Store) RetainAlerts(ctx context.Context, cutoff lifecycle.Micros) (n int64, err error) {
	err = s.write(ctx, "delete old alerts", func(w *writer) error {
		n = 0
		for _, query := range []string{retainAlerts, retainSilences, retainNotices, retainDelivered} {
			deleted, err := changed(w.statement(query).int(int64(cutoff)))
			if err != nil {
				return err
			}
			n += deleted
		}
		return nil
	})
	return n, err
}
