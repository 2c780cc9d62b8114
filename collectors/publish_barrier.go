package collectors

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// PublishBarrierConfig says whose backlog a barrier watches.
type PublishBarrierConfig struct {
	JetStream jetstream.JetStream // Required.
	Stream    string              // Required. The capture stream of publishes.
	Durable   string              // Required. The durable that reads it; all replicas share it.
	Shards    []fleet.Shard       // Optional; default the whole stream. The shards whose lines are waited for.
	Wait      time.Duration       // Optional; default 2 s. The longest time that a batch is held back.
	Lead      time.Duration       // Optional; default 500 ms. How long after an attempt its own message may be stored, for which a patient barrier waits.
}

// barrierWait is how long a batch is held back at most, but behind a patient barrier, and also there once the program is to stop.
const barrierWait = 2 * time.Second

// publishLead is how long that is with a broker that does not stand still: two streams record attempt and message, and neither waits for the other.
const publishLead = 500 * time.Millisecond

// PublishBarrier holds lines about messages back until the publish lines that were captured before them are stored. For most lines that only saves making up
// a task for a message whose own line is about to say which task it carries: their order never changes the truth. It asks the broker, so that it holds across
// replicas. Several collectors may share a barrier.
type PublishBarrier struct {
	cfg     PublishBarrierConfig
	patient bool

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
		cfg.Wait = barrierWait
	}
	if cfg.Lead <= 0 {
		cfg.Lead = publishLead
	}
	return &PublishBarrier{cfg: cfg}, nil
}

// Patient returns a barrier of the same publishes for lines that would deny one: an attempt to publish of which no message is known reads refused. It asks for them once
// the broker has had time to store what was attempted, and opens when all of them are stored, however long that takes. What a replica had in hand when it was killed the broker gives to others only when its wait for it ends. Of nil it is nil.
func (b *PublishBarrier) Patient() *PublishBarrier {
	if b == nil {
		return nil
	}
	return &PublishBarrier{cfg: b.cfg, patient: true}
}

// Pause returns true when what the stream held at the call has been stored, or for a patient barrier the lead after the newest line that is held back, and where there is nothing to wait for: the stream or the durable is missing, or nothing
// is left in either for the configured wait. A barrier that is not patient also opens after that wait, when the broker does not answer, and when ctx is done.
// A nil barrier is open. False says that ctx was done first.
func (b *PublishBarrier) Pause(ctx context.Context, newest lifecycle.Micros) bool {
	began := time.Now()
	return b.wait(ctx, func(ctx context.Context) (uint64, error) {
		last, now, err := b.last(ctx)
		if err == nil && b.patient && now < newest.Add(b.cfg.Lead) && time.Since(began) < b.cfg.Lead { // However the broker's clock goes.
			err = errTooSoon
		}
		return last, err
	})
}

// settle is Pause for what somebody had in hand at the call.
func (b *PublishBarrier) settle(ctx context.Context) bool {
	return b.wait(ctx, func(ctx context.Context) (uint64, error) {
		at, err := b.reached(ctx)
		return at.given, err
	})
}

func (b *PublishBarrier) wait(ctx context.Context, end func(context.Context) (uint64, error)) bool {
	if b == nil {
		return true
	}
	soon, cancel := context.WithTimeout(ctx, b.cfg.Wait)
	defer cancel()
	asking := soon
	if b.patient {
		asking = ctx
	}
	var upTo uint64
	var at reach
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		now, err := b.look(asking, &upTo, end)
		if err == nil {
			at = now
		}
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound):
			return true
		case err == nil && at.floor >= upTo:
			b.setStuck(0, false)
			return true
		case b.patient && (err != nil || at.left):
		case upTo == 0, b.isStuck(at.floor):
			return true
		case soon.Err() != nil:
			b.setStuck(at.floor, true)
			return true
		}
		select {
		case <-ctx.Done():
			return !b.patient
		case <-time.After(pause):
		}
	}
}

// look asks how far publish lines are stored, and at first up to which one is waited for.
func (b *PublishBarrier) look(ctx context.Context, upTo *uint64, end func(context.Context) (uint64, error)) (at reach, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Wait)
	defer cancel()
	if *upTo == 0 {
		last, err := end(ctx)
		if err != nil {
			return at, err
		}
		*upTo = last
	}
	return b.reached(ctx)
}

// errTooSoon says that what a line tells of may still be stored.
var errTooSoon = errors.New("the broker may still store what was attempted")

// last is the sequence of the newest line that the stream holds, and the broker's time. What the durable says is pending does not serve: the broker
// counts it some time after it has acknowledged the publish.
func (b *PublishBarrier) last(ctx context.Context) (seq uint64, now lifecycle.Micros, err error) {
	stream, err := b.cfg.JetStream.Stream(ctx, b.cfg.Stream)
	if err != nil {
		return 0, 0, err
	}
	info := stream.CachedInfo()
	return info.State.LastSeq, lifecycle.MicrosOf(info.TimeStamp), nil
}

// reach is how far publish lines are stored.
type reach struct {
	floor uint64 // The sequence up to which every line was acknowledged, and so is stored.
	given uint64 // The sequence up to which lines were given to somebody.
	left  bool   // Lines wait, or are in somebody's hands.
}

// reached asks how far the durables are. A shard for which nothing waits holds nobody back: its last line may be long ago.
func (b *PublishBarrier) reached(ctx context.Context) (reach, error) {
	at := reach{floor: math.MaxUint64}
	for _, s := range b.cfg.Shards {
		consumer, err := b.cfg.JetStream.Consumer(ctx, b.cfg.Stream, b.cfg.Durable+s.Suffix())
		if err != nil {
			return reach{}, err
		}
		info := consumer.CachedInfo()
		left := info.NumPending > 0 || info.NumAckPending > 0
		at.left, at.given = at.left || left, max(at.given, info.Delivered.Stream)
		if s.Whole() || left {
			at.floor = min(at.floor, info.AckFloor.Stream)
		}
	}
	return at, nil
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
