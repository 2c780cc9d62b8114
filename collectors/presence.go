package collectors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// MessageRef names a message of a stream as lines do, without its incarnation.
type MessageRef struct {
	Stream string
	Seq    uint64
}

// Holds reports whether the stream held a message after a line was read that says it has left.
func (s Streams) Holds(k lifecycle.MessageKey) bool {
	return s.denied(s.lives(k) && s.There[MessageRef{k.Stream.Name, k.Seq}])
}

const (
	// lagLooks is how often the broker is asked before a message counts as there: a replica that answers may lag behind the one that spoke.
	lagLooks = 5
	// lagPause is the time between those looks.
	lagPause = 50 * time.Millisecond
)

// there finds the messages of streams that live which the broker holds whenever it is asked. It errors when the broker does not answer.
func (n *IncarnationResolver) there(ctx context.Context, live map[string]LastSeq, refs map[MessageRef]bool) (map[MessageRef]bool, error) {
	for look := 0; look < lagLooks && len(refs) > 0; look++ {
		if look > 0 && !sleep(ctx, lagPause) {
			return nil, ctx.Err()
		}
		held := map[MessageRef]bool{}
		for ref := range refs {
			_, lives := live[ref.Stream]
			found, err := lives, error(nil)
			if lives {
				found, err = n.holds(ctx, ref)
			}
			if err != nil {
				return nil, err
			}
			if found {
				held[ref] = true
			}
		}
		refs = held
	}
	return refs, nil
}

func (n *IncarnationResolver) holds(ctx context.Context, ref MessageRef) (bool, error) {
	stream, err := leader.Find(ctx, n.cfg.JetStream, ref.Stream)
	if err == nil {
		_, err = stream.GetMsg(ctx, ref.Seq)
	}
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrMsgNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for message %d of %s: %w", ref.Seq, ref.Stream, err)
	}
	return true, nil
}
