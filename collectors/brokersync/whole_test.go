package brokersync

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// forgetful is a stream of three consumers whose list lacks some of them, as that of a cluster does when their leader does not answer in time, or names
// some twice, as it does while two nodes take themselves for their leader.
type forgetful struct {
	jetstream.Stream
	lacks []int // How many are missing from each list that is asked for.
	twice []int // How many are named twice in it.
	lists int
}

func (f *forgetful) ListConsumers(context.Context) jetstream.ConsumerInfoLister {
	infos := make(chan *jetstream.ConsumerInfo, 6)
	name := func(n int) {
		for i := range n {
			infos <- &jetstream.ConsumerInfo{Name: fmt.Sprintf("a%d-task-worker", i)}
		}
	}
	name(3 - f.lacks[min(f.lists, len(f.lacks)-1)])
	if len(f.twice) > 0 {
		name(f.twice[min(f.lists, len(f.twice)-1)])
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
		twice []int
		fails bool
	}{
		"whole":                  {lacks: []int{0}},
		"whole when asked again": {lacks: []int{1, 0}},
		"never whole":            {lacks: []int{1, 2}, fails: true},
		"empty":                  {lacks: []int{3}, fails: true},
		"one missing, one twice": {lacks: []int{1}, twice: []int{1}, fails: true},
		"all, one of them twice": {lacks: []int{0}, twice: []int{1}, fails: true},
		"twice at first":         {lacks: []int{1, 0}, twice: []int{1, 0}},
	} {
		var o Observation
		o.Stream = lifecycle.StreamID{Name: "TASKS"}
		_, err := (&observer{cfg: &Config{}, stream: &leader.Stream{Stream: &forgetful{lacks: c.lacks, twice: c.twice}}}).whole(t.Context(), &o)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if !c.fails && len(o.Consumers) != 3 {
			t.Errorf("%s: %d consumers, want 3", name, len(o.Consumers))
		}
	}
}
