package brokersync

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// refresh is how often the state of a consumer is stored although it did not change, so that readers see that it was observed.
const refresh = 15 * time.Second

func consumerOf(stream lifecycle.StreamID, info *jetstream.ConsumerInfo) Consumer {
	cfg := info.Config
	c := Consumer{ConsumerState: lifecycle.ConsumerState{
		Stream: stream, Name: info.Name, CreatedAt: lifecycle.MicrosOf(info.Created), ObservedAt: lifecycle.MicrosOf(info.TimeStamp),
		AckWait: cfg.AckWait, Backoff: cfg.BackOff, MaxDeliver: cfg.MaxDeliver, MaxAckPending: cfg.MaxAckPending,
		AckPending: info.NumAckPending, Redelivered: info.NumRedelivered, Pending: info.NumPending, Waiting: info.NumWaiting,
		Unanswered: cfg.AckPolicy == jetstream.AckNonePolicy, Push: cfg.DeliverSubject != "", Bound: info.PushBound,
		DeliveredCSeq: info.Delivered.Consumer, DeliveredSeq: info.Delivered.Stream, DeliveredAt: instant(info.Delivered.Last),
		FloorCSeq: info.AckFloor.Consumer, FloorSeq: info.AckFloor.Stream, Paused: info.Paused,
	}, AckedAt: instant(info.AckFloor.Last), ForAll: cfg.AckPolicy == jetstream.AckAllPolicy}
	if info.Paused {
		c.PausedUntil = instant(cfg.PauseUntil)
	}
	switch {
	case len(cfg.FilterSubjects) > 0:
		c.Filters = cfg.FilterSubjects
	case cfg.FilterSubject != "":
		c.Filters = []string{cfg.FilterSubject}
	}
	return c
}

func instant(t *time.Time) lifecycle.Micros {
	if t == nil {
		return 0
	}
	return lifecycle.MicrosOf(*t)
}

// changedConsumers is what to store of the consumers seen now: those that differ from what was stored last, those that have not been
// stored for a while, and those that are gone.
func changedConsumers(stored map[consumerKey]lifecycle.ConsumerState, stream lifecycle.StreamID, now []Consumer, at lifecycle.Micros) []lifecycle.ConsumerState {
	var out []lifecycle.ConsumerState
	seen := map[consumerKey]bool{}
	for _, c := range now {
		k := consumerKey{c.Stream, c.Name}
		seen[k] = true
		old, known := stored[k]
		if !known || differs(old, c.ConsumerState) || c.ObservedAt >= old.ObservedAt.Add(refresh) {
			c.ObservedAt = max(c.ObservedAt, old.ObservedAt+1) // Also where the clock was set back.
			out = append(out, c.ConsumerState)
		}
	}
	for k, old := range stored {
		if sameStream(k.stream, stream) && !seen[k] && !old.Gone {
			old.Gone, old.ObservedAt = true, max(at, old.ObservedAt+1)
			out = append(out, old)
		}
	}
	slices.SortFunc(out, func(a, b lifecycle.ConsumerState) int {
		return cmp.Or(cmp.Compare(a.Stream.Epoch, b.Stream.Epoch), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// sortedConsumers is a copy ordered by name: the order in which the broker lists consumers means nothing.
func sortedConsumers(consumers []Consumer) []Consumer {
	return slices.SortedFunc(slices.Values(consumers), func(a, b Consumer) int { return cmp.Compare(a.Name, b.Name) })
}

type consumerKey struct {
	stream lifecycle.StreamID
	name   string
}

// differs ignores the time of the observation and the number of waiting pulls, which changes all the time and says little.
func differs(a, b lifecycle.ConsumerState) bool {
	a.ObservedAt, a.Waiting, b.ObservedAt, b.Waiting = 0, 0, 0, 0
	if len(a.Filters)+len(b.Filters) == 0 {
		a.Filters, b.Filters = nil, nil
	}
	if len(a.Backoff)+len(b.Backoff) == 0 {
		a.Backoff, b.Backoff = nil, nil
	}
	return !reflect.DeepEqual(a, b)
}

// sameStream reports whether two ids name the same stream, whatever its incarnation.
func sameStream(a, b lifecycle.StreamID) bool {
	a.Epoch, b.Epoch = 0, 0
	return a == b
}
