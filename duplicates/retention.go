package duplicates

import (
	"fmt"
	"math"
	"time"

	"fleetglass/lifecycle"
)

// Retention is the part of the live configuration that says for how long idempotency records are kept, and how late a task may come
// again (SPEC 4).
type Retention struct {
	Known           bool          // False when it could not be read.
	Records         time.Duration // How long a record is kept after completion; zero: for ever.
	MaxAge          time.Duration // How long a task message may lie in its stream; zero: for ever.
	DuplicateWindow time.Duration // How long the stream remembers message ids.
	RetryDelay      time.Duration // How long a retry may wait before it is published again; zero where there are no retries.
}

// RetentionVerdict is the result of comparing the retention of records with what they must outlive.
type RetentionVerdict string

// The verdicts.
const (
	RetentionEnough  RetentionVerdict = "enough"  // Every window is over before a record goes.
	RetentionShort   RetentionVerdict = "short"   // A duplicate may come when the record that would catch it is gone.
	RetentionUnknown RetentionVerdict = "unknown" // The configuration could not be read.
)

// RetentionVerdicts lists the verdicts.
func RetentionVerdicts() []RetentionVerdict {
	return []RetentionVerdict{RetentionEnough, RetentionShort, RetentionUnknown}
}

// RetentionCheck says whether idempotency records live long enough, and why.
type RetentionCheck struct {
	Verdict RetentionVerdict
	Records time.Duration // As configured; zero: for ever, or not known.
	Windows []RetentionWindow
	Advice  string // What to do, in a sentence; empty when records live long enough.
}

// RetentionWindow is one way in which a completed task may come again, and how long after its completion.
type RetentionWindow struct {
	Name    string        // "redelivery", "late_arrival", "retry" or "republish".
	Length  time.Duration // Zero where it is endless.
	Endless bool          // Nothing configured ends it.
	Covered bool          // The record is still there at its end.
	Why     string        // In a sentence.
}

// CheckRetention compares how long records are kept with the longest time after which the same work may be delivered once more. A
// record that goes earlier lets a duplicate through to execution. Times that no configuration bounds, such as a retry by hand out of
// the dead-letter queue, are not among the windows.
func CheckRetention(consumers []lifecycle.ConsumerState, r Retention) RetentionCheck {
	if !r.Known {
		return RetentionCheck{Verdict: RetentionUnknown, Advice: "The configuration of the streams and of the records could not be read."}
	}
	c := RetentionCheck{Verdict: RetentionEnough, Records: r.Records, Windows: retentionWindows(consumers, r)}
	for i := range c.Windows {
		w := &c.Windows[i]
		w.Covered = r.Records == 0 || (!w.Endless && w.Length <= r.Records)
		if !w.Covered {
			c.Verdict = RetentionShort
		}
	}
	if c.Verdict == RetentionShort {
		c.Advice = retentionAdvice(r, c)
	}
	return c
}

// Needed is how long records must be kept at least: as long as the longest window. It is endless where a window is, and zero where the
// configuration is not known.
func (c RetentionCheck) Needed() (longest time.Duration, endless bool) {
	for _, w := range c.Windows {
		longest, endless = max(longest, w.Length), endless || w.Endless
	}
	return longest, endless
}

func retentionAdvice(r Retention, c RetentionCheck) string {
	longest, endless := c.Needed()
	if endless {
		return fmt.Sprintf("Records go after %s, and a task may come again without limit: give the stream a max_age and its consumers a max_deliver, "+
			"or keep records for ever.", lifecycle.Lasting(r.Records))
	}
	return fmt.Sprintf("Records go after %s, and a task may come again for %s: keep records at least that long, or let tasks and retries age sooner.",
		lifecycle.Lasting(r.Records), lifecycle.Lasting(longest))
}

func retentionWindows(consumers []lifecycle.ConsumerState, r Retention) []RetentionWindow {
	out := []RetentionWindow{redeliveryWindow(consumers, r.MaxAge), {
		Name: "late_arrival", Length: r.MaxAge, Endless: r.MaxAge == 0,
		Why: "A message whose acknowledgement was lost stays in the stream while its worker is away, up to the max_age.",
	}}
	if r.RetryDelay > 0 {
		w := RetentionWindow{
			Name: "retry", Endless: r.MaxAge == 0,
			Why: "A retry of a task that had completed waits to be published again, and then lies in the stream, up to the max_age of both.",
		}
		if !w.Endless {
			w.Length = r.RetryDelay + r.MaxAge
		}
		out = append(out, w)
	}
	if r.DuplicateWindow > 0 {
		out = append(out, RetentionWindow{
			Name: "republish", Length: r.DuplicateWindow,
			Why: "A publish repeated after the duplicate window is a new message to the stream: from then on only the record can catch it.",
		})
	}
	return out
}

// redeliveryWindow is the longest time from the first delivery of a message to the deadline of its last, over all consumers. It is
// never longer than messages live.
func redeliveryWindow(consumers []lifecycle.ConsumerState, maxAge time.Duration) RetentionWindow {
	w := RetentionWindow{Name: "redelivery", Why: "No consumer is known."}
	for _, c := range consumers {
		if c.Gone {
			continue
		}
		length, endless := allAttempts(c)
		if maxAge > 0 && (endless || length > maxAge) {
			length, endless = maxAge, false
		}
		if !w.Endless && (endless || length > w.Length) {
			w.Length, w.Endless, w.Why = length, endless, fmt.Sprintf("Consumer %s may deliver a message again until then.", c.Name)
		}
	}
	return w
}

// allAttempts is the sum of the waits of all attempts. It is endless when there is no last one, or none for a century.
func allAttempts(c lifecycle.ConsumerState) (sum time.Duration, endless bool) {
	if c.MaxDeliver <= 0 {
		return 0, true
	}
	steps := min(c.MaxDeliver, max(1, len(c.Backoff)))
	for n := 1; n <= steps; n++ {
		sum += c.Wait(n)
	}
	last := c.Wait(steps) // The attempts beyond wait as long as this one.
	rest := int64(c.MaxDeliver - steps)
	if last > 0 && rest > math.MaxInt64/2/int64(last) {
		return 0, true
	}
	return sum + time.Duration(rest*int64(last)), false
}
