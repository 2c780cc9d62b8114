package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// found is the original message, as far as it could be found.
type found struct {
	headers map[string][]string
	body    []byte
	subject string // Empty where it is not known.
	from    string // "stream", "capture" or "missing".
	missing string // Why the body is not the original one; empty where it is.
}

// withoutBody is what an entry has that would be too large for its queue.
func (f found) withoutBody() found {
	f.missing = fmt.Sprintf("with its %d bytes the entry is larger than the queue takes", len(f.body))
	f.body, f.from = nil, "missing"
	return f
}

// isBodyless reports whether an entry that is there lacks the message's body.
func (m *Monitor) isBodyless(ctx context.Context, c corpse) (bool, error) {
	id, err := lifecycle.ParseStreamID(c.entry.DLQStream)
	if err != nil {
		return false, err
	}
	stream, err := leader.Find(ctx, m.cfg.JetStream, id.Name)
	if err != nil {
		return false, fmt.Errorf("look at stream %s: %w", id.Name, err)
	}
	raw, err := stream.GetMsg(ctx, c.entry.DLQSeq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil // It was triaged and taken away meanwhile.
	}
	if err != nil {
		return false, fmt.Errorf("read entry %s: %w", c.entryAt(), err)
	}
	return raw.Header.Get(fleet.HeaderDLQWhyMissing) != "", nil
}

// original finds headers and body: in the stream where the message still is, else as they were captured when it was published.
func (m *Monitor) original(ctx context.Context, c corpse) (found, error) {
	raw, err := m.inStream(ctx, c)
	if err != nil {
		return found{}, err
	}
	if raw != nil {
		return found{headers: raw.Header, body: raw.Data, subject: raw.Subject, from: "stream"}, nil
	}
	if m.expected(c) {
		return found{}, &later{pause: whileLeaving, quiet: true, why: errors.New("it left its stream, and it is not known yet how")}
	}
	p, err := m.cfg.Store.Payload(ctx, c.key)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return m.unpublished(c)
	case err != nil:
		return found{}, fmt.Errorf("read the captured message: %w", err)
	case p.Truncated && len(p.Body) == 0:
		return found{headers: p.Headers, from: "missing", missing: "bodies are not captured (headers only)"}, nil
	case p.Truncated:
		return found{headers: p.Headers, from: "missing", missing: fmt.Sprintf("of its %d bytes only %d were kept", p.Size, len(p.Body))}, nil
	}
	return found{headers: p.Headers, body: p.Body, from: "capture"}, nil
}

// unreadQuietly is for how long after its death the publish line of a message may stay unread before the monitor complains.
const unreadQuietly = time.Minute

// unpublished is what is known of a message that left its stream and whose publish line the store does not have. While that may not be read yet there is no
// entry: it would lack agent, task and body for good. After a failure of the broker the lines of deaths are often read before those of publishes.
func (m *Monitor) unpublished(c corpse) (found, error) {
	if m.cfg.PublishesRead(c.key.Stream.Name) < c.entry.FailedAt.Add(lifecycle.CaptureLag) {
		why := errors.New("it left its stream, and the line of its publish may not be read yet")
		return found{}, &later{pause: whileLeaving, quiet: m.cfg.now() < c.entry.FailedAt.Add(unreadQuietly), why: why}
	}
	return found{from: "missing", missing: "it left its stream, and its publish was not captured"}, nil
}

// expected reports whether the message should be in its stream, as far as is known: its attempts are used up or nobody takes it, and nothing
// says that it left.
func (m *Monitor) expected(c corpse) bool { return m.kept(c) && !c.facts.VanishedAt.Known() }

// inStream reads the message from its stream; nil where it is not there. A message under its sequence that was stored at another time is
// another one: the stream was created anew.
func (m *Monitor) inStream(ctx context.Context, c corpse) (*jetstream.RawStreamMsg, error) {
	stream, err := leader.Find(ctx, m.cfg.JetStream, c.key.Stream.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at stream %s: %w", c.key.Stream.Name, err)
	}
	raw, err := stream.GetMsg(ctx, c.key.Seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read message %s: %w", c.key, err)
	}
	if s := c.facts.Stored; s != nil && (lifecycle.MicrosOf(raw.Time) != s.At || raw.Subject != s.Subject) {
		return nil, nil
	}
	return raw, nil
}
