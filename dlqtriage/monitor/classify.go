package monitor

import (
	"context"
	"fmt"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// classify says why the message died: a person's word counts, else the rules decide.
func (m *Monitor) classify(c corpse) dlqtriage.Verdict {
	if c.asked != nil {
		return dlqtriage.Verdict{Class: dlqtriage.Class{Category: dlqtriage.Unclassified}}
	}
	if by := c.entry.Classification.By; by != "" && by != dlqtriage.ByRules {
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
	for _, r := range c.task.Reports {
		if r.FailedAt > latest && (r.MsgID == "" || r.MsgID == c.entry.MessageID) {
			latest, e.Reported = r.FailedAt, r.FailedWhy
		}
	}
	return e
}

// say keeps the verdict of the rules with what it rests on.
func (m *Monitor) say(ctx context.Context, c corpse, v dlqtriage.Verdict) error {
	if v.Rule == "" {
		return nil
	}
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("triage rules", c.key.String(), v.Rule, string(v.Category), v.Detail), At: c.entry.FailedAt, Kind: lifecycle.Classified,
		Provenance: lifecycle.Inferred, Source: Actor, Message: c.key, Agent: c.entry.Agent,
	}
	e.Detail.Category, e.Detail.CategoryDetail, e.Detail.CauseKind = string(v.Category), v.Detail, string(v.Kind)
	e.Detail.Rule, e.Detail.Evidence, e.Detail.Actor = v.Rule, v.Evidence, dlqtriage.ByRules
	return m.cfg.do("classify", func() error {
		if _, err := m.cfg.Store.Append(ctx, lifecycle.Batch{Events: []lifecycle.Event{e}}); err != nil {
			return fmt.Errorf("keep the classification: %w", err)
		}
		return nil
	})
}
