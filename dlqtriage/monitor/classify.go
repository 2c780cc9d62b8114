package monitor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// stalled is how long nobody was looked at before nobody counts as looking: longer than turns take that fail and are tried again.
const stalled = 30 * time.Second

// Looks reports whether the monitor looks at what dies. It is safe for concurrent use.
func (m *Monitor) Looks() bool {
	return m.cfg.Now().UnixNano()-m.looked.Load() < int64(stalled)
}

// What another monitor is to copy may wait for it for ever, so that a turn looks only at what died lately, by whichever clock.
const (
	lately     = 5 * time.Minute
	everything = time.Minute // How often all of it is looked at: a death may be found out long after it.
)

// lookAgain looks at what died and has no entry in the queue of another monitor.
func (m *Monitor) lookAgain(ctx context.Context) error {
	now, after := m.cfg.Now(), &dlqtriage.EntryCursor{FailedAt: m.cfg.now().Add(-lately)}
	whole := now.Sub(m.all) >= everything
	if whole {
		after = nil
	}
	for {
		page, err := m.cfg.Store.Uncopied(ctx, always, after, pageSize)
		if err != nil {
			return fmt.Errorf("look for dead messages without an entry: %w", err)
		}
		if err := m.look(ctx, page); err != nil {
			return err
		}
		if len(page) < pageSize {
			break
		}
		last := page[len(page)-1]
		after = &dlqtriage.EntryCursor{FailedAt: last.FailedAt, ID: last.ID}
	}
	if whole {
		m.all = now
	}
	return nil
}

// look lets the rules say why messages died of which nobody has said it yet, also that no rule matches. It waits neither for the queue nor for a
// copy: the rules go by what the store has.
func (m *Monitor) look(ctx context.Context, page []dlqtriage.Entry) error {
	var said []lifecycle.Event
	for _, e := range page {
		if e.LookedAt() {
			continue
		}
		c, err := m.known(ctx, e.Key, nil)
		if err != nil {
			return fmt.Errorf("look at %s: %w", e.Key, err)
		}
		if c.died && !c.entry.LookedAt() {
			said = append(said, verdictEvent(c, m.classify(c)))
		}
	}
	if err := m.say(ctx, said...); err != nil {
		return err
	}
	m.looked.Store(m.cfg.Now().UnixNano())
	return nil
}

// classify says why the message died: who said so before counts, else the rules decide. Where no rule matched, they are asked again: more may be
// known by now.
func (m *Monitor) classify(c corpse) dlqtriage.Verdict {
	if c.asked != nil {
		return dlqtriage.Verdict{Class: dlqtriage.Class{Category: dlqtriage.Unclassified}}
	}
	if said := c.entry.Classification; said.By != "" && (said.By != dlqtriage.ByRules || said.Rule != "") {
		return dlqtriage.Verdict{Class: c.entry.Class}
	}
	return m.cfg.Policy().Classify(evidence(c))
}

// evidence is all that was said about the death.
func evidence(c corpse) dlqtriage.Evidence {
	e := dlqtriage.Evidence{Texts: []string{reasonOf(c)}}
	for _, a := range c.facts.Attempts {
		if a.TermReason != "" {
			e.Term = a.TermReason
		}
	}
	var latest lifecycle.Micros
	for r := range c.task.Credible() {
		if r.FailedAt > latest && (r.MsgID == "" || r.MsgID == c.entry.MessageID) {
			latest, e.Reported = r.FailedAt, r.FailedWhy
		}
	}
	return e
}

// noRule is what a verdict rests on that no rule gave.
const noRule = "No rule matches what is known of the death."

// verdictEvent is the verdict of the rules with what it rests on.
func verdictEvent(c corpse, v dlqtriage.Verdict) lifecycle.Event {
	died := strconv.FormatInt(int64(c.entry.FailedAt), 10)
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("triage rules", c.key.String(), died, v.Rule, string(v.Category), v.Detail), At: c.entry.FailedAt,
		Kind: lifecycle.Classified, Provenance: lifecycle.Inferred, Source: Actor, Message: c.key, Agent: c.entry.Agent,
	}
	if v.Rule == "" {
		v.Evidence = []lifecycle.Evidence{{Source: dlqtriage.ByRules, Text: noRule}}
	}
	e.Detail.Category, e.Detail.CategoryDetail, e.Detail.CauseKind = string(v.Category), v.Detail, string(v.Kind)
	e.Detail.Rule, e.Detail.Evidence, e.Detail.Actor = v.Rule, v.Evidence, dlqtriage.ByRules
	return e
}

// say keeps what the rules say.
func (m *Monitor) say(ctx context.Context, verdicts ...lifecycle.Event) error {
	if len(verdicts) == 0 {
		return nil
	}
	return m.cfg.Step.Do("classify", func() error {
		if _, err := m.cfg.Store.Append(ctx, lifecycle.Batch{Events: verdicts}); err != nil {
			return fmt.Errorf("keep the classification: %w", err)
		}
		return nil
	})
}
