package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/health"
)

// Pipeline is the relay and the sender.
type Pipeline struct {
	cfg  Config
	wake chan struct{}

	*health.Turns // Whether retries are sent.
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Pipeline, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	turns := health.NewTurns(health.Part{Name: "retries", Kind: "pipeline", State: health.Starting}, cfg.Log, "retries are not sent")
	return &Pipeline{cfg: cfg, wake: make(chan struct{}, 1), Turns: turns}, nil
}

// Wake says that there may be something to do. It never blocks.
func (p *Pipeline) Wake() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done. What fails is tried again.
func (p *Pipeline) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := p.session(ctx); err != nil {
			p.Ended(ctx, err, p.cfg.Now())
		}
		p.pause(ctx)
	}
	return nil
}

// pause waits until there may be something to do.
func (p *Pipeline) pause(ctx context.Context) {
	t := time.NewTimer(p.cfg.Every)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-t.C:
	}
}

// session opens RETRY and works with it until something fails.
func (p *Pipeline) session(ctx context.Context) error {
	stream, err := p.cfg.JetStream.Stream(ctx, fleet.StreamRetry)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return health.NoStreamError{Stream: fleet.StreamRetry, Say: "stream " + fleet.StreamRetry + " is missing; run fleetglass provision --apply"}
	}
	if err != nil {
		return fmt.Errorf("find stream %s: %w", fleet.StreamRetry, unanswered(err))
	}
	consumer, err := openDurable(ctx, stream, min(p.cfg.Lease, redeliver))
	if err != nil {
		return err
	}
	s := &sender{p.cfg, stream}
	consuming, err := consumer.Consume(func(m jetstream.Msg) { s.handle(ctx, m) }, jetstream.PullMaxMessages(atOnce))
	if err != nil {
		return fmt.Errorf("read %s: %w", fleet.StreamRetry, err)
	}
	defer func() {
		consuming.Stop()
		<-consuming.Closed()
	}()
	return p.park(ctx, &relay{Config: p.cfg, consumer: consumer}, consuming)
}

// park parks whatever is to be parked, until something fails or the reading of RETRY ends.
func (p *Pipeline) park(ctx context.Context, r *relay, consuming jetstream.ConsumeContext) error {
	for ctx.Err() == nil {
		n, err := r.once(ctx)
		if err != nil {
			return err
		}
		p.Ended(ctx, nil, p.cfg.Now())
		select {
		case <-consuming.Closed():
			return fmt.Errorf("reading %s ended", fleet.StreamRetry)
		default:
		}
		if n == 0 {
			p.pause(ctx)
		}
	}
	return nil
}

// redeliver is after how long a parked message comes again whose sender died.
const redeliver = 10 * time.Second

// durable is the name of the consumer of RETRY.
func durable() string { return fleet.RetryReader().Durable() }

// openDurable finds the durable, and makes it where it is missing, or where somebody reset it beyond the end of RETRY. Every parked message that is not due counts as
// pending, so all of them may.
func openDurable(ctx context.Context, stream jetstream.Stream, ackWait time.Duration) (jetstream.Consumer, error) {
	found, err := stream.Consumer(ctx, durable())
	if err == nil {
		info, err := stream.Info(ctx)
		if err != nil {
			return nil, fmt.Errorf("find stream %s: %w", fleet.StreamRetry, unanswered(err))
		}
		if found.CachedInfo().Delivered.Stream <= info.State.LastSeq {
			return found, nil
		}
		if err := stream.DeleteConsumer(ctx, durable()); err != nil {
			return nil, errPassed(err)
		}
	} else if !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, fmt.Errorf("find durable %s on %s: %w", durable(), fleet.StreamRetry, unanswered(err))
	}
	want := fleet.ReaderConfig(durable())
	want.AckWait = ackWait
	made, err := stream.CreateConsumer(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("create durable %s on %s: %w", durable(), fleet.StreamRetry, err)
	}
	return made, nil
}

// errPassed says that the durable is beyond the end of RETRY, so that it would never deliver what is parked.
func errPassed(err error) error {
	return fmt.Errorf("durable %s was reset beyond the end of %s: retries that are parked would never be sent; nats consumer reset %s %s --sequence 1, or delete it and run fleetglass provision --apply: %w",
		durable(), fleet.StreamRetry, fleet.StreamRetry, durable(), err)
}

// unanswered adds to an error that a question had no answer what a user of the broker may lack: it does not answer what a user may not ask.
func unanswered(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer; does the user of the broker have the permissions of retry (fleetglass provision --permissions)? %w", err)
	}
	return err
}
