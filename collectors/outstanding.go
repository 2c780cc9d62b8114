package collectors

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// Where lines are purged from a stream by their subject, the broker may count lines as acknowledged that it gave out before, and never gives them out again
// (docs/broker-facts.md). A program that was killed with such lines in hand would lose them. So a session begins with what was given out and not acknowledged, and
// while it lasts it reads what stays unacknowledged in another's hand.

// outstanding is what a session knows of the lines that the durable gave out. The zero value knows nothing.
type outstanding struct {
	floor  uint64 // Of the durable, at the look before.
	upTo   uint64 // What was given out up to this line was read here or acknowledged.
	denied bool   // Lines may not be read one by one.
}

// inHand are the lines that this session was given and did not answer. A nil one notes nothing.
type inHand struct {
	mu   sync.Mutex
	seqs map[uint64]bool
}

func (h *inHand) take(seq uint64) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seqs[seq] = true
}

func (h *inHand) answered(lines []delivery) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range lines {
		delete(h.seqs, d.line.Seq)
	}
}

func (h *inHand) has(seq uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seqs[seq]
}

// editedLooks is how many times as often as others the durable of a stream is looked at that others remove lines from.
const editedLooks = 4

// readOutstanding stores the lines that the durable had given out when the session began, and that nobody had acknowledged. Those that the broker gives out again
// count once. A line that cannot be read now is left to the broker, and the log says so: it errors only when ctx is done.
func (c *Collector) readOutstanding(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) error {
	if !c.src.Edited {
		return nil
	}
	c.outstanding, c.inHand = outstanding{floor: info.AckFloor.Stream}, &inHand{seqs: map[uint64]bool{}}
	lines := c.linesGivenOut(ctx, id, info)
	if len(lines) == 0 {
		return ctx.Err()
	}
	b := &lineBatch{lines: lines}
	if c.src.AfterPublishes {
		c.cfg.Barrier.Pause(ctx, b.newest())
	}
	return c.commitWithRetry(ctx, b)
}

// readStanding stores the lines that were given out where the first of them was not acknowledged since the look before: whoever has it may have been killed.
func (c *Collector) readStanding(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo, p *pipeline) {
	if !c.src.Edited {
		return
	}
	stands := info.AckFloor.Stream == c.outstanding.floor
	c.outstanding.floor = info.AckFloor.Stream
	if !stands {
		return
	}
	if lines := c.linesGivenOut(ctx, id, info); len(lines) > 0 {
		b := &lineBatch{lines: lines}
		_ = p.put(b, c.waitsForPublishes(b)) // Where that fails, the session ends and the next one reads them.
	}
}

// linesGivenOut reads the lines that the durable takes between what was acknowledged and what was given out to others, as the leader has them, each once in a
// session. Where it cannot read them all it returns those that it read, and the log says so. The broker does not answer whoever may not ask.
func (c *Collector) linesGivenOut(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo) (lines []Line) {
	if info.NumAckPending == 0 || c.outstanding.denied {
		return nil
	}
	lines, err := c.linesBetween(ctx, id, info, max(info.AckFloor.Stream, c.outstanding.upTo))
	if err == nil {
		c.outstanding.upTo = info.Delivered.Stream
	} else if ctx.Err() == nil {
		c.outstanding.denied = isRefused(err)
		c.cfg.Logger.Warn("lines that were given out before could not be read", "stream", c.src.Stream, "error", err)
	}
	return lines
}

// linesBetween reads the lines of others that the durable takes after one sequence and up to the last that was given out. Where it errors it returns those that it
// read before.
func (c *Collector) linesBetween(ctx context.Context, id lifecycle.StreamID, info *jetstream.ConsumerInfo, after uint64) (lines []Line, err error) {
	stream, err := leader.Find(ctx, c.cfg.JetStream, c.src.Stream)
	if err != nil {
		return nil, fmt.Errorf("find stream %s: %w", c.src.Stream, err)
	}
	for seq := after + 1; seq <= info.Delivered.Stream; seq++ {
		if c.inHand.has(seq) {
			continue
		}
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
