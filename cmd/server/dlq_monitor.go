package main

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/decision"
	"fleetglass/dlqtriage/monitor"
	"fleetglass/internal/live"
	"fleetglass/lifecycle"
)

// The choices of --dlq-monitor.
const (
	dlqMonitorOn   = "on"
	dlqMonitorOff  = "off"
	dlqMonitorAuto = "auto"
)

// MonitorsDLQ reports whether Fleetglass makes sure that dead messages are in the dead-letter queue: where it was told to, and on the embedded
// broker, which has no other monitor.
func (c Config) MonitorsDLQ() bool {
	return c.DLQMonitor == dlqMonitorOn || (c.DLQMonitor == dlqMonitorAuto && c.Embedded())
}

// demoOrphans is how long the demonstration waits for workers, which it starts before it publishes.
const demoOrphans = 20 * time.Second

func (c Config) orphanAfter() time.Duration {
	if after := time.Duration(c.DLQOrphanAfter); !c.Demo || after < demoOrphans {
		return after
	}
	return demoOrphans
}

// monitorStore is the store, where what is appended, decided and settled is told to open pages.
type monitorStore struct {
	database
	appender lifecycle.Appender
	told     decision.Store
}

// Append implements [lifecycle.Appender].
func (s monitorStore) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	return s.appender.Append(ctx, b)
}

// Decide implements [decision.Decider].
func (s monitorStore) Decide(ctx context.Context, d decision.Decision) (decision.Made, error) {
	return s.told.Decide(ctx, d)
}

// Settle implements [decision.Outbox].
func (s monitorStore) Settle(ctx context.Context, d decision.Settlement) (decision.Made, error) {
	return s.told.Settle(ctx, d)
}

// looksAtDeaths reports whether somebody looks at what dies. It is asked once the program runs.
func (a *App) looksAtDeaths() bool { return a.looks != nil && a.looks() }

// monitorDeadLetters adds the monitor. Where another one owns the dead-letter queue, it only copies what somebody asked to quarantine.
func (a *App) monitorDeadLetters(cfg Config, js jetstream.JetStream, store database, appender lifecycle.Appender, hub *live.Hub, now func() time.Time) error {
	if cfg.ReadOnly && !cfg.MonitorsDLQ() {
		return nil
	}
	m, err := monitor.New(monitor.Config{
		JetStream: js, Contract: contract(cfg), Store: monitorStore{store, appender, live.WrapDecisions(store, hub, nil)}, ReadTo: a.entriesRead, PublishesRead: a.publishesRead, Policy: a.policy.Policy,
		Actions: a.triage.actions, OnlyLook: !cfg.MonitorsDLQ(),
		OrphanAfter: cfg.orphanAfter(), Every: time.Duration(cfg.Poll), Now: now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.looks = m.Looks
	a.watch(m)
	a.work("dead-letter monitor", m.Run)
	return nil
}
