package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// snapshot keeps what many answers need and what changes slowly, or costs a walk over all open messages, so that a burst of requests
// asks the store once. It never hands out anything older than its age.
type snapshot struct {
	store   lifecycle.Reader
	agentOf func(consumer string) string

	context kept[fleetContext]
	held    kept[holdings]
	tally   kept[lifecycle.Tally]
	counts  kept[TaskCounts]
}

// How long an answer may be used again.
const (
	contextAge  = 5 * time.Second
	holdingsAge = time.Second
)

// typicalSpan is how far back the typical duration of a task type looks.
const typicalSpan = 7 * 24 * time.Hour

func newSnapshot(store lifecycle.Reader, agentOf func(string) string) *snapshot {
	return &snapshot{store: store, agentOf: agentOf}
}

// kept is a value and the time it was read. Its mutex is held while it is read anew: others wait for that reading and share it.
type kept[T any] struct {
	mu    sync.Mutex
	at    lifecycle.Micros
	value T
}

func (k *kept[T]) get(now lifecycle.Micros, age time.Duration, read func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.Known() && now >= k.at && now.Sub(k.at) < age {
		return k.value, nil
	}
	v, err := read()
	if err != nil {
		return v, err
	}
	k.at, k.value = now, v
	return v, nil
}

// fleetContext is what a lease or trace is judged against.
type fleetContext struct {
	consumers []lifecycle.ConsumerState
	byName    map[consumerKey]*lifecycle.ConsumerState
	typical   typicals
}

type consumerKey struct {
	stream lifecycle.StreamID
	name   string
}

// consumer returns what is known of a durable, or nil.
func (f fleetContext) consumer(stream lifecycle.StreamID, name string) *lifecycle.ConsumerState {
	return f.byName[consumerKey{stream, name}]
}

// fleet reads the consumers and the typical durations.
func (s *snapshot) fleet(ctx context.Context, now lifecycle.Micros) (fleetContext, error) {
	return s.context.get(now, contextAge, func() (fleetContext, error) {
		f := fleetContext{byName: map[consumerKey]*lifecycle.ConsumerState{}}
		var err error
		if f.consumers, err = s.store.Consumers(ctx); err != nil {
			return f, err
		}
		for i := range f.consumers {
			c := &f.consumers[i]
			f.byName[consumerKey{c.Stream, c.Name}] = c
		}
		running, err := s.store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricRunning}, now.Add(-typicalSpan), now+1, false)
		if err != nil {
			return f, err
		}
		f.typical = lifecycle.TypicalDurations(running)
		return f, nil
	})
}

// holdings is what is in somebody's hands, and what waits.
type holdings struct {
	leases []lifecycle.Lease // Sorted by message.
	oldest map[string]lifecycle.Micros
	cut    bool // More is open than was looked at.
}

// Bounds of the walk over open messages.
const (
	openPage = 2000
	maxOpen  = 200_000
)

// holdings walks the open messages.
func (s *snapshot) holdings(ctx context.Context, now lifecycle.Micros) (holdings, error) {
	return s.held.get(now, holdingsAge, func() (holdings, error) {
		f, err := s.fleet(ctx, now)
		if err != nil {
			return holdings{}, err
		}
		h := holdings{oldest: map[string]lifecycle.Micros{}}
		all, err := s.store.OpenMessages(ctx, lifecycle.StreamID{}, 0, openPage)
		if err != nil {
			return h, err
		}
		if len(all) < openPage {
			h.take(all, f, now)
		} else if err := s.walk(ctx, &h, f, now, streamsOf(f.consumers, all)); err != nil {
			return h, err
		}
		slices.SortFunc(h.leases, func(a, b lifecycle.Lease) int { return a.Message.Compare(b.Message) })
		return h, nil
	})
}

// walk reads the open messages of the streams, page by page.
func (s *snapshot) walk(ctx context.Context, h *holdings, f fleetContext, now lifecycle.Micros, streams []lifecycle.StreamID) error {
	seen := 0
	for _, stream := range streams {
		for from := uint64(1); ; {
			page, err := s.store.OpenMessages(ctx, stream, from, openPage)
			if err != nil {
				return err
			}
			h.take(page, f, now)
			if seen += len(page); seen >= maxOpen {
				h.cut = true
				return nil
			}
			if len(page) < openPage {
				break
			}
			from = page[len(page)-1].Message.Key.Seq + 1
		}
	}
	return nil
}

// streamsOf lists the streams that a consumer is known of, and those of the first open messages.
func streamsOf(consumers []lifecycle.ConsumerState, open []lifecycle.OpenMessage) []lifecycle.StreamID {
	var out []lifecycle.StreamID
	add := func(id lifecycle.StreamID) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	for _, c := range consumers {
		add(c.Stream)
	}
	for _, o := range open {
		add(o.Message.Key.Stream)
	}
	return out
}

func (h *holdings) take(open []lifecycle.OpenMessage, f fleetContext, now lifecycle.Micros) {
	for _, o := range open {
		m := o.Message
		typical := lifecycle.Typical{}
		if m.Stored != nil {
			typical = f.typical[m.Stored.Type]
		}
		lease, held := lifecycle.LeaseOf(o, f.consumer(m.Key.Stream, m.Consumer), typical, now)
		if held {
			h.leases = append(h.leases, lease)
			continue
		}
		if m.Stored != nil && lease.State == lifecycle.StatePublished {
			at := h.oldest[m.Agent]
			if !at.Known() || m.Stored.At < at {
				h.oldest[m.Agent] = m.Stored.At
			}
		}
	}
}
