package collectors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// slowCapture takes its time to find a stream, as a busy broker does.
type slowCapture struct{ jetstream.JetStream }

func (s slowCapture) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	<-time.After(50 * time.Millisecond)
	return s.JetStream.Stream(ctx, name)
}

// What is asked for each of many consumers takes longer than the client gives a list of them.
func TestManyConsumersAreAskedAboutOnABusyBroker(t *testing.T) {
	t.Parallel()
	broker := testkit.Broker(t)
	js := testkit.JetStream(t, broker)
	refs := map[ConsumerRef]bool{}
	for i := range 2 * fewConsumers {
		ref := ConsumerRef{fleet.StreamTasks, fmt.Sprint("c", i)}
		refs[ref] = true
		if _, err := js.CreateConsumer(t.Context(), ref.Stream, jetstream.ConsumerConfig{Durable: ref.Name, AckPolicy: jetstream.AckExplicitPolicy, FilterSubject: fmt.Sprintf("genbrain.agents.%s.tasks.>", ref.Name)}); err != nil {
			t.Fatal(err)
		}
	}
	last := fmt.Sprint("c", 2*fewConsumers-1)
	testkit.Eventually(t, time.Minute, func() error { // Of one that was created just now nothing more is asked.
		c, err := js.Consumer(t.Context(), fleet.StreamTasks, last)
		if err != nil {
			return err
		}
		if info := c.CachedInfo(); info.TimeStamp.Sub(info.Created) < settledAfter {
			return fmt.Errorf("%s is %v old", last, info.TimeStamp.Sub(info.Created))
		}
		return nil
	})
	hurried, err := jetstream.New(js.Conn(), jetstream.WithDefaultTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	n := &IncarnationResolver{cfg: IncarnationResolverConfig{JetStream: hurried, Capture: slowCapture{js}}, alone: map[ConsumerRef]alone{}}
	found, err := n.sights(t.Context(), map[string]LastSeq{fleet.StreamTasks: {}}, refs)
	if err != nil {
		t.Fatal(err)
	}
	for ref, sight := range found {
		if !sight.CreatedAt.Known() || sight.AloneSince == lifecycle.Micros(0) {
			t.Errorf("%v: %+v", ref, sight)
		}
	}
	if len(found) != len(refs) || len(n.alone) != len(refs) {
		t.Errorf("asked about %d of %d consumers, and since when %d are alone", len(found), len(refs), len(n.alone))
	}
}
