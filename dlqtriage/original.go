package dlqtriage

import (
	"context"
	"errors"
	"strings"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// PayloadReader reads what is kept of messages. It is part of lifecycle.TraceReader.
type PayloadReader interface {
	Payload(ctx context.Context, k lifecycle.MessageKey) (lifecycle.Payload, error)
}

// Original reads the message that died: as it was captured when it was published, else as its dead-letter entry has it. It errors with
// lifecycle.ErrNotFound where neither is kept, and where the entry is of another form than the contract's, so that its body is not the original.
func Original(ctx context.Context, r PayloadReader, e Entry) (lifecycle.Payload, error) {
	p, err := r.Payload(ctx, e.Key)
	if !errors.Is(err, lifecycle.ErrNotFound) || !e.Copied() {
		return p, err
	}
	stream, parseErr := lifecycle.ParseStreamID(e.DLQStream)
	if parseErr != nil {
		return p, err
	}
	entry, err := r.Payload(ctx, lifecycle.MessageKey{Stream: stream, Seq: e.DLQSeq})
	if err != nil {
		return entry, err
	}
	if fleet.HeaderValue(entry.Headers, fleet.HeaderDLQStream) == "" || fleet.HeaderValue(entry.Headers, fleet.HeaderDLQWhyMissing) != "" {
		return lifecycle.Payload{}, lifecycle.ErrNotFound
	}
	entry.Message, entry.Headers = e.Key, originalHeaders(entry.Headers)
	return entry, nil
}

// originalHeaders are those that the message had: without what the entry adds, and with its own message id.
func originalHeaders(entry map[string][]string) map[string][]string {
	out := make(map[string][]string, len(entry))
	for name, values := range entry {
		lower := strings.ToLower(name)
		if !strings.HasPrefix(lower, strings.ToLower(fleet.HeaderDLQPrefix)) && !strings.HasPrefix(lower, "nats-") {
			out[name] = values
		}
	}
	if id := fleet.HeaderValue(entry, fleet.HeaderDLQMsgID); id != "" {
		out[fleet.HeaderMsgID] = []string{id}
	}
	return out
}
