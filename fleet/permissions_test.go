package fleet_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// plainServer is a broker that Fleetglass did not configure. extra is appended to its configuration; opts connect to it.
func plainServer(t *testing.T, extra string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	return connectTo(t, runServer(t, extra), opts...)
}

func runServer(t *testing.T, extra string) *server.Server {
	t.Helper()
	o := &server.Options{}
	if err := o.ProcessConfigString(fmt.Sprintf("jetstream { store_dir: %q }\n%s", t.TempDir(), extra)); err != nil {
		t.Fatal(err)
	}
	o.NoSigs, o.NoLog, o.DontListen = true, true, true
	srv, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	t.Cleanup(func() {
		srv.Shutdown()
		srv.WaitForShutdown()
	})
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("server not ready")
	}
	return srv
}

func connectTo(t *testing.T, srv *server.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect("", append(opts, nats.InProcessServer(srv))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestThePrintedPermissionsSufficeAndAreLeast(t *testing.T) {
	t.Parallel()
	s := fleet.Streams{Contract: fleet.NewContract(""), Pulls: true}
	var users strings.Builder
	for _, id := range s.Permissions() {
		fmt.Fprintf(&users, "{ user: %s, password: x, permissions: { publish: [%s], subscribe: [%s] } }\n",
			id.Name, quoted(id.Publish), quoted(append(id.Subscribe, fleet.InboxPrefix+".>")))
	}
	srv := runServer(t, fmt.Sprintf("accounts { FLEET { jetstream: enabled, users: [ {user: agent, password: x}\n%s ]\n%s } }",
		users.String(), s.Contract.SelfImport("FLEET")))
	as := func(name string) jetstream.JetStream {
		return connectTo(t, srv, nats.UserInfo(name, "x"), nats.CustomInboxPrefix(fleet.InboxPrefix), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	}
	if _, err := fleet.Provision(t.Context(), as("provision"), s); err != nil {
		t.Fatalf("provision: %v", err)
	}
	if _, err := connectTo(t, srv, nats.UserInfo("agent", "x")).Publish(t.Context(), s.Contract.TaskSubject("cto", "x"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	observer := as("observer")
	observe(t, observer, s.Contract)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := observer.Publish(ctx, s.Contract.TaskSubject("cto", "x"), nil); err == nil {
		t.Error("the observer can publish tasks")
	}
	if _, err := as("mover").Publish(t.Context(), s.Contract.DLQSubject("cto", "transient"), nil); err != nil {
		t.Errorf("the mover cannot write dead letters: %v", err)
	}
	if _, err := as("retry").Publish(t.Context(), s.Contract.RetrySubject("cto", "x"), nil); err != nil {
		t.Errorf("retry cannot park a retry: %v", err)
	}
}

func observe(t *testing.T, js jetstream.JetStream, c fleet.Contract) {
	t.Helper()
	if fed, err := fleet.RawFed(t.Context(), js.Conn(), c); err != nil || !fed {
		t.Errorf("probe: fed %v, %v", fed, err)
	}
	tasks, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatalf("stream info: %v", err)
	}
	if _, err := tasks.GetMsg(t.Context(), 1); err != nil {
		t.Errorf("read a task: %v", err)
	}
	pub, err := js.Stream(t.Context(), fleet.CapturePub)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, func() error {
		_, err := pub.GetMsg(t.Context(), 1)
		return err
	})
	if l := tasks.ListConsumers(t.Context()); l.Err() != nil {
		t.Errorf("list consumers: %v", l.Err())
	}
	consumer, err := js.CreateOrUpdateConsumer(t.Context(), fleet.CapturePub, jetstream.ConsumerConfig{Durable: "fleetglass"})
	if err != nil {
		t.Fatalf("consume a capture: %v", err)
	}
	batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for msg := range batch.Messages() {
		if err := msg.DoubleAck(t.Context()); err != nil {
			t.Errorf("ack a captured line: %v", err)
		}
	}
	if batch.Error() != nil {
		t.Errorf("read a capture: %v", batch.Error())
	}
	if _, err := js.CreateOrUpdateConsumer(t.Context(), fleet.CapturePull, jetstream.ConsumerConfig{Durable: "fleetglass"}); err != nil {
		t.Errorf("consume OBS_PULL: %v", err)
	}
	kv, err := js.Stream(t.Context(), "KV_"+fleet.BucketIdempotency)
	if err != nil {
		t.Fatalf("find the records: %v", err)
	}
	if _, err := kv.CreateOrUpdateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "fleetglass"}); err != nil {
		t.Errorf("consume the records: %v", err)
	}
	if _, err := js.Conn().SubscribeSync(c.TaskSubjects()); err != nil {
		t.Errorf("listen to publishes: %v", err)
	}
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	if err := js.Conn().LastError(); err != nil {
		t.Errorf("the broker refused: %v", err)
	}
}

func quoted(subjects []string) string {
	out := make([]string, len(subjects))
	for i, s := range subjects {
		out[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(out, ", ")
}
