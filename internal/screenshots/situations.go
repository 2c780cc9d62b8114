package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// situation is a state of the fleet that pages must be good in.
type situation struct {
	name     string
	args     []string
	after    time.Duration                                    // How long the story unfolds.
	trouble  func(context.Context, jetstream.JetStream) error // What then happens to the broker; nil for nothing.
	unfolded time.Duration                                    // How long that has effect before pictures are taken.
}

var situations = []situation{
	{name: "calm", args: []string{"--demo", "--demo-rate", "0.4"}, after: 90 * time.Second},
	{name: "busy", args: []string{"--demo", "--demo-rate", "60"}, after: 90 * time.Second},
	{name: "incident", args: []string{"--demo"}, after: 45 * time.Second, trouble: incident, unfolded: 75 * time.Second},
	{name: "blind", args: []string{"--demo"}, after: 45 * time.Second, trouble: blind, unfolded: 40 * time.Second},
	{name: "empty", after: 3 * time.Second},
}

// show starts a server, lets the situation arise, and calls look with the server's address.
func (s situation) show(ctx context.Context, binary string, look func(base string) error) error {
	srv, err := start(ctx, binary, s.args)
	if err != nil {
		return err
	}
	defer srv.stop()
	slog.InfoContext(ctx, "wait for the situation", "name", s.name, "pages", srv.pages, "pictures_in", s.after+s.unfolded)
	if err := sleep(ctx, s.after); err != nil {
		return err
	}
	if s.trouble != nil {
		if err := onBroker(ctx, srv.agents, s.trouble); err != nil {
			return fmt.Errorf("make the situation: %w", err)
		}
	}
	if err := sleep(ctx, s.unfolded); err != nil {
		return err
	}
	return look(srv.pages)
}

func onBroker(ctx context.Context, address string, do func(context.Context, jetstream.JetStream) error) error {
	nc, err := nats.Connect(address)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	return do(ctx, js)
}

// incident takes one agent's consumer away, pauses another's, and publishes much work for both and for an agent that nobody started.
func incident(ctx context.Context, js jetstream.JetStream) error {
	if err := js.DeleteConsumer(ctx, fleet.StreamTasks, fleet.WorkerName("backend")); err != nil {
		return err
	}
	if _, err := js.PauseConsumer(ctx, fleet.StreamTasks, fleet.WorkerName("cto"), time.Now().Add(time.Hour)); err != nil {
		return err
	}
	p, err := fleet.NewPublisher(fleet.PublisherConfig{JetStream: js, Contract: fleet.Contract{Prefix: fleet.DefaultPrefix}})
	if err != nil {
		return err
	}
	for _, work := range []struct {
		agent, typ, title string
		n                 int
	}{{"cto", "code_review", "Review pull request %d", 900}, {"backend", "implementation", "Port importer %d", 300}, {"finance", "invoice", "Match invoice %d", 40}} {
		for i := range work.n {
			task := fleet.NewTask{ID: fmt.Sprintf("%s-burst-%d", work.agent, i), Agent: work.agent, Type: work.typ, Payload: map[string]any{"title": fmt.Sprintf(work.title, i+1)}}
			if _, err := p.Publish(ctx, task); err != nil {
				return err
			}
		}
	}
	return nil
}

// blind takes the capture of acknowledgements away: from then on Fleetglass does not see how work ends.
func blind(ctx context.Context, js jetstream.JetStream) error {
	return js.DeleteStream(ctx, fleet.CaptureAck)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
