//go:build linux

package situations

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// agentFigures are what is said of an agent.
type agentFigures struct {
	States     map[string]int64
	Throughput struct {
		Published int64 `json:"published_last_hour"`
		Completed int64 `json:"completed_last_hour"`
	}
	Failures struct {
		Attempts int64 `json:"attempts_last_hour"`
	}
	Consumers []agentConsumer
}

// agentConsumer is what is said of one of its consumers.
type agentConsumer struct {
	Name         string
	AckWaitMS    int64   `json:"ack_wait_ms"`
	BackoffMS    []int64 `json:"backoff_ms"`
	MaxDeliver   *int    `json:"max_deliver"`
	AckPending   int     `json:"ack_pending"`
	Pending      uint64
	Paused, Gone bool
}

// agentTold holds when the figures of the world's agent are those that its tasks add up to, and its consumers are as the broker has them.
func (w *life) agentTold(s story, want figures) error {
	var got agentFigures
	if err := s.glass.ask(s.ctx, "/api/v1/agents/"+url.PathEscape(w.agent), &got); err != nil {
		return err
	}
	failed := int64(0)
	for _, n := range want.failed {
		failed += n
	}
	switch {
	case !maps.Equal(got.States, want.states):
		return fmt.Errorf("its agent's tasks are said to be %v, and they are %v", got.States, want.states)
	case got.Throughput.Published != want.published || got.Throughput.Completed != want.completed:
		return fmt.Errorf("its agent is said to have been given %d and completed %d in an hour, and it was %d and %d", got.Throughput.Published, got.Throughput.Completed, want.published, want.completed)
	case got.Failures.Attempts != failed && !w.talks, got.Failures.Attempts > failed: // Some only reports tell of.
		return fmt.Errorf("its agent is said to have failed in %d attempts, and it was %d", got.Failures.Attempts, failed)
	}
	for _, c := range got.Consumers {
		if err := w.consumerTold(c); err != nil {
			return fmt.Errorf("consumer %+v: %w", c, err)
		}
	}
	if w.worker != nil && !slices.ContainsFunc(got.Consumers, func(o agentConsumer) bool { return o.Name == w.worker.name && !o.Gone }) {
		return fmt.Errorf("consumer %s is there, and is not said to be", w.worker.name)
	}
	return nil
}

// consumerTold holds when a consumer is said to be as the broker has it.
func (w *life) consumerTold(said agentConsumer) error {
	is, err := w.consumerInfo(said.Name)
	there := is.Name != ""
	switch {
	case err != nil || said.Gone && !there:
		return err
	case said.Gone == there:
		return fmt.Errorf("it is there: %v", there)
	}
	most, steps := is.Config.MaxDeliver, []int64{}
	for _, step := range is.Config.BackOff {
		steps = append(steps, step.Milliseconds())
	}
	switch {
	case said.AckWaitMS != is.Config.AckWait.Milliseconds() || !slices.Equal(said.BackoffMS, steps):
		return fmt.Errorf("it waits for %s, with a backoff of %v", is.Config.AckWait, is.Config.BackOff)
	case said.MaxDeliver == nil && most > 0, said.MaxDeliver != nil && *said.MaxDeliver != most:
		return fmt.Errorf("it allows %d attempts", most)
	case said.AckPending != is.NumAckPending || said.Pending != is.NumPending || said.Paused != is.Paused:
		return fmt.Errorf("it awaits %d answers, has %d messages to deliver, and is paused: %v", is.NumAckPending, is.NumPending, is.Paused)
	}
	return nil
}
