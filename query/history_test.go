package query

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

func historyNow() lifecycle.Micros {
	return lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 34, 56, 0, time.UTC))
}

func TestASpanHasStepsThatCountersHave(t *testing.T) {
	t.Parallel()
	now := historyNow()
	for _, c := range []struct {
		key, from, to string
		step          time.Duration
		first         string
		steps         int
	}{
		{"1h", "", "", time.Minute, "2026-11-20T11:35:00Z", 60},
		{"", "", "", time.Hour, "2026-11-19T13:00:00Z", 24},
		{"7d", "", "", 6 * time.Hour, "2026-11-13T18:00:00Z", 28},
		{"30d", "", "", 24 * time.Hour, "2026-10-22T00:00:00Z", 30},
		{"", "2026-11-20T09:00:00Z", "2026-11-20T10:30:00Z", time.Minute, "2026-11-20T09:00:00Z", 90},
		{"", "2026-11-20T06:01:00Z", "", 15 * time.Minute, "2026-11-20T06:00:00Z", 27},
		{"", "2026-11-10T09:20:00Z", "2026-11-10T10:30:00Z", time.Hour, "2026-11-10T09:00:00Z", 2}, // Counters of minutes are gone.
		{"", "2026-11-20T11:00:00Z", "2027-01-01T00:00:00Z", time.Minute, "2026-11-20T11:00:00Z", 95},
	} {
		span, err := ParseHistory(c.key, c.from, c.to, now)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if first := span.From.Time().Format(time.RFC3339); span.Step != c.step || first != c.first || span.Steps() != c.steps {
			t.Errorf("%+v: step %v from %s, %d steps", c, span.Step, first, span.Steps())
		}
	}
	for _, c := range [][3]string{{"2h", "", ""}, {"", "2026-11-20T12:00:00Z", "2026-11-20T11:00:00Z"}, {"", "2026-11-21T12:00:00Z", ""}, {"", "93d", ""}, {"", "", "1h"}, {"", "soon", ""}} {
		if span, err := ParseHistory(c[0], c[1], c[2], now); err == nil {
			t.Errorf("%v was read as %+v", c, span)
		}
	}
}

func TestWhatNobodyHasReadYetIsNotZero(t *testing.T) {
	t.Parallel()
	now := historyNow()
	part := func(name string, state health.State, ago time.Duration) health.Part {
		return health.Part{Name: name, Kind: "collector", State: state, LastAt: now.Add(-ago).Time()}
	}
	behind := part("acks", health.Behind, 2*time.Second)
	behind.Lag = 4 * time.Minute
	for _, c := range []struct {
		name  string
		parts []health.Part
		want  []Observed
	}{
		{"all is read", []health.Part{part("publishes", health.OK, 5*time.Minute), part("acks", health.OK, time.Second)}, []Observed{ObservedAll, ObservedAll, ObservedAll}},
		{"the broker is away", []health.Part{part("publishes", health.Down, 3*time.Minute), part("acks", health.Down, 3*time.Minute)}, []Observed{ObservedPart, ObservedNone, ObservedNone}},
		{"acknowledgements are behind", []health.Part{part("publishes", health.OK, 0), behind}, []Observed{ObservedPart, ObservedNone, ObservedNone}},
		{"nobody counts by these", []health.Part{part("reports", health.Down, time.Hour)}, []Observed{ObservedAll, ObservedAll, ObservedAll}},
	} {
		s := &Service{cfg: Config{Health: health.ReporterFunc(func() []health.Part { return c.parts })}}
		begin := now.Truncate(time.Minute).Add(-4 * time.Minute)
		steps := []FlowStep{{At: begin, End: begin.Add(2 * time.Minute), Published: 1}, {At: begin.Add(2 * time.Minute), End: begin.Add(4 * time.Minute)}, {At: begin.Add(4 * time.Minute), End: begin.Add(6 * time.Minute)}}
		seen := s.observed(nil, now)
		seen.seen = begin
		var got []Observed
		for _, step := range steps {
			got = append(got, seen.of(step.At, step.End, step.Published > 0))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestAStepThatLiesInAGapIsNotZero(t *testing.T) {
	t.Parallel()
	now := historyNow()
	begin := now.Truncate(time.Hour).Add(-5 * time.Hour)
	at := func(hours float64) lifecycle.Micros { return begin.Add(time.Duration(hours * float64(time.Hour))) }
	steps := make([]FlowStep, 6)
	for i := range steps {
		steps[i] = FlowStep{At: at(float64(i)), End: at(float64(i + 1)), Published: int64(i % 2)}
	}
	gaps := []lifecycle.Gap{{From: at(2.5), To: at(2.7)}, {From: at(3.9), To: at(4.5)}, {From: at(4.5), To: at(5)}}
	look := func(steps []FlowStep, depth []int64, gaps ...lifecycle.Gap) {
		o := (&Service{}).observed(gaps, now)
		o.seen = at(1)
		for i := range steps {
			steps[i].Observed = o.of(steps[i].At, steps[i].End, steps[i].Published > 0)
		}
		setDepth(steps, depth, o)
	}
	look(steps, []int64{1, 2, 3, 4, 5, 6}, gaps...)
	type seen struct {
		Observed Observed
		Known    bool
		Depth    int64
	}
	var got []seen
	for _, s := range steps {
		got = append(got, seen{s.Observed, s.DepthKnown, s.Depth})
	}
	want := []seen{
		{ObservedNone, false, 0}, // Before the first message that is known.
		{ObservedAll, true, 2},
		{ObservedPart, true, 3},  // The gap was over when the step ended.
		{ObservedPart, false, 0}, // It counted something, and ended within a gap.
		{ObservedNone, false, 0}, // Two gaps cover it.
		{ObservedAll, true, 6},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("steps (-want +got):\n%s", d)
	}
	look(steps[5:], []int64{6}, lifecycle.Gap{From: at(5.5)})
	if steps[5].DepthKnown || steps[5].Observed != ObservedPart {
		t.Errorf("a gap that is open now leaves %+v", steps[5])
	}
}

func TestReasonsBeyondTheBoundBecomeOne(t *testing.T) {
	t.Parallel()
	var reasons []DeathReason
	for i := range int64(9) {
		reasons = append(reasons, DeathReason{Detail: string(rune('a' + i)), Total: 9 - i, Steps: []int64{9 - i, 0}})
	}
	got := withOthers(reasons, 2)
	if len(got) != maxDeathReasons || !got[5].Others || got[5].Total != 4+3+2+1 || got[5].Steps[0] != 10 || got[4].Detail != "e" {
		t.Errorf("got %+v", got)
	}
}
