package collectors

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// PublishBarrierConfig says whose backlog a barrier watches.
type PublishBarrierConfig struct {
	JetStream jetstream.JetStream // Required.
	Stream    string              // Required. The capture stream of publishes.
	Durable   string              // Required. The durable that reads it; all replicas share it.
	Shards    []fleet.Shard       // Optional; default the whole stream. The shards whose lines are waited for.
	Wait      time.Duration       // Optional; default 2 s. The longest time that a batch is held back.
}

// PublishBarrier holds lines about messages back until the publish lines that were captured before them are stored. The order in which
// lines are stored never changes the truth; it only saves making up a task for a message whose own line is about to say which task it
// carries. It asks the broker, so that it holds across replicas. Several collectors may share a barrier.
type PublishBarrier struct {
	cfg PublishBarrierConfig

	mu    sync.Mutex
	stuck uint64 // The durable's position when it last kept a batch waiting in vain; nobody waits again until it moves.
	stood bool
}

// NewPublishBarrier validates the configuration.
func NewPublishBarrier(cfg PublishBarrierConfig) (*PublishBarrier, error) {
	if cfg.JetStream == nil || cfg.Stream == "" || cfg.Durable == "" {
		return nil, errors.New("publish barrier: JetStream, Stream and Durable are required")
	}
	if len(cfg.Shards) == 0 {
		cfg.Shards = fleet.Shards(1)
	}
	if cfg.Wait <= 0 {
		cfg.Wait = 2 * time.Second
	}
	return &PublishBarrier{cfg: cfg}, nil
}

// Pause returns when what the stream held at the call has been stored, after the configured wait, or when ctx is done. It never
// errors: when the broker does not answer there is nothing to wait for. A nil barrier never waits.
func (b *PublishBarrier) Pause(ctx context.Context) {
	if b == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Wait)
	defer cancel()
	last, ok := b.last(ctx)
	if !ok {
		return
	}
	position, ok := b.position(ctx)
	if !ok || position >= last || b.isStuck(position) {
		return
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-ctx.Done():
			b.setStuck(position, true)
			return
		case <-time.After(pause):
		}
		now, ok := b.position(ctx)
		if !ok {
			continue
		}
		if position = now; position >= last {
			b.setStuck(0, false)
			return
		}
	}
}

// last is the sequence of the newest line that the stream holds. What the durable says is pending does not serve: the broker
// counts it some time after it has acknowledged the publish.
func (b *PublishBarrier) last(ctx context.Context) (uint64, bool) {
	stream, err := b.cfg.JetStream.Stream(ctx, b.cfg.Stream)
	if err != nil {
		return 0, false
	}
	return stream.CachedInfo().State.LastSeq, true
}

// position is the sequence up to which every line was acknowledged, and so is stored. A shard for which nothing waits holds nobody back: its last
// line may be long ago.
func (b *PublishBarrier) position(ctx context.Context) (uint64, bool) {
	least := uint64(math.MaxUint64)
	for _, s := range b.cfg.Shards {
		consumer, err := b.cfg.JetStream.Consumer(ctx, b.cfg.Stream, b.cfg.Durable+s.Suffix())
		if err != nil {
			return 0, false
		}
		info := consumer.CachedInfo()
		if s.Whole() || info.NumPending > 0 || info.NumAckPending > 0 {
			least = min(least, info.AckFloor.Stream)
		}
	}
	return least, true
}

func (b *PublishBarrier) isStuck(position uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stood && b.stuck == position
}

func (b *PublishBarrier) setStuck(position uint64, stood bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stuck, b.stood = position, stood
}
