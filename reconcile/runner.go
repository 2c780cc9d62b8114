package reconcile

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// Runner makes reconciliations one after the other, on demand, at set times and after its start. Several programs may share one store:
// each makes what it was asked for, and only one makes that of a set time.
type Runner struct {
	cfg   Config
	owner string
	queue chan string // Ids of queued ones of ours.

	storing sync.Mutex // Held while one of ours is stored, so that an older form of it does not overtake a newer one.

	mu     sync.Mutex
	mine   map[string]Run // Ours that have not ended, as they are now.
	latest latest
}

// latest is the newest one that is done, as far as it was looked up.
type latest struct {
	at    time.Time
	found Run
	err   error
}

const (
	queueLimit = 100
	usualSpan  = 7 * 24 * time.Hour // What a report covers when nobody says.
	latestAge  = 5 * time.Second
	aliveEvery = 5 * time.Second // How often the owner of an unfinished one shows that it lives.
	deadAfter  = time.Minute     // So long without a sign of life its owner is gone.
)

// New validates the configuration and starts nothing.
func New(cfg Config) (*Runner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, owner: randomText(8), queue: make(chan string, queueLimit), mine: map[string]Run{}}, nil
}

func randomText(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // Never errors.
	return hex.EncodeToString(b)
}

// newID is an id that sorts by time.
func newID(now time.Time) string {
	return now.UTC().Format("20060102T150405.000000Z") + "-" + randomText(3)
}

// Create implements [Service].
func (r *Runner) Create(ctx context.Context, q Request) (Run, bool, error) {
	now := r.cfg.now()
	period := q.Period
	if !period.To.Known() {
		period.To = now
	}
	if !period.From.Known() {
		period.From = period.To.Add(-usualSpan)
	}
	if period.From >= period.To || period.From >= now {
		return Run{}, false, ErrPeriod
	}
	slot := "once:" + randomText(16)
	if q.Key != "" {
		slot = "key:" + q.Key
	}
	made, created, err := r.enqueue(ctx, Run{
		Slot: slot, Cause: CauseOnDemand, Actor: q.Actor, Asked: q.Period, Period: period,
	})
	if err == nil && !created && made.Asked != q.Period {
		return Run{}, false, ErrKeyReused
	}
	return made, created, err
}

// enqueue stores one and lets it wait for its turn. One whose slot is taken is returned as it is.
func (r *Runner) enqueue(ctx context.Context, rec Run) (Run, bool, error) {
	r.mu.Lock()
	full := len(r.mine) >= queueLimit
	r.mu.Unlock()
	if full {
		return rec, false, ErrBusy
	}
	now := r.cfg.now()
	rec.ID, rec.Owner, rec.Status, rec.CreatedAt, rec.UpdatedAt = newID(now.Time()), r.owner, StatusQueued, now, now
	stored, created, err := r.cfg.Store.CreateReconciliation(ctx, rec)
	if err != nil || !created {
		return r.fresh(stored), false, err
	}
	r.note(rec)
	select {
	case r.queue <- rec.ID:
		return rec, true, nil
	default:
		r.fail(context.WithoutCancel(ctx), rec, ErrBusy)
		return rec, false, ErrBusy
	}
}

// note keeps how one of ours is now, or forgets it when it has ended.
func (r *Runner) note(rec Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec.Status.Ended() {
		delete(r.mine, rec.ID)
		r.latest = latest{}
		return
	}
	r.mine[rec.ID] = rec
}

// fresh is one as it is now, where it is ours.
func (r *Runner) fresh(rec Run) Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now, ours := r.mine[rec.ID]; ours {
		return now
	}
	return rec
}

// Get implements [Service].
func (r *Runner) Get(ctx context.Context, id string) (Run, error) {
	rec, err := r.cfg.Store.Reconciliation(ctx, id)
	if err != nil || rec.Status.Ended() {
		return rec, err
	}
	return r.fresh(rec), nil
}

// List implements [Service].
func (r *Runner) List(ctx context.Context, before string, limit int) ([]Run, error) {
	list, err := r.cfg.Store.Reconciliations(ctx, before, limit)
	for i := range list {
		if !list[i].Status.Ended() {
			list[i] = r.fresh(list[i])
		}
	}
	return list, err
}

// Latest implements [Service]. What was found holds for a few seconds, or until one of ours is done.
func (r *Runner) Latest(ctx context.Context) (Run, error) {
	r.mu.Lock()
	known := r.latest
	r.mu.Unlock()
	now := r.cfg.Now()
	if age := now.Sub(known.at); !known.at.IsZero() && age >= 0 && age < latestAge {
		return known.found, known.err
	}
	found, err := r.newest(ctx, func(rec Run) bool { return rec.Status == StatusDone })
	if err == nil || errors.Is(err, lifecycle.ErrNotFound) {
		r.mu.Lock()
		r.latest = latest{at: now, found: found, err: err}
		r.mu.Unlock()
	}
	return found, err
}

// newest is the newest one that is wanted, or ErrNotFound.
func (r *Runner) newest(ctx context.Context, wanted func(Run) bool) (Run, error) {
	for before := ""; ; {
		page, err := r.cfg.Store.Reconciliations(ctx, before, pageOfReports)
		if err != nil {
			return Run{}, fmt.Errorf("find the newest reconciliation: %w", err)
		}
		for _, rec := range page {
			if wanted(rec) {
				return rec, nil
			}
			before = rec.ID
		}
		if len(page) < pageOfReports {
			return Run{}, fmt.Errorf("newest reconciliation: %w", lifecycle.ErrNotFound)
		}
	}
}

const pageOfReports = 20
