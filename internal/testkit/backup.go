package testkit

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Backup is a stream with its consumers, as an operator saves it.
type Backup struct {
	stream string
	about  json.RawMessage // Its configuration and state.
	chunks [][]byte
}

// BackUp saves a stream.
func BackUp(ctx context.Context, js jetstream.JetStream, stream string) (b Backup, err error) {
	inbox := nats.NewInbox()
	sub, err := js.Conn().SubscribeSync(inbox)
	if err != nil {
		return b, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	b.stream = stream
	if b.about, err = granted(ctx, js, "$JS.API.STREAM.SNAPSHOT."+stream, fmt.Appendf(nil, `{"deliver_subject": %q}`, inbox)); err != nil {
		return b, err
	}
	for {
		chunk, err := sub.NextMsgWithContext(ctx)
		if err != nil || len(chunk.Data) == 0 {
			return b, err
		}
		b.chunks = append(b.chunks, chunk.Data)
		if chunk.Reply != "" { // The broker waits before it sends more.
			if err := chunk.Respond(nil); err != nil {
				return b, err
			}
		}
	}
}

// Restore makes the stream again, which must not exist.
func (b Backup) Restore(ctx context.Context, js jetstream.JetStream) error {
	var about struct {
		Config json.RawMessage `json:"config"`
		State  json.RawMessage `json:"state"`
	}
	if err := json.Unmarshal(b.about, &about); err != nil {
		return err
	}
	request, err := json.Marshal(about)
	if err != nil {
		return err
	}
	answer, err := granted(ctx, js, "$JS.API.STREAM.RESTORE."+b.stream, request)
	if err != nil {
		return err
	}
	var to struct {
		Subject string `json:"deliver_subject"`
	}
	if err := json.Unmarshal(answer, &to); err != nil {
		return err
	}
	for _, chunk := range append(b.chunks, nil) { // The empty one is the last.
		if _, err := granted(ctx, js, to.Subject, chunk); err != nil {
			return err
		}
	}
	return nil
}

// granted is the answer to a request; it errors where the broker refuses.
func granted(ctx context.Context, js jetstream.JetStream, subject string, body []byte) ([]byte, error) {
	m, err := js.Conn().RequestWithContext(ctx, subject, body)
	if err != nil {
		return nil, err
	}
	var refused struct {
		Error *jetstream.APIError `json:"error"`
	}
	if json.Unmarshal(m.Data, &refused) == nil && refused.Error != nil {
		return nil, refused.Error
	}
	return m.Data, nil
}
