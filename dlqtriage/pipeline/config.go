package pipeline

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
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Config says what the pipeline works with.
type Config struct {
	JetStream jetstream.JetStream // Required.
	Contract  fleet.Contract      // Required.
	Effects   Effects             // Required. Where effects are claimed and settled.
	Actions   Actions             // Required. Says whether a retry is still to be published, and what its end means.
	Tasks     Tasks               // Required. What was observed: whether a retry was published before.
	Holder    string              // Optional; who claims, for people. Default the package's name.
	Durable   string              // Optional; the durable that reads what was published, by which it is known that nothing is missing.
	Shards    int                 // Optional; default 1. Into how many shards what was published is cut.

	Lease time.Duration    // Optional; how long a claim holds, default 30 s. Who dies is taken for dead after it.
	Grace time.Duration    // Optional; how late a parked message may come before another one is parked, default 30 s.
	Every time.Duration    // Optional; how often effects are looked for, default 1 s.
	Now   func() time.Time // Optional; default time.Now.
	Log   *slog.Logger     // Optional; default discards.

	step decision.Steps // For tests: called before and after everything that changes something.
}

// Effects is the store, as far as the pipeline needs it.
type Effects interface {
	decision.Outbox
	// EffectsOf is that of [decision.Reader].
	EffectsOf(ctx context.Context, action string) ([]decision.EffectState, error)
}

// Actions says whether a retry is still to be published, and how its effect is settled. [dlqtriage.Actions] does.
type Actions interface {
	Overtaken(ctx context.Context, d dlqtriage.Delivery, action string) (why string, err error)
	Settle(ctx context.Context, c decision.Claimed, e dlqtriage.Ended) (decision.Settlement, error)
}

// Tasks is what was observed.
type Tasks interface {
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
}

func (c Config) withDefaults() (Config, error) {
	if c.JetStream == nil || c.Effects == nil || c.Actions == nil || c.Tasks == nil {
		return c, errors.New("pipeline: Config needs JetStream, Effects, Actions and Tasks")
	}
	if err := c.Contract.Validate(); err != nil {
		return c, fmt.Errorf("pipeline: %w", err)
	}
	c.Holder = cmp.Or(c.Holder, "pipeline")
	c.Durable = cmp.Or(c.Durable, fleet.ReaderPrefix+"-publishes")
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	c.Every = cmp.Or(c.Every, time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func (c Config) now() lifecycle.Micros { return lifecycle.MicrosOf(c.Now()) }
