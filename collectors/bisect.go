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
	// refusedAfter is how often in a row the store has to refuse a line by itself, and each time to take a batch without lines right after.
	// Once would say nothing: a store that fails now and then fails with any line.
	refusedAfter = 8
	// maxSplits bounds the attempts to find lines that the store takes: enough to halve the largest batch down to its first line.
	maxSplits = 16
)

// unanswered is the failure of a question that has to be asked before lines can be decoded.
type unanswered struct{ error }

// Unwrap implements errors.Unwrap.
func (u unanswered) Unwrap() error { return u.error }

// blameless reports whether a failure says nothing about lines: the broker did not answer, or the store says that it is unable.
func blameless(err error) bool {
	var u unanswered
	return errors.As(err, &u) || errors.Is(err, lifecycle.ErrUnable)
}

// suspect reports whether a failure looks like that of a line: nobody else is to blame, and the store takes a batch without any.
func (c *Collector) suspect(ctx context.Context, lines []Line, failures int, failure error) bool {
	if blameless(failure) || failures < suspectAfter || (len(lines) == 1 && failures < suspectOneAfter) {
		return false
	}
	return c.probe(ctx) == nil
}

// probe appends a batch without lines.
func (c *Collector) probe(ctx context.Context) error {
	_, err := c.cfg.Appender.Append(ctx, lifecycle.Batch{Watermarks: c.watermarks(c.pos)})
	return err
}

// bisection is a search for the lines of a batch that the store refuses.
type bisection struct {
	taken    int // Lines committed.
	failures int
	refused  []refusal
	unable   error // Of the store, when it says so or takes no batch without lines either, or of the broker: lines are then not to blame.
}

type refusal struct {
	line Line
	err  error
}

// bisect commits what the store takes and quarantines the lines that it refuses one by one, so that one line cannot block those
// behind it. It errors, and quarantines nothing, when the store takes none of several lines.
func (c *Collector) bisect(ctx context.Context, b *lineBatch) error {
	var s bisection
	c.split(ctx, b.lines, &s)
	if s.unable != nil {
		return s.unable
	}
	if s.taken == 0 && len(b.lines) > 1 {
		return errors.New("the store takes no line")
	}
	rest := decoded{batch: lifecycle.Batch{Gaps: b.gaps}, lines: len(s.refused)}
	for _, r := range s.refused {
		rest.batch.Quarantined = append(rest.batch.Quarantined, r.line.Quarantined("the store refuses it: "+r.err.Error()))
		rest.last, rest.upTo = max(rest.last, r.line.Seq), max(rest.upTo, r.line.At)
	}
	return c.commit(ctx, &lineBatch{said: &rest})
}

func (c *Collector) split(ctx context.Context, lines []Line, s *bisection) {
	err := c.commit(ctx, &lineBatch{lines: lines})
	if err == nil {
		s.taken += len(lines)
		return
	}
	s.failures++
	n := len(lines)
	if blameless(err) {
		s.unable = err
	}
	switch {
	case s.unable != nil, s.taken == 0 && s.failures > maxSplits, ctx.Err() != nil:
	case n == 1:
		c.retryPoison(ctx, lines[0], err, s)
	default:
		c.split(ctx, lines[:n/2], s)
		c.split(ctx, lines[n/2:], s)
	}
}

// retryPoison tries a line that the store refused by itself again, until it is taken, or is refused for good.
func (c *Collector) retryPoison(ctx context.Context, line Line, err error, s *bisection) {
	b := &lineBatch{lines: []Line{line}}
	for refusals := 1; refusals < refusedAfter; refusals++ {
		if s.unable = c.probe(ctx); s.unable != nil {
			return
		}
		if err = c.commit(ctx, b); err == nil {
			s.taken++
			return
		}
		if blameless(err) {
			s.unable = err
			return
		}
	}
	s.refused = append(s.refused, refusal{line, err})
}
