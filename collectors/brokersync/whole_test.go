package brokersync

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// forgetful is a stream of three consumers whose list lacks some of them, as that of a cluster does when their leader does not answer in time.
type forgetful struct {
	jetstream.Stream
	lacks []int // How many are missing from each list that is asked for.
	lists int
}

func (f *forgetful) ListConsumers(context.Context) jetstream.ConsumerInfoLister {
	infos := make(chan *jetstream.ConsumerInfo, 3)
	for i := range 3 - f.lacks[min(f.lists, len(f.lacks)-1)] {
		infos <- &jetstream.ConsumerInfo{Name: fmt.Sprintf("a%d-task-worker", i)}
	}
	close(infos)
	f.lists++
	return lister(infos)
}

func (*forgetful) Info(context.Context, ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	return &jetstream.StreamInfo{State: jetstream.StreamState{Consumers: 3}}, nil
}

type lister chan *jetstream.ConsumerInfo

func (l lister) Info() <-chan *jetstream.ConsumerInfo { return l }
func (lister) Err() error                             { return nil }

// Who is missing from a list is not gone: a worker that was called so would leave its messages without a consumer.
func TestAListOfConsumersThatLacksSomeIsNotJudgedBy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lacks []int
		fails bool
	}{
		"whole":                  {[]int{0}, false},
		"whole when asked again": {[]int{1, 0}, false},
		"never whole":            {[]int{1, 2}, true},
		"empty":                  {[]int{3}, true},
	} {
		var o Observation
		o.Stream = lifecycle.StreamID{Name: "TASKS"}
		_, err := (&observer{cfg: &Config{}, stream: &forgetful{lacks: c.lacks}}).whole(t.Context(), &o)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if !c.fails && len(o.Consumers) != 3 {
			t.Errorf("%s: %d consumers, want 3", name, len(o.Consumers))
		}
	}
}
