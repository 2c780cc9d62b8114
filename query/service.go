package query

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/duplicates"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// Store is what the questions read.
type Store interface {
	lifecycle.TaskReader
	lifecycle.TraceReader
	// OpenMessages is that of [lifecycle.OpenReader].
	OpenMessages(ctx context.Context, stream lifecycle.StreamID, from uint64, limit int) ([]lifecycle.OpenMessage, error)
	// Consumers, Rollups, Gaps and Quarantine are those of [lifecycle.FleetReader].
	Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error)
	Rollups(ctx context.Context, metrics []lifecycle.Metric, from, to lifecycle.Micros, byAgent bool) (lifecycle.Tally, error)
	Gaps(ctx context.Context, from, to lifecycle.Micros, limit int) ([]lifecycle.Gap, error)
	Quarantine(ctx context.Context, limit int) ([]lifecycle.QuarantinedLine, int64, error)
	// Watermark is that of [lifecycle.OpenReader].
	Watermark(ctx context.Context, source string) (string, error)
}

// EntryStore is what the questions about dead letters read beside [Store].
type EntryStore interface {
	dlqtriage.EntryReader
	// Revision is that of [decision.Decider]. ActionsOn is that of [decision.Reader].
	Revision(ctx context.Context, s decision.Subject) (uint64, error)
	ActionsOn(ctx context.Context, s decision.Subject, limit int) ([]decision.Action, error)
}

// Config says what the questions are answered from.
type Config struct {
	Store   Store                        // Required.
	Entries EntryStore                   // Optional; without it questions about dead letters error with lifecycle.ErrUnable.
	AgentOf func(consumer string) string // Required. Names the agent that a durable consumer works for; empty when the name does not say.
	// TaskName is the id under which a task is kept whose publisher named it so. Optional; without it tasks are found under the id that is kept only.
	TaskName func(id string) string
	Health   health.Reporter // Optional; without it nothing is known of the parts of the program.
	// EntriesRead is up to when all dead-letter entries were read, by the broker's clock; zero while that is not known. Optional; without it that is
	// never known.
	EntriesRead func() lifecycle.Micros
	// QueueHolds reports whether the broker's dead-letter queue holds an entry now; looked is false where that is not known. Optional; without it that is
	// never known.
	QueueHolds func(entry lifecycle.MessageKey) (there, looked bool)
	Reconcile  reconcile.Service // Optional; without it no reconciliation is known.
	Duplicates DuplicatesConfig  // Optional; see there.
	Restarts   RestartReader     // Optional; without it no restart is known.

	// Policy is the triage policy in force, from which plans follow. Optional; default the built-in one.
	Policy func() *dlqtriage.Policy

	Looks dlqtriage.Looks // Optional; without it nobody looks at what dies.

	Alerts AlertBoard // Optional; without it there are no alerts, only findings.

	// Rules are the rules in force, by which findings are made. Optional; default the built-in ones.
	Rules func() alerts.Rules

	// Traps are what the doctor finds in the configuration of the broker. Optional; without it no finding is about that.
	Traps func(context.Context) ([]alerts.Trap, error)

	// Asker names who asks, so that those who search take turns. Optional; without it all are one.
	Asker func(context.Context) string

	Now func() time.Time // Optional; default time.Now.
	Log *slog.Logger     // Optional; default discards.
}

// DuplicatesConfig is what duplicates and the protection against them cost.
type DuplicatesConfig struct {
	Cost    *duplicates.Cost         // Optional; what one duplicate costs, default [duplicates.DefaultCost].
	Records duplicates.RecordStore   // Optional; where agents keep idempotency records, default unknown.
	Prices  *duplicates.RecordPrices // Optional; what operations on Firestore cost, default [duplicates.DefaultRecordPrices].
	// Retention reads the live configuration of the task stream and of the idempotency records. Optional; without it, and when it
	// errors, what depends on it is not known.
	Retention func(context.Context) (duplicates.Retention, error)
}

// Service answers.
type Service struct {
	cfg   Config
	cache *cache
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil {
		return nil, errors.New("query: Config.Store is required")
	}
	if cfg.AgentOf == nil {
		return nil, errors.New("query: Config.AgentOf is required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Entries == nil {
		cfg.Entries = noEntries{}
	}
	if cfg.Policy == nil {
		cfg.Policy = dlqtriage.DefaultPolicy
	}
	if cfg.Rules == nil {
		cfg.Rules = alerts.Defaults
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	cfg.Duplicates = cfg.Duplicates.withDefaults()
	heavy := newGate(heavyAtOnce(), cfg.Asker)
	cfg.Store, cfg.Entries = gatedStore{cfg.Store, heavy}, gatedEntries{cfg.Entries, heavy}
	s := &Service{cfg: cfg}
	var err error
	s.cache, err = newCache(s.now)
	return s, err
}

// Close cancels computations that still run and waits for them. Cached questions then error with [lifecycle.ErrClosed]. It is idempotent.
func (s *Service) Close() error {
	s.cache.close()
	return nil
}

// now is the time of asking.
func (s *Service) now() lifecycle.Micros { return lifecycle.MicrosOf(s.cfg.Now()) }
