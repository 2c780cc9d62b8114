package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Reader is a durable consumer through which Fleetglass reads a stream. Who makes it need not be who reads: whoever may create consumers can
// have the broker push a stream to any subject, also into the tasks.
type Reader struct {
	Stream string
	Source string // What is read, as the collector is called.
}

// ReaderPrefix begins the names of the durables.
const ReaderPrefix = "fleetglass"

// Durable is the name of the consumer.
func (r Reader) Durable() string { return ReaderPrefix + "-" + r.Source }

// readers are all durables, in the order of the streams.
func (s Streams) readers() []Reader {
	return append([]Reader{
		{CapturePub, "publishes"}, {CaptureRaw, "attempts"}, {CaptureAck, "acks"}, {CaptureEvt, "advisories"}, {CaptureReport, "reports"},
		{recordsStream, "idempotency"},
	}, s.deadLetters()...)
}

// RetryReader is the durable through which retries are read that wait until they are due. Who observes need not be allowed to read it.
func RetryReader() Reader { return Reader{StreamRetry, "retry"} }

// deadLetters are those that read dead-letter entries. The mover looks how far they are.
func (s Streams) deadLetters() []Reader {
	var out []Reader
	for _, c := range s.dlqs() {
		out = append(out, Reader{c.Name, "deadletters"})
	}
	return out
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

// missingReaders are the durables that do not exist.
func (a *managerAPI) missingReaders(ctx context.Context, wanted []Reader, existing map[string]map[string]any) ([]Reader, error) {
	var out []Reader
	for _, r := range wanted {
		if _, there := existing[r.Stream]; there {
			err := a.call(ctx, "CONSUMER.INFO."+r.Stream+"."+r.Durable(), nil, nil)
			var refused *jetstream.APIError
			if err == nil {
				continue
			}
			if !errors.As(err, &refused) || refused.ErrorCode != jetstream.JSErrCodeConsumerNotFound {
				return nil, err
			}
		}
		out = append(out, r)
	}
	return out, nil
}

func (a *managerAPI) createReader(ctx context.Context, r Reader) error {
	request := map[string]any{"stream_name": r.Stream, "config": ReaderConfig(r.Durable())}
	if err := a.call(ctx, "CONSUMER.CREATE."+r.Stream+"."+r.Durable(), request, nil); err != nil {
		return fmt.Errorf("create durable %s on %s: %w", r.Durable(), r.Stream, err)
	}
	return nil
}
