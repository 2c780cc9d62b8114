package autotriage

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
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
)

// Store is what is read, and where is decided.
type Store interface {
	decision.Decider
	decision.Outbox
	// Audit is that of [decision.Auditor].
	Audit(ctx context.Context, f decision.AuditFilter, after *decision.AuditCursor, limit int) ([]decision.AuditRecord, *decision.AuditCursor, error)
	// Entries and Entry are those of [dlqtriage.EntryReader].
	Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error)
	Entry(ctx context.Context, id string) (dlqtriage.Entry, error)
	// Task is that of [lifecycle.TraceReader].
	Task(ctx context.Context, id string) (lifecycle.TaskRecord, error)
}

// Actions is the service that everybody's decisions go through. [dlqtriage.Actions] is it.
type Actions interface {
	Examine(ctx context.Context, entry string) (dlqtriage.Known, dlqtriage.Plan, error)
	Act(ctx context.Context, r dlqtriage.Request) (dlqtriage.Action, error)
}

// Config says what is decided, and who is told.
type Config struct {
	JetStream jetstream.JetStream      // Required.
	Contract  fleet.Contract           // Required.
	Store     Store                    // Required.
	Actions   Actions                  // Required.
	Policy    func() *dlqtriage.Policy // Required. The policy that holds now.

	Decides bool   // Optional; default false. Apply the plans that the policy allows.
	Subject string // Optional; where escalations are published as tasks. Default nowhere.

	Webhook *webhook.Sender // Optional; posts escalations. Default nowhere.

	// BaseURL says where pages and API are reached, for links. Optional; default the empty text.
	BaseURL func() string

	Mask func(text string) string // Optional; hides what nobody outside should read in what is told. Default hides nothing.

	// Looks says whether somebody is going to say why messages died: that is waited for, however long it takes. Optional; default nobody.
	Looks dlqtriage.Looks

	Patience time.Duration    // Optional; how long is waited for the dead-letter entry of what died, default 1 min.
	Every    time.Duration    // Optional; how often is looked, default 1 s.
	Lease    time.Duration    // Optional; how long a claim holds, default 30 s.
	Now      func() time.Time // Optional; default time.Now.
	Logger   *slog.Logger     // Optional; default discards.

	Step decision.Steps // Optional, for tests: called before and after everything that changes something.
}

func (c Config) withDefaults() (Config, error) {
	if c.JetStream == nil || c.Store == nil || c.Actions == nil || c.Policy == nil {
		return c, errors.New("auto-triage: JetStream, Store, Actions and Policy are required")
	}
	if err := c.Contract.Validate(); err != nil {
		return c, fmt.Errorf("auto-triage: %w", err)
	}
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Every = cmp.Or(c.Every, time.Second)
	c.Lease = cmp.Or(c.Lease, 30*time.Second)
	if c.BaseURL == nil {
		c.BaseURL = func() string { return "" }
	}
	if c.Mask == nil {
		c.Mask = func(text string) string { return text }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

func (c Config) now() lifecycle.Micros { return lifecycle.MicrosOf(c.Now()) }

// escalates reports whether anybody is told.
func (c Config) escalates() bool { return c.Subject != "" || c.Webhook != nil }
