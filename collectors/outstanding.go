package collectors

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// Where lines are purged from a stream by their subject, the broker may count lines as acknowledged that it gave out before, and never gives them out again
// (docs/broker-facts.md). A program that was killed with such lines in hand would lose them. So a session begins with what was given out and not acknowledged.

// readOutstanding stores the lines that the durable had given out when the session began, and that nobody had acknowledged. Those that the broker gives out again
// count once. A line that cannot be read now is left to the broker, and the log says so: it errors only when ctx is done.
func (c *Collector) readOutstanding(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) error {
	if !c.src.Edited || info.NumAckPending == 0 {
		return nil
	}
	lines, err := c.linesBetween(ctx, id, info)
	if err != nil {
		c.cfg.Logger.Warn("lines that were given out before could not be read", "stream", c.src.Stream, "error", err)
	}
	if len(lines) == 0 {
		return ctx.Err()
	}
	if c.src.AfterPublishes {
		c.cfg.Barrier.Pause(ctx)
	}
	return c.commitWithRetry(ctx, &lineBatch{lines: lines})
}

// linesBetween reads the lines that the durable takes between what was acknowledged and what was given out, as the leader has them. Where it errors it returns those that
// it read before. The broker does not answer whoever may not ask.
func (c *Collector) linesBetween(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) (lines []Line, err error) {
	stream, err := leader.Find(ctx, c.cfg.JetStream, c.src.Stream)
	if err != nil {
		return nil, fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	for seq := info.AckFloor.Stream + 1; seq <= info.Delivered.Stream; seq++ {
		msg, err := stream.GetMsg(ctx, seq)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return lines, fmt.Errorf("read line %d by %s: %w", seq, leader.APISubject(c.cfg.JetStream, "STREAM.MSG.GET."+c.src.Stream), err)
		case lifecycle.MatchesAny(filtersOf(info.Config), msg.Subject):
			lines = append(lines, Line{
				Source: id, Seq: msg.Sequence, At: lifecycle.MicrosOf(msg.Time), Subject: fleet.OriginalSubject(msg.Subject), Headers: msg.Header, Body: msg.Data,
			})
		}
	}
	return lines, nil
}
