package failurelog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// Config says what is copied, and where to.
type Config struct {
	Project  string // Required; optional with an emulator, default "fleetglass".
	Database string // Optional; default "(default)".
	Emulator string // Optional; its address, instead of Google's.

	Entries Entries // Required.
	Hours   Hours   // Required.

	Every   time.Duration // Optional; how often, default 15 s.
	Window  time.Duration // Optional; how far back from now deaths are looked at for what has changed, default 7 d.
	Timeout time.Duration // Optional; of one write, default 10 s.

	Now func() time.Time // Optional; default time.Now.
	Log *slog.Logger     // Optional; default discards.
}

// Entries lists what died. It is part of [dlqtriage.EntryReader].
type Entries interface {
	Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error)
}

// Hours counts what died by the hour, the oldest hour first; hours in which nothing happened may be left out.
type Hours func(ctx context.Context, from, to lifecycle.Micros) ([]Hour, error)

// Hour is what happened in one hour.
type Hour struct {
	At            lifecycle.Micros // Its beginning.
	Messages      int64
	Entries       int64
	AutoResolved  int64
	HumanRequired int64
	Median        time.Duration // To resolution; zero where nothing is resolved.
}

func (c *Config) complete() error {
	if c.Emulator != "" {
		c.Project = cmp.Or(c.Project, "fleetglass")
	}
	if c.Project == "" || c.Entries == nil || c.Hours == nil {
		return errors.New("failurelog: Config.Project, Entries and Hours are required")
	}
	c.Database = cmp.Or(c.Database, "(default)")
	c.Every = cmp.Or(c.Every, 15*time.Second)
	c.Window = cmp.Or(c.Window, 7*24*time.Hour)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
