package restarts

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// Config says what the scanner looks at.
type Config struct {
	Store  Store                               // Required.
	Leases func(context.Context) (Look, error) // Required. What is in hand now.
	// Facts are those of a message. Required. found is false where nothing is kept of it.
	Facts func(ctx context.Context, k lifecycle.MessageKey) (m lifecycle.MessageFacts, found bool, err error)
	// Away stores that the broker was away, with messages in hand or without. Optional; default nobody does.
	Away  func(ctx context.Context, from, to lifecycle.Micros) error
	Every time.Duration    // Optional; how often is looked, default 1 s.
	Now   func() time.Time // Optional; default time.Now.
	Log   *slog.Logger     // Optional; default discards.
}

// Scanner finds restarts and follows their victims. Replicas may run at the same time on one store.
type Scanner struct {
	cfg    Config
	before Look // The look before this one.

	mu      sync.Mutex
	returns []Return // Not yet looked at.
	failing bool
}

// Bounds of one look.
const (
	openRead  = 50  // Restarts that are followed at once, the latest first.
	factsRead = 500 // Messages whose facts are read.
)

// New checks the configuration and starts nothing.
func New(cfg Config) (*Scanner, error) {
	if cfg.Store == nil || cfg.Leases == nil || cfg.Facts == nil {
		return nil, errors.New("restarts: Config.Store, Leases and Facts are required")
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
	return &Scanner{cfg: cfg}, nil
}

// Begin is the scan at the start of the program. It must be made before anything is taken in: what is in hand by then was in hand when the program
// went away. Its error is that this could not be read. What could only not be stored, such as on a full disk, [Scanner.Run] stores later.
func (s *Scanner) Begin(ctx context.Context, e Return) (err error) {
	if s.before, err = s.cfg.Leases(ctx); err != nil {
		return err
	}
	s.Note(e)
	s.tell(s.Turn(ctx))
	return ctx.Err()
}

// Note says that something is there again. The next look takes it in.
func (s *Scanner) Note(e Return) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returns = append(s.returns, e)
}

// Run looks until ctx is done and returns nil. What fails is tried again at the next look.
func (s *Scanner) Run(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := s.Turn(ctx); ctx.Err() == nil {
			s.tell(err)
		}
	}
}

// tell logs the first of several failures.
func (s *Scanner) tell(err error) {
	if s.failing == (err != nil) {
		return
	}
	if s.failing = err != nil; s.failing {
		s.cfg.Log.Error("messages that were in hand during a restart could not be followed", "error", err)
	}
}

// Turn looks once and stores what follows.
func (s *Scanner) Turn(ctx context.Context) error {
	seen, err := s.cfg.Leases(ctx)
	if err != nil {
		return err
	}
	if err := s.takeReturns(ctx); err != nil {
		return err
	}
	s.before = seen
	open, err := s.cfg.Store.Restarts(ctx, true, openRead)
	if err != nil {
		return err
	}
	grew, fresh := regroup(open, seen)
	for _, r := range fresh {
		if err := s.save(ctx, r); err != nil {
			return err
		}
	}
	return s.follow(ctx, open, grew, seen)
}

// takeReturns stores the restarts of what is there again since the look before.
func (s *Scanner) takeReturns(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.returns) > 0 {
		if err := s.noteAway(ctx, s.returns[0]); err != nil {
			return err
		}
		if r, some := interrupted(s.returns[0], s.before, lifecycle.MicrosOf(s.cfg.Now())); some {
			if err := s.save(ctx, r); err != nil {
				return err
			}
			s.cfg.Log.Info("messages were in hand during a restart", "id", r.ID, "cause", string(r.Cause), "messages", r.Count(), "agents", len(r.Agents()))
		}
		s.returns = s.returns[1:]
	}
	return nil
}

// noteAway stores when the broker was away, where that is known.
func (s *Scanner) noteAway(ctx context.Context, e Return) error {
	if s.cfg.Away == nil || e.Cause != CauseBroker || !e.From.Known() || e.From >= e.To {
		return nil
	}
	return s.cfg.Away(ctx, e.From, e.To)
}

// follow looks what became of the victims, and stores the restarts that changed.
func (s *Scanner) follow(ctx context.Context, open []Restart, changed map[int]bool, seen Look) error {
	if len(open) == 0 {
		return nil
	}
	board := boardOf(open, seen.Leases)
	left := factsRead
	for _, i := range rand.Perm(len(open)) {
		r := &open[i]
		resolved, err := s.resolve(ctx, r, board, &left)
		if err != nil {
			return err
		}
		if !resolved && !changed[i] {
			continue
		}
		r.close()
		if err := s.save(ctx, *r); err != nil {
			return err
		}
		if r.Over() {
			s.cfg.Log.Info("what became of all messages of a restart is known", "id", r.ID, "messages", r.Count(), "took", r.RecoveryTime(seen.At))
		}
	}
	return nil
}

// resolve asks for the facts of the victims that are not as they were, at most left of them, and reports whether something is known of one of them now.
func (s *Scanner) resolve(ctx context.Context, r *Restart, board map[hold]*lifecycle.Lease, left *int) (some bool, err error) {
	asked := r.asked(board)
	for _, i := range rand.Perm(len(asked)) { // In no order, so that no victim is never asked about.
		v := asked[i]
		if *left == 0 {
			return some, nil
		}
		*left--
		m, found, err := s.cfg.Facts(ctx, v.Message)
		if err != nil {
			return some, err
		}
		if r.resolve(v, m); !found {
			v.Fate, v.ResolvedAt = FateForgotten, lifecycle.MicrosOf(s.cfg.Now())
		}
		some = some || v.Fate != ""
	}
	return some, nil
}

// save stores the next version. Where another replica was faster there is nothing left to do.
func (s *Scanner) save(ctx context.Context, r Restart) error {
	r.Version++
	if err := s.cfg.Store.SaveRestart(ctx, r); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}
