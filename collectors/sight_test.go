package collectors

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// crowd answers for a consumer when as many are asked for at once as may be.
type crowd struct {
	jetstream.JetStream
	waiting atomic.Int32
	full    chan struct{}
}

func (c *crowd) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	if c.waiting.Add(1) == askedAtOnce {
		close(c.full)
	}
	select {
	case <-c.full:
		return c.JetStream.Consumer(ctx, stream, name)
	case <-time.After(10 * time.Second):
		return nil, errors.New("consumers are asked for one after the other")
	}
}

// A busy broker takes its time for each answer, so that consumers are asked for several at a time, few as well as many.
func TestConsumersAreAskedForSeveralAtATime(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	refs := map[ConsumerRef]bool{{fleet.StreamTasks, "gone"}: true, {"ELSEWHERE", "c0"}: true}
	for i := range askedAtOnce + 1 {
		ref := ConsumerRef{fleet.StreamTasks, fmt.Sprint("c", i)}
		refs[ref] = true
		if _, err := js.CreateConsumer(t.Context(), ref.Stream, jetstream.ConsumerConfig{Durable: ref.Name, AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: fmt.Sprintf("genbrain.agents.%s.tasks.>", ref.Name)}); err != nil {
			t.Fatal(err)
		}
	}
	asked := &crowd{JetStream: js, full: make(chan struct{})}
	n := &IncarnationResolver{cfg: IncarnationResolverConfig{JetStream: asked, Capture: js}, alone: map[ConsumerRef]alone{}}
	found, err := n.sights(t.Context(), map[string]LastSeq{fleet.StreamTasks: {}}, refs)
	if err != nil {
		t.Fatal(err)
	}
	for ref, sight := range found {
		if there := ref.Name != "gone"; sight.CreatedAt.Known() != there || ref.Stream != fleet.StreamTasks {
			t.Errorf("%v: %+v", ref, sight)
		}
	}
	if len(found) != len(refs)-1 {
		t.Errorf("asked about %d of %d consumers", len(found), len(refs)-1)
	}
}

// One consumer of which the broker says nothing leaves nothing of the answers.
func TestABrokerThatDoesNotAnswerIsAnError(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	gone, leave := context.WithCancel(t.Context())
	leave()
	n := &IncarnationResolver{cfg: IncarnationResolverConfig{JetStream: js, Capture: js}, alone: map[ConsumerRef]alone{}}
	if _, err := n.sights(gone, map[string]LastSeq{fleet.StreamTasks: {}}, map[ConsumerRef]bool{{fleet.StreamTasks, "c"}: true}); err == nil {
		t.Error("nobody answered, and nobody said so")
	}
}
