package collectors_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// A session was killed with two lines in hand, and then the second one was purged by its subject. The broker takes the first one for acknowledged as soon as the next line
// is, and never gives it out again.
func TestALineInHandIsReadThoughTheOneBesideItIsPurged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.src.Edited = true
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	b.waitAcked() // The durable is there.
	stop()
	b.inHandOfTheKilled("lines.a", "lines.b")

	stream, err := b.js.Stream(t.Context(), "LINES")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("lines.b")); err != nil {
		t.Fatal(err)
	}
	_, stop = b.start()
	defer stop()
	b.publish("next")
	b.waitFor(2)
}

// inHandOfTheKilled publishes lines and takes them as somebody does who is killed before he acknowledges.
func (b *bench) inHandOfTheKilled(subjects ...string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	consumer, err := b.js.Consumer(ctx, "LINES", "fleetglass-lines")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, subject := range subjects {
		if _, err := b.js.Publish(ctx, subject, []byte("in hand")); err != nil {
			b.t.Fatal(err)
		}
		if _, err := consumer.Next(); err != nil {
			b.t.Fatal(err)
		}
	}
}
