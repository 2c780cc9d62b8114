package lifecycle

import (
	"math"
	"slices"
	"time"
)

// Metric names a number kept in the rollups.
type Metric string

// The rollups. Those marked month or day (of UTC), hour or minute have buckets of that length; the others count what is so now, in bucket zero.
const (
	MetricState           Metric = "state"           // Now: tasks per agent; label: state.
	MetricPublished       Metric = "published"       // Hour: stored messages per agent; label: type.
	MetricCompleted       Metric = "completed"       // Hour: acknowledged messages per agent; label: type.
	MetricFailedAttempts  Metric = "failed_attempts" // Hour: attempts that ended by nak, termination or timeout, without those of which only reports tell; label: how.
	MetricDied            Metric = "died"            // Hour: tasks that ended without completing; label: state.
	MetricTasks           Metric = "tasks"           // Hour: tasks per agent, by their first stored message; label: [TaskOpen], or the state in which it ended.
	MetricTasksMonth      Metric = "tasks_mo"        // Month: like tasks.
	MetricDuplicates      Metric = "duplicates"      // Hour: findings of the duplicate ledger; label: [Layer].
	MetricDuplicatesMonth Metric = "duplicates_mo"   // Month: like duplicates.
	MetricRecorded        Metric = "recorded"        // Hour: distinct completions that idempotency records stated, by when the records were stored; no label.
	MetricRecordedMonth   Metric = "recorded_mo"     // Month: like recorded.
	MetricReported        Metric = "reported"        // Hour: attempts of which an agent reported the end; no label.
	MetricRecordWait      Metric = "record_wait"     // Hour: deliveries that said what they waited for records, over all agents; label: a [WaitBucket].
	MetricRecordWaitMonth Metric = "record_wait_mo"  // Month: like record_wait.
	MetricRenewalsFailed  Metric = "renewals_failed" // Hour: attempts that had renewed their lease and lost it; label: a [RenewalFailure].
	MetricKeysReused      Metric = "keys_reused"     // Hour: stored messages with the idempotency key of an earlier one of their task; label: a [KeyReuse].
	MetricNoReceipt       Metric = "no_receipt"      // Hour: attempts that announced an effect without a receipt, before the work began again; label: class of the effect.
	MetricSentAgain       Metric = "sent_again"      // Hour: outgoing messages that agents announced again; no label.
	MetricMissed          Metric = "missed"          // Hour: what somebody outside waits for in vain; label: a [Missed].
	MetricRunning         Metric = "running"         // Hour: running time of completed tasks; label: type + "|" + [DurationBucket].
	MetricRunningDay      Metric = "running_d"       // Day: like running.
	MetricCost            Metric = "cost"            // Hour: what agents reported that tasks cost, in millionths of a USD, by their first stored message; label: type.
	MetricCosted          Metric = "costed"          // Hour: tasks of which a cost was reported, likewise; label: type.
	MetricQueue           Metric = "queue"           // Hour: by how much the queue grew ([MessageFacts.leftAt]), negative where it shrank; no label.
	MetricQueueMonth      Metric = "queue_mo"        // Month: like queue, so that the depth at an hour is the sum of the months before and of the hours since.
	MetricGiven           Metric = "given"           // Hour: like published, where a message says who published it; label: [RouteLabel].
	MetricGivenMin        Metric = "given_m"         // Minute: like published; label: [RouteLabel].
	MetricDoneMin         Metric = "done_m"          // Minute: like completed.
	MetricDiedMin         Metric = "died_m"          // Minute: like died, no label.
	MetricPublishedMin    Metric = "published_m"     // Minute: like published, no label.
	MetricCompletedMin    Metric = "completed_m"     // Minute: like completed, no label.
	MetricFailedMin       Metric = "failed_m"        // Minute: like failed_attempts.
	MetricQueueMin        Metric = "queue_m"         // Minute: like queue.
	MetricRunningMin      Metric = "running_m"       // Five minutes: like running. A minute holds too few tasks for a distribution.
)

// Metrics lists all rollups.
func Metrics() []Metric {
	return append(MinuteMetrics(),
		MetricState, MetricPublished, MetricGiven, MetricCompleted, MetricFailedAttempts, MetricDied, MetricTasks, MetricTasksMonth, MetricDuplicates, MetricDuplicatesMonth,
		MetricRecorded, MetricRecordedMonth, MetricReported, MetricRecordWait, MetricRecordWaitMonth, MetricRenewalsFailed, MetricKeysReused, MetricNoReceipt, MetricSentAgain, MetricMissed,
		MetricRunning, MetricRunningDay, MetricCost, MetricCosted, MetricQueue, MetricQueueMonth)
}

// Minute reports whether the metric has buckets of minutes, which are kept for two days only.
func (m Metric) Minute() bool { return slices.Contains(MinuteMetrics(), m) }

// RunningMinutes is how long the buckets of [MetricRunningMin] are.
const RunningMinutes = 5 * time.Minute

// Month reports whether the metric has buckets of a month of UTC, so that a year is a dozen rows.
func (m Metric) Month() bool {
	switch m {
	case MetricTasksMonth, MetricDuplicatesMonth, MetricRecordedMonth, MetricRecordWaitMonth, MetricQueueMonth:
		return true
	}
	return false
}

// Bucket is the beginning of the bucket in which something at that time counts.
func (m Metric) Bucket(at Micros) Micros {
	switch {
	case m == MetricRunningMin:
		return at.Truncate(RunningMinutes)
	case m == MetricRunningDay:
		return at.Truncate(24 * time.Hour)
	case m.Minute():
		return at.Truncate(time.Minute)
	case m.Month():
		year, month, _ := at.Time().Date()
		return MicrosOf(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC))
	}
	return at.Truncate(time.Hour)
}

// TaskOpen is the label of [MetricTasks] of a task that has not ended.
const TaskOpen = "open"

// Cell addresses one number of the rollups.
type Cell struct {
	Metric Metric
	Bucket Micros // Start of the month, hour or minute; zero for "now".
	Agent  string
	Label  string
}

// Tally is a set of numbers to add to the rollups. What a message or task contributes is a pure function of its facts, and a batch
// adds the difference between after and before: late facts correct the numbers instead of counting twice.
type Tally map[Cell]int64

func (t Tally) count(metric Metric, at Micros, agent, label string, n int64) {
	if n != 0 && at.Known() {
		t[Cell{metric, metric.Bucket(at), agent, label}] += n
	}
}

// countMessage adds what a message contributes, times the given number: one, or minus one for what it contributed before. ev and v are its
// evidence and verdict by the wire.
func (t Tally) countMessage(m *MessageFacts, ev *evidence, v Verdict, times int64) {
	if m.Stored != nil {
		t.count(MetricPublished, m.Stored.At, m.Agent, m.Stored.Type, times)
		t.count(MetricPublishedMin, m.Stored.At, m.Agent, "", times)
		t.countRoute(m.Stored, m.Agent, times)
	}
	t.countQueue(m, v, times)
	if len(m.Consumers) == 0 {
		t.countFailed(m, ev, times)
		return
	}
	parts := evidenceOfParts(m.Parts(), &TaskFacts{})
	for i := range parts {
		t.countFailed(m, &parts[i], times)
	}
}

// countFailed adds the attempts of a message that failed.
func (t Tally) countFailed(m *MessageFacts, ev *evidence, times int64) {
	by := m.LastAt // The latest that the attempt can have ended.
	for _, a := range slices.Backward(ev.attempts()) {
		at := firstKnown(a.EndedAt, by)
		switch a.End {
		case EndNacked, EndTerminated, EndTimedOut:
			t.count(MetricFailedAttempts, at, m.Agent, string(a.End), times)
			t.count(MetricFailedMin, at, m.Agent, string(a.End), times)
			if how := a.renewalFailure(m.RecreatedAt); how != "" {
				t.count(MetricRenewalsFailed, at, m.Agent, string(how), times)
			}
		}
		by = firstKnown(a.BeganAt, at)
	}
}

// countQueue adds that a message came into the queue, and that it left it. Of one that did both in one bucket nothing is left to keep.
func (t Tally) countQueue(m *MessageFacts, v Verdict, times int64) {
	if m.Stored == nil {
		return
	}
	left := m.leftAt(v)
	for _, metric := range []Metric{MetricQueue, MetricQueueMonth, MetricQueueMin} {
		t.count(metric, m.Stored.At, m.Agent, "", times)
		t.count(metric, left, m.Agent, "", -times)
	}
}

// leftAt is when a stored message left the queue: it was completed, or will not be handed out again. It is zero while the message waits for a worker,
// is in one's hands, or is due again. A message that ended before it was stored, by another clock, left when it was stored.
func (m *MessageFacts) leftAt(v Verdict) Micros {
	state, since := v.State, v.Since
	if state == StateTriaged {
		state, since = v.Death.State, v.Death.Since
	}
	if state.Open() {
		return 0
	}
	return latest(firstKnown(since, m.LastAt), m.Stored.At)
}

// countTask adds what a task contributes, likewise. s and cases are its judgement.
func (t Tally) countTask(f *TaskFacts, s *TaskSummary, cases []Case, times int64) {
	if s.Listed {
		t[Cell{Metric: MetricState, Agent: s.Agent, Label: string(s.State)}] += times
	}
	switch {
	case s.Message.IsZero():
	case s.State == StateCompleted:
		t.count(MetricCompleted, s.StateSince, s.Agent, s.Type, times)
		t.count(MetricCompletedMin, s.StateSince, s.Agent, "", times)
		t.count(MetricDoneMin, s.StateSince, s.Agent, s.Type, times)
		if s.Running > 0 {
			label := s.Type + "|" + DurationBucket(s.Running)
			t.count(MetricRunning, s.StateSince, s.Agent, label, times)
			t.count(MetricRunningDay, s.StateSince, s.Agent, label, times)
			t.count(MetricRunningMin, s.StateSince, s.Agent, label, times)
		}
	case !s.State.Open():
		t.count(MetricDied, s.EndedAt, s.Agent, string(s.ended()), times)
		t.count(MetricDiedMin, s.EndedAt, s.Agent, "", times)
	}
	if s.Used.Cost > 0 {
		t.count(MetricCost, f.firstStored(), s.Agent, s.Type, times*s.Used.Cost)
		t.count(MetricCosted, f.firstStored(), s.Agent, s.Type, times)
	}
	t.countDuplicates(f, s, cases, times)
	t.countProtection(f, s.Agent, times)
	t.countEffects(f, s, times)
}

// ended is the state in which the newest message ended: a decision about it changes nothing in how many died, and when.
func (s *TaskSummary) ended() State {
	if s.State == StateTriaged {
		return s.Died
	}
	return s.State
}

// countDuplicates adds what the table of duplicates is made of (package duplicates).
func (t Tally) countDuplicates(f *TaskFacts, s *TaskSummary, cases []Case, times int64) {
	ended := TaskOpen
	if !s.State.Open() {
		ended = string(s.ended())
	}
	first := f.firstStored()
	t.count(MetricTasks, first, s.Agent, ended, times)
	t.count(MetricTasksMonth, first, s.Agent, ended, times)
	for _, c := range cases {
		if c.Elsewhere {
			continue
		}
		t.count(MetricDuplicates, c.At, s.Agent, string(c.Layer), times*int64(c.N))
		t.count(MetricDuplicatesMonth, c.At, s.Agent, string(c.Layer), times*int64(c.N))
	}
}

// countProtection adds what is seen of the protection against duplicates: records, reports, and what they cost.
func (t Tally) countProtection(f *TaskFacts, agent string, times int64) {
	for _, c := range f.Completions() {
		t.count(MetricRecorded, c.At, agent, "", times)
		t.count(MetricRecordedMonth, c.At, agent, "", times)
	}
	for r := range f.Credible() {
		t.count(MetricReported, f.NotBefore(r.ended()), agent, "", times)
		if at := f.NotBefore(r.recordsWaited()); at.Known() {
			bucket := WaitBucket(r.RecordsWait)
			t.count(MetricRecordWait, at, "", bucket, times)
			t.count(MetricRecordWaitMonth, at, "", bucket, times)
		}
	}
}

// DurationBucket names the bucket of a duration on a scale of four steps per doubling, as two digits or more: the exponent of a
// millisecond. [BucketDuration] gives its upper end back.
func DurationBucket(d time.Duration) string {
	return scaleBucket(float64(d) / float64(time.Millisecond))
}

// MaxRecordsWait is the longest wait for records that is accepted from a report.
const MaxRecordsWait = time.Hour

// WaitBucket is like [DurationBucket], on a scale that begins at a microsecond: [BucketDuration] gives a thousand times its upper end.
func WaitBucket(d time.Duration) string { return scaleBucket(float64(d) / float64(time.Microsecond)) }

func scaleBucket(units float64) string {
	n := int(math.Ceil(4 * math.Log2(max(1, units))))
	return string([]byte{byte('0' + n/100%10), byte('0' + n/10%10), byte('0' + n%10)})
}

// BucketDuration is the upper end of a bucket named by [DurationBucket]; zero for another text.
func BucketDuration(bucket string) time.Duration {
	if len(bucket) != 3 {
		return 0
	}
	n := 0
	for _, c := range []byte(bucket) {
		n = n*10 + int(c-'0')
	}
	return time.Duration(math.Exp2(float64(n)/4) * float64(time.Millisecond))
}
