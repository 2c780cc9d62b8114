package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Settler says how an effect is settled. [dlqtriage.Actions] does.
type Settler interface {
	SettleHeld(ctx context.Context, c decision.Claimed, why string, events ...lifecycle.Event) (decision.Settlement, error)
}

// Config says what the relay works with.
type Config struct {
	JetStream jetstream.JetStream // Required.
	Effects   decision.Outbox     // Required. Where effects are claimed and settled.
	Actions   Settler             // Required.

	Holder string           // Optional; who claims, for people. Default the package's name.
	Lease  time.Duration    // Optional; how long a claim holds, default 30 s. Who dies is taken for dead after it.
	Every  time.Duration    // Optional; how often effects are looked for, default 1 s.
	Now    func() time.Time // Optional; default time.Now.
	Log    *slog.Logger     // Optional; default discards.

	Step decision.Steps // Optional, for tests: called before and after everything that changes something.
}

// Relay hands messages back. Replicas may run at the same time.
type Relay struct {
	cfg  Config
	wake chan struct{}

	*health.Turns // Whether messages are handed back.
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Relay, error) {
	if cfg.JetStream == nil || cfg.Effects == nil || cfg.Actions == nil {
		return nil, errors.New("release: Config needs JetStream, Effects and Actions")
	}
	cfg.Holder = cmp.Or(cfg.Holder, "release")
	cfg.Lease = cmp.Or(cfg.Lease, 30*time.Second)
	cfg.Every = cmp.Or(cfg.Every, time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	turns := health.NewTurns(health.Part{Name: "releases", Kind: "relay", State: health.OK}, cfg.Log, "messages are not handed back")
	return &Relay{cfg: cfg, wake: make(chan struct{}, 1), Turns: turns}, nil
}

// Wake says that there may be something to do. It never blocks.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done and returns nil. What fails is tried again.
func (r *Relay) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	for {
		r.Ended(ctx, r.turn(ctx), r.cfg.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
		case <-tick.C:
		}
	}
}

func (r *Relay) now() lifecycle.Micros { return lifecycle.MicrosOf(r.cfg.Now()) }

const (
	atOnce   = 16
	tryAgain = 2 * time.Second // After a failure.
)

// turn hands back what is to be handed back now.
func (r *Relay) turn(ctx context.Context) error {
	var claimed []decision.Claimed
	err := r.cfg.Step.Do("claim", func() (err error) {
		claimed, err = r.cfg.Effects.Claim(ctx, decision.ClaimRequest{
			Queue: dlqtriage.QueueRelease, Holder: r.cfg.Holder, Now: r.now(), Lease: r.cfg.Lease, Limit: atOnce,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("claim releases: %w", err)
	}
	var errs []error
	for _, c := range claimed {
		errs = append(errs, r.release(ctx, c))
	}
	return errors.Join(errs...)
}

// release does one effect, and settles it or gives it back.
func (r *Relay) release(ctx context.Context, c decision.Claimed) error {
	e, err := dlqtriage.ReadHeldEffect(c.Body)
	if err != nil {
		return r.settle(ctx, c, err.Error())
	}
	why, err := r.handBack(ctx, c, e)
	if err == nil {
		return r.settle(ctx, c, why)
	}
	back := r.cfg.Step.Do("give back", func() error {
		return r.cfg.Effects.Return(ctx, decision.Return{Effect: c.ID, Token: c.Token, Due: r.now().Add(tryAgain), Why: []byte(err.Error())})
	})
	if errors.Is(back, decision.ErrTakenOver) {
		back = nil
	}
	return errors.Join(fmt.Errorf("release %s: %w", e.Message, err), back)
}

// settle ends an effect. One that was taken over is somebody else's.
func (r *Relay) settle(ctx context.Context, c decision.Claimed, why string) error {
	s, err := r.cfg.Actions.SettleHeld(ctx, c, why)
	if err != nil {
		return fmt.Errorf("settle release %s: %w", c.ID, err)
	}
	err = r.cfg.Step.Do("settle", func() error { _, err := r.cfg.Effects.Settle(ctx, s); return err })
	if errors.Is(err, decision.ErrTakenOver) {
		return nil
	}
	return err
}
