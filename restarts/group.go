package restarts

import (
	"cmp"
	"slices"
	"strconv"

	"fleetglass/lifecycle"
)

// Workers go away unseen: the broker does not say who is connected. What is known of an attempt that fell silent is that its worker went away after
// its last sign of life and before its deadline, if it went away at all. Attempts whose spans have a moment in common may have been lost at
// that moment. A message alone is no group: the in-flight board shows it.

// minGroup is how many attempts make a restart of workers.
const minGroup = 2

// silent are the leases that ran out unanswered, by their deadlines.
func silent(leases []lifecycle.Lease) (out []lifecycle.Lease) {
	for _, l := range leases {
		ranOut := l.Stale == lifecycle.StaleLease || l.Stale == lifecycle.StalePresumedDead
		if ranOut && l.Deadline.Known() && lastSign(l).Known() {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b lifecycle.Lease) int {
		return cmp.Or(cmp.Compare(a.Deadline, b.Deadline), a.Message.Compare(b.Message), cmp.Compare(a.Attempt, b.Attempt))
	})
	return out
}

// lastSign is the latest that was seen of an attempt.
func lastSign(l lifecycle.Lease) lifecycle.Micros { return max(l.Basis, l.LastBeat, l.BeganAt) }

// fits reports whether the worker of a lease may have gone away with those of the restart.
func (r *Restart) fits(l lifecycle.Lease) bool { return lastSign(l) < r.To && l.Deadline > r.From }

// add makes the attempt a victim and narrows the span to what both have in common.
func (r *Restart) add(l lifecycle.Lease) {
	r.From, r.To = max(r.From, lastSign(l)), min(r.To, l.Deadline)
	r.include(l)
}

// include makes the attempt a victim.
func (r *Restart) include(l lifecycle.Lease) {
	if len(r.Victims) >= MaxVictims {
		r.Beyond++
		return
	}
	r.Victims = append(r.Victims, Victim{
		TaskID: l.TaskID, Message: l.Message, Agent: l.Agent, Type: l.Type, Consumer: l.Consumer, Attempt: l.Attempt, LastSign: lastSign(l), Deadline: l.Deadline,
	})
}

// grouped gathers silent leases, which come by their deadlines, into restarts of workers. A lease goes to the first group that it fits.
func grouped(leases []lifecycle.Lease, now lifecycle.Micros) []Restart {
	var out []Restart
	for _, l := range leases {
		if n := len(out); n > 0 && out[n-1].fits(l) {
			out[n-1].add(l)
			continue
		}
		r := Restart{Cause: CauseWorkers, ID: workersID(l), To: l.Deadline, NoticedAt: now}
		r.add(l)
		out = append(out, r)
	}
	return slices.DeleteFunc(out, func(r Restart) bool { return r.Count() < minGroup })
}

// workersID names a group by the attempt whose deadline passed first, so that replicas give it one name.
func workersID(l lifecycle.Lease) string {
	return "workers-" + lifecycle.NewEventID("restart of workers", l.Message.String(), strconv.Itoa(l.Attempt), strconv.FormatInt(int64(l.Deadline), 10)).String()
}
