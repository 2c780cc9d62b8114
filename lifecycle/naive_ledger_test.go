package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// piece is one piece of work, under one idempotency key, as its publisher and its workers know it: what was published, and what each worker really did that was
// given it. The ledger is told only the lines of it that were not lost.
type piece struct {
	work     time.Duration // What it takes at least; no run takes twice as long.
	wait     time.Duration // How long the broker waits for an answer.
	window   time.Duration
	reports  bool // Its agents report.
	lossless bool // Every line was seen, and the broker's time of every delivery.

	caught    int // Publishes that the stream dropped.
	heard     int // Publishes that were heard, and may have been recorded late.
	works     []worked
	refreshed []time.Duration // A record was written again, and nothing ran.
	lines     []string
}

// worked is what a worker did with one delivery. Times are zero for never.
type worked struct {
	seq, n, cseq int
	began        time.Duration
	ran          bool          // It began the work.
	finished     time.Duration // The work had its effect.
	recorded     time.Duration
	acked        time.Duration
	beats        []time.Duration
}

func randomPiece(r *rand.Rand) *piece {
	p := &piece{work: pick(r, time.Second, 8*time.Second, 40*time.Second), wait: pick(r, 10*time.Second, 30*time.Second), window: time.Hour, reports: r.IntN(3) == 0}
	if p.lossless = r.IntN(3) == 0; p.lossless && r.IntN(3) == 0 {
		p.work = 60 * time.Millisecond // Work that takes less than a quarter of a second can be told from none only where its begin was seen.
	}
	p.publish(r, 1, 0)
	p.deliver(r, 1, time.Duration(r.IntN(3000))*time.Millisecond)
	if r.IntN(2) == 0 {
		again := p.window + time.Duration(1+r.IntN(60))*time.Minute
		p.publish(r, 2, again)
		p.deliver(r, 2, again+time.Duration(r.IntN(3000))*time.Millisecond)
	}
	if last := p.recordedBy(3 * time.Hour); last != nil && r.IntN(6) == 0 {
		p.refresh(r, last.recorded+time.Duration(1+r.IntN(100))*time.Second)
	}
	return p
}

// refresh writes the record again, so that it lives longer.
func (p *piece) refresh(r *rand.Rand, at time.Duration) {
	p.refreshed = append(p.refreshed, at)
	p.line(r, "completion_recorded %s task=T key=T-1 created=%s", at, at)
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// line tells a line, unless it was lost.
func (p *piece) line(r *rand.Rand, format string, args ...any) bool {
	seen := p.lossless || r.IntN(4) > 0
	if seen {
		p.lines = append(p.lines, fmt.Sprintf(format, args...))
	}
	return seen
}

// publish stores the message, and tries again: within the window the stream drops that, and what is beyond its limits it refuses.
func (p *piece) publish(r *rand.Rand, seq int, at time.Duration) {
	p.attempt(r, seq, at+time.Millisecond)
	p.lines = append(p.lines, fmt.Sprintf("published %s seq=%d task=T msgid=T:%d key=T-1 hash=aa window=%s", at, seq, seq, p.window))
	for n := range r.IntN(4) {
		again := at + time.Duration(r.IntN(50))*time.Minute + time.Duration(2+n)*time.Millisecond
		switch r.IntN(5) {
		case 4:
			again = at - time.Duration(100+r.IntN(1800))*time.Millisecond // So it was, and a moment later it was not.
		case 0:
			again = at + p.window + time.Duration(1+r.IntN(9))*time.Minute // Too large by then.
		case 1:
			again = at - time.Duration(3+r.IntN(60))*time.Second // The disk was full.
		default:
			p.caught++
			p.told(r, seq, again)
		}
		p.attempt(r, seq, again)
	}
}

// told is what a publisher reports whom the stream answered that its publish is a duplicate; a relay may repeat it, and another agent say the same.
func (p *piece) told(r *rand.Rand, seq int, at time.Duration) {
	if !p.reports {
		return
	}
	said := fmt.Sprintf("publish_duplicate %s task=T msgid=T:%d agent=", at+time.Millisecond, seq)
	p.line(r, "%s", said+"marketing")
	if r.IntN(4) == 0 {
		p.line(r, "%s", said+"marketing by=relay")
	}
	if r.IntN(4) == 0 {
		p.line(r, "%s", said+"cso")
	}
}

// attempt is one publish. It is recorded, perhaps late, because a capture stream has no majority; meanwhile it may have been heard.
func (p *piece) attempt(r *rand.Rand, seq int, at time.Duration) {
	late := time.Duration(0)
	if r.IntN(4) == 0 {
		p.lines = append(p.lines, fmt.Sprintf("publish_attempted %s task=T msgid=T:%d besteffort", at, seq))
		p.heard++
		late = time.Duration(r.IntN(900)) * time.Millisecond
	}
	p.line(r, "publish_attempted %s task=T msgid=T:%d", at+late, seq)
}

// deliver gives the message to workers until one acknowledges it, or the broker's three attempts are used up. A worker that takes longer than the broker waits is
// overtaken, and goes on.
func (p *piece) deliver(r *rand.Rand, seq int, at time.Duration) {
	answered, expiry := time.Duration(0), ""
	conclude := func() {
		if expiry != "" {
			p.lines = append(p.lines, expiry)
		}
	}
	defer func() { conclude() }()
	for n := 1; n <= 3 && (answered == 0 || answered > at); n++ {
		w := p.try(r, worked{seq: seq, n: n, cseq: 3*(seq-1) + n, began: at})
		p.works = append(p.works, w)
		p.zombieHandsBack(r)
		signal, later := p.tell(r, w)
		if p.lossless || !later || r.IntN(2) == 0 { // Nobody looked at the lease before the next attempt showed.
			conclude()
		}
		expiry = p.expiry(w, signal)
		if w.acked > 0 && (answered == 0 || w.acked < answered) {
			answered = w.acked
		}
		at = w.lastSignal() + p.wait + time.Duration(r.IntN(4000))*time.Millisecond
	}
}

// slowAck is how many milliseconds a worker may take at most from its record to its acknowledgement.
func (p *piece) slowAck() int {
	if p.lossless {
		return 20
	}
	return 4000
}

// zombieHandsBack lets the worker that the last one overtook hand back what it lost, while that one is at work.
func (p *piece) zombieHandsBack(r *rand.Rand) {
	if len(p.works) < 2 || r.IntN(4) > 0 || p.lossless {
		return
	}
	z, w := p.works[len(p.works)-2], p.works[len(p.works)-1]
	if z.seq == w.seq && z.acked == 0 && w.acked > w.began {
		p.line(r, "naked %s seq=%d n=%d cseq=%d", w.began+time.Duration(r.Int64N(int64(w.acked-w.began))), z.seq, z.n, z.cseq)
	}
}

func (w worked) lastSignal() time.Duration {
	if len(w.beats) == 0 {
		return w.began
	}
	return w.beats[len(w.beats)-1]
}

// try is what one worker does: it may look for a record and find one, run to some point and crash there, keep no record, or never acknowledge.
func (p *piece) try(r *rand.Rand, w worked) worked {
	soon := func(most int) time.Duration { return time.Duration(1+r.IntN(most)) * time.Millisecond }
	if r.IntN(3) > 0 && p.recordedBy(w.began) != nil {
		w.acked = w.began + soon(12)
		if r.IntN(8) == 0 {
			p.refresh(r, w.acked-500*time.Microsecond)
		}
		return w
	}
	w.ran = true
	long := p.work + time.Duration(r.Int64N(int64(p.work)*9/10))
	end := w.began + long
	fate := r.IntN(5)
	if fate == 0 {
		end = w.began + time.Duration(r.Int64N(int64(long)))
	}
	for at := w.began + p.wait/3; r.IntN(2) == 0 && at < end; at += p.wait / 3 {
		w.beats = append(w.beats, at)
	}
	if fate > 0 {
		w.finished = end
	}
	if fate > 1 {
		w.recorded = end
	}
	if fate == 4 || (fate == 3 && r.IntN(2) == 0) {
		w.acked = end + soon(pick(r, 20, p.slowAck()))
	}
	if fate == 3 && r.IntN(2) == 0 {
		w.recorded = 0
	}
	return w
}

// recordedBy is the last delivery whose worker had recorded completion by then; nil where none had.
func (p *piece) recordedBy(at time.Duration) (last *worked) {
	for i, w := range p.works {
		if w.recorded > 0 && w.recorded <= at {
			last = &p.works[i]
		}
	}
	return last
}

// expiry is the conclusion from the last signal that was seen of a delivery, that its lease ran out; empty where it did not, or nothing was seen.
func (p *piece) expiry(w worked, signal time.Duration) string {
	until := signal + p.wait
	if signal == 0 || (w.acked > 0 && w.acked <= until) {
		return ""
	}
	return fmt.Sprintf("lease_expired %s seq=%d n=%d cseq=%d basis=%s deadline=%s", until, w.seq, w.n, w.cseq, signal, until)
}

// tell are the lines of one delivery: it gives the last signal of it that was seen, and whether anything was. The broker's time of a delivery is known only where a
// poll came before the next.
func (p *piece) tell(r *rand.Rand, w worked) (signal time.Duration, any bool) {
	before := len(p.lines)
	if p.lossless || r.IntN(2) == 0 {
		p.lines = append(p.lines, fmt.Sprintf("delivered %s seq=%d cseq=%d n=%d exact", w.began, w.seq, w.cseq, w.n))
		signal = w.began
	} else if r.IntN(3) == 0 { // A poll told of it later, and can only say that it was no later.
		signal = w.began + time.Duration(r.Int64N(int64(p.wait)))
		p.lines = append(p.lines, fmt.Sprintf("delivered %s seq=%d cseq=%d n=%d", signal, w.seq, w.cseq, w.n))
	}
	wire := func(kind string, at time.Duration) bool {
		return at > 0 && p.line(r, "%s %s seq=%d n=%d cseq=%d", kind, at, w.seq, w.n, w.cseq)
	}
	for _, at := range w.beats {
		if wire("heartbeat", at) {
			signal = max(signal, at)
		}
	}
	wire("acked", w.acked)
	any = len(p.lines) > before
	if w.recorded > 0 {
		p.line(r, "completion_recorded %s task=T key=T-1 record=%d created=%s", w.recorded, w.seq, w.recorded)
	}
	report := func(kind string, at time.Duration) {
		if p.reports && at > 0 {
			p.report(r, kind, at, w)
		}
	}
	report("claimed", w.began+time.Millisecond)
	if w.ran {
		report("accepted", w.began+2*time.Millisecond)
		report("completed", w.recorded)
	} else {
		report("duplicate_caught", w.acked)
	}
	return signal, any
}

// report is what the worker's agent says of a delivery. A relay may say the same again, without naming the message or the attempt; and another agent may say it
// of a message that it never had.
func (p *piece) report(r *rand.Rand, kind string, at time.Duration, w worked) {
	named, numbered := fmt.Sprintf(" msgid=T:%d", w.seq), fmt.Sprintf(" n=%d", w.n)
	p.line(r, "%s %s task=T agent=marketing%s%s", kind, at, named, numbered)
	if r.IntN(6) == 0 {
		p.line(r, "%s %s task=T agent=marketing by=relay%s%s", kind, at+time.Millisecond, pick(r, "", named), pick(r, "", numbered))
	}
	if r.IntN(12) == 0 {
		p.line(r, "%s %s task=T agent=cso%s%s", pick(r, "completed", "duplicate_caught"), at+time.Millisecond, named, pick(r, "", numbered))
	}
}

// leaks are the runs too many: each that finished beside the first, and each that began after one had finished.
func (p *piece) leaks() (n int) {
	first := time.Duration(0)
	for _, w := range p.works {
		if w.finished > 0 && (first == 0 || w.finished < first) {
			first = w.finished
		}
	}
	for _, w := range p.works {
		if w.ran && first > 0 && (w.finished > first || w.began > first) {
			n++
		}
	}
	return n
}

// atOnce reports whether one sent heartbeats while another was at work that acknowledged.
func (p *piece) atOnce() bool {
	for _, a := range p.works {
		for _, b := range p.works {
			if a.seq != b.seq || a.n == b.n || a.acked == 0 || b.acked > 0 {
				continue
			}
			for _, beat := range b.beats {
				if a.began < beat && beat < a.acked {
					return true
				}
			}
		}
	}
	return false
}

// acksSeen are the deliveries whose acknowledgement is among the lines.
func (p *piece) acksSeen() int {
	n := 0
	for _, l := range p.lines {
		if strings.HasPrefix(l, "acked") {
			n++
		}
	}
	return n
}

// provedLeaks are what the lines themselves prove where none was lost and no record was only refreshed: of a run that finished before another began, both
// were recorded, or the agent reported that the later one began.
func (p *piece) provedLeaks() bool {
	for _, a := range p.works {
		for _, b := range p.works {
			if a.recorded > 0 && a.recorded < b.began && b.ran && b.acked > 0 && (p.reports || b.recorded > 0) {
				return p.lossless && len(p.refreshed) == 0
			}
		}
	}
	return false
}

// wrong is what the ledger says that may not be said of the piece, or does not say that must be; empty where nothing is.
func (p *piece) wrong(cases []Case) string {
	said := map[Layer]int{}
	for _, c := range cases {
		said[c.Layer] += c.N
		if w := p.of(c); c.Layer == LayerIdempotency && w != nil && w.ran {
			return fmt.Sprintf("attempt %d of message %d is called caught, and it ran", c.Attempt, c.Message.Seq)
		}
	}
	repeats := said[LayerIdempotency] + said[LayerExecution] + said[LayerUnknown]
	switch {
	case said[LayerStream] > p.caught || (p.lossless && said[LayerStream] < p.caught-p.heard):
		return fmt.Sprintf("%d publishes are called caught by the stream, which dropped %d", said[LayerStream], p.caught)
	case said[LayerIdempotency] > p.skipped():
		return fmt.Sprintf("%d repeats are called caught by a record, and %d were", said[LayerIdempotency], p.skipped())
	case said[LayerExecution] > p.leaks():
		return fmt.Sprintf("%d runs are called too many, and %d were", said[LayerExecution], p.leaks())
	case p.provedLeaks() && said[LayerExecution] == 0:
		return "a run after another's completion is not told"
	case p.lossless && p.atOnce() && repeats == 0:
		return "two were at work at once, and no repeat is told"
	case repeats < p.acksSeen()-1:
		return fmt.Sprintf("%d deliveries were acknowledged, and %d are told as repeats", p.acksSeen(), repeats)
	case said[LayerUnknown] > len(p.works)-1+len(p.refreshed):
		return fmt.Sprintf("%d repeats are unknown of %d deliveries", said[LayerUnknown], len(p.works))
	case p.lossless && len(p.refreshed) == 0 && said[LayerIdempotency] < p.skipped():
		return fmt.Sprintf("%d repeats are told as caught by a record, and %d were", said[LayerIdempotency], p.skipped())
	}
	return ""
}

// of is the delivery that a finding is about.
func (p *piece) of(c Case) *worked {
	for i, w := range p.works {
		if uint64(w.seq) == c.Message.Seq && w.n == c.Attempt {
			return &p.works[i]
		}
	}
	return nil
}

// skipped are the deliveries that found a record and were acknowledged at once.
func (p *piece) skipped() (n int) {
	for _, w := range p.works {
		if !w.ran {
			n++
		}
	}
	return n
}

// The ledger against what publishers and workers know: nothing that ran is called caught, no more is called executed than ran, and no repeat is passed over.
func TestTheLedgerToldAgainFromTheSpecification(t *testing.T) {
	t.Parallel()
	for i := range Histories(2_000) {
		r := newRand(t, uint64(1_000_000+i))
		p := randomPiece(r)
		r.Shuffle(len(p.lines), func(a, b int) { p.lines[a], p.lines[b] = p.lines[b], p.lines[a] })
		events := parseScenario(t, strings.Join(p.lines, "\n"))
		task := foldAll(batches(events, 1+r.IntN(len(events)))).record("T")
		cases := Ledger(&task.Facts)
		if wrong := p.wrong(cases); wrong != "" {
			t.Fatalf("seed %d: %s: %+v\n%s\nit says: %+v", 1_000_000+i, wrong, p.works, strings.Join(p.lines, "\n"), cases)
		}
	}
}
