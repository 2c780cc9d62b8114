package brokersync

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// findUnobserved names the streams that take tasks of the fleet and that nobody observes. What was stored in one of them is not known, so
// that nothing that was published meanwhile may be called not stored, also when the stream is gone again.
func (c *Collector) findUnobserved(ctx context.Context) error {
	lister := c.cfg.JetStream.StreamNames(ctx, jetstream.WithStreamListSubject(c.cfg.Contract.TaskSubjects()))
	var names []string
	for name := range lister.Name() {
		if _, observed := c.states[name]; !observed {
			names = append(names, name)
		}
	}
	if err := lister.Err(); err != nil {
		return fmt.Errorf("list streams: %w", err)
	}
	if c.unobserved = names; len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	for _, s := range c.states {
		c.unknownUpTo = max(c.unknownUpTo, s.At)
	}
	c.note(health.BestEffort, "not observed, although tasks may be stored there: "+strings.Join(names, ", "))
	return nil
}

// mayBeElsewhere reports whether a task may have been stored in a stream that nobody observed.
func (c *Collector) mayBeElsewhere(t lifecycle.TaskFacts) bool {
	return len(c.unobserved) > 0 || t.LastAt <= c.unknownUpTo
}
