package sqlite

import (
	"context"
	"fmt"

	"fleetglass/alerts"
	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const (
	claimReceiver = `INSERT INTO alert_receivers (name, holder, token, until, position) SELECT ?, ?, 1, ?, seq FROM alert_board WHERE one = 1
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = token + (holder <> excluded.holder OR until <= ?), until = excluded.until
WHERE holder = excluded.holder OR until <= ? RETURNING token, position`
	selectNotices    = `SELECT body FROM alert_notices WHERE seq > ? ORDER BY seq LIMIT +?`
	moveReceiver     = `UPDATE alert_receivers SET position = ? WHERE name = ? AND token = ? RETURNING name`
	insertDelivery   = `INSERT INTO alert_deliveries (at, receiver, seq, alert, status, detail) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`
	deliveryColumns  = `SELECT receiver, seq, alert, at, status, detail FROM alert_deliveries `
	selectDeliveries = deliveryColumns + `ORDER BY at DESC, receiver DESC, seq DESC LIMIT +?`
	deliveriesOf     = deliveryColumns + `WHERE alert = ? ORDER BY at DESC, receiver DESC, seq DESC LIMIT +?`
)

// ClaimReceiver implements [alerts.NoticeStore].
func (s *Store) ClaimReceiver(ctx context.Context, c alerts.ReceiverClaim) (r alerts.Receiver, claimed bool, err error) {
	err = s.write(ctx, "claim a receiver", func(w *writer) error {
		claimed = false
		return w.statement(claimReceiver).text(c.Name).text(c.Holder).int(int64(c.Until)).int(int64(c.Now)).int(int64(c.Now)).each(func(row *statement) error {
			r, claimed = alerts.Receiver{Name: c.Name, Token: uint64(row.getInt()), Position: uint64(row.getInt())}, true
			return nil
		})
	})
	return r, claimed, err
}

// Notices implements [alerts.NoticeStore].
func (s *Store) Notices(ctx context.Context, after uint64, limit int) (out []alerts.Notice, err error) {
	err = s.readShort(ctx, "read notices", func(conn *sqlite.Conn) error {
		out, err = bodies[alerts.Notice](prepare(conn, selectNotices).int(int64(after)).int(int64(limit)))
		return err
	})
	return out, err
}

// Delivered implements [alerts.NoticeStore].
func (s *Store) Delivered(ctx context.Context, r alerts.Receiver, tries []alerts.Delivery) error {
	return s.write(ctx, "note deliveries", func(w *writer) error {
		n, err := changed(w.statement(moveReceiver).int(int64(r.Position)).text(r.Name).int(int64(r.Token)))
		if err == nil && n == 0 {
			err = fmt.Errorf("receiver %q, claim %d: %w", r.Name, r.Token, alerts.ErrTakenOver)
		}
		for _, d := range tries {
			if err == nil {
				err = w.statement(insertDelivery).int(int64(d.At)).text(d.To).int(int64(d.Seq)).text(d.Alert).text(string(d.Status)).text(d.Detail).exec()
			}
		}
		return err
	})
}

// Deliveries implements [alerts.NoticeStore].
func (s *Store) Deliveries(ctx context.Context, alert string, limit int) (out []alerts.Delivery, err error) {
	err = s.readShort(ctx, "read deliveries", func(conn *sqlite.Conn) error {
		out = nil
		query := prepare(conn, selectDeliveries)
		if alert != "" {
			query = prepare(conn, deliveriesOf).text(alert)
		}
		return query.int(int64(limit)).each(func(row *statement) error {
			out = append(out, alerts.Delivery{
				To: row.getText(), Seq: uint64(row.getInt()), Alert: row.getText(), At: lifecycle.Micros(row.getInt()),
				Status: alerts.DeliveryStatus(row.getText()), Detail: row.getText(),
			})
			return nil
		})
	})
	return out, err
}
