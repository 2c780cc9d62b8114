package brokersync

import (
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// clockMargin is how much two clocks may move apart between two looks before that counts as a jump. What an answer took on its way does not count.
const clockMargin = 2 * time.Second

// Clock goes as the broker's clock does, as it was read last, and between two readings by the monotonic clock of this host: whatever is said of times that
// the broker states is said by it. Where the two differ by less than [clockMargin], or nothing was read yet, it is this host's clock as it was at the
// start. It is safe for concurrent use.
type Clock struct {
	began time.Time

	mu    sync.Mutex
	ahead time.Duration // Of the broker's clock, where that is more than the margin.
}

// NewClock begins with this host's clock.
func NewClock() *Clock { return &Clock{began: time.Now()} }

// Now is what the broker's clock reads now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.host(time.Now()).Add(c.ahead)
}

// host is what this host's clock would read had nobody set it since the start.
func (c *Clock) host(now time.Time) time.Time { return c.began.Round(0).Add(now.Sub(c.began)) }

// follow adopts a reading.
func (c *Clock) follow(r reading) {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked, answered := c.host(r.asked).Add(c.ahead), c.host(r.answered).Add(c.ahead)
	if apart := beyond(r.stamp, asked, answered); apart.Abs() > clockMargin {
		c.ahead += apart
	}
	if c.ahead.Abs() <= clockMargin {
		c.ahead = 0
	}
}

// reading is what a clock of the broker read, some time between a question and its answer. Both of these have readings of the monotonic clock.
type reading struct {
	server          string // Who answered; empty where there is but one.
	stamp           time.Time
	asked, answered time.Time
}

func readingOf(info *jetstream.StreamInfo, asked time.Time) reading {
	r := reading{stamp: info.TimeStamp, asked: asked, answered: time.Now()}
	if info.Cluster != nil {
		r.server = info.Cluster.Leader
	}
	return r
}

// beyond is by how much a time lies outside of a span: negative before it.
func beyond(at, from, to time.Time) time.Duration {
	switch {
	case at.Before(from):
		return at.Sub(from)
	case at.After(to):
		return at.Sub(to)
	}
	return 0
}

// jump is a step of a clock with how it showed.
type jump struct {
	lifecycle.ClockStep
	why string
}

// since compares a reading with an earlier one: the clock may have moved on by what passed between them.
func (r reading) since(old reading) (jump, bool) {
	shortest, longest := r.asked.Sub(old.answered), r.answered.Sub(old.asked)
	by := beyond(r.stamp, old.stamp.Add(shortest), old.stamp.Add(longest))
	if old.stamp.IsZero() || by.Abs() <= clockMargin {
		return jump{}, false
	}
	j := jump{ClockStep: lifecycle.ClockStep{From: lifecycle.MicrosOf(old.stamp.Add(longest)), To: lifecycle.MicrosOf(r.stamp)}, why: r.why(old, by)}
	if by < 0 {
		j.To = j.To.Add(-longest) // It may have read that right after it was set.
	}
	return j, true
}

// why says what was seen of a jump.
func (r reading) why(old reading, by time.Duration) string {
	set, is := "ahead", "ahead"
	if by < 0 {
		set, is = "back", "behind"
	}
	size := lifecycle.Lasting(by.Abs().Round(time.Second))
	if r.server != old.server {
		return fmt.Sprintf("its leader was %s and is %s, whose clock is %s %s", old.server, r.server, size, is)
	}
	why := fmt.Sprintf("the broker's clock jumped %s by %s", set, size)
	if own := r.answered.Round(0).Sub(old.answered.Round(0)) - r.answered.Sub(old.answered); (own - by).Abs() <= clockMargin {
		why += ", as this host's clock did"
	}
	return why
}
