package brokersync

import (
	"context"
	"fmt"
	"math"

	"fleetglass/lifecycle"
)

// uncaptured is what is known of the capture of one stream's acknowledgements.
type uncaptured struct {
	read bool          // The store was asked for an open gap.
	gap  lifecycle.Gap // The one that is open; no source for none.
	seen bool          // This process saw them captured before.
}

// sayUncaptured opens a gap where nobody captures the acknowledgements of a stream: what its workers said cannot be judged. It closes the gap when
// they are captured. The gap begins with the stream, or where they were captured before with the last poll that found it so.
func (c *Collector) sayUncaptured(ctx context.Context, stream string, missing bool, since, now lifecycle.Micros) error {
	u := c.uncaptured[stream]
	if !u.read {
		gap, err := c.openGap(ctx, lifecycle.Uncaptured(stream))
		if err != nil {
			return err
		}
		u.read, u.gap = true, gap
	}
	open := u.gap.Source != ""
	switch {
	case missing && !open:
		u.gap = lifecycle.Gap{
			Source: lifecycle.Uncaptured(stream), From: since,
			Reason: "nobody captures acknowledgements of stream " + stream + ": what its workers answered cannot be judged; run fleetglass provision --apply",
		}
	case !missing && open:
		u.gap.To = now
	}
	if missing != open {
		if err := c.commit(ctx, lifecycle.Batch{Gaps: []lifecycle.Gap{u.gap}}); err != nil {
			return err
		}
	}
	if !missing {
		u.seen, u.gap = true, lifecycle.Gap{}
	}
	c.uncaptured[stream] = u
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
