package brokersync

import (
	"fmt"
	"slices"
	"time"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// wrongLease is what is wrong with what pages say of the leases on a message after a look; empty for nothing.
func (b *simBroker) wrongLease(w *world, seq uint64) string {
	f, known := w.facts[lifecycle.MessageKey{Stream: tasks, Seq: seq}]
	if !known || f.Stored == nil {
		return ""
	}
	open := lifecycle.OpenMessage{Message: f}
	consumer := func(name string) *lifecycle.ConsumerState {
		if c, known := w.known[consumerKey{tasks, name}]; known {
			return &c
		}
		return nil
	}
	seen := min(b.capture(fleet.CaptureAck).stored, b.looks[len(b.looks)-1])
	moment := lifecycle.Moment{Now: at(b.now), Read: at(seen), Unseen: lifecycle.UnseenAnswers(w.gaps)}
	leases := lifecycle.LeasesBeside(open, consumer, lifecycle.Typical{}, moment)
	if l, held := lifecycle.LeaseOf(open, consumer(f.Judged(lifecycle.TaskFacts{}).Consumer), lifecycle.Typical{}, moment); held {
		leases = append(leases, l)
	}
	for _, l := range leases {
		i := slices.IndexFunc(b.consumers, func(c *simConsumer) bool { return c.name == l.Consumer })
		if i < 0 {
			continue
		}
		if wrong := b.consumers[i].notLeased(l, seq, seen); wrong != "" {
			return fmt.Sprintf("%d is held by %s, attempt %d from %s until %s at the latest, %q: %s", seq, l.Consumer, l.Attempt, l.Basis.Time().Sub(t0.Time()), l.Latest.Time().Sub(t0.Time()), l.Stale, wrong)
		}
	}
	return ""
}

// notLeased is what is wrong with a lease of which all was seen up to a time; empty for nothing.
func (c *simConsumer) notLeased(l lifecycle.Lease, seq uint64, seen time.Duration) string {
	p := c.pending[seq]
	if !c.alive(seq) || l.Attempt != c.share(seq).attempts || c.changed > seen || p.set > seen {
		return ""
	}
	until := p.from + c.waitOf(seq)
	switch latest := l.Latest.Sub(t0); {
	case l.Stale == lifecycle.StaleLease || l.Stale == lifecycle.StalePresumedDead:
		return "its worker has it until " + short(until)
	case l.Latest.Known() && until > latest+noted:
		return "the broker waits until " + short(until)
	case l.Latest.Known() && !l.AtLatest && !c.restarted && until < l.Deadline.Sub(t0)-noted:
		return "the broker waits only until " + short(until)
	}
	return ""
}
