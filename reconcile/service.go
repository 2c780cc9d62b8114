// Package reconcile makes reconciliations (SPEC 4): it reads what the store knows of a period page by page, compares it with what the
// streams and the records hold now, and stores the report. One is made at a time; the others wait.
package reconcile

import (
	"context"
	"errors"
)

// ErrKeyReused says that an idempotency key was used before with another period.
var ErrKeyReused = errors.New("this idempotency key was used with another period")

// ErrPeriod says that a period has no time in it, or lies in the future.
var ErrPeriod = errors.New("the period is empty or lies in the future")

// ErrBusy says that too many reconciliations wait already.
var ErrBusy = errors.New("too many reconciliations wait to be made")

// Request is what somebody asks for.
type Request struct {
	Period Period // Optional ends; default the last seven days until now.
	Key    string // Optional. The same key gives the same reconciliation.
	Actor  string // Optional. Who asks.
}

// Service is what pages and API ask.
type Service interface {
	// Create stores a queued reconciliation and returns at once; it is made in its turn. created is false when the key is known, and
	// then the one of that time is returned. It errors with ErrKeyReused, ErrPeriod and ErrBusy.
	Create(ctx context.Context, r Request) (made Run, created bool, err error)
	// Get returns one with all rows of its report, or lifecycle.ErrNotFound. While it runs its progress is fresh.
	Get(ctx context.Context, id string) (Run, error)
	// List returns the newest first, those strictly before the given id (empty for the beginning), without rows.
	List(ctx context.Context, before string, limit int) ([]Run, error)
	// Latest returns the newest that is done, without rows, or lifecycle.ErrNotFound. It is cheap.
	Latest(ctx context.Context) (Run, error)
}

var _ Service = (*Runner)(nil)
