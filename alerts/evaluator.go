package alerts

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"fleetglass/internal/health"
)

// EvaluatorConfig says what the evaluator looks at.
type EvaluatorConfig struct {
	Store BoardStore                              // Required.
	Look  func(context.Context) (Observed, error) // Required. What needs attention now.
	Rules func() Rules                            // Optional; default the built-in rules.
	Every time.Duration                           // Optional; how often is looked, default 1 s.
	Now   func() time.Time                        // Optional; default time.Now.
	Log   *slog.Logger                            // Optional; default discards.

	// Changed hears of every alert that stands otherwise than at the look before, whoever changed it, and of the counts. Optional.
	Changed func(changed []Standing, counts Counts)
}

// Evaluator moves the board. Replicas may run at the same time on one store: each change is made once.
type Evaluator struct {
	cfg  EvaluatorConfig
	by   string // As [Observed.By].
	last map[string]standingMark
	wake chan struct{}

	mu      sync.Mutex
	part    health.Part
	failing time.Time // Since when looks fail; zero while they do not.
}

// standingMark is what readers see of an alert at a glance.
type standingMark struct {
	state      State
	recurrence int
}

// NewEvaluator checks the configuration and starts nothing.
func NewEvaluator(cfg EvaluatorConfig) (*Evaluator, error) {
	if cfg.Store == nil || cfg.Look == nil {
		return nil, errors.New("alerts: EvaluatorConfig.Store and Look are required")
	}
	if cfg.Rules == nil {
		cfg.Rules = Defaults
	}
	if cfg.Every == 0 {
		cfg.Every = time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Changed == nil {
		cfg.Changed = func([]Standing, Counts) {}
	}
	return &Evaluator{cfg: cfg, by: rand.Text(), wake: make(chan struct{}, 1), part: health.Part{Name: "alerts", Kind: "alerts", State: health.Starting}}, nil
}

// Wake asks for a look soon.
func (e *Evaluator) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Health says whether the rules are evaluated.
func (e *Evaluator) Health() []health.Part {
	e.mu.Lock()
	defer e.mu.Unlock()
	return []health.Part{e.part}
}

// Run evaluates until ctx is done and returns nil. What fails is tried again at the next look.
func (e *Evaluator) Run(ctx context.Context) error {
	tick := time.NewTicker(e.cfg.Every)
	defer tick.Stop()
	for {
		e.report(ctx, e.Turn(ctx))
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-e.wake:
		}
	}
}

// recurrenceSpan is how long a resolved alert is remembered: one that comes back later is a new one.
const recurrenceSpan = ShownResolved

// Turn looks once and commits what follows. Where another replica was faster there is nothing left to do.
func (e *Evaluator) Turn(ctx context.Context) error {
	seen, err := e.cfg.Look(ctx)
	if err != nil {
		return err
	}
	seen.By = e.by
	for range boardTries {
		b, err := e.cfg.Store.Board(ctx, seen.At.Add(-recurrenceSpan))
		if err != nil {
			return err
		}
		c := Step(b, seen, e.cfg.Rules())
		if c.Empty() {
			e.compare(b.Standings(seen.At))
			return nil
		}
		if err := e.cfg.Store.CommitBoard(ctx, c); err != nil && !errors.Is(err, ErrConflict) {
			return err
		}
	}
	return nil // Others change it all the time; the next look is soon.
}

// compare tells which alerts stand otherwise than before.
func (e *Evaluator) compare(now []Standing) {
	marks := make(map[string]standingMark, len(now))
	var changed []Standing
	for _, s := range now {
		marks[s.ID] = standingMark{s.State, s.Recurrence}
		if e.last[s.ID] != marks[s.ID] {
			changed = append(changed, s)
		}
	}
	first := e.last == nil
	e.last = marks
	if len(changed) > 0 && !first {
		e.cfg.Changed(changed, Count(now))
	}
}

func (e *Evaluator) report(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.cfg.Now()
	if err == nil {
		e.part, e.failing = health.Part{Name: "alerts", Kind: "alerts", State: health.OK, LastAt: now}, time.Time{}
		return
	}
	if e.failing.IsZero() {
		e.failing = now
		e.cfg.Log.Error("the alert rules could not be evaluated", "error", err)
	}
	switch {
	case now.Sub(e.failing) >= downAfter:
		e.part.State, e.part.Detail = health.Down, "the rules of alerts cannot be evaluated: the store does not answer"
	case !e.part.LastAt.IsZero(): // Else they were never evaluated, and it is still starting.
		e.part.State, e.part.Detail = health.Behind, "the rules of alerts could not be evaluated just now"
	}
}

// downAfter is how long looks must fail before nobody is to rely on the alerts: under load a single one may come too late.
const downAfter = 30 * time.Second

// PartRules reports whether a rule is about the parts of the replica that looks: what they are like in another one nobody else knows.
func PartRules(id RuleID) bool {
	switch id {
	case RulePartDown, RuleFeedSilent, RuleCollectorLag:
		return true
	}
	return false
}

// TrapRules reports whether a rule is about the configuration of the broker: while that cannot be read its alerts are not resolved.
func TrapRules(id RuleID) bool { return id == RuleTrapCritical || id == RuleTrapWarning }

// LeaseRules reports whether a rule is about leases: where leases may be missing its alerts are not resolved.
func LeaseRules(id RuleID) bool {
	switch id {
	case RulePresumedDead, RuleStale, RuleZombie, RuleStuck, RuleWeakAccept, RuleExpiring:
		return true
	}
	return false
}
