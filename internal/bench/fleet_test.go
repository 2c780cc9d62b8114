//go:build linux

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/fleet/demo"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

const (
	// window is how many tasks are under way at once: below the limit of a subject, so that the stream discards none.
	window = 900
	// templates is how many different tasks are published in turn, under ever new ids.
	templates = 500
)

// plainFleet is publishers and workers that do nothing but what the broker needs: the fastest fleet there is.
type plainFleet struct {
	js      jetstream.JetStream
	bodies  []plainTask
	free    chan struct{} // A token for each task that may still be published.
	next    atomic.Int64
	stopped chan struct{}

	acked     atomic.Int64
	published func(id string) // Optional; called before each publish.
}

// plainTask is a task but for its id.
type plainTask struct {
	agent, kind, subject string
	rest                 []byte // Of the body, after the id.
}

func newPlainFleet(t testing.TB, js jetstream.JetStream) *plainFleet {
	t.Helper()
	f := &plainFleet{js: js, free: make(chan struct{}, window), stopped: make(chan struct{})}
	for range window {
		f.free <- struct{}{}
	}
	for n := range templates {
		task := taskOf(n)
		rest, err := json.Marshal(map[string]any{
			"assignee": task.Agent, "type": task.Type, "payload": task.Payload, "createdAt": "2026-11-20T16:25:00Z", "version": 1, "model": task.Model,
			"token_budget": task.TokenBudget,
		})
		if err != nil {
			t.Fatal(err)
		}
		f.bodies = append(f.bodies, plainTask{task.Agent, task.Type, contract.TaskSubject(task.Agent, task.Type), append([]byte(`",`), rest[1:]...)})
	}
	return f
}

// message is the next task under an id of its own.
func (f *plainFleet) message() (*nats.Msg, string) {
	n := f.next.Add(1)
	task := f.bodies[n%templates]
	id := fmt.Sprintf("%s-%s-%08d", task.agent, strings.ReplaceAll(task.kind, "_", "-"), n)
	msg := nats.NewMsg(task.subject)
	msg.Header.Set(fleet.HeaderMsgID, id)
	msg.Header.Set(fleet.HeaderTaskID, id)
	msg.Header.Set(fleet.HeaderIdempotencyKey, id+"-1")
	msg.Header.Set(fleet.HeaderTaskType, task.kind)
	msg.Data = append(append([]byte(`{"taskId":"`), id...), task.rest...)
	return msg, id
}

// workers open a consumer for each agent and acknowledge what they get, until ctx ends. Sampled consumers have every
// acknowledgement confirmed, as Fleetglass recommends.
func (f *plainFleet) workers(ctx context.Context, t testing.TB, sampled bool) *errgroup.Group {
	t.Helper()
	working := &errgroup.Group{}
	for _, agent := range demo.Agents() {
		cfg := contract.Worker(agent, fleet.Timing{AckWait: time.Minute, MaxDeliver: 3})
		cfg.MaxAckPending = window
		if !sampled {
			cfg.SampleFrequency = ""
		}
		consumer, err := f.js.CreateConsumer(ctx, fleet.StreamTasks, cfg)
		if err != nil {
			t.Fatal(err)
		}
		working.Go(func() error { return f.work(ctx, consumer) })
	}
	return working
}

func (f *plainFleet) work(ctx context.Context, consumer jetstream.Consumer) error {
	tasks, err := consumer.Messages(jetstream.PullMaxMessages(window))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, tasks.Stop)()
	for {
		msg, err := tasks.Next()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if err := msg.Ack(); err != nil {
			return err
		}
		f.acked.Add(1)
		f.free <- struct{}{}
	}
}

// flood publishes as fast as the window allows until ctx ends.
func (f *plainFleet) flood(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.free:
		}
		if err := f.publish(); err != nil {
			return err
		}
	}
}

// pace publishes at a steady rate until ctx ends.
func (f *plainFleet) pace(ctx context.Context, rate int) error {
	began := time.Now()
	for n := 0; ; n++ {
		due := began.Add(time.Duration(n) * time.Second / time.Duration(rate))
		if wait := time.Until(due); wait > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(wait):
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.free:
		}
		if err := f.publish(); err != nil {
			return err
		}
	}
}

func (f *plainFleet) publish() error {
	msg, id := f.message()
	if f.published != nil {
		f.published(id)
	}
	_, err := f.js.PublishMsgAsync(msg)
	return err
}

// drained waits until all that was published was acknowledged.
func (f *plainFleet) drained(t testing.TB) {
	t.Helper()
	deadline := time.After(patience)
	for range window {
		select {
		case <-f.free:
		case <-deadline:
			t.Fatalf("%d tasks published, %d acknowledged", f.next.Load(), f.acked.Load())
		}
	}
	for range window {
		f.free <- struct{}{}
	}
}
