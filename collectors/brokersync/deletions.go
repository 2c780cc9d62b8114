package brokersync

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// deletions reads the captured advisories about deleted consumers.
func (a *answerer) deletions(ctx context.Context) (Deletions, error) {
	d := Deletions{From: math.MaxInt64, Last: map[string]lifecycle.Micros{}}
	prefix := "$JS.EVENT.ADVISORY.CONSUMER.DELETED." + a.seen.Stream.Name + "."
	events, err := a.cfg.Capture.Stream(ctx, fleet.CaptureEvt)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("find %s: %w", fleet.CaptureEvt, err)
	}
	info, err := events.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	if err != nil {
		return d, fmt.Errorf("ask %s for deleted consumers: %w", fleet.CaptureEvt, err)
	}
	if d.From = lifecycle.MicrosOf(info.Created); info.State.FirstSeq > 1 { // Earlier lines were discarded.
		d.From = lifecycle.MicrosOf(info.State.FirstTime)
	}
	for subject := range info.State.Subjects {
		m, err := events.GetLastMsgForSubject(ctx, subject)
		if isGone(err) {
			continue
		}
		if err != nil {
			return d, fmt.Errorf("read advisory %s: %w", subject, err)
		}
		d.Last[strings.TrimPrefix(subject, prefix)] = lifecycle.MicrosOf(m.Time)
	}
	return d, nil
}

// sole reports whether nobody but the given consumer, as it lives now, can have delivered a message: no other of its name or for its
// subject lived since the message was stored. Without a consumer nobody can.
func (v view) sole(c *Consumer, m lifecycle.MessageFacts) bool {
	switch {
	case m.Stored == nil, c == nil && v.watched(m), v.shared(m):
		return false
	case c != nil && c.CreatedAt <= m.Stored.At:
		return true
	case m.Stored.At >= v.Since:
		return v.soleAsWatched(c, m.Stored)
	}
	return v.Deleted != nil && m.Stored.At >= v.Deleted.From && v.soleAsCaptured(c, m.Stored)
}

// soleAsWatched serves messages that were stored since somebody watches.
func (v view) soleAsWatched(c *Consumer, s *lifecycle.StoredFacts) bool {
	for _, gone := range v.Gone {
		if gone.ObservedAt >= s.At && lifecycle.MatchesAny(gone.Filters, s.Subject) {
			return false
		}
	}
	return c == nil || v.Replaced[c.Name] != c.CreatedAt
}

// soleAsCaptured serves messages that were stored before. What a consumer of another name took is not known once it is deleted.
func (v view) soleAsCaptured(c *Consumer, s *lifecycle.StoredFacts) bool {
	for name, at := range v.Deleted.Last {
		if at >= s.At && (c == nil || c.Name == name) {
			return false
		}
	}
	return true
}
