//go:build linux

package torture

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"
)

// aftermath is what is known about a run in which the broker itself died: it captured less than the agents did, and may have forgotten
// answers that it had been given.
type aftermath struct {
	made   func(seq uint64) *seen // What is known under the name that is made up for a message of which no line names the task; nil for nothing.
	wires  *wires
	handed handovers
	left   map[uint64]bool // What is still in the task stream.
	gaps   []seenGap
	again  func() []seenGap // Reads the gaps anew: one may be concluded late.
}

// compare finds what is not honest about a task: every line that was captured must be there, once; and what Fleetglass says beyond that must
// be true, or say that it does not know.
//
// A task of which no captured line says the name cannot be known by it; then its message must be known under the name that is made up.
func (a *aftermath) compare(t *told, s *seen) []difference {
	w := a.wires.of(t)
	if s == nil && len(a.wires.byTask[t.ID]) > 0 {
		return []difference{{t.ID, "task", "known", "not known"}}
	}
	if s == nil {
		s = &seen{TaskID: t.ID, State: string(lifecycle.StateOutcomeUnknown)}
	}
	if w.count(lifecycle.Published) == 0 {
		s = s.with(a.made(t.Seq))
	}
	c := comparison{told: t, seen: s}
	for _, kind := range captured {
		n := s.count(string(kind))
		switch kind {
		case lifecycle.PublishAttempted:
			n -= s.heard()
		case lifecycle.AckConfirmed, lifecycle.TermConfirmed: // Where the broker's own line was lost, the synchronizer may have concluded the same.
			if sent := map[lifecycle.Kind]int{lifecycle.AckConfirmed: t.acks(), lifecycle.TermConfirmed: t.terms()}[kind]; w.count(kind) == 0 && sent > 0 {
				n -= s.concluded(kind)
			}
		}
		check(&c, string(kind)+" events", w.count(kind), n)
	}
	if most := t.Publishes + t.Unanswered; s.heard() > most {
		c.found = append(c.found, difference{t.ID, "publish attempts that were only heard", fmt.Sprintf("at most %d", most), s.heard()})
	}
	for n := 1; n <= maxDeliver; n++ {
		check(&c, fmt.Sprintf("heartbeats of attempt %d", n), w[wireCount{lifecycle.Heartbeat, n}], s.countIn("heartbeat", n))
	}
	c.twice()
	c.honest(w, a)
	return c.found
}

// tells reports whether a captured line says that there is a message of the task, or that one was attempted. Reports and records alone do not.
func (a *aftermath) tells(t *told) bool {
	return len(a.wires.bySeq[t.Seq]) > 0 || a.wires.byTask[t.ID].count(lifecycle.PublishAttempted) > 0
}

// heard is how many publish attempts were heard while the broker did not capture them: Fleetglass then listens itself.
func (s *seen) heard() (n int) {
	for _, e := range s.Events {
		if e.Kind == string(lifecycle.PublishAttempted) && e.Source == "live" {
			n++
		}
	}
	return n
}

// concluded is how many events of a kind the synchronizer concluded from the broker's state.
func (s *seen) concluded(kind lifecycle.Kind) (n int) {
	for _, e := range s.Events {
		if e.Kind == string(kind) && e.Source == "brokersync" {
			n++
		}
	}
	return n
}

// proved reports whether a captured line proves that the stream stored the message: its publish line, or what the broker says of its end. Lines of workers alone
// may be anybody's.
func (w wire) proved() bool {
	return w.count(lifecycle.Published)+w.count(lifecycle.AckConfirmed)+w.count(lifecycle.TermConfirmed)+w.count(lifecycle.ExhaustionSaid) > 0
}

// contested reports whether the broker tells of an answer and of a deletion, as one does that forgot the answer, and no line of a worker tells which it was
// ("What nobody can tell" in docs/situations.md).
func (w wire) contested() bool {
	return w.count(lifecycle.AckConfirmed) > 0 && w.count(lifecycle.TermConfirmed) > 0 && w.count(lifecycle.Acked)+w.count(lifecycle.Terminated) == 0
}

// captured are the kinds of events that are lines of a capture stream.
var captured = []lifecycle.Kind{
	lifecycle.Published, lifecycle.PublishAttempted, lifecycle.Heartbeat, lifecycle.Acked, lifecycle.AckConfirmed, lifecycle.Nacked,
	lifecycle.NakConfirmed, lifecycle.Terminated, lifecycle.TermConfirmed, lifecycle.ExhaustionSaid, lifecycle.CompletionRecorded,
	lifecycle.ReportClaimed, lifecycle.ReportAccepted, lifecycle.ReportCheckpoint, lifecycle.ReportCompleted, lifecycle.ReportFailed,
	lifecycle.ReportDuplicateCaught,
}

// with is the story of a task together with that of a message of which nobody knows that it belongs to the task.
func (s *seen) with(other *seen) *seen {
	if other == nil {
		return s
	}
	both := *s
	both.Events = slices.Concat(s.Events, other.Events)
	both.Attempts = max(s.Attempts, other.Attempts)
	if s.State == string(lifecycle.StateOutcomeUnknown) {
		both.State, both.Rule = other.State, other.Rule
	}
	return &both
}

// honest checks what was concluded.
func (c *comparison) honest(w wire, a *aftermath) {
	t, s := c.told, c.seen
	state := lifecycle.State(s.State)
	there := a.left[t.Seq]
	if allowed := a.allowed(t, w); !slices.Contains(allowed, state) {
		c.found = append(c.found, difference{t.ID, fmt.Sprintf("state (in the stream: %t)", there), allowed, s.State + " by " + s.Rule})
	}
	low, high := w.last(), max(t.last(), maxDeliver)
	if !w.proved() {
		low = 0
	}
	if a.handed.forgot(t.Seq) { // Its number is given again, so that there may be more deliveries than numbers.
		low, high = 0, max(high, t.deliveries())
	}
	if s.Attempts < low || s.Attempts > high {
		c.found = append(c.found, difference{t.ID, "attempts", fmt.Sprintf("%d to %d", low, high), s.Attempts})
	}
	if w.count(lifecycle.Published) == 0 && s.count(string(lifecycle.Repaired)) == 0 && !a.covered(t.Seq) {
		c.found = append(c.found, difference{t.ID, "its publish line was lost", "repaired or a gap", "neither"})
	}
	if t.Publishes > 0 && t.Unanswered == 0 && !a.covered(t.Seq) { // An unanswered publish may not have been stored; a later one was.
		check(c, "not_stored events", 0, s.count(string(lifecycle.NotStored)))
	}
	if there && s.count(string(lifecycle.Vanished)) > 0 {
		c.found = append(c.found, difference{t.ID, "vanished", "it is in the stream", "gone"})
	}
	if low, high := c.caught(w); s.Duplicates.CaughtByStream < low || s.Duplicates.CaughtByStream > high {
		c.found = append(c.found, difference{t.ID, "caught by the stream", fmt.Sprintf("%d to %d", low, high), s.Duplicates.CaughtByStream})
	}
	if low, high := c.leaked(); s.Duplicates.ReachedExecution < low || s.Duplicates.ReachedExecution > high {
		c.found = append(c.found, difference{t.ID, "reached execution", fmt.Sprintf("%d to %d", low, high), s.Duplicates.ReachedExecution})
	}
	check(c, "key conflicts", 0, s.Duplicates.KeyConflicts)
}

// caught is what may be said of duplicates that the stream caught: no more than the stream said, or may have said in the answers that were
// lost, and no more than there are attempts; no less than these where none was without an answer.
func (c *comparison) caught(w wire) (low, high int) {
	t, s := c.told, c.seen
	if w.count(lifecycle.Published)+s.count(string(lifecycle.Repaired)) == 0 {
		return 0, 0 // Where no stored message is known an attempt may as well have been refused.
	}
	recorded := w.count(lifecycle.PublishAttempted)
	sure, perhaps := recorded, recorded+s.heard() // What was heard may have been recorded too, late.
	if recorded == 0 {
		sure = s.heard()
	}
	return max(0, sure-1-t.Unanswered-s.unclear()), min(max(0, perhaps-1), t.Duplicates+t.Unanswered)
}

// leaked is what may be said of executions that ran again: no fewer than completions recorded beyond the first, and no more than attempts that
// began after it. Such an attempt shows only where it tells of its work, and its lines may be lost.
func (c *comparison) leaked() (low, high int) {
	low = max(0, c.told.Recorded-1)
	return low, max(low, c.told.RanAgain)
}

// allowed are the states that are true of a task, or leave open what cannot be known.
func (a *aftermath) allowed(t *told, w wire) []lifecycle.State {
	unknown := []lifecycle.State{lifecycle.StateOutcomeUnknown}
	for _, s := range lifecycle.States() {
		if s.Open() {
			unknown = append(unknown, s)
		}
	}
	if w.count(lifecycle.ExhaustionSaid) > 0 { // The broker's word stands, also where the line of a late answer was lost.
		unknown = append(unknown, lifecycle.StateExhausted)
	}
	switch there := a.left[t.Seq]; {
	case there && t.Fate == demo.FateOrphan:
		return []lifecycle.State{lifecycle.StatePublished}
	case there && lossless(t, w) && t.acks()+t.terms() == 0 && w.count(lifecycle.ExhaustionSaid) == 0 && w.last() == 0:
		return []lifecycle.State{lifecycle.StateExhausted, lifecycle.StateOutcomeUnknown} // Nothing was seen of its attempts: that its consumer is past it may be all that can be known.
	case there && lossless(t, w) && t.acks()+t.terms() == 0:
		return []lifecycle.State{lifecycle.StateExhausted}
	case there: // What a full disk kept an answer from is not known: the consumer may be done with a message that is still in the stream.
		return append(unknown, lifecycle.StateExhausted)
	case t.acks()+t.terms() > 0 && a.handed.forgot(t.Seq): // The broker denies what the answer was to.
		return append(unknown, ended(t))
	case t.acks() > 0 && w.count(lifecycle.Acked) > 0 && w.proved() && !diedFirst(t, w):
		return []lifecycle.State{lifecycle.StateCompleted}
	case t.acks() > 0:
		return append(unknown, lifecycle.StateCompleted)
	case t.terms() > 0 && w.count(lifecycle.Terminated) == 0 && a.wires.deleted[t.Seq]: // The broker forgot the answer, of which anybody may have told, and missed the message.
		return append(unknown, lifecycle.StateTerminated)
	case t.terms() > 0 && w.count(lifecycle.Terminated)+w.count(lifecycle.TermConfirmed) > 0 && w.proved():
		return []lifecycle.State{lifecycle.StateTerminated}
	case t.terms() > 0:
		return append(unknown, lifecycle.StateTerminated)
	}
	return unknown
}

// ended is the state in which an answer left a task.
func ended(t *told) lifecycle.State {
	if t.acks() > 0 {
		return lifecycle.StateCompleted
	}
	return lifecycle.StateTerminated
}

// diedFirst reports whether the broker said that the attempts are used up, and the line of an answer was lost. A full disk keeps an answer from its effect:
// the message stays and is delivered again. Which answer took it out of the stream in the end, one from before that word or the lost one, no line says.
func diedFirst(t *told, w wire) bool {
	return w.count(lifecycle.ExhaustionSaid) > 0 && w.count(lifecycle.Acked) < t.acks()
}

// lossless reports whether everything that the agents did with a task was captured.
func lossless(t *told, w wire) bool { return len(losses(t, w)) == 0 }

// losses names what agents sent and the broker did not capture.
func losses(t *told, w wire) []string {
	var out []string
	for kind, sent := range map[lifecycle.Kind]int{
		lifecycle.Published: min(1, t.Publishes), lifecycle.PublishAttempted: t.Publishes, lifecycle.Acked: t.acks(), lifecycle.Nacked: t.naks(),
		lifecycle.Terminated: t.terms(), lifecycle.Heartbeat: t.beats(), lifecycle.CompletionRecorded: t.Recorded,
		lifecycle.AckConfirmed: t.acks(), lifecycle.NakConfirmed: t.naks(), lifecycle.TermConfirmed: t.terms(),
	} {
		for range max(0, sent-w.count(kind)) {
			out = append(out, string(kind))
		}
	}
	slices.Sort(out)
	return out
}

// covered reports whether a gap says that the publish line of a message was lost.
func (a *aftermath) covered(seq uint64) bool {
	covers := func(g seenGap) bool { return strings.HasPrefix(g.Source, "OBS_PUB") && g.covers(seq) }
	if slices.ContainsFunc(a.gaps, covers) {
		return true
	}
	a.gaps = a.again()
	return slices.ContainsFunc(a.gaps, covers)
}
