package brokersync

import (
	"context"
	"fmt"
	"math"

	"fleetglass/lifecycle"
)

// standing is a gap that lasts as long as something holds.
type standing struct {
	read  bool          // The store was asked for one that is open.
	gap   lifecycle.Gap // The one that is open; no source for none.
	clear bool          // This process saw before that it does not hold.
}

// sayUncaptured opens a gap where nobody captures the acknowledgements of a stream: what its workers said cannot be judged. It closes the gap when
// they are captured. The gap begins with the stream, or where they were captured before with the last poll that found it so.
func (c *Collector) sayUncaptured(ctx context.Context, name string, o Observation, missing bool, last lifecycle.Micros) error {
	source, since := lifecycle.Uncaptured(name), o.Created
	if c.standing[source].clear {
		since = last
	}
	return c.sayWhile(ctx, missing, o.At, lifecycle.Gap{Source: source, From: since,
		Reason: "nobody captures acknowledgements of stream " + name + ": what its workers answered cannot be judged; run fleetglass provision --apply"})
}

// sayAbsent opens a gap where a stream that was observed does not exist, and closes it when it is there again. The gap begins with the last poll that
// found the stream.
func (c *Collector) sayAbsent(ctx context.Context, name string, gone bool, last lifecycle.Micros) error {
	now := lifecycle.MicrosOf(c.cfg.Now())
	since := now
	if last.Known() {
		since = min(last, now)
	}
	return c.sayWhile(ctx, gone, now, lifecycle.StreamAbsent(name, since))
}

// sayWhile stores a gap when something begins to hold, and its end when it holds no longer.
func (c *Collector) sayWhile(ctx context.Context, holds bool, now lifecycle.Micros, gap lifecycle.Gap) error {
	s := c.standing[gap.Source]
	if !s.read {
		open, err := c.openGap(ctx, gap.Source)
		if err != nil {
			return err
		}
		s.read, s.gap = true, open
	}
	if open := s.gap.Source != ""; holds != open {
		if holds {
			s.gap = gap
		} else {
			s.gap.To = now
		}
		if err := c.commit(ctx, lifecycle.Batch{Gaps: []lifecycle.Gap{s.gap}}); err != nil {
			return err
		}
	}
	if !holds {
		s.clear, s.gap = true, lifecycle.Gap{}
	}
	c.standing[gap.Source] = s
	return nil
}

// openGap finds the gap of a source that is still open; without a source where there is none.
func (c *Collector) openGap(ctx context.Context, source string) (lifecycle.Gap, error) {
	gaps, err := c.cfg.Reader.Gaps(ctx, math.MaxInt64-1, math.MaxInt64, maxOpenGaps) // Only open ones last until then.
	if err != nil {
		return lifecycle.Gap{}, fmt.Errorf("read open gaps: %w", err)
	}
	for _, g := range gaps {
		if g.Source == source && !g.To.Known() {
			return g, nil
		}
	}
	return lifecycle.Gap{}, nil
}

// maxOpenGaps is how many open gaps are looked through.
const maxOpenGaps = 1000
