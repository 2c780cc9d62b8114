package leader_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/internal/testkit"
)

func TestConsumersAreKnownWhetherPulledFromOrSentFrom(t *testing.T) {
	t.Parallel()
	js := connect(t, testkit.BareBroker(t).URL())
	stream(t, js, jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"tasks.>"}})
	if _, err := js.CreateConsumer(t.Context(), "TASKS", jetstream.ConsumerConfig{Durable: "pulled"}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreatePushConsumer(t.Context(), "TASKS", jetstream.ConsumerConfig{Durable: "pushed", DeliverSubject: "deliver.here"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pulled": "", "pushed": "deliver.here"} {
		info, err := leader.Consumer(t.Context(), js, "TASKS", name)
		if err != nil || info.Name != name || info.Config.DeliverSubject != want {
			t.Errorf("%s is %+v, %v", name, info, err)
		}
	}
	if _, err := leader.Consumer(t.Context(), js, "TASKS", "nobody"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("of one that does not exist: %v", err)
	}
}
