package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/restarts"
)

// scansRestarts prepares what follows the messages that were in hand when something went away. The scan at the start is made here, before any collector
// runs: what is in hand by the store was in hand when this program went away.
func (a *App) scansRestarts(ctx context.Context, cfg Config, nats *broker, store database, ask *query.Service, now func() time.Time) error {
	away := func(ctx context.Context, from, to lifecycle.Micros) error {
		_, err := store.Append(ctx, lifecycle.Batch{Gaps: []lifecycle.Gap{lifecycle.BrokerAway(from, to)}})
		return err
	}
	scanner, err := restarts.New(restarts.Config{
		Store: store, Leases: ask.RestartLook, Facts: ask.MessageFacts, Away: away, Every: time.Duration(cfg.Poll), Now: now, Log: a.log,
	})
	if err != nil {
		return err
	}
	if !othersRead(ctx, cfg, nats.js) {
		began, err := ownReturn(ctx, cfg, store, now)
		if err != nil {
			return err
		}
		if err := scanner.Begin(ctx, began); err != nil {
			return fmt.Errorf("look what is in hand: %w", err)
		}
	}
	nats.presence.follow(scanner.Note)
	a.work("restarts", scanner.Run)
	return nil
}

// othersRead reports whether another replica reads this fleet: whoever reads has asked the broker for the next lines. Fleetglass was not away then.
func othersRead(ctx context.Context, cfg Config, js jetstream.JetStream) bool {
	if cfg.DatabaseURL == "" {
		return false
	}
	for _, shard := range fleet.Shards(cfg.CaptureShards) {
		for stream, source := range map[string]string{fleet.CapturePub: publishes.SourceStored, fleet.CaptureAck: "acks", fleet.CaptureEvt: "advisories"} {
			durable, err := js.Consumer(ctx, stream, collectors.DurableName(cfg.durables(), source)+shard.Suffix())
			if err == nil && durable.CachedInfo().NumWaiting > 0 {
				return true
			}
		}
	}
	return false
}

// ownReturn is that this program runs again, and with it the broker that it embeds. It was there at least until it last stored the state of a
// consumer.
func ownReturn(ctx context.Context, cfg Config, store database, now func() time.Time) (restarts.Return, error) {
	out := restarts.Return{ID: "fleetglass-" + strings.ToLower(rand.Text()[:12]), Cause: restarts.CauseFleetglass, To: lifecycle.MicrosOf(now())}
	if cfg.Embedded() {
		out.ID, out.Cause = strings.Replace(out.ID, "fleetglass", "broker", 1), restarts.CauseBroker
	}
	consumers, err := store.Consumers(ctx)
	for _, c := range consumers {
		out.From = max(out.From, min(c.ObservedAt, out.To))
	}
	return out, err
}
