package brokersync

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
)

// presenceOf is what a stream's state says about which messages are in it. Where too many are deleted for a list, one page of the stream
// is walked, from the given sequence.
func presenceOf(ctx context.Context, stream *leader.Stream, s jetstream.StreamState, from uint64, page int) (Presence, error) {
	p := Presence{First: s.FirstSeq, Last: s.LastSeq}
	if s.Msgs == 0 {
		p.First = s.LastSeq + 1
	}
	if len(s.Deleted) == s.NumDeleted {
		p.From, p.To, p.Listed, p.Deleted = s.FirstSeq, s.LastSeq, s.Deleted, true
		return p, nil
	}
	p.From = max(from, p.First)
	for seq := p.From; len(p.Listed) < page; seq++ {
		m, err := messageFrom(ctx, stream, seq)
		if err != nil {
			return p, err
		}
		if m == nil || m.Sequence > p.Last {
			p.To = p.Last
			return p, nil
		}
		p.Listed, p.To, seq = append(p.Listed, m.Sequence), m.Sequence, m.Sequence
	}
	return p, nil
}

// messageFrom is the first message at or after a sequence; nil when there is none.
func messageFrom(ctx context.Context, stream *leader.Stream, seq uint64) (*jetstream.RawStreamMsg, error) {
	m, err := stream.NextMsg(ctx, seq, ">")
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("walk stream at %d: %w", seq, err)
	}
	return m, nil
}

// isGone reports whether the broker says that there is no such message.
func isGone(err error) bool { return errors.Is(err, jetstream.ErrMsgNotFound) }
