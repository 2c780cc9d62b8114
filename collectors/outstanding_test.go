package collectors_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/health"
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

// Another replica is killed with a line in hand. Whoever is left reads it before the broker gives it out again.
func TestALineInTheHandOfAKilledReplicaIsReadSoon(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.src.Edited = true
	b.createStream(jetstream.StreamConfig{})
	_, stop := b.start()
	defer stop()
	b.waitAcked() // The durable is there.
	consumer, err := b.js.Consumer(t.Context(), "LINES", "fleetglass-lines")
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := consumer.Fetch(1, jetstream.FetchMaxWait(patience))
	if err != nil {
		t.Fatal(err)
	}
	for published := uint64(1); len(pulled.Messages()) == 0; published++ { // The broker gives lines to whoever asks, in turn.
		b.publish(fmt.Sprint(published))
		b.waitFor(int(published))
		info, err := consumer.Info(t.Context())
		if err != nil || info.Delivered.Consumer != published {
			t.Fatalf("%d lines were given out %d times, %v", published, info.Delivered.Consumer, err)
		}
	}
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

// On a bucket, and on a stream of dead letters, any replica answers direct gets, also one that is behind. What the permissions of an observer allow is to ask the leader.
func TestALineInHandIsReadFromTheLeader(t *testing.T) {
	t.Parallel()
	b, url := newBench(t), brokerThatForbids(t, "$JS.API.DIRECT.GET.>")
	b.killedWithTwoInHand(url, jetstream.StreamConfig{AllowDirect: true})
	stream, err := b.js.Stream(t.Context(), "LINES")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject("lines.b")); err != nil {
		t.Fatal(err)
	}
	b.useBroker(url, "observer")
	_, stop := b.start()
	defer stop()
	b.publish("next")
	b.waitFor(2)
}

// Whoever may not read single lines reads on as if none were in hand, and says so once. The broker gives out again what it still has.
func TestWhoMayNotReadSingleLinesReadsOn(t *testing.T) {
	t.Parallel()
	b, url := newBench(t), brokerThatForbids(t, "$JS.API.DIRECT.GET.>", "$JS.API.STREAM.MSG.GET.>")
	b.killedWithTwoInHand(url, jetstream.StreamConfig{AllowDirect: true})
	b.useBroker(url, "observer")
	said := &journal{}
	b.cfg.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	c, stop := b.start()
	defer stop()
	b.publish("next", "and the next")
	b.waitFor(2)
	if text := said.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "lines that were given out before could not be read") || !strings.Contains(text, "STREAM.MSG.GET.LINES") {
		t.Errorf("it said %s", text)
	}
	if h := c.Health(); h[0].State == health.Down {
		t.Errorf("the collector is %+v", h)
	}
	b.waitFor(4) // Those in hand come again when the wait for them ends.
}

// killedWithTwoInHand leaves a durable with two lines in hand, as somebody does who is killed.
func (b *bench) killedWithTwoInHand(url string, cfg jetstream.StreamConfig) {
	b.t.Helper()
	b.useBroker(url, "operator")
	b.src.Edited = true
	b.createStream(cfg)
	_, stop := b.start()
	b.waitAcked() // The durable is there.
	stop()
	b.inHandOfTheKilled("lines.a", "lines.b")
}

// journal keeps what is logged.
type journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
