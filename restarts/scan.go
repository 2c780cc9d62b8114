package restarts

import "fleetglass/lifecycle"

// Look is what is in hand at one time.
type Look struct {
	At      lifecycle.Micros
	Leases  []lifecycle.Lease
	Partial bool // Leases may be missing.
}

// Return is that Fleetglass or the broker is there again.
type Return struct {
	ID    string // Names it in every replica that can see it.
	Cause Cause
	From  lifecycle.Micros // The latest time at which it was there; zero where that is not known.
	To    lifecycle.Micros // When it was there again.
}

// interrupted is the restart with everything that workers held when something went away, and whether they held anything.
func interrupted(e Return, before Look, now lifecycle.Micros) (r Restart, some bool) {
	r = Restart{ID: e.ID, Cause: e.Cause, From: e.From, To: e.To, NoticedAt: now, Partial: before.Partial}
	for _, l := range before.Leases {
		if l.State.InFlight() && l.Resolved == nil && l.BeganAt <= e.To {
			r.include(l)
		}
	}
	return r, r.Count() > 0
}

// attempt is what a victim is told by.
type attempt struct {
	hold
	n int
}

// hold is that a consumer has a message.
type hold struct {
	message  lifecycle.MessageKey
	consumer string
}

// explained are the attempts whose silence a known restart explains already: they are not grouped again. That Fleetglass was away explains no
// worker's silence.
func explained(open []Restart) map[attempt]bool {
	out := map[attempt]bool{}
	for _, r := range open {
		if r.Cause == CauseFleetglass {
			continue
		}
		for _, v := range r.Victims {
			if r.Cause == CauseWorkers || v.Fate == "" {
				out[attempt{hold{v.Message, v.Consumer}, v.Attempt}] = true
			}
		}
	}
	return out
}

// regroup adds the silent leases to the open restarts of workers that they fit, and gathers the others. It returns the indexes of those that grew,
// and the new ones.
func regroup(open []Restart, seen Look) (grew map[int]bool, fresh []Restart) {
	grew = map[int]bool{}
	known := explained(open)
	var rest []lifecycle.Lease
next:
	for _, l := range silent(seen.Leases) {
		if known[attempt{hold{l.Message, l.Consumer}, l.Attempt}] {
			continue
		}
		for i := range open {
			if open[i].Cause == CauseWorkers && len(open[i].Victims) < MaxVictims && open[i].fits(l) {
				open[i].add(l)
				grew[i] = true
				continue next
			}
		}
		rest = append(rest, l)
	}
	fresh = grouped(rest, seen.At)
	for i := range fresh {
		fresh[i].Partial = seen.Partial
	}
	return grew, fresh
}

// boardOf are the leases that victims held, of those of which it is not known yet what became of them; nil where they hold none.
func boardOf(open []Restart, leases []lifecycle.Lease) map[hold]*lifecycle.Lease {
	out := map[hold]*lifecycle.Lease{}
	for _, r := range open {
		for _, v := range r.Victims {
			if v.Fate == "" {
				out[hold{v.Message, v.Consumer}] = nil
			}
		}
	}
	for i := range leases {
		h := hold{leases[i].Message, leases[i].Consumer}
		if _, wanted := out[h]; wanted {
			out[h] = &leases[i]
		}
	}
	return out
}

// asked are the victims about which the facts of their messages must be asked, because the board does not show them as they were.
func (r *Restart) asked(board map[hold]*lifecycle.Lease) (out []*Victim) {
	for i := range r.Victims {
		v := &r.Victims[i]
		l := board[hold{v.Message, v.Consumer}]
		if v.Fate == "" && (l == nil || !r.unchanged(*v, *l)) {
			out = append(out, v)
		}
	}
	return out
}
