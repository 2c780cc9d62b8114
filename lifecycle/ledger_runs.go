package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

const (
	// quickAnswer is how long an attempt may last at most that surely did no work, where nothing better says how long the work takes.
	quickAnswer = 250 * time.Millisecond
	// shortestRun is how long a first run took at least by which others can be measured.
	shortestRun = 50 * time.Millisecond
)

// atOnce reports whether an attempt was acknowledged so soon that it cannot have done the work: within a quarter of what the first run took
// at least, or within [quickAnswer] if that is longer; in any case within half of the first run, where that can be measured by.
func (t *TaskFacts) atOnce(c DeliveryCopy) bool { return c.AckedAt.Sub(c.Surely) <= t.quick() }

// quick is how long an attempt may last at most that surely did no work.
func (t *TaskFacts) quick() time.Duration {
	run, lasted := t.firstRun()
	limit := quickAnswer
	if lasted {
		limit = max(limit, run/4)
	}
	if run >= shortestRun {
		limit = min(limit, run/2)
	}
	return limit
}

// firstRun is how long the work took: from the begin of the attempt that was at it to the first completion; zero when it is not known. What came before that attempt
// took time too, and says nothing of the work. lasted says that the attempt was not over by then: else the record may have been written over an earlier one.
func (t *TaskFacts) firstRun() (run time.Duration, lasted bool) {
	var done Micros
	of := -1
	note := func(at Micros, copy int) {
		if at.Known() && (done == 0 || at < done) {
			done, of = at, copy
		}
	}
	for i := range t.Completed {
		note(t.Completed[i].At, t.completes(t.Completed[i], t.Copies))
	}
	for i := range t.Reports {
		note(t.Reports[i].CompletedAt, t.speaksOf(&t.Reports[i], t.Copies, t.Reports[i].CompletedAt))
	}
	if of < 0 {
		return 0, false
	}
	return t.ranUntil(t.Copies[of], done)
}

// ranUntil is how long the attempt lasted that was at work at a time; zero when that may have been another one, of which nothing was seen. lasted says that its worker is
// known to have had it until then.
func (t *TaskFacts) ranUntil(c DeliveryCopy, at Micros) (run time.Duration, lasted bool) {
	runs := c.Runs
	i := len(runs) - 1
	for i >= 0 && runs[i].By > at {
		i--
	}
	if i < 0 || (runs[i].End.Known() && runs[i].End < at) {
		return 0, false
	}
	overtaken := runs[i].N < c.Attempts && !runs[i].End.Known()
	if overtaken && (i+1 == len(runs) || runs[i+1].N > runs[i].N+1 || !runs[i+1].Exact) {
		return 0, false
	}
	acked := func(o DeliveryCopy) bool { return o.Key == c.Key && o.Attempt == runs[i].N && o.AckedAt >= at }
	ended := runs[i].Exact && (overtaken || runs[i].End.Known()) // Else its end may be another one's.
	return at.Sub(runs[i].By), ended || slices.ContainsFunc(t.Copies, acked)
}

// executions counts the completions of one key, by records or by reports of different attempts. It makes cases of those beyond the first, and one of the
// records of which nothing tells whether the work was done again.
func (t *TaskFacts) executions() (n int, leaked []Case, unclear Case) {
	reported, last := t.reportedCompletions()
	n, ran, unclear := t.recorded()
	if reported > max(n, 1) {
		return reported, []Case{{Layer: LayerExecution, At: last, N: reported - 1, Why: "The agent reports completion of more than one attempt."}}, Case{}
	}
	if ran.N > 0 {
		leaked = []Case{ran}
	}
	return max(n, reported), leaked, unclear
}

// recorded counts the executions that records prove, and says what was recorded beyond the first. A record that was written again proves an execution where an
// attempt of its own had lasted long enough by then. After the task's only delivery it was refreshed.
func (t *TaskFacts) recorded() (n int, ran, unclear Case) {
	ran = Case{Layer: LayerExecution, Why: "Completion was recorded more than once, at different times, each in an attempt of its own."}
	unclear = Case{Layer: LayerUnknown, Why: "Completion was recorded again, and nothing tells whether an attempt did the work again or the record was only refreshed."}
	taken, all := make([]bool, len(t.Copies)), t.recordsInTime()
	for i, d := range all {
		own := t.recordedIn(d, taken)
		copied := slices.ContainsFunc(all[:i], d.sameMoment) // Written again beside another message, more likely than done twice in one millisecond.
		idle := slices.ContainsFunc(own, func(of int) bool { return !t.workedUntil(t.Copies[of], d.At) })
		switch {
		case i == 0 && !t.several() || (len(own) > 0 && !copied && !idle): // The first may be that of an attempt that was never acknowledged.
			if len(own) == 1 {
				taken[own[0]] = true // What another attempt wrote meanwhile takes it from no later record.
			}
			n++
			if n > 1 {
				ran.At, ran.N = latest(ran.At, d.At), n-1
			}
		case t.delivered() > 1:
			unclear.At, unclear.N = latest(unclear.At, d.At), unclear.N+1
		}
	}
	return n, ran, unclear
}

// workedUntil reports whether an acknowledged attempt gave signs of work, or had lasted too long by then to have done none.
func (t *TaskFacts) workedUntil(c DeliveryCopy, at Micros) bool {
	return c.Worked || t.ranIn(c) || (c.By.Known() && at.Sub(c.By) > t.quick())
}

// recordsInTime are the completions that records state, in the order in which they were stored.
func (t *TaskFacts) recordsInTime() []Completed {
	return slices.SortedStableFunc(slices.Values(t.Completions()), func(a, b Completed) int { return cmp.Compare(a.At, b.At) })
}

// recordedIn are the acknowledged attempts in one of which a completion was stated and recorded, those left out that are taken.
func (t *TaskFacts) recordedIn(d Completed, taken []bool) (own []int) {
	for i, c := range t.Copies {
		within := c.AckedAt.Known() && d.At >= c.Surely && d.Stated.Add(bindingSlack) >= c.Surely && d.At <= c.AckedAt
		if within && !taken[i] {
			own = append(own, i)
		}
	}
	return own
}

// delivered is how many deliveries of the key are proved.
func (t *TaskFacts) delivered() int {
	n := 0
	for i, c := range t.Copies {
		if i == 0 || t.Copies[i-1].Key != c.Key {
			n += c.Attempts
		}
	}
	return n
}

// AttemptRun is when an attempt was at work, as far as is known.
type AttemptRun struct {
	N     int    `json:"n"`
	By    Micros `json:"b"`           // It began no later than this.
	Exact bool   `json:"x,omitempty"` // It began just then.
	End   Micros `json:"e,omitempty"` // Its worker had handed it back or lost its lease by then; zero when neither is known.
}

// maxRunsKept is of how many attempts of a message the task keeps when they began: the first and the latest ones.
const maxRunsKept = 8

// runs are the attempts of which the begin is known, by number.
func (m *MessageFacts) runs() (out []AttemptRun) {
	numbered := m.numbered()
	last := m.currentAttempt(numbered)
	for n := 1; n <= last; n++ {
		if n == 2 {
			n = max(n, last-maxRunsKept+2)
		}
		if r := m.run(n, numbered); r.By.Known() {
			out = append(out, r)
		}
	}
	return out
}

// run is what is known of when the n-th attempt was at work.
func (m *MessageFacts) run(n int, numbered []NumberedDelivery) AttemptRun {
	a, d := m.attemptFacts(n), deliveryIn(numbered, n)
	exact := earliest(a.DeliveredAt, d.At)
	r := AttemptRun{N: n, By: firstKnown(exact, earliest(a.SeenAt, d.Bound)), Exact: exact.Known(), End: a.NakAt}
	if x, _ := a.passed(m, exact); x != nil {
		r.End = earliest(r.End, x.Deadline)
	}
	return r
}

// first is the latest time at which the first attempt can have begun; zero when nothing says so.
func (c DeliveryCopy) first() Micros {
	if len(c.Runs) == 0 || c.Runs[0].N > 1 {
		return 0
	}
	return c.Runs[0].By
}
