package brokersync

import (
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// Observation is what the broker said about one stream at one instant. Whoever fills it asks for the consumers first, then for the
// stream, then for the capture streams, because [Rules.Step] relies on that order. All times are the broker's.
type Observation struct {
	Stream   lifecycle.StreamID // The incarnation that lives; the last one that lived where Absent.
	Absent   bool               // The stream does not exist. Only Removed and Capture are set then.
	Removed  lifecycle.Micros   // When it was deleted, where an advisory said so.
	Earlier  []Earlier          // The incarnations before it.
	Restored uint64             // Up to this sequence its messages are older than itself: they came from a backup.
	Server   string             // The run of the server that we are connected to: another one once it started again, or once we are connected to another server.

	Created     lifecycle.Micros
	ConsumersAt lifecycle.Micros // When the consumers were listed.
	At          lifecycle.Micros // When the stream was asked, not before ConsumersAt.
	Msgs        uint64
	FirstSeq    uint64
	LastSeq     uint64
	Limits      Limits
	Subjects    []string      // That it takes.
	Window      time.Duration // For how long it swallows duplicates.
	Kept        bool          // The stream is no work queue: messages stay after an acknowledgement, and others than the workers may take them.
	Interest    bool          // It keeps a message only while a consumer that takes it did not answer.
	Full        bool          // The stream holds as many messages or bytes as its limits allow.
	Consumers   []Consumer
	Copiers     []Consumer // By which the broker feeds mirrors of the stream, and streams that have it as a source.
	Copied      bool       // Another stream of the account copies it.
	Present     Presence
	Capture     Capture
}

// Earlier is an incarnation of the stream that lives no more.
type Earlier struct {
	Stream lifecycle.StreamID
	GoneAt lifecycle.Micros // It ended no later than that.
	Why    string           // [GoneStream] where an advisory told that it was deleted, [GoneForgotten], or else [GoneReplaced].
}

// Limits are the limits of the stream that make messages leave it unanswered. Zero means none.
type Limits struct {
	MaxAge        time.Duration
	MaxPerSubject int64
	Others        bool // The number of messages or bytes is limited.
	TTL           bool // A message may have a time to live of its own.
	Rollup        bool // A publish may remove the older messages of its subject, or all of them.

	Uncaptured []string // What the stream allows or does that no capture stream records.
}

// Capture says how far the capture streams reached, and how far their lines were stored.
type Capture struct{ Acks, Advisories, Publishes CaptureEnd }

// CaptureEnd is where one capture stream ended at one instant, and where the durable stood that moves its lines into the store.
type CaptureEnd struct {
	Stream    string           // Its name.
	Created   lifecycle.Micros // When it was created.
	Missing   bool             // The capture stream does not exist, or does not record what concerns the observed stream.
	Uncovered bool             // It exists, and does not record what concerns the observed stream.
	Unread    bool             // The durable does not exist yet, or not that of each shard.
	At        lifecycle.Micros // When the stream was asked.
	LastSeq   uint64           // Its last line at that time.
	Floor     uint64           // All lines up to this one were acknowledged, so they are stored.
	Idle      bool             // The durable has no line left to deliver and none that waits for its acknowledgement; with shards none of them has.
	Busy      uint64           // All lines up to this one were acknowledged in the shards that are not idle; the last line of an idle one may be long ago.
}

// Consumer is the state of a durable consumer and what only the synchronizer needs of it.
type Consumer struct {
	lifecycle.ConsumerState
	AckedAt lifecycle.Micros // The broker's time of the last acknowledgement that it processed; zero for none since it started.
	ForAll  bool             // An answer to a message is one to all that it delivered before, and leaves open what it delivered of that message after the one answered.
	Steady  lifecycle.Micros // Since when its attempts have had the same time at every observation; zero in observations.
	Single  uint64           // It holds no other message than the one that it delivered last, and held none beside one from this sequence on; zero where it may, and in observations.
	Alone   bool             // Nothing else was in hand when it delivered last; false in observations.
	Met     bool             // It made its last delivery before it was seen first, as one that may hold one message, and nothing that was read may have moved the time of that; false in observations.
}

// quietSince is the latest activity of the consumer.
func (c Consumer) quietSince() lifecycle.Micros { return max(c.DeliveredAt, c.AckedAt, c.CreatedAt) }

// view is an observation together with how far it can be trusted.
type view struct {
	Observation
	Drained        lifecycle.Micros                        // All acknowledgements and advisories captured up to then are stored; zero when not known.
	Verifiable     uint64                                  // All publishes captured up to that sequence are stored; zero when not known.
	Verified       uint64                                  // Messages up to that sequence whose lines were lost had been read from the stream before; zero when not known.
	LostAnswers    []lifecycle.Gap                         // Gaps in which workers' answers were lost, or nobody captured them, the earliest first.
	LostAdvisories []lifecycle.Gap                         // The same of the broker's advisories.
	Blind          string                                  // A capture stream that does not exist, so that nothing follows from a missing line.
	Gone           []lifecycle.ConsumerState               // Consumers that were there before.
	Replaced       map[string]lifecycle.Micros             // By consumer: when it was created in the place of another of its name.
	Before         map[consumerKey]lifecycle.ConsumerState // As they were at the poll before.
	Busy           map[string]lifecycle.Micros             // As [State.Busy].
	Watched        lifecycle.Micros                        // As [State.Watched].
	Deleted        *Deletions                              // Consumers that were deleted; nil where that was not asked.
	Updated        *Updates                                // When the configuration of the stream was changed; nil where that was not asked.
}

// consumerOf is the consumer that a message is delivered by: the one whose filters match its subject, or that holds on to it, else the one that is named by
// its lines. Filters of a work queue do not overlap.
func (v view) consumerOf(m lifecycle.MessageFacts) *Consumer {
	shared := v.shares(m)
	for i := range v.Consumers {
		c := &v.Consumers[i]
		if c.Watches || (shared && c.Name != m.Consumer) {
			continue
		}
		if m.Stored != nil && m.Stored.Subject != "" {
			if shared || lifecycle.MatchesAny(c.Filters, m.Stored.Subject) {
				return c
			}
		} else if c.Name == m.Consumer {
			return c
		}
	}
	return nil
}

// deliveredOnce is the consumer that delivers a message; where none takes it, the one that its lines name, if that has delivered as far.
func (v view) deliveredOnce(m lifecycle.MessageFacts) *Consumer {
	if c := v.consumerOf(m); c != nil || m.Consumer == "" {
		return c
	}
	i := slices.IndexFunc(v.Consumers, func(c Consumer) bool { return !c.Watches && c.Name == m.Consumer && deliveredBy(c, m.Key.Seq) })
	if i < 0 {
		return nil
	}
	return &v.Consumers[i]
}

// quiet reports whether everything that a consumer did last is stored.
func (v view) quiet(c Consumer) bool { return v.Drained >= c.quietSince().Add(captureLag) }

// deliveredBefore reports whether a consumer that may hold several had delivered so far at an earlier observation that it may have held the message
// then, and all lines up to that observation are stored.
func (v view) deliveredBefore(c Consumer, seq uint64) bool {
	before, known := v.Before[consumerKey{c.Stream, c.Name}]
	return known && !c.single() && before.CreatedAt == c.CreatedAt && seq <= before.DeliveredSeq && v.Drained >= before.ObservedAt
}
