package dlqtriage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"fleetglass/decision"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// ActionsConfig says what actions are taken with.
type ActionsConfig struct {
	Entries   EntryReader    // Required.
	Tasks     TaskReader     // Required.
	Decisions DecisionStore  // Required.
	Policy    func() *Policy // Required. The policy that holds now.
	Contract  fleet.Contract // Required.
	Fleet     FleetReader    // Optional; without it nothing can be done about messages in flight.

	Looks      Looks                                   // Optional; without it nobody looks at what dies.
	Now        func() time.Time                        // Optional; default time.Now.
	LeasesRead func(lifecycle.Micros) lifecycle.Micros // Optional. Up to when leases can be judged at a time; by default then.
	Wake       func()                                  // Optional; called after a decision from which something follows in the world.
}

// DecisionStore is what actions need of the store of decisions.
type DecisionStore interface {
	decision.Decider
	decision.Reader
	decision.Outbox // A retry that waits is cancelled by settling its effect.
}

// Actions previews and takes actions on dead letters. Pages, API, tools and the policy all come through it. It asks nobody who may do what: its
// callers do.
type Actions struct {
	ActionsConfig
	examiner Examiner
}

// NewActions checks the configuration.
func NewActions(cfg ActionsConfig) (*Actions, error) {
	if cfg.Entries == nil || cfg.Tasks == nil || cfg.Decisions == nil || cfg.Policy == nil {
		return nil, errors.New("dlqtriage: ActionsConfig needs Entries, Tasks, Decisions and Policy")
	}
	if err := cfg.Contract.Validate(); err != nil {
		return nil, fmt.Errorf("dlqtriage: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Wake == nil {
		cfg.Wake = func() {}
	}
	return &Actions{cfg, Examiner{cfg.Entries, cfg.Tasks, cfg.Decisions, cfg.Looks}}, nil
}

func (s *Actions) now() lifecycle.Micros { return lifecycle.MicrosOf(s.Now()) }

// gapsLookedAt is how many gaps are looked at, the latest.
const gapsLookedAt = 1000

// moment is now, and what is seen of what workers answered.
func (s *Actions) moment(ctx context.Context) (lifecycle.Moment, error) {
	at := lifecycle.At(s.now())
	if s.LeasesRead != nil {
		at.Read = s.LeasesRead(at.Now)
	}
	gaps, err := s.Fleet.Gaps(ctx, 0, at.Now+1, gapsLookedAt)
	if err != nil {
		return at, fmt.Errorf("read gaps: %w", err)
	}
	at.Unseen = lifecycle.UnseenAnswers(gaps)
	return at, nil
}

// Examine reads an entry with all that its plan is made from, and the plan itself. It errors with lifecycle.ErrNotFound where there is no such
// entry.
func (s *Actions) Examine(ctx context.Context, entry string) (Known, Plan, error) {
	k, err := s.examiner.Examine(ctx, entry)
	if err != nil {
		return k, Plan{}, err
	}
	return k, s.Policy().PlanFor(k.Case, s.now()), nil
}

// Check errors with a [*Refusal] of all that is wrong with the request itself, whatever the entry.
func (s *Actions) Check(r Request) error { return r.check(s.Policy(), s.now()) }

// Preview says what the request would do, and changes nothing. It errors with a [*Refusal] where the request itself is wrong, and with
// lifecycle.ErrNotFound where there is no such entry.
func (s *Actions) Preview(ctx context.Context, r Request) (Preview, error) {
	now := s.now()
	if err := s.Check(r); err != nil {
		return Preview{}, err
	}
	k, err := s.lookedAt(ctx, r)
	if err != nil {
		return Preview{}, err
	}
	if err := k.unchanged(r); err != nil {
		return Preview{}, err
	}
	return k.preview(r, ActionID(r.Key, r.Entry), s.Policy(), s.Contract, now)
}

// unchanged refuses a request whose actor saw another revision.
func (k *Known) unchanged(r Request) error {
	switch {
	case r.Revision != nil && *r.Revision != k.Revision:
		return &Refusal{Code: RefusedChanged, Why: "The entry was changed since it was loaded. Load it again."}
	case r.Undoes != "" && r.Undoes != k.Entry.Action:
		return &Refusal{Code: RefusedChanged, Why: refusedUndo}
	}
	return nil
}

// refusedUndo is why an action is not taken back.
const refusedUndo = "Something else was decided about it since."

// ActionID names the action that a request takes on an entry.
func ActionID(key, entry string) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%d:%s%s", len(key), key, entry)))
	return "act-" + hex.EncodeToString(sum[:12])
}

// attempts bounds how often an action is decided anew because something else was decided meanwhile.
const attempts = 5

// Act takes the action, once however often it is called with the request's key. It errors as [Actions.Preview] does, and with a [*Refusal]
// where the action is not possible.
func (s *Actions) Act(ctx context.Context, r Request) (Action, error) {
	if r.Key == "" {
		return Action{}, errors.New("act: the request has no key")
	}
	return s.act(ctx, r, "")
}

func (s *Actions) act(ctx context.Context, r Request, operation string) (Action, error) {
	id := ActionID(r.Key, r.Entry)
	if a, err := s.Action(ctx, id); !errors.Is(err, lifecycle.ErrNotFound) {
		return a, err // It was decided before, or nobody can tell.
	}
	if err := s.Check(r); err != nil {
		return Action{}, err
	}
	for n := 1; ; n++ {
		a, err := s.decide(ctx, r, id, operation)
		switch {
		case errors.Is(err, decision.ErrBusy):
			return a, busy()
		case !errors.Is(err, decision.ErrConflict):
			return a, err
		case r.Revision != nil || n == attempts:
			return a, &Refusal{Code: RefusedChanged, Why: "The entry was changed meanwhile. Load it again."}
		}
	}
}

// decide decides on the revision that is there now.
func (s *Actions) decide(ctx context.Context, r Request, id, operation string) (Action, error) {
	k, err := s.lookedAt(ctx, r)
	if err != nil {
		return Action{}, err
	}
	if err := k.unchanged(r); err != nil {
		return s.already(ctx, id, err)
	}
	now := s.now()
	v, err := k.preview(r, id, s.Policy(), s.Contract, now)
	if err != nil {
		return Action{}, err
	}
	if !v.Eligible {
		return s.already(ctx, id, refusalOf(v.Blocked))
	}
	d, a, err := k.decide(r, id, operation, v, now)
	if err != nil {
		return Action{}, err
	}
	return s.commit(ctx, d, a)
}

// commit takes a decision, and wakes who has its effects done. It returns the action that was decided, or the one that the same request made before.
func (s *Actions) commit(ctx context.Context, d decision.Decision, a Action) (Action, error) {
	made, err := s.Decisions.Decide(ctx, d)
	if err != nil {
		return Action{}, err
	}
	if made.Repeated {
		return s.Action(ctx, a.ID)
	}
	if len(d.Effects) > 0 {
		s.Wake()
	}
	return a, nil
}

// already returns the action that the same request has decided meanwhile, or else the refusal.
func (s *Actions) already(ctx context.Context, id string, refusal error) (Action, error) {
	a, err := s.Action(ctx, id)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return Action{}, refusal
	}
	return a, err
}

func busy() error { return &Refusal{Code: RefusedBusy, Why: "An action on this entry has not ended."} }

func refusalOf(blocked []Obstacle) error {
	if len(blocked) == 1 && blocked[0].Code == BlockedBusy {
		return busy()
	}
	return &Refusal{Code: RefusedIneligible, Why: blocked[0].Why, Blocked: blocked}
}

// Action returns an action, or lifecycle.ErrNotFound.
func (s *Actions) Action(ctx context.Context, id string) (Action, error) {
	d, err := s.Decisions.Action(ctx, id)
	if err != nil {
		return Action{}, err
	}
	return readAction(d)
}

// maxHistory bounds the actions that are shown of one entry.
const maxHistory = 200

// History lists the actions on an entry, the newest first.
func (s *Actions) History(ctx context.Context, e Entry) ([]Action, error) {
	found, err := s.Decisions.ActionsOn(ctx, e.About(), maxHistory)
	if err != nil {
		return nil, err
	}
	out := make([]Action, len(found))
	for i, d := range found {
		if out[i], err = readAction(d); err != nil {
			return nil, err
		}
	}
	return out, nil
}
