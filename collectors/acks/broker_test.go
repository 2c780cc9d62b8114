package acks_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// broker is a provisioned broker with one worker's consumer. With a domain it uses the long form of ack subjects.
func broker(t *testing.T, domain string) jetstream.JetStream {
	t.Helper()
	var js jetstream.JetStream
	if domain == "" {
		js = testkit.JetStream(t, testkit.Broker(t))
	} else {
		js = domainBroker(t, domain)
	}
	_, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("a1"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxDeliver: 3,
		FilterSubject: "genbrain.agents.a1.tasks.>", SampleFrequency: "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func domainBroker(t *testing.T, domain string) jetstream.JetStream {
	t.Helper()
	srv := testkit.BrokerWith(t, &server.Options{
		ServerName: "test", DontListen: true, JetStream: true, JetStreamDomain: domain, StoreDir: t.TempDir(),
		FeatureFlags: map[string]bool{server.FeatureFlagJsAckFormatV2: true},
	})
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")}); err != nil {
		t.Fatal(err)
	}
	return js
}

// deliver publishes a task and hands it to the worker.
func deliver(t *testing.T, js jetstream.JetStream, subject string) jetstream.Msg {
	t.Helper()
	if _, err := js.Publish(t.Context(), subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	return next(t, js)
}

func next(t *testing.T, js jetstream.JetStream) jetstream.Msg {
	t.Helper()
	c, err := js.Consumer(t.Context(), fleet.StreamTasks, fleet.WorkerName("a1"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func answer(t *testing.T, js jetstream.JetStream, m jetstream.Msg, body string) {
	t.Helper()
	if err := js.Conn().Publish(m.Reply(), []byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
}

func tasks(t *testing.T, js jetstream.JetStream) jetstream.Stream {
	t.Helper()
	s, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The table in ParseBody is the broker's behaviour, observed: what leaves the stream was acknowledged or terminated, what comes again
// at once was handed back, and what does neither was ignored or was a heartbeat.
func TestTheBrokerTreatsBodiesAsParseBodySays(t *testing.T) {
	t.Parallel()
	js := broker(t, "")
	for i, body := range append(bodies, "+TERMx", "-NAKx", "-nak", "+NXTx", "+ACK\n", " +ACK") {
		m := deliver(t, js, fmt.Sprintf("genbrain.agents.a1.tasks.t%d", i))
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		answer(t, js, m, body)
		want := "stays"
		switch parsed, _ := acks.ParseBody([]byte(body)); {
		case parsed.Kind == lifecycle.Acked || parsed.Kind == lifecycle.Terminated:
			want = "gone"
		case parsed.Kind == lifecycle.Nacked && parsed.Delay == 0:
			want = "comes again"
		}
		if got := outcome(t, js, meta.Sequence.Stream, want); got != want {
			t.Errorf("%q: the message %s, want: %s", body, got, want)
		}
		_ = tasks(t, js).DeleteMsg(t.Context(), meta.Sequence.Stream)
	}
}

// outcome waits a moment for the wanted outcome and returns the one observed.
func outcome(t *testing.T, js jetstream.JetStream, seq uint64, want string) string {
	t.Helper()
	c, err := js.Consumer(t.Context(), fleet.StreamTasks, fleet.WorkerName("a1"))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); ; {
		got := "stays"
		if _, err := tasks(t, js).GetMsg(t.Context(), seq); errors.Is(err, jetstream.ErrMsgNotFound) {
			got = "gone"
		} else if m, err := c.Next(jetstream.FetchMaxWait(50 * time.Millisecond)); err == nil {
			got = "comes again"
			answer(t, js, m, "+WPI")
		}
		if got == want || time.Now().After(deadline) {
			return got
		}
	}
}
