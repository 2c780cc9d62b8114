package collectors

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// A broker writes to its disk some time after it answered: a host that loses power, or that is set back to a snapshot, forgets the last messages of its streams, and
// gives their sequences to the next ones. The stream itself is the same, with the time of its creation. What was seen of a forgotten message stays true of that one, so
// a stream that forgot is another incarnation from then on (ADR 94). A replicated stream is not asked: others have what one host forgets, and a node that was cut off
// may take itself for the leader and be behind.

// errForgotten ends a session: what it reads has the numbers of lines that were stored before.
var errForgotten = errors.New("the broker forgot lines that it had stored, and gives their numbers to others")

// numberedAgain reports whether a line has the number of one that was committed before, or a lower one, and is younger than that: a stream stores in the order of time.
func (c *Collector) numberedAgain(lines []Line) bool {
	return slices.ContainsFunc(lines, func(l Line) bool { return l.Seq <= c.pos.Seq && l.At > c.pos.At })
}

// askForgotten errors with errForgotten where the stream proves that the broker forgot lines, and with the reason where it does not answer.
func (c *Collector) askForgotten(ctx context.Context) error {
	stream, err := c.cfg.JetStream.Stream(ctx, c.src.Stream)
	if err != nil {
		return fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	forgot, err := c.forgot(ctx, stream)
	if err == nil && forgot {
		err = errForgotten
	}
	return err
}

// noteForgotten begins another incarnation of the capture stream where it ends before the last line that was committed, or has another one under that number. What is
// left of the lines before was committed.
func (c *Collector) noteForgotten(ctx context.Context, stream jetstream.Stream) error {
	id, state := c.incarnation(stream), stream.CachedInfo().State
	if c.pos.Stream != id.String() || c.pos.Seq == 0 {
		return nil
	}
	forgot, err := c.forgot(ctx, stream)
	if err != nil || !forgot {
		return err
	}
	latest, err := c.latestPosition(ctx)
	if err != nil {
		return err
	}
	if latest.Forgot > c.pos.Forgot { // Another replica noted it.
		c.pos = latest
		return nil
	}
	p := position{At: c.pos.At, Blind: c.pos.Blind, Restored: c.pos.Seq, Forgot: c.pos.At + 1}
	id.Epoch = p.Forgot
	p.Stream = id.String()
	now := lifecycle.MicrosOf(stream.CachedInfo().TimeStamp)
	b := lifecycle.Batch{
		Watermarks: c.watermarks(p), Reached: map[string]uint64{c.storedMark(p.Stream): min(state.LastSeq, c.pos.Seq)},
		Gaps: []lifecycle.Gap{{Source: c.name.String(), From: c.pos.At, To: max(now, c.pos.At), Reason: "the broker forgot the last lines of " + c.src.Stream +
			" (its host lost power, or was set back): those that had not been read are lost"}},
	}
	if _, err := c.cfg.Appender.Append(ctx, b); err != nil {
		return fmt.Errorf("store position: %w", err)
	}
	c.cfg.Logger.Warn("the broker forgot lines that it had stored", "stream", c.src.Stream, "read_up_to", c.pos.Seq, "ends_at", state.LastSeq)
	c.pos = p
	return nil
}

// forgot reports whether the stream does not have the last line that was committed, and gives its number to others, or will.
func (c *Collector) forgot(ctx context.Context, stream jetstream.Stream) (bool, error) {
	info := stream.CachedInfo()
	if info.Config.Replicas > 1 {
		return false, nil
	}
	return isForgotten(ctx, c.cfg.JetStream, c.src.Stream, info.State.LastSeq, c.pos.Seq, c.pos.At)
}

// isForgotten reports whether a stream, which ends with last, does not have the message any more that it stored under a sequence at a time: it ends before, or has
// another one there. To whoever may not ask for messages, only where it ends before.
func isForgotten(ctx context.Context, js jetstream.JetStream, name string, last, seq uint64, at lifecycle.Micros) (bool, error) {
	if last < seq {
		return true, nil
	}
	stream, err := leader.Find(ctx, js, name)
	if err != nil {
		return false, fmt.Errorf("find stream %s: %w", name, err)
	}
	m, err := stream.NextMsg(ctx, seq, ">")
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound), isRefused(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for message %d of %s: %w", seq, name, err)
	}
	return m.Sequence == seq && lifecycle.MicrosOf(m.Time) != at, nil
}
