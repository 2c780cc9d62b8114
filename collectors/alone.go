package collectors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// A consumer may have had another of its name before it, which delivered what the living one has not. The captured advisories about deletions say whether
// there was one, and since when there was none.

// settledAfter is how long after a consumer was created the advisories about those before it are surely captured.
const settledAfter = 2 * time.Second

// aloneSince is since when no other consumer of the name lived than the one that was created then and seen at a later time.
func (n *IncarnationResolver) aloneSince(ctx context.Context, ref ConsumerRef, created, seen lifecycle.Micros) (lifecycle.Micros, error) {
	n.aloneMu.Lock()
	known := n.alone[ref]
	n.aloneMu.Unlock()
	if known.created == created {
		return known.since, nil
	}
	if seen < created.Add(settledAfter) {
		return created, nil
	}
	since, err := n.lastDeletion(ctx, ref, created)
	if err != nil {
		return 0, fmt.Errorf("read deletions of consumer %s: %w", ref.Name, err)
	}
	n.aloneMu.Lock()
	defer n.aloneMu.Unlock()
	n.alone[ref] = alone{created: created, since: since}
	return since, nil
}

// alone is since when the consumer that was created at a time is the only one of its name.
type alone struct{ created, since lifecycle.Micros }

// lastDeletion is when the last consumer of a name was deleted, or since when deletions are captured; no later than the given time.
func (n *IncarnationResolver) lastDeletion(ctx context.Context, ref ConsumerRef, created lifecycle.Micros) (lifecycle.Micros, error) {
	events, err := n.cfg.Capture.Stream(ctx, fleet.CaptureEvt)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return created, nil
	}
	if err != nil {
		return 0, err
	}
	info := events.CachedInfo()
	since := lifecycle.MicrosOf(info.Created)
	if info.State.FirstSeq > 1 { // Earlier lines were discarded.
		since = lifecycle.MicrosOf(info.State.FirstTime)
	}
	for _, subject := range fleet.CapturedSubjects("$JS.EVENT.ADVISORY.CONSUMER.DELETED." + ref.Stream + "." + ref.Name) {
		m, err := events.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			return 0, err
		}
		since = max(since, lifecycle.MicrosOf(m.Time)+1)
	}
	return min(since, created), nil
}
