package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/access"
	"fleetglass/collectors"
	"fleetglass/collectors/brokersync"
	"fleetglass/collectors/deadletters"
	"fleetglass/collectors/publishes"
	"fleetglass/fleet"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// collector is what every source offers.
type collector interface {
	health.Reporter
	Run(ctx context.Context) error
}

// collect prepares every source. Acknowledgements and advisories wait behind the publish barrier until the publish lines captured before them are
// stored.
func (a *App) collect(ctx context.Context, cfg Config, js jetstream.JetStream, store lifecycle.Store, appender lifecycle.Appender) error {
	incarnations, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{
		JetStream: js, Appender: appender, Watermarks: store, Consumers: store, Contract: contract(cfg),
	})
	if err != nil {
		return err
	}
	shared := collectors.Config{
		JetStream: js, Appender: appender, Watermarks: store, Messages: store, Incarnations: incarnations, Contract: contract(cfg), Durable: cfg.durables(), Logger: a.log, Now: a.clock.Now,
	}
	all, shared, errs := captures(ctx, cfg.CaptureShards, shared)
	add := func(c collector, err error) {
		all, errs = append(all, c), append(errs, err)
	}
	entries, err := deadletters.New(deadletters.Config{Config: shared})
	if err == nil {
		a.entriesRead, a.queueHolds = entries.ReadTo, entries.Holds
	}
	add(entries, err)
	shared.Now = nil // Firestore has a clock of its own.
	for _, s := range a.sources {
		add(s.source.Collector(shared))
	}
	synchronizer, err := brokersync.New(brokersync.Config{
		JetStream: js, Appender: appender, Reader: store, Incarnations: incarnations, Contract: contract(cfg), Stored: decodeStored,
		Durable: cfg.durables(), Shards: cfg.CaptureShards, Interval: time.Duration(cfg.Poll), Clock: a.clock, Logger: a.log, Now: a.clock.Now,
	})
	if err == nil {
		a.publishesRead = synchronizer.PublishesRead
	}
	add(synchronizer, err)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, c := range all {
		a.watch(c)
		a.work("collector", c.Run)
	}
	return nil
}

// decodeStored reads a message as the collector of publishes does.
func decodeStored(line collectors.Line, streams collectors.Streams, into *lifecycle.Batch) error {
	return publishes.Decode(line, streams, publishes.DefaultBodyLimit, into)
}

// decodeReport reads one report that came over HTTP. Its agent is proved where the token of its sender is bound to agents, and else it stands
// in the sender's name.
func decodeReport(now func() time.Time) func(json.RawMessage, access.Principal) (lifecycle.Event, error) {
	return func(body json.RawMessage, by access.Principal) (lifecycle.Event, error) {
		from := fleet.ReportOrigin{Source: "http", At: lifecycle.MicrosOf(now()), Agents: by.Agents}
		if len(by.Agents) == 0 {
			from.By = by.Name
		}
		events, err := fleet.DecodeReports(nil, body, from)
		if err != nil {
			return lifecycle.Event{}, err
		}
		if len(events) != 1 {
			return lifecycle.Event{}, errors.New("want one event, not a batch")
		}
		return events[0], nil
	}
}
