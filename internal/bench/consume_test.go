//go:build linux

package bench

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	plainDurable = "plain"
	plainPull    = 5000 // Lines that the client asks for ahead.
	plainAck     = 1000 // Lines that one acknowledgement of all stands for.
)

// consume reads every line of a recording as plainly as the client can, all streams at once, and acknowledges: the baseline of ingest.
// It returns lines a second.
func consume(t testing.TB, js jetstream.JetStream, r *recording, policy jetstream.AckPolicy) float64 {
	t.Helper()
	began := time.Now()
	reading, ctx := errgroup.WithContext(t.Context())
	for _, name := range sources {
		reading.Go(func() error { return consumeStream(ctx, js, name, r.lines[name], policy) })
	}
	if err := reading.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := js.Conn().FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	spent := time.Since(began)
	for _, name := range sources {
		if err := js.DeleteConsumer(t.Context(), name, plainDurable); err != nil {
			t.Fatal(err)
		}
	}
	return float64(r.total) / spent.Seconds()
}

func consumeStream(ctx context.Context, js jetstream.JetStream, stream string, lines int, policy jetstream.AckPolicy) error {
	consumer, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
		Durable: plainDurable, AckPolicy: policy, MaxAckPending: 2 * plainPull, DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(plainPull))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for n := 1; n <= lines; n++ {
		msg, err := messages.Next()
		for errors.Is(err, jetstream.ErrNoHeartbeat) { // The client has asked again by then.
			msg, err = messages.Next()
		}
		if err != nil {
			return err
		}
		if policy == jetstream.AckAllPolicy && n%plainAck != 0 && n != lines {
			continue
		}
		if err := msg.Ack(); err != nil {
			return err
		}
	}
	return nil
}
