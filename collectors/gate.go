package collectors

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// GateConfig says whose backlog a gate watches.
type GateConfig struct {
	JetStream jetstream.JetStream // Required.
	Stream    string              // Required. The capture stream of publishes.
	Durable   string              // Required. The durable that reads it; all replicas share it.
	Wait      time.Duration       // Optional; default 2 s. The longest time that a batch is held back.
}

// Gate holds lines about messages back until the publish lines that were captured before them are stored. The order in which lines
// are stored never changes the truth; it only saves making up a task for a message whose own line is about to say which task it
// carries. It asks the broker, so that it holds across replicas. Several collectors may share a gate.
type Gate struct {
	cfg GateConfig

	mu    sync.Mutex
	stuck uint64 // The durable's position when it last kept a batch waiting in vain; nobody waits again until it moves.
	stood bool
}

// NewGate validates the configuration.
func NewGate(cfg GateConfig) (*Gate, error) {
	if cfg.JetStream == nil || cfg.Stream == "" || cfg.Durable == "" {
		return nil, errors.New("gate: JetStream, Stream and Durable are required")
	}
	if cfg.Wait <= 0 {
		cfg.Wait = 2 * time.Second
	}
	return &Gate{cfg: cfg}, nil
}

// Pause returns when what the stream held at the call has been stored, after the configured wait, or when ctx is done. It never
// errors: when the broker does not answer there is nothing to wait for. A nil gate never waits.
func (g *Gate) Pause(ctx context.Context) {
	if g == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.cfg.Wait)
	defer cancel()
	last, ok := g.last(ctx)
	if !ok {
		return
	}
	position, ok := g.position(ctx)
	if !ok || position >= last || g.isStuck(position) {
		return
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-ctx.Done():
			g.setStuck(position, true)
			return
		case <-time.After(pause):
		}
		now, ok := g.position(ctx)
		if !ok {
			continue
		}
		if position = now; position >= last {
			g.setStuck(0, false)
			return
		}
	}
}

// last is the sequence of the newest line that the stream holds. What the durable says is pending does not serve: the broker
// counts it some time after it has acknowledged the publish.
func (g *Gate) last(ctx context.Context) (uint64, bool) {
	stream, err := g.cfg.JetStream.Stream(ctx, g.cfg.Stream)
	if err != nil {
		return 0, false
	}
	return stream.CachedInfo().State.LastSeq, true
}

// position is the sequence up to which every line was acknowledged, and so is stored.
func (g *Gate) position(ctx context.Context) (uint64, bool) {
	consumer, err := g.cfg.JetStream.Consumer(ctx, g.cfg.Stream, g.cfg.Durable)
	if err != nil {
		return 0, false
	}
	return consumer.CachedInfo().AckFloor.Stream, true
}

func (g *Gate) isStuck(position uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stood && g.stuck == position
}

func (g *Gate) setStuck(position uint64, stood bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stuck, g.stood = position, stood
}
