package sqlite

import (
	"context"
	"fmt"

	"fleetglass/lifecycle"
)

// Each statement deletes a part of what ended before a time. An operation is kept with all its parts while one of them waits, and an effect with its action.
const (
	deleteOldActions = `DELETE FROM actions WHERE id IN (SELECT id FROM actions WHERE open = 0 AND updated < ?
AND iif(operation = '', id, operation) NOT IN (SELECT operation FROM actions WHERE open = 1) LIMIT +?) RETURNING id`
	deleteOldEffects = `DELETE FROM effects WHERE id IN (SELECT id FROM effects WHERE settled <> 0 AND settled < ?
AND NOT EXISTS (SELECT 1 FROM actions WHERE id = effects.action) LIMIT +?) RETURNING id`
	deleteOldDecisions = `DELETE FROM decisions WHERE id IN (SELECT id FROM decisions WHERE at < ? LIMIT +?) RETURNING id`
)

// RetainDecisions implements [decision.Keeper].
func (s *Store) RetainDecisions(ctx context.Context, cutoff lifecycle.Micros) (deleted int64, err error) {
	for _, part := range []string{deleteOldActions, deleteOldEffects, deleteOldDecisions} {
		for n := int64(retainStep); n == retainStep; deleted += n {
			err = s.submit(ctx, &job{do: func(w *writer) error {
				return w.transaction(func() (err error) {
					n, err = changed(w.statement(part).int(int64(cutoff)).int(retainStep))
					return err
				})
			}})
			if err != nil {
				return deleted, fmt.Errorf("retain decisions: %w", err)
			}
		}
	}
	return deleted, nil
}
