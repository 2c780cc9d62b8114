package brokersync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// maxMicros is later than every time.
const maxMicros = lifecycle.Micros(math.MaxInt64)

// maxDeletions bounds the advisories that are read. Beyond it nothing follows from them.
const maxDeletions = 1000

// deletions reads the captured advisories about deleted consumers that may have given messages to workers.
func (a *answerer) deletions(ctx context.Context) (Deletions, error) {
	d := Deletions{From: maxMicros, Last: map[string]lifecycle.Micros{}}
	prefix := "$JS.EVENT.ADVISORY.CONSUMER.DELETED." + a.seen.Stream.Name + "."
	events, err := a.cfg.Capture.Stream(ctx, fleet.CaptureEvt)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return d, nil
	}
	if err != nil {
		return d, fmt.Errorf("find %s: %w", fleet.CaptureEvt, err)
	}
	var subjects []string
	for _, captured := range fleet.CapturedSubjects(prefix + "*") {
		info, err := events.Info(ctx, jetstream.WithSubjectFilter(captured))
		if err != nil {
			return d, fmt.Errorf("ask %s for deleted consumers: %w", fleet.CaptureEvt, err)
		}
		d.From = heldSince(info)
		subjects = slices.AppendSeq(subjects, maps.Keys(info.State.Subjects))
	}
	if len(subjects) > maxDeletions {
		d.From = maxMicros
		return d, nil
	}
	for _, subject := range subjects {
		name := strings.TrimPrefix(fleet.OriginalSubject(subject), prefix)
		if fleet.IsCopierName(name) || (a.seen.Kept && !a.cfg.Contract.IsWorker(name)) {
			continue
		}
		m, err := events.GetLastMsgForSubject(ctx, subject)
		if isGone(err) {
			continue
		}
		if err != nil {
			return d, fmt.Errorf("read advisory %s: %w", subject, err)
		}
		d.Last[name] = max(d.Last[name], lifecycle.MicrosOf(m.Time))
	}
	return d, nil
}

// sole reports whether nobody but the given consumer, as it lives now, can have delivered a message: no other of its name or for its
// subject lived since the message was stored. Without a consumer nobody can. Looks at the broker do not prove that, because a consumer may have lived and
// died between two of them: captured advisories must say so too.
func (v view) sole(c *Consumer, m lifecycle.MessageFacts) bool {
	switch {
	case m.Stored == nil, c == nil && v.watched(m), v.shared(m):
		return false
	case v.alone(c, m.Stored):
		return true
	}
	return v.Deleted != nil && m.Stored.At >= v.Deleted.From && !v.advisoriesLost(m.Stored.At) && !v.tookBefore(c, m.Stored) && !v.seenToGo(c, m.Stored) && !v.saidToGo(m.Stored)
}

// alone reports whether a consumer lived all along in a work queue, which lets no other take its subjects.
func (v view) alone(c *Consumer, s *lifecycle.StoredFacts) bool {
	return c != nil && max(c.CreatedAt, c.ResetBy, c.Refiltered.At) <= s.At && !v.Kept && !v.tookBefore(c, s)
}

// seenToGo reports whether looks at the broker show that a consumer which may have delivered the message is gone, or was reset.
func (v view) seenToGo(c *Consumer, s *lifecycle.StoredFacts) bool {
	for _, gone := range v.Gone {
		if gone.ObservedAt >= s.At && !gone.Watches && lifecycle.MatchesAny(gone.Filters, s.Subject) {
			return true
		}
	}
	return c != nil && (c.ResetBy > s.At || c.CreatedAt > s.At && v.Replaced[c.Name] == c.CreatedAt)
}

// saidToGo reports whether advisories tell of the deletion of a consumer that may have delivered the message.
func (v view) saidToGo(s *lifecycle.StoredFacts) bool {
	for name, at := range v.Deleted.Last {
		if at >= s.At && v.mayHaveTaken(name, s) {
			return true
		}
	}
	return false
}

// mayHaveTaken reports whether a consumer of that name may have taken a message: it was seen to take the subject, or nobody ever looked at one and it is not
// named as the worker of another agent.
func (v view) mayHaveTaken(name string, s *lifecycle.StoredFacts) bool {
	if took, known := v.seenToTake(name, s); known {
		return took
	}
	return lifecycle.ConsumerState{Name: name}.MayBeFor(s)
}

// seenToTake reports whether a consumer of that name was seen to take the subject of a message since it was stored, and whether one was ever seen.
func (v view) seenToTake(name string, s *lifecycle.StoredFacts) (took, known bool) {
	takes := func(c lifecycle.ConsumerState) bool {
		return lifecycle.MatchesAny(c.Filters, s.Subject) || c.Refiltered.Took(s)
	}
	for _, c := range v.Consumers {
		if c.Name == name {
			return takes(c.ConsumerState), true
		}
	}
	for _, c := range v.Gone {
		if c.Name == name {
			return takes(c), true
		}
	}
	return false, false
}
