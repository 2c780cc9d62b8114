package firestorekit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fleetglass/fleet"
)

// Config is what [NewRecords], [NewReservations] and [NewEffectLog] need.
type Config struct {
	Client *firestore.Client // Required. The caller closes it.
	// Timeout is how long one call may take; what is not decided by then is an error. A confirmation that fails may take 5 s more, in which
	// the client ends its transaction. Optional; default 5 s.
	Timeout time.Duration
	// Retention is how long a reservation that nobody renews, confirms or takes over is remembered, and with it the payload that its key
	// stands for; at least four of its leases. Optional; default [fleet.RecordRetention].
	Retention time.Duration
}

// store is the configuration, and what all parts do alike.
type store struct {
	client    *firestore.Client
	timeout   time.Duration
	retention time.Duration
}

func newStore(cfg Config) (store, error) {
	if cfg.Client == nil {
		return store{}, errors.New("firestorekit: Client is required")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 5 * time.Second
	}
	if cfg.Retention <= 0 {
		cfg.Retention = fleet.RecordRetention
	}
	return store{cfg.Client, cfg.Timeout, cfg.Retention}, nil
}

// errMoved says that a document changed between reading and writing.
var errMoved = errors.New("document changed meanwhile")

const (
	firstPause   = 5 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// decide tries a step until it is decided: until it succeeds, or errors for a reason that trying again does not change. A step may be tried
// again after it took effect and its answer was lost, so it must know its own work when it sees it. When time is up the last error
// is returned.
func (s store) decide(ctx context.Context, step func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for wait := firstPause; ; wait = min(2*wait, longestPause) {
		err := step(ctx)
		if err == nil || !passing(err) {
			return err
		}
		if pause(ctx, wait); ctx.Err() != nil {
			return fmt.Errorf("not decided in time: %w", err)
		}
	}
}

// passing reports whether an error says nothing about what was asked for.
func passing(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	switch status.Code(err) {
	case codes.Aborted, codes.Unavailable, codes.Internal, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	}
	return false
}

// refused reports whether a write found another version of its document than it demands.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.AlreadyExists, codes.FailedPrecondition, codes.NotFound:
		return true
	}
	return false
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
