package brokersync

import (
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// told is a reading after a time since the begin, of an answer that took a while.
func told(begin time.Time, server string, after, took, stamp time.Duration) reading {
	return reading{server: server, asked: begin.Add(after), answered: begin.Add(after + took), stamp: begin.Round(0).Add(stamp)}
}

func TestAJumpIsWhatNoDelayExplains(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	first := told(begin, "n1", 0, 10*time.Millisecond, 0)
	for _, tc := range []struct {
		name   string
		next   reading
		jumped bool
		why    string
	}{
		{"time passed", told(begin, "n1", time.Second, 10*time.Millisecond, time.Second), false, ""},
		{"the answer came late", told(begin, "n1", time.Second, time.Minute, time.Second), false, ""},
		{"it was asked long before", told(begin, "n1", time.Second, time.Minute, time.Minute), false, ""},
		{"within the margin", told(begin, "n1", time.Second, 0, time.Second+clockMargin), false, ""},
		{"ahead", told(begin, "n1", time.Second, 0, time.Hour+time.Second), true, "the broker's clock jumped ahead by 1 h"},
		{"back", told(begin, "n1", time.Second, 0, -time.Hour+time.Second), true, "the broker's clock jumped back by 1 h"},
		{"ahead during an outage", told(begin, "n1", time.Hour, 0, 3*time.Hour), true, "the broker's clock jumped ahead by 2 h"},
		{"another server leads", told(begin, "n2", time.Second, 0, -9*time.Second), true, "its leader was n1 and is n2, whose clock is 10 s behind"},
		{"another server leads whose clock agrees", told(begin, "n2", time.Second, 0, time.Second), false, ""},
	} {
		j, jumped := tc.next.since(first)
		if jumped != tc.jumped || j.why != tc.why {
			t.Errorf("%s: got %v %q, want %v %q", tc.name, jumped, j.why, tc.jumped, tc.why)
		}
		if _, jumped := tc.next.since(reading{}); jumped {
			t.Errorf("%s: nothing was read before, and it jumped", tc.name)
		}
	}
}

func TestOneJumpOfAHostIsToldOnce(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var c clocks
	for _, stream := range []string{"TASKS", "OBS_ACK"} {
		c.read(stream, told(begin, "", 0, 0, 0))
	}
	c.read("TASKS", told(begin, "", time.Second, 0, time.Second)) // It jumps between these two.
	c.read("OBS_ACK", told(begin, "", time.Second, 0, time.Hour))
	if _, jumped := c.jumped(); !jumped {
		t.Fatal("a jump that the capture stream shows is not told")
	}
	for _, stream := range []string{"TASKS", "OBS_ACK"} {
		c.read(stream, told(begin, "", 2*time.Second, 0, time.Hour+time.Second))
	}
	if j, jumped := c.jumped(); jumped {
		t.Errorf("it is told again: %s", j.why)
	}
}

func TestClocksOfServersThatDifferAreNoJump(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var c clocks
	for seconds := range 3 {
		after := time.Duration(seconds) * time.Second
		c.read("TASKS", told(begin, "n1", after, 0, after))
		c.read("OBS_ACK", told(begin, "n2", after, 0, after+10*time.Second))
	}
	if j, jumped := c.jumped(); jumped {
		t.Errorf("got %s", j.why)
	}
	if got, want := c.apart("TASKS"), "the clocks of n1 and n2 differ by 10 s, and so may what is said of leases"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAClockThatWasSetBackWhileNobodyLookedShowsAtTheFirstLook(t *testing.T) {
	t.Parallel()
	at := lifecycle.MicrosOf(time.Now())
	seen := lifecycle.ConsumerState{Stream: lifecycle.StreamID{Name: "TASKS"}, ObservedAt: at.Add(time.Hour)}
	look := func(known lifecycle.ConsumerState) ([]jump, []lifecycle.ClockStep) {
		var c clocks
		c.remember("TASKS", []lifecycle.ConsumerState{known})
		c.lookBack(&Observation{At: at}, jetstream.StreamState{LastTime: at.Add(-time.Second).Time()})
		return c.found, c.steps
	}
	if found, _ := look(seen); len(found) != 1 || found[0].From != seen.ObservedAt || found[0].To != at {
		t.Errorf("got %+v", found)
	}
	seen.Steps = []lifecycle.ClockStep{{From: seen.ObservedAt, To: at.Add(-time.Minute)}}
	if found, steps := look(seen); len(found) > 0 || !slices.Equal(steps, seen.Steps) {
		t.Errorf("what the store knows is told again: %+v, %+v", found, steps)
	}
	seen.ObservedAt, seen.Steps = at.Add(-time.Minute), nil
	if found, _ := look(seen); len(found) > 0 {
		t.Errorf("the clock went on, and it jumped: %+v", found)
	}
}

func TestTheClockGoesAsTheBrokersDoes(t *testing.T) {
	t.Parallel()
	c := NewClock()
	away := func() time.Duration { return c.Now().Sub(time.Now().Round(0)).Round(time.Second) }
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, time.Second, 0} {
		now := time.Now()
		c.follow(reading{asked: now, answered: now, stamp: now.Round(0).Add(ahead)})
		if got := away(); (got - ahead).Abs() > clockMargin {
			t.Errorf("the broker's clock is %s ahead, and ours %s", ahead, got)
		}
	}
	if got := away(); got != 0 {
		t.Errorf("the broker's clock is this host's, and ours %s ahead", got)
	}
}
