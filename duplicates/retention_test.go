package duplicates

import (
	"math"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// recommended is the configuration that SPEC 1 gives a fleet.
func recommended() (lifecycle.ConsumerState, Retention) {
	return lifecycle.ConsumerState{
			Name: "cto-task-worker", AckWait: 5 * time.Minute, MaxDeliver: 3,
			Backoff: []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute},
		}, Retention{
			Known: true, Records: 72 * time.Hour, MaxAge: 7 * 24 * time.Hour, DuplicateWindow: time.Hour, RetryDelay: 24 * time.Hour,
		}
}

func TestRecordsMustOutliveEveryWindow(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		name    string
		edit    func(*lifecycle.ConsumerState, *Retention)
		verdict RetentionVerdict
		windows string
		advice  string
	}{
		{
			"recommended", nil, RetentionShort,
			"redelivery 7m30s covered, late_arrival 168h0m0s, retry 192h0m0s, republish 1h0m0s covered", "at least that long",
		},
		{
			"records as long as the longest window",
			func(_ *lifecycle.ConsumerState, r *Retention) { r.Records = 8 * day }, RetentionEnough,
			"redelivery 7m30s covered, late_arrival 168h0m0s covered, retry 192h0m0s covered, republish 1h0m0s covered", "",
		},
		{
			"a microsecond too short",
			func(_ *lifecycle.ConsumerState, r *Retention) { r.Records = 8*day - time.Microsecond }, RetentionShort,
			"redelivery 7m30s covered, late_arrival 168h0m0s covered, retry 192h0m0s, republish 1h0m0s covered", "8 d",
		},
		{
			"records for ever",
			func(_ *lifecycle.ConsumerState, r *Retention) { r.Records, r.MaxAge = 0, 0 }, RetentionEnough,
			"redelivery 7m30s covered, late_arrival endless covered, retry endless covered, republish 1h0m0s covered", "",
		},
		{
			"messages for ever, no retries",
			func(_ *lifecycle.ConsumerState, r *Retention) { r.MaxAge, r.RetryDelay = 0, 0 }, RetentionShort,
			"redelivery 7m30s covered, late_arrival endless, republish 1h0m0s covered", "without limit",
		},
		{
			"no limit of deliveries", func(c *lifecycle.ConsumerState, r *Retention) {
				c.MaxDeliver, r.MaxAge, r.RetryDelay, r.DuplicateWindow = -1, 2*day, 0, 0
			}, RetentionEnough, "redelivery 48h0m0s covered, late_arrival 48h0m0s covered", "",
		},
		{
			"deliveries and messages without limit", func(c *lifecycle.ConsumerState, r *Retention) {
				c.MaxDeliver, r.MaxAge, r.RetryDelay, r.DuplicateWindow = -1, 0, 0, 0
			}, RetentionShort, "redelivery endless, late_arrival endless", "without limit",
		},
		{
			"more deliveries than steps, then too many to count", func(c *lifecycle.ConsumerState, r *Retention) {
				c.MaxDeliver, r.RetryDelay, r.DuplicateWindow = math.MaxInt, 0, 0
			}, RetentionShort, "redelivery 168h0m0s, late_arrival 168h0m0s", "7 d",
		},
		{
			"more deliveries than steps", func(c *lifecycle.ConsumerState, r *Retention) {
				c.MaxDeliver, r.RetryDelay, r.DuplicateWindow, r.MaxAge = 5, 0, 0, day
			}, RetentionEnough, "redelivery 17m30s covered, late_arrival 24h0m0s covered", "",
		},
		{
			"a consumer that is gone", func(c *lifecycle.ConsumerState, r *Retention) {
				c.Gone, r.RetryDelay, r.DuplicateWindow, r.MaxAge = true, 0, 0, day
			}, RetentionEnough, "redelivery 0s covered, late_arrival 24h0m0s covered", "",
		},
		{"not known", func(_ *lifecycle.ConsumerState, r *Retention) { r.Known = false }, RetentionUnknown, "", "could not be read"},
	} {
		consumer, r := recommended()
		if c.edit != nil {
			c.edit(&consumer, &r)
		}
		got := CheckRetention([]lifecycle.ConsumerState{consumer}, r)
		if got.Verdict != c.verdict || windowsText(got.Windows) != c.windows {
			t.Errorf("%s: %s with %s\nwant %s with %s", c.name, got.Verdict, windowsText(got.Windows), c.verdict, c.windows)
		}
		if (got.Advice == "") != (c.advice == "") || !strings.Contains(got.Advice, c.advice) {
			t.Errorf("%s: advice %q, want one with %q", c.name, got.Advice, c.advice)
		}
	}
}

func windowsText(windows []RetentionWindow) string {
	var parts []string
	for _, w := range windows {
		text := w.Name + " " + w.Length.String()
		if w.Endless {
			text = w.Name + " endless"
		}
		if w.Covered {
			text += " covered"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func TestTheLongestConsumerDecides(t *testing.T) {
	t.Parallel()
	short, r := recommended()
	long := short
	long.Name, long.Backoff, long.AckWait = "ceo-task-worker", nil, time.Hour
	for _, consumers := range [][]lifecycle.ConsumerState{{short, long}, {long, short}} {
		w := CheckRetention(consumers, r).Windows[0]
		if w.Length != 3*time.Hour || !strings.Contains(w.Why, "ceo-task-worker") {
			t.Errorf("redelivery %s: %s", w.Length, w.Why)
		}
	}
}
