package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"fleetglass/lifecycle"
)

// A record may go and leave no line: its bucket is purged or made anew, its broker forgets it, nobody listens when its document is deleted. Whoever is given an open
// message of its task again does not find it, and does the work again. So the records that open messages rely on are looked for.

// MissingConfig says whose records are looked for, and where.
type MissingConfig struct {
	Relied   func(context.Context) ([]lifecycle.CompletionRef, error) // Required. The records that open messages rely on.
	Sources  Sources                                                  // Required. Where they may be.
	Kept     func(context.Context) (kept time.Duration, known bool)   // Required. How long records are kept that state no end themselves; zero for ever.
	Appender lifecycle.Appender                                       // Required. Is told of those that are gone.
	Every    time.Duration                                            // Optional; default 15 s.
	Now      func() time.Time                                         // Optional; default time.Now. By the clock of the fleet.
	Logger   *slog.Logger                                             // Optional; default slog.Default.
}

// Missing looks for records that went and left no line.
type Missing struct {
	cfg   MissingConfig
	there map[lifecycle.RecordRef]lifecycle.Micros // When each was last found.
}

// NewMissing validates the configuration.
func NewMissing(cfg MissingConfig) (*Missing, error) {
	if cfg.Relied == nil || cfg.Kept == nil || cfg.Appender == nil {
		return nil, errors.New("look for missing records: Relied, Kept and Appender are required")
	}
	if cfg.Every <= 0 {
		cfg.Every = 15 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Missing{cfg: cfg, there: map[lifecycle.RecordRef]lifecycle.Micros{}}, nil
}

// Run looks now and again until ctx is done. A place that does not answer is asked again the next time.
func (m *Missing) Run(ctx context.Context) error {
	for {
		if err := m.Look(ctx); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Warn("records that messages rely on could not be looked for", "error", err)
		}
		if !sleep(ctx, m.cfg.Every) {
			return nil
		}
	}
}

// Look asks for the records that are due, and stores that those which are not there are gone: over where their time has come, else deleted.
func (m *Missing) Look(ctx context.Context) error {
	relied, err := m.cfg.Relied(ctx)
	if err != nil {
		return fmt.Errorf("read what messages rely on: %w", err)
	}
	kept, known := m.cfg.Kept(ctx)
	now := lifecycle.MicrosOf(m.cfg.Now()) // Before the places are asked: what is written later is there.
	due := m.due(relied, now)
	refs := make([]lifecycle.RecordRef, len(due))
	for i, r := range due {
		refs[i] = r.RecordRef
	}
	answers, err := m.cfg.Sources.Records(ctx, refs)
	if err != nil {
		return err
	}
	var gone lifecycle.Batch
	for i, r := range due {
		switch end := r.End(kept); {
		case answers[i] == lifecycle.RecordThere:
			m.there[r.RecordRef] = now
		case answers[i] == lifecycle.RecordGone && (known || end.Known()) && r.At < now:
			gone.Events = append(gone.Events, missed(r, end, now))
		}
	}
	if len(gone.Events) == 0 {
		return nil
	}
	if _, err := m.cfg.Appender.Append(ctx, gone); err != nil {
		return fmt.Errorf("store that records are gone: %w", err)
	}
	m.cfg.Logger.Warn("records that messages rely on are gone, and no line told of it: their work may be done again", "records", len(gone.Events), "first", gone.Events[0].TaskID)
	return nil
}

// due are the records to be asked for now, each once: those that were never found, and those that were found longer ago than [Source.StaysFor]. It forgets when those
// were found that nothing relies on any more.
func (m *Missing) due(relied []lifecycle.CompletionRef, now lifecycle.Micros) (out []lifecycle.CompletionRef) {
	found := map[lifecycle.RecordRef]lifecycle.Micros{}
	seen := map[lifecycle.RecordRef]bool{}
	for _, r := range relied {
		if seen[r.RecordRef] {
			continue
		}
		seen[r.RecordRef] = true
		at, known := m.there[r.RecordRef]
		if known {
			found[r.RecordRef] = at
		}
		if !known || at.Add(m.cfg.Sources.holds(r.RecordRef)) <= now {
			out = append(out, r)
		}
	}
	m.there = found
	return out
}

// sureEnd is how much earlier than stated a record may end: clocks differ.
const sureEnd = 5 * time.Second

// missed is the event that a record which messages rely on is not in its store.
func missed(r lifecycle.CompletionRef, end, now lifecycle.Micros) lifecycle.Event {
	kind := lifecycle.RecordDeleted
	if end.Known() && end <= now.Add(sureEnd) {
		kind = lifecycle.RecordExpired
	}
	return lifecycle.Event{
		ID: lifecycle.NewEventID("missing record", r.Source, r.TaskID, r.Key, strconv.FormatInt(int64(now), 10)), At: now, Kind: kind, Provenance: lifecycle.Inferred,
		Source: r.Source, TaskID: r.TaskID,
		Detail: lifecycle.Detail{Naming: lifecycle.Naming{IdempotencyKey: r.Key}, Ending: lifecycle.Ending{Reason: "it was looked for and is not there; nothing told when it went"}},
	}
}
