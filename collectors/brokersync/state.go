package brokersync

import (
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// State is what the synchronizer remembers of one stream between polls. It is a value: [Rules.Step] returns the next one and leaves the
// old one as it was. It may be lost: it only saves asking twice, and delays what needs two observations.
type State struct {
	Stream     lifecycle.StreamID                      // The incarnation that all but Consumers and Capture are about.
	At         lifecycle.Micros                        // When the stream was observed last.
	Server     string                                  // As it was observed last.
	Watched    lifecycle.Micros                        // Since when it is observed without a long break.
	Limits     Limits                                  // As they were observed last,
	LimitsAt   lifecycle.Micros                        // and at every look since.
	Present    Presence                                // At the last observation,
	LastSeq    uint64                                  // and the stream's last sequence.
	Consumers  map[consumerKey]lifecycle.ConsumerState // As they were stored last.
	Capture    CaptureProgress
	Sweep      Sweep
	Comparison Comparison
	Unseen     lifecycle.Micros            // Publishes up to then may be duplicates of messages that were stored before capture began.
	Replaced   map[string]lifecycle.Micros // By consumer: when it was created in the place of another of its name.
	Busy       map[string]lifecycle.Micros // By consumer: the first observation since which its deliveries could not be told apart at any, because lines may be under way.
	Steady     map[string]lifecycle.Micros // By consumer: since when its attempts have had the same time at every observation.
	Single     map[string]uint64           // By consumer that may hold one message: observations show that it holds no other than the one that it delivered last, and held none beside one from this sequence on.
	Alone      map[string]uint64           // By consumer: the last delivery that it made while it had nothing else in hand, as observations show.
	Met        map[string]uint64           // By consumer that might hold one message when it was seen first: its last delivery then.
	Unbroken   map[string]uint64           // By consumer: beyond that sequence it delivered everything that its filters take, as every observation shows.
	Fresh      map[string]lifecycle.Micros // By consumer that was not seen to deliver before: the observation that saw it do so, until what it ended before then was looked at.
	Comers     map[string]Comer            // By name: workers' consumers that were made between two looks.
	Missing    map[uint64]Missed           // Open messages that are not in the stream.
	Dropped    map[uint64]lifecycle.Micros // Open messages in the stream that their consumer is past and awaits no answer to, and since when.
	Rechecks   map[uint64]lifecycle.Micros // Settled messages that are in the stream, and until when they are not read again.
	MovesRead  map[string]uint64           // By consumer: the last delivery of which something else may have moved the time, as was read.
	Answered   map[string]uint64           // By consumer: the last delivery of which the exact time was looked for.
	AskedUpTo  uint64                      // The last message of which the presence was asked, where not all could be.
	EarlierAt  lifecycle.Micros            // When earlier incarnations were checked last.
	Unfinished bool                        // Work was left for the next poll.
}

// Missed is what an observation showed that missed an open message first.
type Missed struct {
	Since    lifecycle.Micros // Its time.
	Last     uint64           // The last sequence of the stream at that time.
	Broken   bool             // The broker may have been started again since the look before: it loses what it cannot read of its files.
	Full     bool             // The stream, or the message's subject, held as much as its limit allows, and nothing older.
	Over     lifecycle.Micros // When so many messages of its subject had been stored after it that its limit must have removed it; zero where that is not known.
	Room     lifecycle.Micros // When the first of those left by its own time to live, so that there may have been room; zero where none did.
	After    lifecycle.Micros // It was there at that time, or stored then,
	AfterSeq uint64           // and up to this sequence the stream had messages then.
	Limits   Limits           // Of the stream as it was missed,
	Former   *Limits          // and before, at every look since it was there; nil where they are not known,
	FormerAt lifecycle.Micros // the last of which was then.
}

// NewState is the state of a stream of which only the consumers that the store knows are remembered.
func NewState(consumers []lifecycle.ConsumerState) State {
	s := State{Consumers: map[consumerKey]lifecycle.ConsumerState{}}
	for _, c := range consumers {
		s.Consumers[consumerKey{c.Stream, c.Name}] = c
	}
	return s
}

// about is a copy of the state for one incarnation. What was remembered of another is dropped.
func (s State) about(stream lifecycle.StreamID) State {
	if s.Stream != stream {
		s = State{Stream: stream, Consumers: s.Consumers, Capture: s.Capture, EarlierAt: s.EarlierAt}
	}
	s.Missing, s.Rechecks, s.Answered, s.Replaced = copied(s.Missing), copied(s.Rechecks), copied(s.Answered), copied(s.Replaced)
	s.Dropped, s.MovesRead, s.Unfinished = copied(s.Dropped), copied(s.MovesRead), false
	return s
}

func copied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// longBreak is how long nobody may have observed a stream whose messages are known to have left it when they reached their age.
const longBreak = 30 * time.Second

// watch notes an observation of the stream: by which server, which limits it has, and what is in it.
func (s *State) watch(o Observation) {
	again := !s.At.Known() || o.At.Sub(s.At) > longBreak
	if again {
		s.Watched = o.At
	}
	if again || !s.Limits.same(o.Limits) {
		s.LimitsAt = o.At
	}
	s.Server, s.Limits, s.Present, s.LastSeq = o.Server, o.Limits, o.Present, o.LastSeq
}

// busyNow is [State.Busy] after one more observation.
func (s State) busyNow(v view) map[string]lifecycle.Micros {
	busy := map[string]lifecycle.Micros{}
	for _, c := range v.Consumers {
		if v.quiet(c) && v.Drained >= v.ConsumersAt && c.DeliveredSeq <= s.Comparison.Verified {
			continue
		}
		if busy[c.Name] = v.ConsumersAt; s.Busy[c.Name].Known() {
			busy[c.Name] = s.Busy[c.Name]
		}
	}
	return busy
}

// steadyNow is [State.Steady] after one more observation. A consumer that was not there at the one before has had its configuration since it was created. A broker that
// started again, as its run or a forgotten last delivery shows, keeps the times of leases in whole seconds only: what it waits for may come a second early.
func (s State) steadyNow(o Observation) map[string]lifecycle.Micros {
	steady := map[string]lifecycle.Micros{}
	for _, c := range o.Consumers {
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		since, watched := s.Steady[c.Name]
		switch {
		case watched && known && s.Server == o.Server && old.CreatedAt == c.CreatedAt && (c.DeliveredAt.Known() || !old.DeliveredAt.Known()) && old.AckWait == c.AckWait && slices.Equal(old.Backoff, c.Backoff):
			steady[c.Name] = since
		case s.At.Known() && c.CreatedAt > s.At:
			steady[c.Name] = c.CreatedAt
		default:
			steady[c.Name] = o.ConsumersAt
		}
	}
	return steady
}

// withChanges are the consumers of an observation, with what was seen to change of their filters, of their waits, of the attempts that they allow and of how many messages they may hold.
func (s State) withChanges(o Observation) []Consumer {
	consumers := slices.Clone(o.Consumers)
	for i := range consumers {
		c := &consumers[i]
		_, c.Several = s.holding(*c)
		old, known := s.Consumers[consumerKey{c.Stream, c.Name}]
		c.Refiltered = refilteredNow(old, *c, o.ConsumersAt)
		same := known && old.CreatedAt == c.CreatedAt
		c.StartSeq, c.PassedSeq = startNow(old, *c, same), passedNow(old, *c, same)
		if !same {
			c.Seen, c.Followed = o.ConsumersAt, known || s.At.Known() && c.CreatedAt > s.At
			continue
		}
		c.Seen, c.Followed, c.Lowered = old.Seen, old.Followed, loweredNow(old, *c, o.ConsumersAt)
		if c.WaitsSince = old.WaitsSince; old.AckWait != c.AckWait || !slices.Equal(old.Backoff, c.Backoff) {
			c.WaitsSince = o.ConsumersAt
			if old.AckWait == c.AckWait { // The broker does not look earlier for a later step of the backoff: its timer is set for the former waits.
				c.WaitsSince = o.ConsumersAt.Add(max(old.AckWait, slices.Max(append(old.Backoff[:len(old.Backoff):len(old.Backoff)], 0))))
			}
		}
	}
	return consumers
}
