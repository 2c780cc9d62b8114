package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// Cluster is what a broker said of its streams and consumers at one look.
type Cluster struct {
	Streams      []Stream // By name.
	MaxConsumers int      // The account's limit of consumers of one stream; none where it is not above zero.
	Version      string   // Of the server that was asked, such as 2.15.2; empty where it is not known.
}

// Stream is a stream with its consumers.
type Stream struct {
	At        time.Time // When the broker said it, by its clock.
	Created   time.Time
	Config    jetstream.StreamConfig
	State     jetstream.StreamState
	Servers   int               // Servers that can hold a replica, as far as the stream tells; 1 where it has no cluster.
	Waiting   map[string]uint64 // Messages by subject; nil where they were not counted.
	Consumers []Consumer        // Of streams of tasks and of retries, without those that the broker makes to copy the stream.
}

// Consumer is a consumer with its configuration as the broker keeps it: a backoff has replaced the ack wait.
type Consumer struct {
	Name    string
	Config  jetstream.ConsumerConfig
	Paused  bool
	Waiting uint64 // Messages that it has not delivered, or that were not acknowledged.
}

// maxSubjects bounds the subjects of which messages are counted: their list grows with the stream.
const maxSubjects = 10_000

// Read looks at a broker. The permissions of an observer are enough.
func Read(ctx context.Context, js jetstream.JetStream, contract fleet.Contract) (Cluster, error) {
	account, err := js.AccountInfo(ctx)
	if err != nil {
		return Cluster{}, fmt.Errorf("ask for the limits of the account: %w", err)
	}
	c := Cluster{MaxConsumers: account.Limits.MaxConsumers, Version: js.Conn().ConnectedServerVersion()}
	list := js.ListStreams(ctx)
	for info := range list.Info() {
		s, err := readStream(ctx, js, contract, info)
		if err != nil {
			return Cluster{}, fmt.Errorf("look at stream %s: %w", info.Config.Name, err)
		}
		c.Streams = append(c.Streams, s)
	}
	if err := list.Err(); err != nil {
		return Cluster{}, fmt.Errorf("list streams: %w", err)
	}
	return c, nil
}

func readStream(ctx context.Context, js jetstream.JetStream, contract fleet.Contract, info *jetstream.StreamInfo) (Stream, error) {
	out := Stream{At: info.TimeStamp, Created: info.Created, Config: info.Config, State: info.State, Servers: 1}
	if info.Cluster != nil {
		out.Servers += len(info.Cluster.Replicas)
	}
	if !takesTasks(contract, info.Config) && info.Config.Name != fleet.StreamRetry { // Its configuration is enough, and an observer may not ask for more.
		return out, nil
	}
	stream, err := js.Stream(ctx, info.Config.Name)
	if err != nil {
		return Stream{}, err
	}
	if takesTasks(contract, info.Config) && info.State.NumSubjects <= maxSubjects {
		counted, err := stream.Info(ctx, jetstream.WithSubjectFilter(contract.TaskSubjects()))
		if err != nil {
			return Stream{}, err
		}
		out.Waiting = counted.State.Subjects
	}
	listed := map[string]bool{}
	list := stream.ListConsumers(ctx)
	for c := range list.Info() {
		if !fleet.IsCopierName(c.Name) && !listed[c.Name] { // A list that changes meanwhile may name one twice.
			listed[c.Name] = true
			out.Consumers = append(out.Consumers, Consumer{Name: c.Name, Config: c.Config, Paused: c.Paused, Waiting: c.NumPending + uint64(max(c.NumAckPending, 0))})
		}
	}
	return out, list.Err()
}

func takesTasks(contract fleet.Contract, cfg jetstream.StreamConfig) bool {
	return len(contract.TaskStreams([]jetstream.StreamConfig{cfg})) > 0
}
