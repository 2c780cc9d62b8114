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
	info, ok := g.info(ctx)
	if !ok || drained(info) || g.isStuck(info.AckFloor.Stream) {
		return
	}
	target := info.Delivered.Stream + info.NumPending
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-ctx.Done():
			g.setStuck(info.AckFloor.Stream, true)
			return
		case <-time.After(pause):
		}
		now, ok := g.info(ctx)
		if !ok {
			continue
		}
		if info = now; drained(info) || info.AckFloor.Stream >= target {
			g.setStuck(0, false)
			return
		}
	}
}

func drained(info *jetstream.ConsumerInfo) bool {
	return info.NumPending == 0 && info.NumAckPending == 0
}

func (g *Gate) info(ctx context.Context) (*jetstream.ConsumerInfo, bool) {
	consumer, err := g.cfg.JetStream.Consumer(ctx, g.cfg.Stream, g.cfg.Durable)
	if err != nil {
		return nil, false
	}
	return consumer.CachedInfo(), true
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
