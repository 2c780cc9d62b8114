package lifecycle

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Answers are the three questions that a trace answers in words (SPEC 2).
type Answers struct {
	Ownership   Answer // Where did ownership last transfer?
	LastReceipt Answer // What is the last durable receipt?
	Recovery    Answer // What did recovery decide, or what comes next?
}

// Answer is a headline and the sentence below it, with its time and how it is known. Both are our own words: they never quote what
// agents wrote.
type Answer struct {
	Headline   string // At most nine words.
	Text       string // One sentence.
	At         Micros // Zero when the answer has no time.
	Provenance Provenance
}

// and adds a clause to the sentence.
func (a Answer) and(clause string) Answer {
	a.Text = strings.TrimSuffix(a.Text, ".") + "; " + clause + "."
	return a
}

func answer(t Trace, in TraceInput) Answers {
	if len(t.Messages) == 0 {
		return answersWithoutMessage(t)
	}
	head, _ := t.Shown()
	out := Answers{Ownership: ownership(head), LastReceipt: lastReceipt(t, head), Recovery: recovery(head, in)}
	out = besideEnded(in.besideSilent(out, head), head)
	out = in.whileAbsent(out, head)
	out.Recovery = besideDone(besideSharers(besideRecord(out.Recovery, head), head, t.Facts), head, t.Messages)
	out.Recovery = besideOthers(out.Recovery, head, t.Messages)
	return out
}

// whileAbsent speaks of an open message whose stream does not exist: what was known of its consumers holds no longer.
func (in TraceInput) whileAbsent(out Answers, m MessageTrace) Answers {
	source := Absent(m.Facts.Key.Stream.Name)
	i := slices.IndexFunc(in.Gaps, func(g Gap) bool { return g.Source == source && !g.To.Known() })
	if i < 0 || !m.Verdict.State.Open() {
		return out
	}
	why := "S" + strings.TrimPrefix(in.Gaps[i].Reason, "s")
	if m.Lease == nil {
		out.Ownership = Answer{Headline: "Its stream does not exist", Text: why + ".", Provenance: Broker}
	}
	out.Recovery = Answer{Headline: "Its stream does not exist", Text: why + "; nothing is delivered from it, and no answer has effect.", Provenance: Broker}
	return out
}

// answersWithoutMessage speaks of a task of which no stored message was observed.
func answersWithoutMessage(t Trace) Answers {
	out := Answers{
		Ownership:   Answer{Headline: "Nobody is known to have it", Text: "No stored message of this task is known.", Provenance: Inferred},
		LastReceipt: Answer{Headline: "None is known", Text: "No stored message, completion record or receipt of this task is known.", Provenance: Inferred},
		Recovery:    Answer{Headline: "Nothing can be recommended", Text: "No stored message of this task is known.", Provenance: Inferred},
	}
	if len(t.Facts.Reports) > 0 {
		out.LastReceipt = Answer{Headline: "Its agent reported about it", Text: "An agent reported about it, although no stored message is known.", Provenance: Reported}
	}
	if c := t.Facts.Completion; c != nil {
		out.LastReceipt = Answer{Headline: "A completion record", Text: "A completion is recorded, although no stored message is known.", At: c.At, Provenance: Recorded}
	}
	if e := t.Facts.Effects; len(e) > 0 {
		out.LastReceipt = Answer{Headline: "A logged effect", Text: "The side-effect log has an effect of it, although no stored message is known.", At: e[0].At, Provenance: Recorded}
	}
	if owner, proved := t.Facts.owner(); owner != "" {
		return caughtFor(owner, proved, out)
	}
	switch why := t.whyNotAgain(); {
	case !t.Facts.NotStoredAt.Known():
	case why != "":
		out.Recovery.Headline = "Look for its effect first"
		out.Recovery.Text = fmt.Sprintf("A publish was attempted, and %s: look for its effect before publishing it again.", why)
	default:
		out.Recovery.Headline = "Publish it again"
		out.Recovery.Text = "A publish was attempted and nothing was stored: publish it again, or find out why the stream refused it."
	}
	return out
}

// whyNotAgain says why the work of a task without a known message may have been done; empty where nothing speaks for it.
func (t *Trace) whyNotAgain() string {
	f := &t.Facts
	switch {
	case f.NotStoredDoubt != "":
		return f.NotStoredDoubt
	case len(f.Effects) > 0:
		return "the side-effect log has an effect of it"
	case f.Completion != nil:
		return "a completion of it is recorded"
	case len(f.Erased) > 0:
		return "a record of its completion was deleted, or has expired"
	case len(f.Shared) > 0:
		return "another task has an idempotency key that names it"
	case len(f.Reports) > 0 || slices.ContainsFunc(t.Gaps, func(g Gap) bool { return !g.Repaired }):
		return "whether it was stored is not known"
	}
	return ""
}

// caughtFor speaks of a task whose publish the stream caught as a duplicate of another task's message, or may have refused just before that was stored.
func caughtFor(owner string, proved bool, out Answers) Answers {
	out.Ownership = Answer{Headline: "Nobody: the stream caught its publish", Provenance: Inferred,
		Text: fmt.Sprintf("The stream had its message id from task %s, and caught the publish as a duplicate of that.", owner)}
	if !proved {
		out.Ownership = Answer{Headline: "Nobody: nothing was stored for it", Provenance: Inferred,
			Text: fmt.Sprintf("The stream stored its message id for task %s, and caught this publish or had refused it before.", owner)}
	}
	out.Recovery = Answer{Headline: "Look at the task that has its id", Provenance: Inferred,
		Text: fmt.Sprintf("Nothing was stored for this task: only the message of task %s is worked on.", owner)}
	return out
}

// Shown is the message by which the task is shown; the newest one where that message was not read. ok is false where no message is known.
func (t *Trace) Shown() (m MessageTrace, ok bool) {
	if len(t.Messages) == 0 {
		return m, false
	}
	k := t.Facts.shown()
	for _, m := range t.Messages {
		if m.Facts.Key == k {
			return m, true
		}
	}
	return t.Messages[len(t.Messages)-1], true
}

// allowing is the consumer whose limit the n-th attempt is told with; nil where the message was used up under a lower limit than there is now.
func (m *MessageTrace) allowing(n int) *ConsumerState {
	if m.Consumer != nil && m.Verdict.State == StateExhausted && n < m.Consumer.MaxDeliver {
		return nil
	}
	return m.Consumer
}

// named names an attempt of the message.
func (m *MessageTrace) named(a Attempt) string {
	if a.Former {
		return fmt.Sprintf("attempt %d of its former consumer", a.N)
	}
	return attemptOf(a.N, m.allowing(a.N))
}

// attemptOf names an attempt and how many there are. Where fewer are allowed by now than there were, only the attempt.
func attemptOf(n int, c *ConsumerState) string {
	if c != nil && c.MaxDeliver >= max(n, 1) {
		return fmt.Sprintf("attempt %d of %d", n, c.MaxDeliver)
	}
	return fmt.Sprintf("attempt %d", n)
}

// clock is how instants read in sentences and reports.
func clock(m Micros) string { return m.Time().Format("2006-01-02 15:04:05.000 UTC") }

// Grouped is how counts read: 26,147.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

const day = 24 * time.Hour

// Lasting is how every duration reads on pages, in events, alerts and sentences: 350 ms, 4.2 s, 42 s, 14m 21s, 3h 05m, 2d 4h. A whole number of one unit
// has that unit alone: 6 s, 2 m, 12 h, 7 d. A negative one begins with a minus sign. Nothing is rounded up.
func Lasting(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + Lasting(-d)
	case d < time.Millisecond:
		return "0 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d%day == 0:
		return Grouped(int64(d/day)) + " d"
	case d < day && d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d < time.Hour && d%time.Minute == 0:
		return fmt.Sprintf("%d m", d/time.Minute)
	case d < 10*time.Second && d%time.Second != 0:
		return fmt.Sprintf("%d.%d s", d/time.Second, d%time.Second/(100*time.Millisecond))
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh %02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %dh", d/day, d%day/time.Hour)
}
