package sqlite

import (
	"context"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

const (
	selectKey  = `SELECT fingerprint, token, until, reply FROM request_keys WHERE key = ?`
	reserveKey = `INSERT INTO request_keys (key, fingerprint, token, reserved, until, reply) VALUES (?, ?, ?, ?, ?, x'')
ON CONFLICT (key) DO UPDATE SET token = excluded.token, reserved = excluded.reserved, until = excluded.until`
	completeKey = `UPDATE request_keys SET reply = ?, until = 0 WHERE key = ?`
	releaseKey  = `DELETE FROM request_keys WHERE key = ?`
	expireKeys  = `DELETE FROM request_keys WHERE reserved < ? RETURNING key`
)

// ReserveKey implements [decision.RequestKeys].
func (s *Store) ReserveKey(ctx context.Context, r decision.KeyRequest) (state decision.KeyState, err error) {
	if err := r.Validate(); err != nil {
		return state, err
	}
	err = s.write(ctx, "reserve key", func(w *writer) error {
		kept, err := w.keptKey(r.Key)
		if err != nil {
			return err
		}
		if state = kept.Answer(r); state.Status != decision.KeyReserved {
			return nil
		}
		return w.statement(reserveKey).text(r.Key).text(r.Fingerprint).int(int64(state.Token)).int(int64(r.Now)).int(int64(r.Until)).exec()
	})
	return state, err
}

// keptKey returns nil when the key is not stored.
func (w *writer) keptKey(key string) (k *decision.KeptKey, err error) {
	err = w.statement(selectKey).text(key).each(func(r *statement) error {
		k = &decision.KeptKey{Fingerprint: r.getText(), Token: uint64(r.getInt()), Until: lifecycle.Micros(r.getInt()), Reply: r.getBytes()}
		return nil
	})
	return k, err
}

// CompleteKey implements [decision.RequestKeys].
func (s *Store) CompleteKey(ctx context.Context, key string, token uint64, reply []byte) error {
	return s.write(ctx, "complete key", func(w *writer) error {
		if completed, err := w.checkHolder(key, token); completed || err != nil {
			return err
		}
		return w.statement(completeKey).blob(reply).text(key).exec()
	})
}

// ReleaseKey implements [decision.RequestKeys].
func (s *Store) ReleaseKey(ctx context.Context, key string, token uint64) error {
	return s.write(ctx, "release key", func(w *writer) error {
		if completed, err := w.checkHolder(key, token); completed || err != nil {
			return err
		}
		return w.statement(releaseKey).text(key).exec()
	})
}

func (w *writer) checkHolder(key string, token uint64) (completed bool, err error) {
	kept, err := w.keptKey(key)
	if err != nil {
		return false, err
	}
	return kept.CheckHolder(token)
}

// ExpireKeys implements [decision.RequestKeys].
func (s *Store) ExpireKeys(ctx context.Context, before lifecycle.Micros) (n int64, err error) {
	err = s.write(ctx, "expire keys", func(w *writer) (err error) {
		n, err = changed(w.statement(expireKeys).int(int64(before)))
		return err
	})
	return n, err
}
