package restarts

import (
	"cmp"

	"fleetglass/lifecycle"
)

// alive is the time after which a heartbeat says that the attempt goes on: it was not sent before what went away was gone.
func (r *Restart) alive(v Victim) lifecycle.Micros {
	if r.Cause == CauseWorkers {
		return v.LastSign
	}
	return max(r.From, v.LastSign)
}

// unchanged reports whether the board still shows what was known of the victim: nothing has become of it.
func (r *Restart) unchanged(v Victim, l lifecycle.Lease) bool {
	return l.Attempt == v.Attempt && l.LastBeat <= r.alive(v) && l.Resolved == nil && !l.Due
}

// resolve notes what the facts of its message say of a victim.
func (r *Restart) resolve(v *Victim, m lifecycle.MessageFacts) {
	if len(m.Consumers) > 0 { // Each consumer answers for itself.
		m = m.Of(v.Consumer)
	}
	v.Fate, v.ResolvedAt = fateOf(*v, m, r.alive(*v))
}

// fateOf is the first thing that became of a victim. The fate is empty where nothing did.
func fateOf(v Victim, m lifecycle.MessageFacts, alive lifecycle.Micros) (fate Fate, at lifecycle.Micros) {
	first := func(f Fate, t lifecycle.Micros) {
		if t.Known() && (fate == "" || t < at) {
			fate, at = f, t
		}
	}
	anew := m.RecreatedAt > v.LastSign // The numbers of attempts start anew with the consumer.
	for _, a := range lifecycle.Attempts(m, lifecycle.TaskFacts{}) {
		switch {
		case a.Former:
		case anew || a.N > v.Attempt:
			first(FateDelivered, cmp.Or(a.BeganAt, a.EndedAt, v.Deadline, v.LastSign))
		case a.N == v.Attempt && (a.End == lifecycle.EndAcked || a.End == lifecycle.EndNacked || a.End == lifecycle.EndTerminated):
			first(FateAnswered, a.EndedAt)
		case a.N == v.Attempt && a.LastBeat > alive:
			first(FateAlive, a.LastBeat)
		}
	}
	first(FateGone, m.VanishedAt)
	if m.Dead != nil {
		first(FateDead, m.Dead.At)
	}
	for _, t := range []*lifecycle.TriageFacts{m.Triage, m.Handled} {
		if t != nil && t.At > v.LastSign {
			first(FateDecided, t.At)
		}
	}
	return fate, at
}
