package fleet_test

import (
	"errors"
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
	return testkit.ConfiguredBroker(t, fmt.Sprintf("jetstream { store_dir: %q }\n%s", t.TempDir(), extra))
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

// identities runs a broker on which every identity may do what is printed for it, and connects as one of them.
func identities(t *testing.T, s fleet.Streams) (as func(name string) jetstream.JetStream) {
	t.Helper()
	var users strings.Builder
	for _, id := range s.Permissions() {
		if id.Name == "agent" {
			id = s.AgentPermissions("cto")
		}
		fmt.Fprintf(&users, "{ user: %s, password: x, permissions: { publish: [%s], subscribe: [%s] } }\n",
			id.Name, quoted(id.Publish), quoted(id.Subscribe))
	}
	srv := runServer(t, fmt.Sprintf("accounts { FLEET { jetstream: enabled, users: [ %s ]\n%s } }", users.String(), s.Contract.SelfImport("FLEET")))
	return func(name string) jetstream.JetStream {
		inbox := fleet.InboxPrefix
		if name == "agent" {
			inbox = "_INBOX_cto"
		}
		return connectTo(t, srv, nats.UserInfo(name, "x"), nats.CustomInboxPrefix(inbox), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	}
}

func TestThePrintedPermissionsSufficeAndAreLeast(t *testing.T) {
	t.Parallel()
	s := fleet.Streams{Contract: fleet.NewContract(""), Readers: true}
	as := identities(t, s)
	if _, err := fleet.Provision(t.Context(), as("operator"), s); err != nil {
		t.Fatalf("provision: %v", err)
	}
	if _, err := as("operator").CreateConsumer(t.Context(), fleet.StreamTasks, s.Contract.Worker("cto", fleet.Timing{})); err != nil {
		t.Fatalf("create a worker's consumer: %v", err)
	}
	if _, err := as("agent").Publish(t.Context(), s.Contract.TaskSubject("cto", "x"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	observe(t, as("observer"), s.Contract)
	workAsAgent(t, as("agent"), s.Contract, fleet.StreamTasks)
	handBack(t, as("agent"), as("release"), s.Contract, fleet.StreamTasks)
	moveDead(t, as("mover"), s.Contract, fleet.StreamTasks)
	if _, err := as("retry").Publish(t.Context(), s.Contract.RetrySubject("cto", "x"), nil); err != nil {
		t.Errorf("retry cannot park a retry: %v", err)
	}
	for name, subjects := range forbidden(s.Contract) {
		for _, subject := range subjects {
			refused(t, as(name), name, subject)
		}
		for _, subject := range []string{">", "_INBOX.>", "$JS.>", "obs.>"} {
			deaf(t, as(name), name, subject)
		}
	}
}

// TestThePrintedPermissionsSufficeForEveryStreamOfTasks has the tasks of one agent in a stream of its own.
func TestThePrintedPermissionsSufficeForEveryStreamOfTasks(t *testing.T) {
	t.Parallel()
	s := fleet.Streams{Contract: fleet.NewContract(""), Readers: true, Others: []string{"TASKS_CTO"}}
	as := identities(t, s)
	if _, err := as("operator").CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "TASKS_CTO", Subjects: []string{"genbrain.agents.cto.tasks.>"}, Retention: jetstream.WorkQueuePolicy, AllowDirect: true,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Provision(t.Context(), as("operator"), s); err != nil {
		t.Fatalf("provision: %v", err)
	}
	if _, err := as("operator").CreateConsumer(t.Context(), "TASKS_CTO", s.Contract.Worker("cto", fleet.Timing{})); err != nil {
		t.Fatalf("create a worker's consumer: %v", err)
	}
	agent := as("agent")
	if _, err := agent.Publish(t.Context(), s.Contract.TaskSubject("cto", "x"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	workAsAgent(t, agent, s.Contract, "TASKS_CTO")
	handBack(t, agent, as("release"), s.Contract, "TASKS_CTO")
	moveDead(t, as("mover"), s.Contract, "TASKS_CTO")
	refused(t, as("mover"), "mover", "$JS.API.STREAM.PURGE.TASKS_CTO")
	refused(t, agent, "agent", "$JS.ACK.TASKS_CTO.cmo-task-worker.1.1.1.1.0")
}

// forbidden is what no identity but the operator may publish, by identity.
func forbidden(c fleet.Contract) map[string][]string {
	administer := []string{
		"$JS.API.CONSUMER.CREATE.OBS_PUB", "$JS.API.CONSUMER.CREATE.OBS_PUB.push", "$JS.API.CONSUMER.CREATE.OBS_PUB.push.obs.>",
		"$JS.API.CONSUMER.DURABLE.CREATE.OBS_PUB.push", "$JS.API.CONSUMER.CREATE.TASKS.push", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.TASKS",
		"$JS.API.STREAM.PURGE.TASKS", "$JS.API.STREAM.DELETE.TASKS", "$JS.API.CONSUMER.DELETE.TASKS.cto-task-worker",
		"$JS.API.CONSUMER.PAUSE.TASKS.cto-task-worker", "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.TASKS.cto-task-worker",
		"$JS.EVENT.ADVISORY.STREAM.DELETED.TASKS", "obs.pub.cto.x", "obs.raw.cto.x", "$JS.ACK.TASKS.cmo-task-worker.1.1.1.1.0",
	}
	others := func(more ...string) []string { return append(more, administer...) }
	agents := []string{c.ReportSubject("cto", "completed"), "$KV.task-idempotency.x", "$JS.ACK.TASKS.cto-task-worker.1.1.1.1.0"}
	return map[string][]string{
		"observer": others(append(agents, c.TaskSubject("cto", "x"), c.DLQSubject("cto", "x"), c.RetrySubject("cto", "x"), "$JS.API.STREAM.MSG.DELETE.TASKS")...),
		"mover":    others(append(agents, c.TaskSubject("cto", "x"), c.RetrySubject("cto", "x"))...),
		"release": append(administer[:len(administer)-1], append(agents[:2], c.TaskSubject("cto", "x"), c.DLQSubject("cto", "x"), c.RetrySubject("cto", "x"),
			"$JS.API.STREAM.MSG.DELETE.TASKS", "$JS.API.CONSUMER.MSG.NEXT.TASKS.cto-task-worker")...),
		"retry": others(append(agents, c.DLQSubject("cto", "x"), "$JS.API.STREAM.MSG.DELETE.TASKS")...),
		"agent": others(c.ReportSubject("cmo", "completed"), c.DLQSubject("cto", "x"), c.RetrySubject("cto", "x"), "$JS.API.STREAM.MSG.DELETE.TASKS",
			"$JS.API.CONSUMER.MSG.NEXT.TASKS.cmo-task-worker", "$JS.API.STREAM.MSG.GET.TASKS"),
	}
}

// refused expects that the broker does not take a message.
func refused(t *testing.T, js jetstream.JetStream, name, subject string) {
	t.Helper()
	nc := js.Conn()
	if err := nc.Publish(subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	wantViolation(t, nc, name+" can publish to "+subject)
}

// deaf expects that the broker does not take a subscription.
func deaf(t *testing.T, js jetstream.JetStream, name, subject string) {
	t.Helper()
	nc := js.Conn()
	if _, err := nc.SubscribeSync(subject); err != nil {
		t.Fatal(err)
	}
	wantViolation(t, nc, name+" can subscribe to "+subject)
}

func wantViolation(t *testing.T, nc *nats.Conn, otherwise string) {
	t.Helper()
	if err := nc.FlushTimeout(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := nc.LastError(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
		t.Errorf("%s (last error %v)", otherwise, err)
	}
}

// workAsAgent does what an agent does: it takes its task, says that it is at work, looks for a record, writes one, reports and acknowledges.
func workAsAgent(t *testing.T, js jetstream.JetStream, c fleet.Contract, stream string) {
	t.Helper()
	consumer, err := js.Consumer(t.Context(), stream, fleet.WorkerName("cto"))
	if err != nil {
		t.Fatalf("find the consumer: %v", err)
	}
	m, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err != nil {
		t.Fatalf("take a task: %v", err)
	}
	kv, err := js.KeyValue(t.Context(), fleet.BucketIdempotency)
	if err != nil {
		t.Fatalf("open the records: %v", err)
	}
	if _, err := kv.Get(t.Context(), "T-1"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("look for a record: %v", err)
	}
	if _, err := kv.Create(t.Context(), "T-1", []byte(`{"taskId":"T-1"}`)); err != nil {
		t.Errorf("write a record: %v", err)
	}
	if _, err := js.Publish(t.Context(), c.ReportSubject("cto", "completed"), []byte("{}")); err != nil {
		t.Errorf("report: %v", err)
	}
	if err := errors.Join(m.InProgress(), m.DoubleAck(t.Context())); err != nil {
		t.Errorf("answer: %v", err)
	}
	if err := js.Conn().LastError(); err != nil {
		t.Errorf("the broker refused the agent: %v", err)
	}
}

// moveDead does what the monitor of dead letters does: it finds the queue, looks how far it was read, reads the dead message, writes its entry
// on a condition, and deletes it.
func moveDead(t *testing.T, js jetstream.JetStream, c fleet.Contract, stream string) {
	t.Helper()
	subject := c.DLQSubject("cto", "transient")
	name, err := js.StreamNameBySubject(t.Context(), subject)
	if err != nil {
		t.Fatalf("find the queue: %v", err)
	}
	queue, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatalf("look at the queue: %v", err)
	}
	if _, err := js.Consumer(t.Context(), name, "fleetglass-deadletters"); err != nil {
		t.Errorf("look how far the queue was read: %v", err)
	}
	tasks, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatalf("look at the tasks: %v", err)
	}
	if err := askLeader(t, js, stream, 1); !errors.Is(err, nats.ErrMsgNotFound) {
		t.Errorf("read a message that is gone: %v", err)
	}
	if _, err := js.Publish(t.Context(), subject, nil, jetstream.WithMsgID("dlq:TASKS:1"), jetstream.WithExpectLastSequence(queue.CachedInfo().State.LastSeq)); err != nil {
		t.Errorf("write an entry: %v", err)
	}
	if err := tasks.DeleteMsg(t.Context(), 1); err == nil {
		t.Error("a message that is gone was deleted")
	}
	if err := js.Conn().LastError(); err != nil {
		t.Errorf("the broker refused the mover: %v", err)
	}
}

// handBack takes a task as an agent and hands it back as whoever releases does.
func handBack(t *testing.T, agent, js jetstream.JetStream, c fleet.Contract, stream string) {
	t.Helper()
	if _, err := agent.Publish(t.Context(), c.TaskSubject("cto", "released"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	worker, err := agent.Consumer(t.Context(), stream, fleet.WorkerName("cto"))
	if err != nil {
		t.Fatal(err)
	}
	take := func() jetstream.Msg {
		m, err := worker.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			t.Fatalf("take the task: %v", err)
		}
		return m
	}
	subject := take().Reply()
	tasks, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatalf("look at the tasks: %v", err)
	}
	if _, err := tasks.Consumer(t.Context(), fleet.WorkerName("cto")); err != nil {
		t.Errorf("look at the consumer: %v", err)
	}
	if _, err := js.Conn().Request(subject, []byte("-NAK"), 10*time.Second); err != nil {
		t.Errorf("hand it back: %v", err)
	}
	lines, err := js.Stream(t.Context(), fleet.CaptureAck)
	if err != nil {
		t.Fatalf("look at the captured lines: %v", err)
	}
	testkit.Eventually(t, 10*time.Second, func() error { // The broker captures it a moment after it has answered.
		line, err := lines.GetLastMsgForSubject(t.Context(), subject)
		if err == nil && string(line.Data) != "-NAK" {
			err = fmt.Errorf("the captured line is %q", line.Data)
		}
		return err
	})
	if err := take().DoubleAck(t.Context()); err != nil {
		t.Error(err)
	}
	if err := js.Conn().LastError(); err != nil {
		t.Errorf("the broker refused whoever releases: %v", err)
	}
}

func observe(t *testing.T, js jetstream.JetStream, c fleet.Contract) {
	t.Helper()
	tasks, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatalf("stream info: %v", err)
	}
	if err := askLeader(t, js, fleet.StreamTasks, 1); err != nil {
		t.Errorf("read a task: %v", err)
	}
	for _, edited := range []string{"KV_" + fleet.BucketIdempotency, fleet.StreamDLQ} { // Of these a session reads first what was given out before.
		if err := askLeader(t, js, edited, 1); !errors.Is(err, nats.ErrMsgNotFound) {
			t.Errorf("read a line of %s: %v", edited, err)
		}
	}
	pub, err := js.Stream(t.Context(), fleet.CapturePub)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 5*time.Second, func() error {
		_, err := pub.GetMsg(t.Context(), 1)
		return err
	})
	consumers := tasks.ListConsumers(t.Context())
	for c := range consumers.Info() {
		if c.Name != fleet.WorkerName("cto") {
			t.Errorf("there is a consumer %s", c.Name)
		}
	}
	if consumers.Err() != nil {
		t.Errorf("list consumers: %v", consumers.Err())
	}
	consumer, err := js.Consumer(t.Context(), fleet.CapturePub, "fleetglass-publishes")
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
	if _, err := js.Consumer(t.Context(), "KV_"+fleet.BucketIdempotency, "fleetglass-idempotency"); err != nil {
		t.Errorf("find the durable on the records: %v", err)
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

// askLeader asks the leader of a stream for a message, as Fleetglass does: direct gets may be answered by others.
func askLeader(t *testing.T, js jetstream.JetStream, stream string, seq uint64) error {
	t.Helper()
	old, err := js.Conn().JetStream()
	if err != nil {
		t.Fatal(err)
	}
	_, err = old.GetMsg(stream, seq)
	return err
}
