package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// ServiceConfig says where the board is.
type ServiceConfig struct {
	Store Store            // Required.
	Rules func() Rules     // Optional; default the built-in rules.
	Now   func() time.Time // Optional; default time.Now.
	// Changed hears that somebody changed the board. Optional.
	Changed func()
}

// Service does what people and programs ask of the board. It is safe for concurrent use.
type Service struct{ cfg ServiceConfig }

// NewService checks the configuration and starts nothing.
func NewService(cfg ServiceConfig) (*Service, error) {
	if cfg.Store == nil {
		return nil, errors.New("alerts: ServiceConfig.Store is required")
	}
	if cfg.Rules == nil {
		cfg.Rules = Defaults
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	return &Service{cfg: cfg}, nil
}

// ShownResolved is how long a resolved alert stays on the board.
const ShownResolved = 24 * time.Hour

// Refusal says why something that was asked for is not done. Nothing was changed.
type Refusal struct {
	Why     string
	Wrong   []Wrong // The places of the request that are wrong.
	Changed bool    // The alert is not as the caller saw it.
}

// Seen are versions ([Alert.Version]) of which one must be that of the alert now; nil where any will do.
type Seen []string

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// Rules are the rules in force.
func (s *Service) Rules() Rules { return s.cfg.Rules() }

func (s *Service) now() lifecycle.Micros { return lifecycle.MicrosOf(s.cfg.Now()) }

// List returns the alerts on the board as they stand now, and the silences that have not ended.
func (s *Service) List(ctx context.Context) ([]Standing, []Silence, error) {
	now := s.now()
	b, err := s.cfg.Store.Board(ctx, now.Add(-ShownResolved))
	if err != nil {
		return nil, nil, err
	}
	var active []Silence
	for _, silence := range b.Silences {
		if silence.Active(now) {
			active = append(active, silence)
		}
	}
	return b.Standings(now), active, nil
}

// Get returns an alert as it stands now, or lifecycle.ErrNotFound.
func (s *Service) Get(ctx context.Context, id string) (Standing, error) {
	a, err := s.cfg.Store.Alert(ctx, id)
	if err != nil {
		return Standing{}, err
	}
	b, err := s.cfg.Store.Board(ctx, s.now())
	if err != nil {
		return Standing{}, err
	}
	out := a.At(s.now(), b.Silences)
	if out.State == StatePending {
		return Standing{}, fmt.Errorf("alert %q does not fire: %w", id, lifecycle.ErrNotFound)
	}
	return out, nil
}

// Deliveries returns the tries to tell receivers of an alert, the newest first; without an id those of all alerts.
func (s *Service) Deliveries(ctx context.Context, alert string, limit int) ([]Delivery, error) {
	return s.cfg.Store.Deliveries(ctx, alert, limit)
}

// By is who asks.
type By = decision.Actor

// Acknowledge notes that somebody looks after an alert, until it is resolved. It errors with a *Refusal where the alert is resolved, and
// where it is none of those that were seen, and with lifecycle.ErrNotFound.
func (s *Service) Acknowledge(ctx context.Context, id, note string, seen Seen, by By) (Standing, error) {
	if utf8.RuneCountInString(note) > maxComment {
		return Standing{}, &Refusal{Why: "The note is too long.", Wrong: []Wrong{{"/note", "At most 2,000 characters are allowed."}}}
	}
	return s.changeAlert(ctx, id, "acknowledge", note, seen, by, func(a *Alert, now lifecycle.Micros) {
		a.Acknowledged = &Acknowledgement{By: by.Name, At: now, Note: note}
	})
}

// Unacknowledge takes that back.
func (s *Service) Unacknowledge(ctx context.Context, id string, seen Seen, by By) (Standing, error) {
	return s.changeAlert(ctx, id, "unacknowledge", "", seen, by, func(a *Alert, _ lifecycle.Micros) { a.Acknowledged = nil })
}

func (s *Service) changeAlert(ctx context.Context, id, action, reason string, seen Seen, by By, change func(*Alert, lifecycle.Micros)) (out Standing, err error) {
	err = s.commit(ctx, func(b Board, now lifecycle.Micros) (Change, error) {
		a, err := s.cfg.Store.Alert(ctx, id)
		if err != nil {
			return Change{}, err
		}
		if seen != nil && !slices.Contains(seen, a.Version()) {
			return Change{}, &Refusal{Why: "The alert was changed since it was loaded. Load it again.", Changed: true}
		}
		if !a.Active() {
			return Change{}, &Refusal{Why: "The alert does not fire any more."}
		}
		before := a
		change(&a, now)
		out = a.At(now, b.Silences)
		record, err := auditOf(by, now, action+" alert", id, reason, before.Acknowledged, a.Acknowledged)
		return Change{Alerts: []Alert{a}, Audit: []Record{record}}, err
	})
	return out, err
}

// Check errors with a [*Refusal] of all that is wrong with a silence that somebody wants now.
func (s *Service) Check(want Silence) error {
	if wrong := want.Validate(s.now()); len(wrong) > 0 {
		return &Refusal{Why: "The silence was not made. " + wrong[0].Why, Wrong: wrong}
	}
	return nil
}

// Silence mutes alerts until a time. Where it has an id it is made once, however often it is asked for. With dry it changes nothing. Either way it returns the alerts that are muted now because of it.
func (s *Service) Silence(ctx context.Context, want Silence, dry bool, by By) (Silence, []Standing, error) {
	want.ID = cmp.Or(want.ID, "sil-"+strings.ToLower(rand.Text()[:12]))
	want.By, want.CreatedAt, want.EndedAt, want.EndedBy = by.Name, s.now(), 0, ""
	want.Comment = strings.TrimSpace(want.Comment)
	if err := s.Check(want); err != nil {
		return want, nil, err
	}
	var muted []Standing
	preview := func(b Board, now lifecycle.Micros) {
		muted = nil
		for _, a := range b.Standings(now) {
			if a.State != StateResolved && want.Mutes(a.Alert) {
				muted = append(muted, a)
			}
		}
	}
	if dry {
		b, err := s.cfg.Store.Board(ctx, s.now())
		if err == nil {
			preview(b, s.now())
		}
		return want, muted, err
	}
	err := s.commit(ctx, func(b Board, now lifecycle.Micros) (Change, error) {
		preview(b, now)
		record, err := auditOf(by, now, "silence alerts", want.ID, want.Comment, nil, want)
		return Change{Silences: []Silence{want}, Audit: []Record{record}}, err
	})
	return want, muted, err
}

// EndSilence ends a silence before its time. It errors with lifecycle.ErrNotFound where there is none that still mutes.
func (s *Service) EndSilence(ctx context.Context, id string, by By) (out Silence, err error) {
	err = s.commit(ctx, func(b Board, now lifecycle.Micros) (Change, error) {
		for _, silence := range b.Silences {
			if silence.ID != id || !silence.Active(now) {
				continue
			}
			out = silence
			out.EndedAt, out.EndedBy = now, by.Name
			record, err := auditOf(by, now, "end silence", id, "", silence, out)
			return Change{Silences: []Silence{out}, Audit: []Record{record}}, err
		}
		return Change{}, fmt.Errorf("silence %q: %w", id, lifecycle.ErrNotFound)
	})
	return out, err
}

// boardTries is how often a change is made anew because the board changed meanwhile.
const boardTries = 20

// commit makes a change for the board as it is, again and again while others change it.
func (s *Service) commit(ctx context.Context, change func(Board, lifecycle.Micros) (Change, error)) error {
	var err error
	for range boardTries {
		var b Board
		now := s.now()
		if b, err = s.cfg.Store.Board(ctx, now); err != nil {
			return err
		}
		c, wrong := change(b, now)
		if wrong != nil {
			return wrong
		}
		c.Expected = b.Version
		if err = s.cfg.Store.CommitBoard(ctx, c); !errors.Is(err, ErrConflict) {
			if err == nil {
				s.cfg.Changed()
			}
			return err
		}
	}
	return err
}

func auditOf(by By, at lifecycle.Micros, action, target, reason string, before, after any) (Record, error) {
	r := by.Record("alerts "+rand.Text(), at, action, decision.Allowed)
	r.Target, r.Reason = target, reason
	var err error
	if r.Before, err = json.Marshal(before); err != nil {
		return r, err
	}
	r.After, err = json.Marshal(after)
	return r, err
}
