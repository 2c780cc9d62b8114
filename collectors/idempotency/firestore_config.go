package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// FirestoreConfig says which database is read, and how often. The intervals decide what reading costs: with ten completions a minute the
// defaults read about 40,000 documents a day, and the daily sweep as many as there are.
type FirestoreConfig struct {
	Appender   lifecycle.Appender    // Required.
	Watermarks collectors.Watermarks // Required. The same store.

	Project  string // Optional. Without it and without Emulator nothing is configured, which is not a failure.
	Database string // Optional; default "(default)".
	Emulator string // Optional. Host and port of an emulator, which is asked without credentials; its project defaults to EmulatorProject.

	Overlap  time.Duration // Optional; default 10 min. How far behind the latest completion is read again: agents' clocks may be off by that.
	Poll     time.Duration // Optional; default 15 min. How often what the listener should have told is read.
	Sweep    time.Duration // Optional; default 24 h. How often every document is read, by name.
	Rotate   time.Duration // Optional; default 4 h. A listener is replaced after this long, because its result only grows.
	Patience time.Duration // Optional; default 60 s. A document that a listener did not tell after this long shows that it stalled.
	Probe    time.Duration // Optional; default 1 min. How often Firestore is asked whether it answers.
	Timeout  time.Duration // Optional; default 10 s. Of a question of one document.
	Retry    time.Duration // Optional; default 1 s. First pause after a failure; it doubles.
	MaxRetry time.Duration // Optional; default 1 min. The longest pause.
	Keep     time.Duration // Optional; default no limit. Documents last written longer ago are left out: the retention of the store.
	Page     int           // Optional; default 300. Documents read and stored at once.

	Now    func() time.Time // Optional; default time.Now.
	Logger *slog.Logger     // Optional; default discards.
}

// EmulatorProject is the project that is read from an emulator when none is named.
const EmulatorProject = "fleetglass"

func (c FirestoreConfig) configured() bool { return c.Project != "" || c.Emulator != "" }

func (c FirestoreConfig) withDefaults() (FirestoreConfig, error) {
	if c.Appender == nil || c.Watermarks == nil {
		return c, errors.New("an Appender and Watermarks are required")
	}
	if c.Page < 0 || c.Page > 10_000 {
		return c, fmt.Errorf("page of %d documents is not between 1 and 10000", c.Page)
	}
	if c.Page == 0 {
		c.Page = 300
	}
	c.name()
	for d, standard := range map[*time.Duration]time.Duration{
		&c.Overlap: 10 * time.Minute, &c.Poll: 15 * time.Minute, &c.Sweep: 24 * time.Hour, &c.Rotate: 4 * time.Hour,
		&c.Patience: time.Minute, &c.Probe: time.Minute, &c.Timeout: 10 * time.Second, &c.Retry: time.Second, &c.MaxRetry: time.Minute,
	} {
		if *d <= 0 {
			*d = standard
		}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// name fills in which database is meant.
func (c *FirestoreConfig) name() {
	if c.Project == "" && c.Emulator != "" {
		c.Project = EmulatorProject
	}
	if c.Database == "" {
		c.Database = "(default)"
	}
}

// mark is the name of a position in the store. Another database has other positions.
func (c FirestoreConfig) mark(of string) string {
	return "firestore:" + c.Project + "/" + c.Database + ":" + of
}

// sleep reports whether the pause passed before ctx was done.
func sleep(ctx context.Context, pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
