package brokersync

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// errRestless says that a stream was deleted or created while it was looked at. The next poll looks again.
var errRestless = errors.New("stream changed while it was looked at")

// consumers lists the consumers of the stream.
func listConsumers(ctx context.Context, stream jetstream.Stream, id lifecycle.StreamID) ([]Consumer, error) {
	lister := stream.ListConsumers(ctx)
	var out []Consumer
	for info := range lister.Info() {
		out = append(out, consumerOf(id, info))
	}
	if err := lister.Err(); err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	return out, nil
}

// askStream asks how the stream is. The list of deleted sequences is asked for only when it is affordable and the stream changed since:
// it costs about 0.13 µs and 7 bytes for each.
func (c *Collector) askStream(ctx context.Context, stream jetstream.Stream) (*jetstream.StreamInfo, error) {
	info, err := stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask stream: %w", err)
	}
	known := c.seen.state
	switch n := info.State.NumDeleted; {
	case n == 0 || n > c.cfg.Details:
	case known.Msgs == info.State.Msgs && known.FirstSeq == info.State.FirstSeq && known.LastSeq == info.State.LastSeq:
		info.State.Deleted = known.Deleted
	default:
		if info, err = stream.Info(ctx, jetstream.WithDeletedDetails(true)); err != nil {
			return nil, fmt.Errorf("ask stream: %w", err)
		}
	}
	c.seen.state = info.State
	return info, nil
}

// presence is what an answer says about which messages are in the stream. Where too many are deleted for a list, one page of the
// stream is walked, from the given sequence.
func (c *Collector) presence(ctx context.Context, stream jetstream.Stream, s jetstream.StreamState, from uint64) (Presence, error) {
	return presenceOf(ctx, stream, s, from, c.walkPage())
}

func presenceOf(ctx context.Context, stream jetstream.Stream, s jetstream.StreamState, from uint64, page int) (Presence, error) {
	p := Presence{First: s.FirstSeq, Last: s.LastSeq, Single: map[uint64]bool{}}
	if s.Msgs == 0 {
		p.First = s.LastSeq + 1
	}
	if len(s.Deleted) == s.NumDeleted {
		p.From, p.To, p.Listed, p.Deleted = s.FirstSeq, s.LastSeq, s.Deleted, true
		return p, nil
	}
	p.From = max(from, p.First)
	for seq := p.From; ; seq++ {
		m, err := stream.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(">"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			p.To = p.Last
			return p, nil
		}
		if err != nil {
			return p, fmt.Errorf("walk stream at %d: %w", seq, err)
		}
		if m.Sequence > p.Last {
			p.To = p.Last
			return p, nil
		}
		p.Listed, p.To, seq = append(p.Listed, m.Sequence), m.Sequence, m.Sequence
		if len(p.Listed) >= page {
			return p, nil
		}
	}
}

// walkPage is how many messages are read in one poll only to learn that they exist. Each costs a request and its body.
func (c *Collector) walkPage() int { return max(1, c.cfg.PageSize/4) }

// ask asks about single messages.
func ask(ctx context.Context, stream jetstream.Stream, p *Presence, seqs []uint64) error {
	for _, seq := range seqs {
		_, err := stream.GetMsg(ctx, seq)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return fmt.Errorf("ask for message %d: %w", seq, err)
		}
		p.Single[seq] = err == nil
	}
	return nil
}

// isGone reports whether the broker says that there is no such message.
func isGone(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }
