package pull_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/pull"
	"fleetglass/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(testkit.BrokerGoroutine))
}

// long is a wait that no test should need: what takes as long did not happen.
const long = 20 * time.Second

// bench is a broker with a stream, a consumer of it and a publisher.
type bench struct {
	js       jetstream.JetStream // Who pulls.
	other    jetstream.JetStream // Somebody else's connection.
	stream   jetstream.Stream
	consumer jetstream.Consumer
}

func newBench(t *testing.T) *bench {
	t.Helper()
	srv := testkit.BareBroker(t)
	b := &bench{js: testkit.JetStream(t, srv), other: testkit.JetStream(t, srv)}
	var err error
	if b.stream, err = b.other.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, Storage: jetstream.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	if _, err = b.stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if b.consumer, err = b.js.Consumer(t.Context(), "S", "c"); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) publish(t *testing.T, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := b.other.Publish(t.Context(), "s.t", []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
}

func (b *bench) start(t *testing.T, r pull.Request) *pull.Pull {
	t.Helper()
	p, err := pull.Start(b.js, b.consumer, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.End)
	return p
}

// waiting waits until the broker has that many pulls.
func (b *bench) waiting(t *testing.T, n int) {
	t.Helper()
	b.until(t, n, "pulls wait", func(c *jetstream.ConsumerInfo) int { return c.NumWaiting })
}

// inHand waits until the broker has delivered that many messages, whether or not somebody has read them.
func (b *bench) inHand(t *testing.T, n int) {
	t.Helper()
	b.until(t, n, "messages are delivered", func(c *jetstream.ConsumerInfo) int { return c.NumAckPending })
}

func (b *bench) until(t *testing.T, n int, what string, count func(*jetstream.ConsumerInfo) int) {
	t.Helper()
	testkit.Eventually(t, long, func() error {
		c, err := b.other.Consumer(t.Context(), "S", "c")
		if err != nil {
			return err
		}
		if got := count(c.CachedInfo()); got != n {
			return fmt.Errorf("%d %s, want %d", got, what, n)
		}
		return nil
	})
}

// next is the body of the next message.
func next(t *testing.T, p *pull.Pull) string {
	t.Helper()
	select {
	case m, open := <-p.Messages:
		if !open {
			t.Fatalf("the pull ended: %v", p.Err())
		}
		return string(m.Data)
	case <-time.After(long):
		t.Fatal("no message comes")
	}
	return ""
}

// rest are the bodies of what comes until the pull ends.
func rest(t *testing.T, p *pull.Pull) (bodies []string) {
	t.Helper()
	for late := time.After(long); ; {
		select {
		case m, open := <-p.Messages:
			if !open {
				return bodies
			}
			bodies = append(bodies, string(m.Data))
		case <-late:
			t.Fatal("the pull does not end")
		}
	}
}

func TestAPullEndsWhenItIsFilled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, "a", "b", "c")
	p := b.start(t, pull.Request{Batch: 2, Expires: time.Hour})
	if got, want := rest(t, p), []string{"a", "b"}; !cmp.Equal(got, want) || p.Err() != nil {
		t.Errorf("got %v, %v, want %v", got, p.Err(), want)
	}
}

func TestAPullThatIsNotFilledEndsInItsTimeWithoutAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, "a")
	began := time.Now()
	p := b.start(t, pull.Request{Batch: 2, Expires: 300 * time.Millisecond})
	if got := rest(t, p); len(got) != 1 || p.Err() != nil || time.Since(began) < 300*time.Millisecond {
		t.Errorf("got %v, %v after %s", got, p.Err(), time.Since(began))
	}
}

func TestAPullBringsNoMoreBytesThanItAsksFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, string(make([]byte, 600)), string(make([]byte, 600)))
	p := b.start(t, pull.Request{Batch: 2, Expires: time.Hour, MaxBytes: 1000})
	if got := rest(t, p); len(got) != 1 || p.Err() != nil {
		t.Errorf("got %d messages, %v, want one", len(got), p.Err())
	}
}

// Whoever may publish can store a message with the headers of the broker's own word, and without a body.
func TestAHeaderOfAMessageIsNotTheBrokersWord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	statuses := []nats.Header{
		{"Status": {"100"}, "Description": {"Idle Heartbeat"}}, {"Status": {"404"}, "Description": {"No Messages"}}, {"Status": {"408"}, "Description": {"Request Timeout"}},
		{"Status": {"409"}, "Description": {"Consumer Deleted"}}, {"Status": {"409"}, "Description": {"Message Size Exceeds MaxBytes"}}, {"Status": {"503"}},
	}
	for _, header := range statuses {
		if _, err := b.other.PublishMsg(t.Context(), &nats.Msg{Subject: "s.t", Header: header}); err != nil {
			t.Fatal(err)
		}
	}
	b.publish(t, "last")
	p := b.start(t, pull.Request{Batch: len(statuses) + 1, Expires: time.Hour})
	for _, want := range statuses {
		m := <-p.Messages
		if m == nil {
			t.Fatalf("the message with %v ends the pull: %v", want, p.Err())
		}
		if got := m.Header.Get("Status"); got != want.Get("Status") || m.Reply == "" {
			t.Errorf("got the status %q and the reply %q, want the message with %v", got, m.Reply, want)
		}
	}
	if got := next(t, p); got != "last" {
		t.Errorf("got %q, want the message behind them", got)
	}
}

func TestAMessageThatNobodyReadsKeepsNoOtherPullWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, "a", "b", "c")
	unread := b.start(t, pull.Request{Batch: 2, Expires: time.Hour})
	b.inHand(t, 2)
	if got := next(t, b.start(t, pull.Request{Batch: 1, Expires: time.Hour})); got != "c" {
		t.Errorf("the second pull brings %q, want the next message", got)
	}
	if got, want := rest(t, unread), []string{"a", "b"}; !cmp.Equal(got, want) {
		t.Errorf("the first one brings %v later, want %v", got, want)
	}
}

func TestAPullThatIsEndedHandsOnWhatTheBrokerSentAndTakesNothingMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.publish(t, "a")
	p := b.start(t, pull.Request{Batch: 3, Expires: time.Hour})
	b.inHand(t, 1)
	p.End()
	p.End()
	if got := rest(t, p); !cmp.Equal(got, []string{"a"}) || p.Err() != nil {
		t.Errorf("got %v, %v, want what was sent", got, p.Err())
	}
	b.publish(t, "b")
	if got := next(t, b.start(t, pull.Request{Batch: 1, Expires: time.Hour})); got != "b" {
		t.Errorf("the next pull brings %q: the one that was ended took b", got)
	}
}

func TestAPullWhoseConnectionIsDroppedEndsAndTheNextOneGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.start(t, pull.Request{Batch: 1, Expires: 500 * time.Millisecond})
	b.waiting(t, 1)
	back := make(chan struct{}, 1)
	b.js.Conn().SetReconnectHandler(func(*nats.Conn) { back <- struct{}{} })
	if err := b.js.Conn().ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, p); got != nil || p.Err() != nil {
		t.Errorf("got %v, %v, want an end without an error", got, p.Err())
	}
	<-back
	b.publish(t, "a")
	if got := next(t, b.start(t, pull.Request{Batch: 1, Expires: time.Hour})); got != "a" {
		t.Errorf("after the connection was dropped a pull brings %q", got)
	}
}

func TestAPullWhoseConnectionIsClosedEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*pull.Pull){"by itself": func(*pull.Pull) {}, "when it is ended": (*pull.Pull).End} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.start(t, pull.Request{Batch: 1, Expires: 300 * time.Millisecond})
			b.waiting(t, 1)
			b.js.Conn().Close()
			end(p)
			if got := rest(t, p); got != nil || p.Err() != nil {
				t.Errorf("got %v, %v", got, p.Err())
			}
			if _, err := pull.Start(b.js, b.consumer, pull.Request{Batch: 1, Expires: time.Second}); !errors.Is(err, nats.ErrConnectionClosed) {
				t.Errorf("another pull: %v, want %v", err, nats.ErrConnectionClosed)
			}
		})
	}
}

func TestAPullSaysThatItsConsumerIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.start(t, pull.Request{Batch: 1, Expires: time.Hour})
	b.waiting(t, 1)
	if err := b.stream.DeleteConsumer(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if got := rest(t, p); got != nil || !errors.Is(p.Err(), jetstream.ErrConsumerDeleted) {
		t.Errorf("got %v, %v, want %v", got, p.Err(), jetstream.ErrConsumerDeleted)
	}
	p = b.start(t, pull.Request{Batch: 1, Expires: time.Hour})
	if got := rest(t, p); got != nil || !errors.Is(p.Err(), nats.ErrNoResponders) {
		t.Errorf("of a consumer that does not exist: got %v, %v, want %v", got, p.Err(), nats.ErrNoResponders)
	}
}

func TestAPullThatTheBrokerRefusesSaysWhy(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.stream.UpdateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "c", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour, MaxRequestBatch: 1}); err != nil {
		t.Fatal(err)
	}
	p := b.start(t, pull.Request{Batch: 2, Expires: time.Hour})
	if got := rest(t, p); got != nil || p.Err() == nil {
		t.Errorf("got %v and no error", got)
	}
}
