package collectors

import (
	"context"
	"errors"

	"fleetglass/lifecycle"
)

const (
	// suspectAfter and suspectOneAfter are the failures in a row after which lines are suspected rather than the store. A line that is
	// alone in its batch has no others to prove that the store works, so it is given more time.
	suspectAfter    = 4
	suspectOneAfter = 10
	// maxDivisions bounds the attempts to find lines that the store takes: enough to halve the largest batch down to its first line.
	maxDivisions = 16
)

// suspect reports whether a failure looks like that of a line: the store does not say that it is unable, and takes a batch without any.
func (c *Collector) suspect(ctx context.Context, lines []Line, failures int, failure error) bool {
	if errors.Is(failure, lifecycle.ErrUnable) || failures < suspectAfter || (len(lines) == 1 && failures < suspectOneAfter) {
		return false
	}
	_, err := c.cfg.Appender.Append(ctx, lifecycle.Batch{Watermarks: c.watermarks(c.pos)})
	return err == nil
}

// isolation is a search for the lines of a batch that the store refuses.
type isolation struct {
	taken    int // Lines committed.
	failures int
	refused  []refusal
	unable   error // Of the store, when it says so: lines are then not to blame.
}

type refusal struct {
	line Line
	err  error
}

// isolate commits what the store takes and quarantines the lines that it refuses one by one, so that one line cannot block those
// behind it. It errors, and quarantines nothing, when the store takes none of several lines.
func (c *Collector) isolate(ctx context.Context, lines []Line, gaps []lifecycle.Gap) error {
	var s isolation
	c.divide(ctx, lines, &s)
	if s.unable != nil {
		return s.unable
	}
	if s.taken == 0 && len(lines) > 1 {
		return errors.New("the store takes no line")
	}
	b := lifecycle.Batch{Gaps: gaps}
	d := decoded{lines: len(s.refused)}
	for _, r := range s.refused {
		b.Quarantined = append(b.Quarantined, r.line.Quarantined("the store refuses it: "+r.err.Error()))
		d.last, d.upTo = max(d.last, r.line.Seq), max(d.upTo, r.line.At)
	}
	return c.append(b, d, func(b lifecycle.Batch) (int, error) { return c.alone(ctx, b) })
}

func (c *Collector) divide(ctx context.Context, lines []Line, s *isolation) {
	err := c.commit(ctx, lines, nil)
	if err == nil {
		s.taken += len(lines)
		return
	}
	s.failures++
	n := len(lines)
	if errors.Is(err, lifecycle.ErrUnable) {
		s.unable = err
	}
	switch {
	case s.unable != nil, s.taken == 0 && s.failures > maxDivisions, ctx.Err() != nil:
	case n == 1:
		s.refused = append(s.refused, refusal{lines[0], err})
	default:
		c.divide(ctx, lines[:n/2], s)
		c.divide(ctx, lines[n/2:], s)
	}
}
