package main

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// die publishes a task and has a plain worker give it up for good, with a reason.
func (r *running) die(task, reason string) {
	r.t.Helper()
	nc, err := nats.Connect(r.AgentsURL())
	if err != nil {
		r.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		r.t.Fatal(err)
	}
	worker, err := js.CreateOrUpdateConsumer(r.t.Context(), "TASKS", jetstream.ConsumerConfig{
		Durable: "marketing-task-worker", FilterSubject: "genbrain.agents.marketing.tasks.>", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 3,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	m := nats.NewMsg("genbrain.agents.marketing.tasks.content_creation")
	m.Header.Set("Nats-Msg-Id", task)
	m.Header.Set("X-Task-ID", task)
	m.Data = []byte(`{"taskId":"` + task + `","assignee":"marketing","type":"content_creation","payload":{"title":"A post"}}`)
	if _, err := js.PublishMsg(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
	got, err := worker.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err == nil {
		err = got.TermWithReason(reason)
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// work1 has a plain worker take the next task of an agent, and do it.
func (r *running) work1(agent string) {
	r.t.Helper()
	nc, err := nats.Connect(r.AgentsURL())
	if err != nil {
		r.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		r.t.Fatal(err)
	}
	worker, err := js.Consumer(r.t.Context(), "TASKS", agent+"-task-worker")
	if err != nil {
		r.t.Fatal(err)
	}
	got, err := worker.Next(jetstream.FetchMaxWait(20 * time.Second))
	if err == nil {
		err = got.DoubleAck(r.t.Context())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}
