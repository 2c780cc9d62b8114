package fleet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// planBeside plans on a broker that has a stream of the fleet's own for dead letters.
func planBeside(t *testing.T, queue jetstream.StreamConfig, dlqAgents ...string) (*fleet.Plan, jetstream.JetStream) {
	t.Helper()
	js := plainServer(t, "")
	if _, err := js.CreateStream(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	plan, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: fleet.NewContract(""), Readers: true, DLQAgents: dlqAgents})
	if err != nil {
		t.Fatal(err)
	}
	return plan, js
}

func TestDeadLettersOfAStreamWithAnotherNameAreReadThere(t *testing.T) {
	t.Parallel()
	for name, subjects := range map[string][]string{"alone": {"genbrain.dlq.>"}, "wider": {"archive.tasks", "genbrain.dlq.>"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, js := planBeside(t, jetstream.StreamConfig{Name: "DEADLETTERS", Subjects: subjects})
			if blocked := plan.Blocked(); len(blocked) > 0 {
				t.Fatalf("blocked: %v", blocked)
			}
			observer, err := plan.JointPermissions([]string{"observer"})
			if err != nil {
				t.Fatal(err)
			}
			for _, needed := range []string{
				"$JS.API.STREAM.INFO.DEADLETTERS", "$JS.API.CONSUMER.INFO.DEADLETTERS.fleetglass-deadletters", "$JS.API.CONSUMER.MSG.NEXT.DEADLETTERS.fleetglass-deadletters",
			} {
				if !slices.Contains(observer.Publish, needed) {
					t.Errorf("the observer may not %s", needed)
				}
			}
			if slices.Contains(observer.Publish, "$JS.API.STREAM.INFO.DLQ") {
				t.Error("the observer may look at a stream that cannot exist")
			}
			if err := plan.Apply(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := js.Stream(t.Context(), fleet.StreamDLQ); err == nil {
				t.Error("DLQ was made beside it")
			}
			reader, err := js.Consumer(t.Context(), "DEADLETTERS", "fleetglass-deadletters")
			if err != nil {
				t.Fatal(err)
			}
			if filter := strings.Join(reader.CachedInfo().Config.FilterSubjects, " ") + reader.CachedInfo().Config.FilterSubject; (filter == "genbrain.dlq.>") != (name == "wider") {
				t.Errorf("it reads %q", filter)
			}
		})
	}
}

// A stream for one agent leaves the dead letters of the others without one.
func TestAStreamOfSomeDeadLettersIsReadAndReplacesNoOther(t *testing.T) {
	t.Parallel()
	plan, _ := planBeside(t, jetstream.StreamConfig{Name: "MINE", Subjects: []string{"genbrain.dlq.cto.>"}})
	if blocked := strings.Join(plan.Blocked(), "; "); !strings.Contains(blocked, "stream MINE already stores genbrain.dlq.cto.>") {
		t.Errorf("blocked: %q", blocked)
	}
	for _, queue := range []jetstream.StreamConfig{
		{Name: "MINE", Subjects: []string{"genbrain.dlq.cto.>"}},
		{Name: "DLQ", Subjects: []string{"genbrain.dlq.before"}}, // The one for all agents, before each got its own.
	} {
		beside, _ := planBeside(t, queue, "ceo")
		if blocked := beside.Blocked(); len(blocked) > 0 {
			t.Errorf("blocked: %v", blocked)
		}
		var read []string
		for _, r := range beside.Readers {
			if r.Source == "deadletters" {
				read = append(read, r.Stream)
			}
		}
		if !slices.Equal(read, []string{"DLQ_ceo", queue.Name}) {
			t.Errorf("dead letters are read from %v", read)
		}
	}
}

func TestAQueueThatDropsWhatIsReadGetsNoReader(t *testing.T) {
	t.Parallel()
	plan, _ := planBeside(t, jetstream.StreamConfig{Name: "MINE", Subjects: []string{"genbrain.dlq.>"}, Retention: jetstream.WorkQueuePolicy})
	if blocked := strings.Join(plan.Blocked(), "; "); !strings.Contains(blocked, "retention limits") {
		t.Errorf("blocked: %q", blocked)
	}
	for _, r := range plan.Readers {
		if r.Stream == "MINE" {
			t.Errorf("%+v would empty the queue", r)
		}
	}
}
