package collectors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fleetglass/internal/leader"

	"github.com/nats-io/nats.go/jetstream"
)

// ErrAlone says that the server which answers for a stream or a consumer does not hear from a majority of its replicas. It may have been cut off, and
// what it says may be what was.
var ErrAlone = errors.New("its leader does not hear from a majority of the replicas")

// HeardWithin is how long ago a leader that a majority stands behind has heard of it at most. Replicas answer a heartbeat every second.
const HeardWithin = 4 * time.Second

// Backed reports whether whoever answered for a stream or consumer had heard from a majority of its replicas, itself included, within a time. Where
// there is one replica it has.
func Backed(c *jetstream.ClusterInfo, within time.Duration) bool {
	if c == nil || len(c.Replicas) == 0 {
		return true
	}
	heard := 1
	for _, r := range c.Replicas {
		if r.Active > 0 && r.Active < within { // Zero is never.
			heard++
		}
	}
	return 2*heard > len(c.Replicas)+1
}

// confirmPause is the time between two looks whether a majority was heard.
const confirmPause = 100 * time.Millisecond

// confirm returns once the leader of each stream that lives, and of each consumer of these, has heard from a majority since the call. What they say then
// is not older than the call. It errors where that does not come about.
func (n *IncarnationResolver) confirm(ctx context.Context, live map[string]LastSeq, refs map[ConsumerRef]bool) error {
	began := time.Now()
	for name := range live {
		err := n.await(ctx, began, func() (*jetstream.ClusterInfo, error) {
			s, err := n.cfg.JetStream.Stream(ctx, name)
			if err != nil {
				return nil, err
			}
			return s.CachedInfo().Cluster, nil
		})
		if err != nil {
			return fmt.Errorf("confirm %s: %w", name, err)
		}
	}
	for ref := range refs {
		if _, lives := live[ref.Stream]; !lives {
			continue
		}
		err := n.await(ctx, began, func() (*jetstream.ClusterInfo, error) {
			info, err := leader.Consumer(ctx, n.cfg.JetStream, ref.Stream, ref.Name)
			if err != nil {
				return nil, err
			}
			return info.Cluster, nil
		})
		if err != nil {
			return fmt.Errorf("confirm consumer %s of %s: %w", ref.Name, ref.Stream, err)
		}
	}
	return nil
}

// await asks until a majority was heard since a time. What does not exist has nobody to hear.
func (n *IncarnationResolver) await(ctx context.Context, since time.Time, ask func() (*jetstream.ClusterInfo, error)) error {
	for {
		asked := time.Now()
		info, err := ask()
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, jetstream.ErrInvalidConsumerName):
			return nil
		case err != nil:
			return err
		case Backed(info, asked.Sub(since)):
			return nil
		case time.Since(since) > HeardWithin:
			return ErrAlone
		}
		if !sleep(ctx, confirmPause) {
			return ctx.Err()
		}
	}
}
