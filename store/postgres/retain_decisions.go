package postgres

import (
	"context"

	"fleetglass/lifecycle"
)

// Each statement deletes a part of what ended before a time. A locked row is left for the next run. An operation is kept with all its parts while one of them
// waits, and an effect with its action.
const (
	deleteOldActions = `DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE NOT open AND updated < $1
AND coalesce(nullif(operation, ''), id) NOT IN (SELECT operation FROM actions WHERE open) LIMIT $2 FOR UPDATE SKIP LOCKED)`
	deleteOldEffects = `DELETE FROM effects WHERE id IN (SELECT id FROM effects WHERE settled <> 0 AND settled < $1
AND NOT EXISTS (SELECT 1 FROM actions WHERE id = effects.action) LIMIT $2 FOR UPDATE SKIP LOCKED)`
	deleteOldDecisions = `DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`
)

// RetainDecisions implements [decision.Keeper].
func (s *Store) RetainDecisions(ctx context.Context, cutoff lifecycle.Micros) (deleted int64, err error) {
	for _, part := range []string{deleteOldActions, deleteOldEffects, deleteOldDecisions} {
		for n := int64(retainedAtOnce); n == retainedAtOnce; deleted += n {
			tag, err := s.pool.Exec(ctx, part, int64(cutoff), retainedAtOnce)
			if err != nil {
				return deleted, s.wrap("retain decisions", err)
			}
			n = tag.RowsAffected()
		}
	}
	return deleted, nil
}
