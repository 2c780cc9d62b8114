package deadletters

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// mostDeleted bounds the list of deleted entries that is fetched from a stream. Where more were deleted, it is known of those before the first one only.
const mostDeleted = 10_000

// holding is what a stream of entries holds, as the broker said last.
type holding struct {
	id      lifecycle.StreamID
	created lifecycle.Micros
	state   jetstream.StreamState
	deleted []uint64 // Between the first and the last one, in their order.
	whole   bool     // Deleted has them all.
}

// Holds reports whether the broker's queue holds an entry, as it said within the last seconds. looked is false where it did not say: the stream takes no
// entries now, or the entry is younger than what was said.
func (c *Collector) Holds(entry lifecycle.MessageKey) (there, looked bool) {
	c.mu.Lock()
	h, found := c.holdings[entry.Stream.Name]
	c.mu.Unlock()
	switch {
	case !found || entry.Stream.Epoch > h.id.Epoch:
		return false, false
	case entry.Stream.Epoch < h.id.Epoch, entry.Seq < h.state.FirstSeq:
		return false, true
	case entry.Seq > h.state.LastSeq || !h.whole:
		return false, false
	}
	_, deleted := slices.BinarySearch(h.deleted, entry.Seq)
	return !deleted, true
}

// observe notes what the streams hold. What cannot be asked is not known.
func (c *Collector) observe(ctx context.Context, found streams) {
	held := map[string]holding{}
	for _, name := range found.readable {
		if r := c.readers[name]; r != nil {
			if h, ok := c.holdingOf(ctx, name, r, found.infos[name]); ok {
				held[name] = h
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holdings = held
}

// holdingOf is what one stream holds. Only where that changed is the broker asked for more than it said already.
func (c *Collector) holdingOf(ctx context.Context, name string, r *reader, info *jetstream.StreamInfo) (holding, bool) {
	before := c.holdings[name] // Nobody else writes it.
	h := holding{id: before.id, created: lifecycle.MicrosOf(info.Created), state: info.State, whole: true}
	if h.created != before.created {
		id, err := r.resolver.Current(ctx, name)
		if err != nil {
			return holding{}, false
		}
		h.id = id
	}
	switch n := info.State.NumDeleted; {
	case n == 0:
	case n > mostDeleted:
		h.whole = false
	case h.created == before.created && before.whole && before.state.FirstSeq == h.state.FirstSeq && before.state.NumDeleted == n:
		h.deleted = before.deleted
	default:
		stream, err := c.cfg.JetStream.Stream(ctx, name)
		if err != nil {
			return holding{}, false
		}
		info, err = stream.Info(ctx, jetstream.WithDeletedDetails(true))
		if err != nil || lifecycle.MicrosOf(info.Created) != h.created {
			return holding{}, false
		}
		h.state, h.deleted = info.State, slices.Sorted(slices.Values(info.State.Deleted))
	}
	return h, collectors.Backed(info.Cluster, collectors.HeardWithin)
}
