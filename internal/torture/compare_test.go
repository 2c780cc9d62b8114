//go:build linux

package torture

import (
	"fmt"
	"slices"
	"strings"

	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"
)

// difference is one thing that Fleetglass says otherwise than it was.
type difference struct {
	Task, What string
	Told, Seen any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: %s: the fleet: %v; Fleetglass: %v", d.Task, d.What, d.Told, d.Seen)
}

// comparison gathers the differences of one task.
type comparison struct {
	told  *told
	seen  *seen
	found []difference
}

// compare finds everything about a task that is not exactly as it was. Nothing was lost, so nothing may be missing, doubled or guessed.
func compare(t *told, s *seen) []difference {
	if s == nil {
		return []difference{{t.ID, "task", "known", "not known"}}
	}
	c := comparison{told: t, seen: s}
	c.states()
	c.attempts()
	c.events()
	c.duplicates()
	c.twice()
	return c.found
}

func check[T comparable](c *comparison, what string, told, seen T) {
	if told != seen {
		c.found = append(c.found, difference{c.told.ID, what, told, seen})
	}
}

// stateOf is the state that a task must be in, and the anomalies that it must show.
func stateOf(t *told) (state lifecycle.State, anomalies []string) {
	switch {
	case t.acks() > 0:
		state = lifecycle.StateCompleted
	case t.terms() > 0:
		state = lifecycle.StateTerminated
	case t.Attempts[maxDeliver] != nil:
		state = lifecycle.StateExhausted
	case t.Fate == demo.FateOrphan:
		state, anomalies = lifecycle.StatePublished, append(anomalies, string(lifecycle.AnomalyOrphaned))
	default:
		state = "open"
	}
	if t.unheard() {
		anomalies = append(anomalies, string(lifecycle.AnomalySilentAttempt))
	}
	return state, anomalies
}

// maxDeliver is how many attempts the workers of the demonstration have.
const maxDeliver = 3

func (c *comparison) states() {
	state, anomalies := stateOf(c.told)
	var shown []string
	for _, a := range c.seen.Anomalies {
		if !slices.Contains(ofTheLedger, lifecycle.AnomalyCode(a.Code)) { // These are compared as numbers.
			shown = append(shown, a.Code)
		}
	}
	slices.Sort(anomalies)
	slices.Sort(shown)
	check(c, "state", string(state), c.seen.State)
	if c.told.overruns() == 0 {
		check(c, "anomalies", strings.Join(anomalies, " "), strings.Join(shown, " "))
	}
	check(c, "agent", c.told.Agent, c.seen.Agent)
	check(c, "messages", 1, len(c.seen.Messages))
	check(c, "gaps", 0, len(c.seen.Gaps))
	if len(c.seen.Messages) == 1 {
		check(c, "sequence", fmt.Sprint(c.told.Seq), c.seen.Messages[0].Seq)
	}
}

// endOf is how attempt n ended.
func endOf(t *told, n int) lifecycle.AttemptEnd {
	a := t.Attempts[n]
	switch {
	case a == nil && n < t.last():
		return lifecycle.EndTimedOut // It never reached its worker.
	case a == nil:
		return "never made"
	case a.Acks > 0:
		return lifecycle.EndAcked
	case a.Terms > 0:
		return lifecycle.EndTerminated
	case a.Naks > 0:
		return lifecycle.EndNacked
	case a.Silent > 0, n < t.last():
		return lifecycle.EndTimedOut
	}
	return lifecycle.EndOpen
}

func (c *comparison) attempts() {
	check(c, "attempts", c.told.last(), c.seen.Attempts)
	if len(c.seen.Messages) != 1 {
		return
	}
	shown := c.seen.Messages[0].Attempts
	check(c, "attempts in detail", c.told.last(), len(shown))
	for _, a := range shown {
		check(c, fmt.Sprintf("end of attempt %d", a.N), string(endOf(c.told, a.N)), a.End)
		if t := c.told.Attempts[a.N]; t != nil {
			check(c, fmt.Sprintf("heartbeats of attempt %d", a.N), t.Beats, c.seen.countIn("heartbeat", a.N))
		}
	}
}

// never are the kinds of events that only losses, deletions or somebody's mistake bring about.
var never = []lifecycle.Kind{
	lifecycle.AckRefuted, lifecycle.Vanished, lifecycle.NotStored, lifecycle.Repaired, lifecycle.ConsumerRecreated, lifecycle.DeadLettered,
	lifecycle.Adopted, lifecycle.RecordDeleted, lifecycle.RecordExpired,
}

func (c *comparison) events() {
	t := c.told
	for kind, n := range map[lifecycle.Kind]int{
		lifecycle.Published: 1, lifecycle.PublishAttempted: t.Publishes, lifecycle.Heartbeat: t.beats(),
		lifecycle.Acked: t.acks(), lifecycle.AckConfirmed: c.confirmed(lifecycle.AckConfirmed, t.acks()), lifecycle.Nacked: t.naks(), lifecycle.NakConfirmed: t.naks(),
		lifecycle.Terminated: t.terms(), lifecycle.TermConfirmed: c.confirmed(lifecycle.TermConfirmed, t.terms()), lifecycle.CompletionRecorded: t.Recorded,
		lifecycle.ReportClaimed: t.Reports["claimed"], lifecycle.ReportAccepted: t.Reports["accepted"],
		lifecycle.ReportCheckpoint: t.Reports["checkpoint"], lifecycle.ReportCompleted: t.Reports["completed"],
		lifecycle.ReportFailed: t.Reports["failed"], lifecycle.ReportDuplicateCaught: t.Reports["duplicate_caught"],
	} {
		check(c, string(kind)+" events", n, c.seen.count(string(kind)))
	}
	for _, kind := range never {
		check(c, string(kind)+" events", 0, c.seen.count(string(kind)))
	}
	if n := c.seen.count(string(lifecycle.LeaseExpired)); n > t.silent()+t.overruns() {
		check(c, "lease_expired events", t.silent()+t.overruns(), n)
	}
	if n := c.seen.count(string(lifecycle.PresumedDead)); n > 0 && (t.Attempts[maxDeliver] == nil || t.acks() > 0) {
		check(c, "presumed_dead events", 0, n)
	}
}

// confirmed is how many of the answers that end a task the broker confirms: one. Where an attempt is handed out again while its worker is alive, the broker
// has both for a moment, and may confirm the answers to both.
func (c *comparison) confirmed(kind lifecycle.Kind, sent int) int {
	if n := c.seen.count(string(kind)); c.told.overruns() > 0 && 1 <= n && n <= sent {
		return n
	}
	return min(1, sent)
}

// ofTheLedger are the anomalies by which findings of the duplicate ledger are found.
var ofTheLedger = []lifecycle.AnomalyCode{
	lifecycle.AnomalyCaughtByIdempotency, lifecycle.AnomalyReachedExecution, lifecycle.AnomalyDuplicateUnknown, lifecycle.AnomalyKeyConflict,
	lifecycle.AnomalySemanticDuplicate,
}

// duplicates compares the findings of the ledger. When an attempt was silent while nobody looked, nothing tells whether the completion was
// its work or that of the next one: then, and only then, the ledger may say that it does not know.
func (c *comparison) duplicates() {
	d := c.seen.Duplicates
	caught, unknown := 0, 0
	if c.told.skipped() {
		caught = 1
	}
	if d.Unknown == 1 && c.told.silent() > 0 && c.told.acks() == 1 {
		caught, unknown = 0, 1
	}
	if c.told.overruns() > 0 && d.CaughtByIdempotency+d.Unknown <= 1 { // Acknowledged twice: one of them may be all that counts.
		caught, unknown = d.CaughtByIdempotency, d.Unknown
	}
	check(c, "caught by the stream", c.told.Duplicates, d.CaughtByStream+c.seen.unclear())
	check(c, "caught by idempotency", caught, d.CaughtByIdempotency)
	check(c, "unknown duplicates", unknown, d.Unknown)
	check(c, "reached execution", 0, d.ReachedExecution)
	check(c, "key conflicts", 0, d.KeyConflicts)
}

// twice finds events that are there twice.
func (c *comparison) twice() {
	ids, places := map[string]bool{}, map[string]bool{}
	for _, e := range c.seen.Events {
		place := e.Source + " " + e.SourceSeq
		switch {
		case ids[e.ID]:
			check(c, "event "+e.ID, "once", "twice")
		case e.SourceSeq != "" && places[place]:
			check(c, "line "+place, "once", "twice")
		}
		ids[e.ID] = true
		places[place] = true
	}
}
