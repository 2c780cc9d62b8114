package monitor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Monitor copies dead messages to the dead-letter queue. Replicas may run at the same time.
type Monitor struct {
	cfg     Config
	planned map[lifecycle.MessageKey]lifecycle.Micros // When the death was that is planned already.
	looked  atomic.Int64                              // When it looked last, in nanoseconds since 1970.
	all     time.Time                                 // When it looked at everything that died, where it copies nothing.

	*health.Turns // How the monitor is.
}

// New validates the configuration and starts nothing.
func New(cfg Config) (*Monitor, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	turns := health.NewTurns(health.Part{Name: "dlq_monitor", Kind: "relay", State: health.OK}, cfg.Logger, "dead messages are not copied")
	m := &Monitor{cfg: cfg, planned: map[lifecycle.MessageKey]lifecycle.Micros{}, Turns: turns}
	m.looked.Store(cfg.Now().UnixNano()) // It is about to.
	return m, nil
}

// Run works until ctx is done and returns nil. What fails is tried again at the next turn; meanwhile Health says Down and why.
func (m *Monitor) Run(ctx context.Context) error {
	tick := time.NewTicker(m.cfg.Every)
	defer tick.Stop()
	for {
		again, err := m.turn(ctx)
		m.Ended(ctx, err, m.cfg.Now())
		if again && err == nil && ctx.Err() == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// atOnce is how many effects are claimed together.
const atOnce = 16

// turn plans the copies of what died, and makes those that are due. It reports whether there may be more to do at once.
func (m *Monitor) turn(ctx context.Context) (again bool, err error) {
	var errs []error
	if m.cfg.Actions != nil { // First: their workers may still be at work.
		more, err := m.work(ctx, dlqtriage.QueueQuarantine, m.quarantine)
		again, errs = again || more, append(errs, err)
	}
	if m.cfg.OnlyLook {
		errs = append(errs, m.lookAgain(ctx))
	} else {
		if err := m.plan(ctx); err != nil {
			return false, errors.Join(append(errs, err)...)
		}
		more, err := m.work(ctx, Queue, m.copy)
		again, errs = again || more, append(errs, err)
	}
	return again, errors.Join(errs...)
}

// work does the effects of a queue that are due.
func (m *Monitor) work(ctx context.Context, queue string, do func(context.Context, decision.Claimed) error) (again bool, err error) {
	var claimed []decision.Claimed
	err = m.cfg.Step.Do("claim", func() (err error) {
		claimed, err = m.cfg.Store.Claim(ctx, decision.ClaimRequest{
			Queue: queue, Holder: m.cfg.Holder, Now: m.cfg.now(), Lease: m.cfg.Lease, Limit: atOnce,
		})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim what is to be copied: %w", err)
	}
	var errs []error
	for _, c := range claimed {
		if err := do(ctx, c); err != nil {
			errs = append(errs, err)
		}
	}
	return len(claimed) == atOnce, errors.Join(errs...)
}
