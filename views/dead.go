package views

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// entryName is what an entry is called: its title, else its type, else its task.
func entryName(e dlqtriage.Entry) string { return Cut(cmp.Or(e.Title, e.Type, e.TaskID), 120) }

// classWords are why a message died, in a few words.
func classWords(c dlqtriage.Class) string {
	return spaced(cmp.Or(c.Detail, string(c.Category)))
}

// spaced writes a name of the API as words: conditionally recoverable.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// facetWords is a value of a field as people read it. Names of agents and types are theirs, and stay as they are.
func facetWords(field, value string) string {
	switch dlqtriage.GroupField(field) {
	case dlqtriage.ByCategory, dlqtriage.ByDetail, dlqtriage.ByPath:
		return spaced(value)
	}
	return value
}

// whyDied says why a message died: the reason in its words, and its class, which is empty where no rule knows one. Until it was looked at nobody has
// classified it.
func whyDied(e dlqtriage.Entry) (reason, class string) {
	if e.Detail != "" || e.Category != dlqtriage.Unclassified {
		class = classWords(e.Class)
	}
	switch {
	case e.Category != dlqtriage.Unclassified || (e.Reason != "" && e.LookedAt()):
		return e.Reason, class
	case e.Reason != "":
		return e.Reason, "not classified yet"
	case e.Copied():
		return "its entry gives no reason", class
	}
	return "reason not read yet", ""
}

// shownReason is how much of a reason a row shows before it is unfolded, in letters.
const shownReason = 240

// listedReason is a reason as a row of the list has it: without the name of its class, which stands behind it.
func listedReason(e dlqtriage.Entry, reason string) string {
	if e.Detail == "" {
		return reason
	}
	return strings.TrimPrefix(reason, e.Detail+": ")
}

// whyTitle says on hover how a message that died was classified, and why it died in full.
func whyTitle(e dlqtriage.Entry) string {
	if e.Detail == "" {
		return Printable(e.Reason)
	}
	return strings.TrimSuffix(categoryName(e.Category)+": "+Printable(e.Reason), ": ")
}

// categoryWords is the category, empty until somebody could classify.
func categoryWords(e dlqtriage.Entry) string {
	if e.Category == dlqtriage.Unclassified && !e.LookedAt() {
		return ""
	}
	return categoryName(e.Category)
}

// categoryName is a category in words.
func categoryName(c dlqtriage.Category) string { return spaced(string(c)) }

// statusLook is how a status looks, with what became of the message that followed.
func statusLook(s dlqtriage.Status, o dlqtriage.Outcome) look {
	switch s {
	case dlqtriage.StatusActing:
		return look{Icon: "operations", Tone: "run", Word: "acting"}
	case dlqtriage.StatusDeferred:
		return look{Icon: "deferred", Tone: "wait", Word: "deferred"}
	case dlqtriage.StatusDiscarded:
		return look{Icon: "discarded", Tone: "wait", Word: "discarded"}
	case dlqtriage.StatusQuarantined:
		return look{Icon: "quarantined", Tone: "warn", Word: "quarantined"}
	case dlqtriage.StatusRetried, dlqtriage.StatusReassigned:
		switch o {
		case dlqtriage.OutcomeResolved:
			return look{Icon: "check", Tone: "ok", Word: "resolved"}
		case dlqtriage.OutcomeDiedAgain:
			return look{Icon: "dead", Tone: "bad", Word: "died again"}
		}
		return look{Icon: "retried", Tone: "dup", Word: withOutcome(string(s), o)}
	}
	return look{Icon: "dlq", Tone: "dead", Word: "open"}
}

// StatusWords are what was decided about an entry, with what became of the message that followed.
func StatusWords(e dlqtriage.Entry) string {
	if e.Status == dlqtriage.StatusActing {
		return "decided; what comes of it is not known yet"
	}
	return statusLook(e.Status, e.Outcome).Word
}

// retryTook is the time from the death of a message to the completion of the one that followed it. ok is false where none completed, or the times contradict
// each other.
func retryTook(e dlqtriage.Entry) (took time.Duration, ok bool) {
	again := e.Status == dlqtriage.StatusRetried || e.Status == dlqtriage.StatusReassigned
	return e.ResolvedAt.Sub(e.FailedAt), again && e.FailedAt.Known() && e.ResolvedAt >= e.FailedAt
}

// tookWords say how long a retry took, from the death and from when it was sent; empty where that is not known.
func tookWords(e dlqtriage.Entry) string {
	took, ok := retryTook(e)
	if !ok {
		return ""
	}
	out := lifecycle.Lasting(took.Round(time.Millisecond)) + " from the death to the completion"
	if e.DecidedAt >= e.FailedAt && e.DecidedAt <= e.ResolvedAt {
		out += ", " + lifecycle.Lasting(e.ResolvedAt.Sub(e.DecidedAt).Round(time.Millisecond)) + " of it after the retry"
	}
	return out
}

// StatusAndTime are [StatusWords], with how long a retry took that completed.
func StatusAndTime(e dlqtriage.Entry) string {
	if took, ok := retryTook(e); ok {
		return StatusWords(e) + " " + lifecycle.Lasting(took.Round(time.Millisecond)) + " after it died"
	}
	return StatusWords(e)
}

// withOutcome adds to a word what became of the message that followed, where that is known.
func withOutcome(word string, o dlqtriage.Outcome) string {
	if o == "" {
		return word
	}
	return word + ", " + outcomeWords(o)
}

// outcomeWords say what became of the message that followed.
func outcomeWords(o dlqtriage.Outcome) string { return spaced(string(o)) }

// trendWords compare the last day with the one before.
func trendWords(g dlqtriage.EntryGroup) string {
	switch {
	case g.Trend() == dlqtriage.TrendQuiet:
		return "quiet"
	case g.Recent == g.Count: // Its count stands beside it.
		return string(g.Trend())
	}
	return fmt.Sprintf("%s, %s in 24 h", g.Trend(), Count(g.Recent))
}

// deliveryWords say of what type a message is, and how often it was delivered, as far as is known.
func deliveryWords(e dlqtriage.Entry) string {
	out := "no delivery seen"
	switch {
	case e.Deliveries == 1:
		out = "1 delivery"
	case e.Deliveries > 1:
		out = Count(int64(e.Deliveries)) + " deliveries"
	}
	if e.Type != "" {
		out = Cut(e.Type, 40) + " · " + out
	}
	return out
}

// Retries are how the retries of a group ended, as far as they were seen to.
type Retries struct {
	Tried, Completed, DiedAgain int64
	Median                      time.Duration // From death to completion, of those that completed.
}

// words say it with the number of cases; empty where none was tried.
func (r Retries) words() string {
	if r.Tried == 0 {
		return ""
	}
	noun := "retries"
	if r.Tried == 1 {
		noun = "retry"
	}
	out := fmt.Sprintf("%s of %s %s completed", Count(r.Completed), Count(r.Tried), noun)
	switch took := strings.ReplaceAll(lifecycle.Lasting(r.Median.Round(time.Millisecond)), " ", "\u00a0"); {
	case r.Completed == 1:
		out += ", after " + took
	case r.Completed > 1:
		out += ", median " + took
	}
	if r.DiedAgain > 0 {
		out += ", " + Count(r.DiedAgain) + " died again"
	}
	return out
}

// diedCount is how many died of a row; of one of which dead letters may have been deleted it is the least number, or none.
func diedCount(r dlqtriage.StatisticsRow, n int64) string {
	switch {
	case !r.Deleted:
		return Count(n)
	case r.Entries == 0:
		return "not kept"
	}
	return Count(n) + "+"
}

func rateWords(r dlqtriage.StatisticsRow) string {
	rate, known := r.Rate()
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.2f %%", 100*rate)
}

func medianWords(s dlqtriage.Sums) string {
	if s.Resolved == 0 {
		return "–"
	}
	return lifecycle.Lasting(s.Median.Round(time.Millisecond))
}

// dlqPlace is where the entry in the broker's queue is, or was. While the queue was not read nothing is said of one that was not seen.
func dlqPlace(p EntryPage) string {
	place := fmt.Sprintf("%s:%d", p.DLQStream, p.DLQSeq)
	switch {
	case p.Copied() && p.InQueue == nil:
		return place + " when it was read"
	case p.Copied() && !*p.InQueue:
		return "no longer there: " + place + " was deleted, purged, or dropped by a limit of the queue"
	case p.Copied():
		return place
	case p.Unread:
		return "not known: the queue was not read yet"
	}
	return "none was seen"
}

// beforeWords is what a payload has at the place of a difference; a field that is not there differs from one that is null.
func beforeWords(d dlqtriage.Difference) string {
	if d.Op == dlqtriage.OpAdd {
		return "not there"
	}
	return Cut(string(d.Before), 300)
}

// afterWords is what a retry has there.
func afterWords(d dlqtriage.Difference) string {
	if d.Op == dlqtriage.OpRemove {
		return "taken away"
	}
	return Cut(string(d.After), 300)
}
