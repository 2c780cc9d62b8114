package postgres

import (
	"context"
	"errors"
	"fmt"

	"fleetglass/alerts"

	"github.com/jackc/pgx/v5"
)

const (
	claimReceiver = `INSERT INTO alert_receivers AS r (name, holder, token, until, position) SELECT $1, $2, 1, $3, seq FROM alert_board WHERE one = 1
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = r.token + (r.holder <> excluded.holder OR r.until <= $4)::int, until = excluded.until
WHERE r.holder = excluded.holder OR r.until <= $4 RETURNING token, position`
	selectNotices    = `SELECT body FROM alert_notices WHERE seq > $1 ORDER BY seq LIMIT $2`
	moveReceiver     = `UPDATE alert_receivers SET position = $3 WHERE name = $1 AND token = $2`
	insertDelivery   = `INSERT INTO alert_deliveries (at, receiver, seq, alert, status, detail) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
	selectDeliveries = `SELECT receiver, seq, alert, at, status, detail FROM alert_deliveries WHERE alert = $1 OR $1 = ''::bytea
ORDER BY at DESC, receiver DESC, seq DESC LIMIT $2`
)

// ClaimReceiver implements [alerts.NoticeStore].
func (s *Store) ClaimReceiver(ctx context.Context, c alerts.ReceiverClaim) (alerts.Receiver, bool, error) {
	r := alerts.Receiver{Name: c.Name}
	err := retry(ctx, func() error {
		return s.pool.QueryRow(ctx, claimReceiver, []byte(c.Name), []byte(c.Holder), int64(c.Until), int64(c.Now)).Scan(&r.Token, &r.Position)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return alerts.Receiver{}, false, nil
	}
	return r, err == nil, s.wrap("claim a receiver", err)
}

// Notices implements [alerts.NoticeStore].
func (s *Store) Notices(ctx context.Context, after uint64, limit int) ([]alerts.Notice, error) {
	out, err := bodies[alerts.Notice](ctx, s.pool, selectNotices, int64(after), limit)
	return out, s.wrap("read notices", err)
}

// Delivered implements [alerts.NoticeStore].
func (s *Store) Delivered(ctx context.Context, r alerts.Receiver, tries []alerts.Delivery) error {
	return s.wrap("note deliveries", retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, moveReceiver, []byte(r.Name), int64(r.Token), int64(r.Position))
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fmt.Errorf("receiver %q, claim %d: %w", r.Name, r.Token, alerts.ErrTakenOver)
			}
			var writes pgx.Batch
			for _, d := range tries {
				writes.Queue(insertDelivery, int64(d.At), []byte(d.To), int64(d.Seq), []byte(d.Alert), []byte(d.Status), []byte(d.Detail))
			}
			return tx.SendBatch(ctx, &writes).Close()
		})
	}))
}

// Deliveries implements [alerts.NoticeStore].
func (s *Store) Deliveries(ctx context.Context, alert string, limit int) ([]alerts.Delivery, error) {
	rows, err := s.pool.Query(ctx, selectDeliveries, []byte(alert), limit)
	if err != nil {
		return nil, s.wrap("read deliveries", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d alerts.Delivery, err error) {
		var to, id, status, detail []byte
		err = row.Scan(&to, &d.Seq, &id, &d.At, &status, &detail)
		d.To, d.Alert, d.Status, d.Detail = string(to), string(id), alerts.DeliveryStatus(status), string(detail)
		return d, err
	})
	return out, s.wrap("read deliveries", err)
}
