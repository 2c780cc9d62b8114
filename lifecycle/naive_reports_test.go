package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// errand is a message of a task that its agent's worker had, or has: one attempt after the other, until it was acknowledged, or the broker had waited for the last
// one for thirty seconds. That worker may go on.
type errand struct {
	seq    int
	agent  string
	stored time.Duration
	began  []time.Duration // Each attempt; empty for never delivered.
	acked  time.Duration   // Zero for never; likewise below.
	died   time.Duration
	seen   bool // The lines of its deliveries were seen.
}

// word is what an agent reports about one of these messages, without naming it.
type word struct {
	kind  string
	about int // Index of the errand; its agent is the one that reports.
	n     int // Zero where the attempt is not named either.
	at    time.Duration
	named bool   // It names the message id after all.
	agent string // Who reports; a stranger has none of the messages.
}

func randomErrand(r *rand.Rand, seq int, clear bool) errand {
	e := errand{seq: seq, agent: pick(r, "marketing", "marketing", "marketing", "cso"), stored: time.Duration((seq-1)*r.IntN(60)) * time.Second, seen: clear || r.IntN(3) > 0}
	at := e.stored
	for range r.IntN(3) {
		at += time.Duration(1+r.IntN(20)) * time.Second
		e.began = append(e.began, at)
	}
	switch r.IntN(4) {
	case 0, 1:
		if len(e.began) > 0 {
			e.acked = at + time.Duration(100+r.IntN(20_000))*time.Millisecond
		}
	case 2:
		if len(e.began) > 0 {
			e.died = at + 30*time.Second
		}
	}
	return e
}

// events are its lines: those of the messages of an agent name the agent's own consumer.
func (e errand) events(t *testing.T) []Event {
	lines := []string{fmt.Sprintf("published %s seq=%d task=T msgid=T:%d key=T-%d", e.stored, e.seq, e.seq, e.seq)}
	for i, at := range e.began {
		if e.seen {
			lines = append(lines, fmt.Sprintf("delivered %s seq=%d cseq=%d n=%d exact", at, e.seq, 10*e.seq+i, i+1))
		}
	}
	if e.acked > 0 && e.seen {
		lines = append(lines, fmt.Sprintf("acked %s seq=%d n=%d cseq=%d", e.acked, e.seq, len(e.began), 10*e.seq+len(e.began)-1))
	}
	if e.died > 0 && e.seen {
		n := len(e.began)
		lines = append(lines, fmt.Sprintf("presumed_dead %s seq=%d n=%d cseq=%d basis=%s deadline=%s", e.died, e.seq, n, 10*e.seq+n-1, e.began[n-1], e.died))
	}
	out := parseScenario(t, strings.Join(lines, "\n"))
	for i := range out {
		out[i].ID = NewEventID("errand", fmt.Sprint(e.seq), fmt.Sprint(i))
		out[i].Agent = e.agent
		if out[i].Kind == Published {
			out[i].Detail.Subject = "genbrain.agents." + e.agent + ".tasks.blog"
		} else {
			out[i].Consumer = e.agent + "-task-worker"
		}
	}
	return out
}

// randomWord is a report of a worker of one of the errands, made while it had the message, or within a second and a half after it acknowledged. One of an attempt
// before the last may not know that it lost the message: it reports at any time.
func randomWord(r *rand.Rand, all []errand) (w word, ok bool) {
	w.about = r.IntN(len(all))
	e := all[w.about]
	if len(e.began) == 0 {
		return w, false
	}
	k := r.IntN(len(e.began))
	w.kind, w.agent, w.n = pick(r, "completed", "completed", "accepted"), e.agent, pick(r, 0, k+1)
	w.at = e.began[k] + time.Duration(r.IntN(pick(r, 3_000, 40_000)))*time.Millisecond
	if last := k == len(e.began)-1; last && e.acked > 0 && w.at > e.acked {
		w.at = e.acked + time.Duration(r.IntN(1500))*time.Millisecond
	}
	switch r.IntN(6) {
	case 0:
		w.agent = "devops"
		w.named = r.IntN(2) == 0
	case 1:
		w.named = true
		if other := all[r.IntN(len(all))]; other.agent != e.agent {
			w.agent = other.agent
		}
	}
	return w, true
}

func (w word) event(t *testing.T, all []errand) Event {
	line := fmt.Sprintf("%s %s task=T agent=%s heard=%s", w.kind, w.at, w.agent, w.at+20*time.Millisecond)
	if w.n > 0 {
		line += fmt.Sprintf(" n=%d", w.n)
	}
	if w.named {
		line += fmt.Sprintf(" msgid=T:%d", all[w.about].seq)
	}
	e := parseScenario(t, line)[0]
	e.ID = NewEventID("word", line)
	return e
}

// believed reports whether the agent that speaks has or had the message.
func (w word) believed(all []errand) bool { return w.agent == all[w.about].agent }

// alone reports whether it fits no other message: the others are other agents', stored later, or surely over when it was said, so that no worker of an earlier attempt
// is left. The attempt that it names is known.
func (w word) alone(all []errand) bool {
	const apart = 2 * time.Second
	for i, e := range all {
		over := e.acked > 0 && e.acked < w.at-apart && len(e.began) < 2
		if i != w.about && e.agent == w.agent && !over && e.stored < w.at+apart {
			return false
		}
	}
	return true
}

// told is what is said of each message, and the anomalies of the task.
func told(events []Event, size int) (states []State, anomalies []AnomalyCode) {
	task := foldAll(batches(events, size)).record("T")
	bySeq := slices.Clone(task.Messages)
	slices.SortFunc(bySeq, func(a, b MessageFacts) int { return a.Key.Compare(b.Key) })
	for _, m := range bySeq {
		states = append(states, Judge(m, task.Facts).State)
	}
	return states, task.Summary.Anomalies
}

// household is a task's messages, and what agents report of them.
type household struct {
	clear    bool // Every line was seen.
	lost     bool // Those of the last message were not, and it is known that lines were lost.
	errands  []errand
	reported []word
}

func randomHousehold(r *rand.Rand) (h household) {
	h.clear = r.IntN(2) == 0
	for seq := range 1 + r.IntN(3) {
		h.errands = append(h.errands, randomErrand(r, seq+1, h.clear))
	}
	h.lost = len(h.errands) > 1 && r.IntN(4) == 0
	for range 1 + r.IntN(4) {
		if w, ok := randomWord(r, h.errands); ok {
			h.reported = append(h.reported, w)
		}
	}
	said := slices.Clone(h.reported)
	h.reported = slices.DeleteFunc(h.reported, func(w word) bool { // Who said that the work is done says no more of it once the message is over.
		return slices.ContainsFunc(said, func(o word) bool {
			over := h.errands[w.about].acked
			return over > 0 && w.at > over && o.about == w.about && o.kind == "completed" && o.at < w.at
		})
	})
	return h
}

// lines are what is seen of the messages, and what is reported.
func (h household) lines(t *testing.T) (wire, reports []Event) {
	for i, e := range h.errands {
		if !h.isLost(i) {
			wire = append(wire, e.events(t)...)
		}
	}
	for _, w := range h.reported {
		reports = append(reports, w.event(t, h.errands))
		if h.lost && !w.named {
			reports = append(reports, parseScenario(t, fmt.Sprintf("unbound %s task=T", w.at))...)
			reports[len(reports)-1].ID = NewEventID("lost", w.at.String())
		}
	}
	return wire, reports
}

// isLost reports whether nothing is known of a message but what is reported.
func (h household) isLost(i int) bool { return h.lost && i == len(h.errands)-1 }

// saidOf reports whether somebody who had a message says something of it, or that it is completed where the state is said to be that.
func (h household) saidOf(i int, state State) bool {
	return slices.ContainsFunc(h.reported, func(w word) bool {
		return w.about == i && w.believed(h.errands) && (state != StateCompleting || w.kind == "completed")
	})
}

// credited is the message of which completion must be said: its agent alone reports, of a message that waits for its answer, and no other is meant.
func (h household) credited() int {
	if len(h.reported) != 1 || !h.clear {
		return -1
	}
	w := h.reported[0]
	if h.lost && (!w.named || h.isLost(w.about)) {
		return -1
	}
	if w.kind != "completed" || !w.believed(h.errands) || h.errands[w.about].acked > 0 || h.errands[w.about].died > 0 || (!w.named && !w.alone(h.errands)) {
		return -1
	}
	return w.about
}

// contradicted reports whether somebody says that a message that another agent is known to have had is completed, by its id.
func (h household) contradicted() bool {
	return slices.ContainsFunc(h.reported, func(w word) bool {
		return w.named && w.kind == "completed" && !w.believed(h.errands) && !h.isLost(w.about) && h.errands[w.about].seen
	})
}

// wrong is what reports made of the messages that they may not have, or did not make that they must; empty where nothing is.
func (h household) wrong(before, after []State, anomalies []AnomalyCode) string {
	for i, e := range h.errands {
		if !h.isLost(i) && before[i] != after[i] && !h.saidOf(i, after[i]) {
			return fmt.Sprintf("message %d became %s, was %s, and nobody who had it said so", e.seq, after[i], before[i])
		}
	}
	if i := h.credited(); i >= 0 && after[i] != StateCompleting {
		return fmt.Sprintf("message %d is %s, and its agent reports completion", h.errands[i].seq, after[i])
	}
	if conflict := slices.Contains(anomalies, AnomalyConflictingReport); conflict != h.contradicted() {
		return fmt.Sprintf("a conflict is said: %v, and there is one: %v", conflict, h.contradicted())
	}
	return ""
}

// A report without a message id is credited where one message fits, and never to another message than the one that it is about.
func TestReportsToldAgainFromTheSpecification(t *testing.T) {
	t.Parallel()
	for i := range Histories(2_000) {
		seed := uint64(3_000_000 + i)
		r := newRand(t, seed)
		h := randomHousehold(r)
		wire, reports := h.lines(t)
		all := append(slices.Clone(wire), reports...)
		r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		before, _ := told(wire, len(wire))
		after, anomalies := told(all, 1+r.IntN(len(all)))
		if wrong := h.wrong(before, after, anomalies); wrong != "" {
			t.Fatalf("seed %d: %s: %+v", seed, wrong, h)
		}
	}
}

// aboutIt leaves out what was reported under the message's id where all of it was said, and a completion heard, more than two seconds before the message was stored: an
// earlier message had that id.
func (n naive) aboutIt() naive {
	stored := n.last(is(Published))
	named := n.all(func(e Event) bool {
		return is(ReportClaimed, ReportAccepted, ReportCompleted)(e) && e.Detail.MsgID != ""
	})
	heard := slices.ContainsFunc(named, func(e Event) bool { return e.Detail.HeardAt.Known() })
	later := slices.ContainsFunc(named, func(e Event) bool { return max(e.At, e.Detail.HeardAt).Add(2*time.Second) >= stored })
	if !heard || later {
		return n
	}
	return naive{n.all(func(e Event) bool { return e.Detail.MsgID == "" || e.Provenance != Reported }), n.given}
}
