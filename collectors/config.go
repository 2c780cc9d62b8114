package collectors

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Config is what all collectors of one fleet share.
type Config struct {
	JetStream    jetstream.JetStream  // Required. Reaches the capture streams.
	Appender     lifecycle.Appender   // Required.
	Watermarks   Watermarks           // Required.
	Incarnations *IncarnationResolver // Required.
	Contract     fleet.Contract       // Required.
	Barrier      *PublishBarrier      // Optional; nil keeps no line behind publishes.
	Coordinator  *BatchCoordinator    // Optional; nil lets every collector commit its own batches.
	Messages     Messages             // Optional; nil believes answers to messages that the store does not know, however old these are.

	Durable    string           // Optional; default "fleetglass". The durable of a source is named <Durable>-<source>, and of a shard <Durable>-<source>_s<shard>of<shards>.
	Shard      fleet.Shard      // Optional; default the whole stream. The shard that is read, of a stream that is cut into shards.
	Rank       uint8            // Optional; 0 to 9. Among the replicas that ask for lines of a shard those with the least rank get them.
	BatchLines int              // Optional; default 1000. Lines committed at once by one source, at most.
	BatchBytes int              // Optional; default 8 MiB. A batch is committed when its bodies reach this size.
	Idle       time.Duration    // Optional; default 1 ms. A batch is committed when no line came for this long.
	Linger     time.Duration    // Optional; default 10 ms. No line waits longer than this for its batch to fill.
	Grace      time.Duration    // Optional; default 5 s. The time to finish what is in hand when stopping.
	Retry      time.Duration    // Optional; default 100 ms. First pause after a failure; it doubles up to 50 times that.
	Watch      time.Duration    // Optional; default 2 s. How often the backlog is measured.
	Now        func() time.Time // Optional; default time.Now.
	Logger     *slog.Logger     // Optional; default discards.
}

// Source is one capture stream and how it is read.
type Source struct {
	Name           string  // Required. Such as "acks": part of the durable's name, and the name of the health part.
	Stream         string  // Required. The capture stream.
	Decode         Decoder // Required.
	Subject        string  // What is read of a stream that takes other subjects too; empty for all of it.
	AfterPublishes bool    // Its lines are held back until the publishes captured before them are stored.
	Resolves       bool    // Its decoder asks [Streams] for incarnations.
	Answers        bool    // Its lines are answers: its decoder asks [Streams] who else takes the message.
	Optional       bool    // The stream may be missing without that being a failure.
	Edited         bool    // Others remove single lines from the stream.

	Consumer func(Line) (ConsumerRef, bool)      // Optional. The consumer that a line names: the broker is asked for it, and the decoder for its [Sight].
	Stored   func(Line) (lifecycle.Micros, bool) // Optional. When the message that a line answers was stored, as the line says.
	Leaving  func(Line) (MessageRef, bool)       // Optional. The message that a line says has left its stream: the broker is asked whether it is there.
}

// whoMayMakeIt says who else makes the durable where the observer is not allowed to.
func (s Source) whoMayMakeIt() string {
	if s.Subject != "" { // A stream that provisioning does not make has no durable from it either.
		return "for which the observer needs the permission"
	}
	return "which fleetglass provision does where this is not allowed to"
}

const (
	defaultDurable = fleet.ReaderPrefix
	batchesInHand  = 4 // One committed, one decoded, one read, one on its way.
)

// DurableName is the name of the durable of a source; prefix as in [Config.Durable].
func DurableName(prefix, source string) string {
	if prefix == "" {
		prefix = defaultDurable
	}
	return prefix + "-" + source
}

// reader is the durable of a source.
func (c Config) reader(src Source) fleet.Reader {
	r := fleet.Reader{Stream: src.Stream, Source: src.Name, Subject: src.Subject, By: c.Durable}
	if fleet.IsSharded(src.Stream) {
		r.Shard = c.Shard
	}
	return r
}

func (c Config) withDefaults() (Config, error) {
	if c.JetStream == nil || c.Appender == nil || c.Watermarks == nil || c.Incarnations == nil {
		return c, errors.New("JetStream, Appender, Watermarks and Incarnations are required")
	}
	if err := c.Contract.Validate(); err != nil {
		return c, err
	}
	if c.BatchLines <= 0 {
		c.BatchLines = 1000
	}
	if most := fleet.ReaderMaxPending / batchesInHand; c.BatchLines > most {
		return c, fmt.Errorf("batch of %d lines is more than %d, of which %d may be pending", c.BatchLines, most, batchesInHand)
	}
	if c.BatchBytes <= 0 {
		c.BatchBytes = 8 << 20
	}
	for d, standard := range map[*time.Duration]time.Duration{
		&c.Idle: time.Millisecond, &c.Linger: 10 * time.Millisecond, &c.Grace: 5 * time.Second,
		&c.Retry: 100 * time.Millisecond, &c.Watch: 2 * time.Second,
	} {
		if *d <= 0 {
			*d = standard
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
