package restarts

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

// ErrConflict says that somebody else stored the restart meanwhile. Nothing was changed.
var ErrConflict = errors.New("the restart changed meanwhile")

// Store keeps restarts. Replicas share it.
type Store interface {
	// SaveRestart stores version r.Version of a restart. It errors with ErrConflict unless the version before it is stored; before version 1 none is.
	SaveRestart(ctx context.Context, r Restart) error
	// Restart returns a restart, or lifecycle.ErrNotFound.
	Restart(ctx context.Context, id string) (Restart, error)
	// Restarts returns restarts, the latest To first, those of one time by id, at most limit; with open only those that are not over.
	Restarts(ctx context.Context, open bool, limit int) ([]Restart, error)
	// RetainRestarts deletes the restarts with To before the cutoff, and returns their number.
	RetainRestarts(ctx context.Context, cutoff lifecycle.Micros) (int64, error)
}
