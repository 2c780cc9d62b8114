//go:build linux

package situations

import (
	"fmt"
	"slices"
)

// accused errors where a task has an anomaly that it cannot have by what its clients did up to now. An anomaly blames somebody: a worker, a publisher, or
// whoever can forge.
func (w *life) accused(task string, told *seen) error {
	mails := slices.DeleteFunc(slices.Clone(w.letters), func(m *mail) bool { return m.task != task })
	some := func(is func(*mail) bool) bool { return slices.ContainsFunc(mails, is) }
	given, again := w.pulls > 0 || w.sends, w.pulls > 1 || w.sends // What the broker sent a worker may not have read yet.
	unstored := w.unheard.Load() || some(func(m *mail) bool { return m.unwanted || !m.expires.IsZero() })
	recorded := some(func(m *mail) bool { return m.recorded || m.reported || m.late || m.misnamed })
	could := map[string]bool{
		"forged":              *withForgery,
		"clock_skew":          false,
		"entry_unproved":      false,
		"semantic_duplicate":  false,
		"shared_key":          false,
		"late_ack":            again && some(func(m *mail) bool { return m.acked }),
		"ack_refuted":         *withForgery || some(func(m *mail) bool { return m.acked }),
		"ack_after_term":      some(func(m *mail) bool { return m.acked && m.terminated }),
		"acked_and_dead":      some(func(m *mail) bool { return m.acked }),
		"died_beside_ack":     w.partner != nil && some(func(m *mail) bool { return m.acked }),
		"completed_and_dead":  recorded,
		"completed_not_acked": recorded,
		"conflicting_report":  w.slandered,
		"consumer_recreated":  w.renewed,
		"older_at_work":       len(mails) > 1,
		"key_conflict":        len(mails) > 1,
		"reached_execution":   again,
		"duplicate_unknown":   again,
		"silent_attempt":      given,
		"publish_unseen":      unstored,
		"not_stored":          unstored,
		"publish_refused":     unstored,
	}
	if got := told.Duplicates.CaughtByStream; got > w.swallowed[task] && len(w.decided)+len(w.many) == 0 { // Fleetglass too may publish a retry twice.
		return fmt.Errorf("%d publishes of task %q are called caught by the stream, and it swallowed %d", got, task, w.swallowed[task])
	}
	for _, a := range told.Anomalies {
		if possible, known := could[a.Code]; known && !possible {
			return fmt.Errorf("task %q has the anomaly %s (%s), and nobody did anything of the kind", task, a.Code, a.Meaning)
		}
	}
	return nil
}
