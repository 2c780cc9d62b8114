//go:build linux

package randomfleets

import (
	"context"
	"fmt"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// margin is what clocks and buffers may make of one instant: a worker notes a delivery after the broker made it, and an answer before the broker has it.
const margin = 100 * time.Millisecond

// tally is what comparisons came to.
type tally struct {
	samples, held, attempts, behind int             // behind: of messages in the hands of a consumer that holds several, the board knows an earlier attempt.
	since                           []time.Duration // How long the worker had the later attempt then.
	wrong                           []string
	span                            time.Duration // The longest time between an instant and the board that is held to it.
}

// compare holds the board to what was so all the time from an instant until the board was read.
func (t *tally) compare(from, to time.Time, board query.InFlight, messages []message) {
	t.samples++
	t.span = max(t.span, to.Sub(from))
	for _, m := range messages {
		lease := board.OfTask(m.id)
		h, held := m.heldThroughout(from, to)
		switch {
		case held && lease == nil:
			t.fail(m, from, to, "it is held, and the board does not show it")
		case held:
			t.shown(m, h, from, to, *lease)
		case lease != nil && lease.Due && !m.ended(from.Add(-margin)): // Nobody has pulled it since.
		case lease != nil && !m.heldAtSomeTime(from.Add(-margin), to):
			t.fail(m, from, to, fmt.Sprintf("the board shows %s of attempt %d, and nobody holds it", lease.State, lease.Attempt))
		}
	}
}

// shown compares one lease with the delivery that its worker holds.
func (t *tally) shown(m message, h hold, from, to time.Time, l lifecycle.Lease) {
	t.held++
	overdue := l.Stale == lifecycle.StaleLease || l.Stale == lifecycle.StalePresumedDead
	switch {
	case l.Attempt > h.attempt:
		t.fail(m, from, to, fmt.Sprintf("the board shows attempt %d, its worker has attempt %d", l.Attempt, h.attempt))
	case l.Attempt < h.attempt && m.agent.hands == 1:
		t.fail(m, from, to, fmt.Sprintf("the board shows attempt %d, its worker has attempt %d", l.Attempt, h.attempt))
	case l.Attempt < h.attempt && !overdue && !l.Due && precise(l):
		t.fail(m, from, to, fmt.Sprintf("the board shows attempt %d in time until %s, its worker has attempt %d", l.Attempt, clock(l.Deadline.Time()), h.attempt))
	case l.Attempt < h.attempt:
		t.behind++
		t.since = append(t.since, to.Sub(h.from))
	case overdue && h.deadline().After(to.Add(margin)):
		t.fail(m, from, to, fmt.Sprintf("the board shows it as %s since %s, its lease ends at %s", l.Stale, clock(l.Deadline.Time()), clock(h.deadline())))
	case !overdue && l.Deadline.Known() && h.deadline().Before(from.Add(-margin)) && precise(l):
		t.fail(m, from, to, fmt.Sprintf("the board shows a deadline at %s, its lease ended at %s", clock(l.Deadline.Time()), clock(h.deadline())))
	default:
		t.attempts++
	}
}

// precise reports whether the deadline counts from a time that the broker gave, not from the time by which a delivery had happened.
func precise(l lifecycle.Lease) bool { return l.BeganExact || l.LastBeat.Known() }

func (t *tally) fail(m message, from, to time.Time, what string) {
	text := fmt.Sprintf("%s between %s and %s: %s\n\t%s", m.id, clock(from), clock(to), what, m.agent.plan)
	for _, h := range m.holds {
		text += fmt.Sprintf("\n\tattempt %d from %s, deadline %s, %d heartbeats, %q at %s (%s)", h.attempt, clock(h.from), clock(h.deadline()), len(h.beats), h.answer, clock(h.answerAt), h.delay)
	}
	t.wrong = append(t.wrong, text)
}

func clock(t time.Time) string { return t.UTC().Format("05.000") }

// sample compares the board with the workers' truth once.
func (g *glass) sample(ctx context.Context, l *ledger, t *tally) error {
	from := time.Now()
	if err := g.looked(ctx); err != nil {
		return err
	}
	board, err := g.board(ctx)
	if err != nil {
		return err
	}
	waiting, err := g.handedBack(ctx)
	if err != nil {
		return err
	}
	wrong := len(t.wrong)
	t.compare(from, time.Now(), board, l.copied())
	for i := wrong; i < len(t.wrong) && i < wrong+3; i++ {
		t.wrong[i] += g.events(ctx, t.wrong[i])
	}
	for _, lease := range board.Leases {
		if lease.State.InFlight() && lease.Next.At.Known() {
			l.foretell(lease.TaskID, lease.Attempt, forecast{asOf: from, at: lease.Next.At.Time(), exact: precise(lease)})
		}
	}
	for _, lease := range waiting {
		l.foretell(lease.TaskID, lease.Attempt, forecast{asOf: from, at: lease.Next.At.Time(), exact: true, naked: true})
	}
	return nil
}

// events are the events of the task that a text begins with.
func (g *glass) events(ctx context.Context, text string) string {
	var id string
	_, _ = fmt.Sscan(text, &id)
	events, err := g.store.Events(ctx, id, lifecycle.EventPosition{}, 1000)
	out := ""
	for _, e := range events {
		out += fmt.Sprintf("\n\t%s %s n=%d cseq=%d %s exact=%t", clock(e.At.Time()), e.Kind, e.Attempt, e.ConsumerSeq, e.Source, e.Detail.Exact)
	}
	if err != nil {
		out += err.Error()
	}
	return out
}
