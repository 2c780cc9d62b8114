package postgres

import (
	"context"
	"errors"

	"fleetglass/decision"
	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const (
	addKey      = `INSERT INTO request_keys (key, fingerprint, token, reserved, until, reply) VALUES ($1, $2, $3, $4, $5, '')`
	lockKey     = `SELECT fingerprint, token, until, reply FROM request_keys WHERE key = $1 FOR UPDATE`
	takeKey     = `UPDATE request_keys SET token = $2, reserved = $3, until = $4 WHERE key = $1`
	completeKey = `UPDATE request_keys SET reply = $2, until = 0 WHERE key = $1`
	releaseKey  = `DELETE FROM request_keys WHERE key = $1`
	expireKeys  = `DELETE FROM request_keys WHERE reserved < $1`
)

// ReserveKey implements [decision.RequestKeys]. Of two that add the same key at once the second fails, and finds it when it is tried again.
func (s *Store) ReserveKey(ctx context.Context, r decision.KeyRequest) (state decision.KeyState, err error) {
	if err := r.Validate(); err != nil {
		return state, err
	}
	err = s.withKey(ctx, r.Key, func(tx pgx.Tx, kept *decision.KeptKey) (err error) {
		switch state = kept.Answer(r); {
		case state.Status != decision.KeyReserved:
		case kept == nil:
			_, err = tx.Exec(ctx, addKey, []byte(r.Key), []byte(r.Fingerprint), int64(state.Token), int64(r.Now), int64(r.Until))
		default:
			_, err = tx.Exec(ctx, takeKey, []byte(r.Key), int64(state.Token), int64(r.Now), int64(r.Until))
		}
		return err
	})
	return state, s.wrap("reserve key", err)
}

// withKey runs f in a transaction that holds the row of a key; kept is nil where nothing stands under it.
func (s *Store) withKey(ctx context.Context, key string, f func(tx pgx.Tx, kept *decision.KeptKey) error) error {
	return retry(ctx, func() error {
		return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			kept := &decision.KeptKey{}
			var fingerprint []byte
			err := tx.QueryRow(ctx, lockKey, []byte(key)).Scan(&fingerprint, &kept.Token, &kept.Until, &kept.Reply)
			kept.Fingerprint = string(fingerprint)
			if errors.Is(err, pgx.ErrNoRows) {
				kept, err = nil, nil
			}
			if err != nil {
				return err
			}
			return f(tx, kept)
		})
	})
}

// CompleteKey implements [decision.RequestKeys].
func (s *Store) CompleteKey(ctx context.Context, key string, token uint64, reply []byte) error {
	return s.wrap("complete key", s.withKey(ctx, key, func(tx pgx.Tx, kept *decision.KeptKey) error {
		completed, err := kept.CheckHolder(token)
		if completed || err != nil {
			return err
		}
		_, err = tx.Exec(ctx, completeKey, []byte(key), notNull(reply))
		return err
	}))
}

// ReleaseKey implements [decision.RequestKeys].
func (s *Store) ReleaseKey(ctx context.Context, key string, token uint64) error {
	return s.wrap("release key", s.withKey(ctx, key, func(tx pgx.Tx, kept *decision.KeptKey) error {
		completed, err := kept.CheckHolder(token)
		if completed || err != nil {
			return err
		}
		_, err = tx.Exec(ctx, releaseKey, []byte(key))
		return err
	}))
}

// ExpireKeys implements [decision.RequestKeys].
func (s *Store) ExpireKeys(ctx context.Context, before lifecycle.Micros) (int64, error) {
	tag, err := s.pool.Exec(ctx, expireKeys, int64(before))
	return tag.RowsAffected(), s.wrap("expire keys", err)
}
