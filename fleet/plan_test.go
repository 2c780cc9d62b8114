package fleet_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

func TestProvisioningTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	s := fleet.Streams{Contract: fleet.NewContract(""), Pulls: true}
	first, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(first.Changes); got != 11 {
		t.Errorf("first plan has %d objects, want 11:\n%s", got, first)
	}
	for _, c := range first.Changes {
		if c.Action != fleet.ActionCreate {
			t.Errorf("first plan of %s is %s, want create", c.Stream, c.Action)
		}
	}
	if !first.SelfImport.Fed {
		t.Errorf("self-import of the embedded broker not seen: %+v", first.SelfImport)
	}
	if err := first.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil {
		t.Fatal(err)
	}
	if !second.Empty() || len(second.Blocked()) > 0 {
		t.Errorf("second plan is not empty:\n%s", second)
	}
	for _, c := range second.Changes {
		if len(c.Kept) > 0 {
			t.Errorf("%s, as just created, differs from the recommendation: %+v", c.Stream, c.Kept)
		}
	}
	if _, err := js.KeyValue(t.Context(), fleet.BucketIdempotency); err != nil {
		t.Errorf("the records are no KV bucket: %v", err)
	}
}

func TestAnExistingTasksKeepsItsOwnSettings(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	c := fleet.NewContract("")
	before, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: fleet.StreamTasks, Subjects: []string{c.TaskSubjects()}, Retention: jetstream.WorkQueuePolicy, MaxAge: 3 * time.Hour,
		Duplicates: 10 * time.Minute, Description: "theirs", Metadata: map[string]string{"owner": "someone"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateConsumer(t.Context(), fleet.StreamTasks, jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("cto"), FilterSubject: c.TaskSubject("cto", ">"), AckPolicy: jetstream.AckExplicitPolicy,
	}); err != nil {
		t.Fatal(err)
	}
	plan, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: c, Bodies: fleet.HeadersOnly})
	if err != nil {
		t.Fatal(err)
	}
	text := plan.String()
	for _, want := range []string{
		"~ republish: not set -> ", "= max_age: 3h0m0s is kept (recommended: 168h0m0s)", "= duplicate_window: 10m0s is kept",
		"nats consumer edit TASKS cto-task-worker --sample 100",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("plan lacks %q:\n%s", want, text)
		}
	}
	stream, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	after := stream.CachedInfo().Config
	if after.RePublish == nil || after.RePublish.Destination != "obs.pub.{{wildcard(1)}}.>" || !after.RePublish.HeadersOnly {
		t.Errorf("republish is %+v", after.RePublish)
	}
	was := before.CachedInfo().Config
	if after.MaxAge != was.MaxAge || after.Duplicates != was.Duplicates || after.Description != "theirs" || after.Metadata["owner"] != "someone" {
		t.Errorf("settings of the fleet changed: %+v", after)
	}
	again, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: c})
	if err != nil {
		t.Fatal(err)
	}
	if !again.Empty() {
		t.Errorf("a plan that does not ask for bodies undoes headers-only:\n%s", again)
	}
	asked, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: c, Bodies: fleet.BodiesKept})
	if err != nil {
		t.Fatal(err)
	}
	if asked.Empty() {
		t.Error("a plan that asks for bodies does not restore them")
	}
}

func TestWhatAPersonMustDecideIsBlocked(t *testing.T) {
	t.Parallel()
	c := fleet.NewContract("")
	cases := map[string]struct {
		stream jetstream.StreamConfig
		want   string
	}{
		"another republish": {jetstream.StreamConfig{Name: "TASKS", Subjects: []string{c.TaskSubjects()},
			RePublish: &jetstream.RePublish{Source: ">", Destination: "audit.>"}}, "TASKS: it republishes to audit.> already"},
		"another prefix":     {jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"acme.agents.*.tasks.>"}}, "is the prefix right?"},
		"overlap":            {jetstream.StreamConfig{Name: "DLQ_cto", Subjects: []string{"genbrain.dlq.cto.>"}}, "DLQ: stream DLQ_cto already stores"},
		"captures in memory": {jetstream.StreamConfig{Name: "OBS_ACK", Subjects: []string{"x"}, Retention: jetstream.InterestPolicy}, ""},
		"capture is a mirror": {jetstream.StreamConfig{Name: "OBS_EVT", Mirror: &jetstream.StreamSource{Name: "X"}},
			"OBS_EVT: mirror is"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := testkit.JetStream(t, testkit.BareBroker(t))
			if _, err := js.CreateStream(t.Context(), tc.stream); err != nil {
				t.Fatal(err)
			}
			plan, err := fleet.Provision(t.Context(), js, fleet.Streams{Contract: c})
			if tc.want == "" {
				if err != nil || !strings.Contains(plan.String(), "retention: interest is kept") {
					t.Errorf("err %v, plan:\n%s", err, plan)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
			if _, err := js.Stream(t.Context(), fleet.CaptureRaw); err != nil {
				t.Errorf("the rest was not applied: %v", err)
			}
		})
	}
}

func TestAnExistingBucketGetsMarkersAndKeepsItsRetention(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: fleet.BucketIdempotency, TTL: 100 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.PutString(t.Context(), "t-1", "{}"); err != nil {
		t.Fatal(err)
	}
	s := fleet.Streams{Contract: fleet.NewContract("")}
	plan, err := fleet.Provision(t.Context(), js, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"~ update bucket task-idempotency", "~ max_msgs_per_subject: 1 -> 5", "= max_age: 100h0m0s is kept"} {
		if !strings.Contains(plan.String(), want) {
			t.Errorf("plan lacks %q:\n%s", want, plan)
		}
	}
	status, err := kv.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status.History() != 5 || status.TTL() != 100*time.Hour || status.LimitMarkerTTL() != time.Hour {
		t.Errorf("history %d, ttl %s, markers %s", status.History(), status.TTL(), status.LimitMarkerTTL())
	}
	if _, err := kv.Get(t.Context(), "t-1"); err != nil {
		t.Errorf("what was in the bucket: %v", err)
	}
	again, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil || !again.Empty() {
		t.Errorf("second plan: %v\n%s", err, again)
	}
}

func TestALongerHistoryIsNotShortened(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: fleet.BucketIdempotency, History: 20, LimitMarkerTTL: 2 * time.Hour}); err != nil {
		t.Fatal(err)
	}
	plan, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: fleet.NewContract("")})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Changes {
		if c.Stream == "KV_"+fleet.BucketIdempotency && c.Action != fleet.ActionNone {
			t.Errorf("the bucket is to be changed:\n%s", plan)
		}
	}
}

func TestAgentsMayHaveStreamsOfDeadLettersOfTheirOwn(t *testing.T) {
	t.Parallel()
	js := plainServer(t, "")
	s := fleet.Streams{Contract: fleet.NewContract(""), DLQAgents: []string{"cto", "cso"}, Readers: true}
	if _, err := fleet.Provision(t.Context(), js, s); err != nil {
		t.Fatal(err)
	}
	for _, agent := range s.DLQAgents {
		name, err := js.StreamNameBySubject(t.Context(), s.Contract.DLQSubject(agent, "transient"))
		if err != nil || name != fleet.DLQStream(agent) {
			t.Errorf("entries of %s go to %q, %v", agent, name, err)
		}
		if _, err := js.Consumer(t.Context(), name, "fleetglass-deadletters"); err != nil {
			t.Errorf("the durable on %s: %v", name, err)
		}
	}
	if _, err := js.Stream(t.Context(), fleet.StreamDLQ); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the common stream: %v, want none", err)
	}
	plan, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil || !plan.Empty() {
		t.Errorf("a second plan is %v, %v; want it empty", plan, err)
	}
}

func TestEveryStreamThatTakesTasksIsCaptured(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	for _, agent := range []string{"a", "b"} {
		cfg := jetstream.StreamConfig{Name: "TASKS_" + agent, Subjects: []string{"genbrain.agents." + agent + ".tasks.>"}}
		if _, err := js.CreateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	streams := fleet.Streams{Contract: fleet.NewContract("")}
	if _, err := fleet.Provision(t.Context(), js, streams); err != nil {
		t.Fatal(err)
	}
	for _, capture := range []string{fleet.CaptureAck, fleet.CaptureEvt} {
		s, err := js.Stream(t.Context(), capture)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"TASKS_a", "TASKS_b"} {
			if subjects := s.CachedInfo().Config.Subjects; !fleet.Captures(capture, name, subjects) {
				t.Errorf("%s records %v, nothing of %s", capture, subjects, name)
			}
		}
	}
	s, err := js.Stream(t.Context(), "TASKS_a")
	if err != nil || s.CachedInfo().Config.RePublish == nil {
		t.Errorf("TASKS_a does not republish: %v", err)
	}
	if _, err := js.Stream(t.Context(), fleet.StreamTasks); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("TASKS was made although other streams store its tasks: %v", err)
	}
	again, err := fleet.NewPlan(t.Context(), js, streams)
	if err != nil || !again.Empty() || len(again.Blocked()) > 0 {
		t.Errorf("the second plan has changes: %+v, %v", again, err)
	}
}
