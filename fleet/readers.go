package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Reader is a durable consumer through which Fleetglass reads a stream. Who makes it need not be who reads: whoever may create consumers can
// have the broker push a stream to any subject, also into the tasks.
type Reader struct {
	Stream  string
	Source  string // What is read, as the collector is called.
	Shard   Shard  // The part of the stream that is read; zero for all of it.
	Subject string // What is read of a stream that takes other subjects too; empty for all of it.
	By      string // Begins the name of the durable; empty for [ReaderPrefix]. See [DurablePrefix].
}

// ReaderPrefix begins the names of the durables.
const ReaderPrefix = "fleetglass"

// DurablePrefix begins the names of the durables of one Fleetglass among several that read a fleet, each into a store of its own. Without a name it is the one
// that decides about the fleet.
func DurablePrefix(name string) string {
	if name == "" {
		return ReaderPrefix
	}
	return ReaderPrefix + "-" + name
}

// maxReaderName bounds the name of a Fleetglass among several.
const maxReaderName = 32

// ValidReader reports whether a Fleetglass among several may have a name: small letters, digits, - and _. The names of what is read are taken.
func ValidReader(name string) bool {
	taken := slices.ContainsFunc(append(Streams{}.readers(), RetryReader()), func(r Reader) bool { return r.Source == name })
	return name != "" && len(name) <= maxReaderName && !taken && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// Durable is the name of the consumer.
func (r Reader) Durable() string {
	return cmp.Or(r.By, ReaderPrefix) + "-" + r.Source + r.Shard.Suffix()
}

// deadLetterSource is what is read from streams of the fleet's own, which may take tasks too.
const deadLetterSource = "deadletters"

// IsReader reports whether a consumer of this name is one by which a Fleetglass reads from streams of the fleet's own: no worker's, and nobody who watches.
func IsReader(consumer string) bool {
	name, is := strings.CutSuffix(consumer, "-"+deadLetterSource)
	return is && (name == ReaderPrefix || strings.HasPrefix(name, ReaderPrefix+"-"))
}

// captureSources are what is read from the capture streams, in their order.
var captureSources = []Reader{
	{Stream: CapturePub, Source: "publishes"}, {Stream: CaptureRaw, Source: "attempts"}, {Stream: CaptureAck, Source: "acks"},
	{Stream: CaptureEvt, Source: "advisories"}, {Stream: CaptureReport, Source: "reports"},
}

// captureReaders are the durables of the capture streams.
func (s Streams) captureReaders() []Reader {
	var out []Reader
	for _, r := range captureSources {
		r.By = s.By
		for _, r.Shard = range Shards(s.Shards) {
			out = append(out, r)
		}
	}
	return out
}

// readers are all durables, in the order of the streams.
func (s Streams) readers() []Reader {
	return append(append(s.captureReaders(), Reader{Stream: recordsStream, Source: "idempotency", By: s.By}), s.deadLetters()...)
}

// decides reports whether the Fleetglass of these durables sends retries and moves dead messages: among several only one does.
func (s Streams) decides() bool { return s.By == "" || s.By == ReaderPrefix }

// RetryReader is the durable through which retries are read that wait until they are due. Who observes need not be allowed to read it.
func RetryReader() Reader { return Reader{Stream: StreamRetry, Source: "retry"} }

// deadLetters are those that read dead-letter entries. The mover looks how far they are.
func (s Streams) deadLetters() []Reader {
	var out []Reader
	for _, c := range s.dlqs() {
		out = append(out, Reader{Stream: c.Name, Source: deadLetterSource, By: s.By})
	}
	return append(out, s.queues...)
}

// ReaderMaxPending is how many lines the replicas of one reader may hold together.
const ReaderMaxPending = 10_000

// ReaderConfig is the configuration of a durable of this name.
func ReaderConfig(durable string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 10 * time.Second, MaxDeliver: -1, MaxAckPending: ReaderMaxPending,
		DeliverPolicy: jetstream.DeliverAllPolicy,
	}
}

// ReaderGroup is the priority group of a durable that reads a shard: each replica asks with a priority of its own ([ReaderConfig]).
const ReaderGroup = "replicas"

// Config is the configuration of the durable. Who reads a shard asks for lines with a priority, so that one replica reads it while it keeps up, and
// the others as soon as it does not.
func (r Reader) Config(c Contract) jetstream.ConsumerConfig {
	cfg := ReaderConfig(r.Durable())
	if filters := c.shardFilters(r.Stream, r.Shard); len(filters) > 0 {
		cfg.FilterSubjects, cfg.PriorityPolicy, cfg.PriorityGroups = filters, jetstream.PriorityPolicyPrioritized, []string{ReaderGroup}
	}
	if r.Subject != "" {
		cfg.FilterSubjects = []string{r.Subject}
	}
	return cfg
}

// missingReaders are the durables that do not exist.
func (a *managerAPI) missingReaders(ctx context.Context, wanted []Reader, existing map[string]map[string]any) ([]Reader, error) {
	var out []Reader
	for _, r := range wanted {
		if _, there := existing[r.Stream]; there {
			err := a.call(ctx, "CONSUMER.INFO."+r.Stream+"."+r.Durable(), nil, nil)
			if err == nil {
				continue
			}
			if !noConsumer(err) {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// noConsumer reports whether the broker refused because a consumer does not exist.
func noConsumer(err error) bool {
	var refused *jetstream.APIError
	return errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeConsumerNotFound
}

// createReader makes a durable that reads what comes after a sequence; zero for everything.
func (a *managerAPI) createReader(ctx context.Context, r Reader, c Contract, after uint64) error {
	request := map[string]any{"stream_name": r.Stream, "config": startAfter(r.Config(c), after)}
	if err := a.call(ctx, "CONSUMER.CREATE."+r.Stream+"."+r.Durable(), request, nil); err != nil {
		return fmt.Errorf("create durable %s on %s: %w", r.Durable(), r.Stream, err)
	}
	return nil
}
