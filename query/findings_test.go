package query_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// findings asks about a fleet of which a story tells.
func findings(t *testing.T, tell func(*webtest.Story)) []alerts.Finding {
	t.Helper()
	found, _ := foundBy(t, tell, func(*query.Config, query.EntryStore) {})
	return found
}

// foundBy asks about a fleet of which a story tells, and returns whom it asked. Its dead letters are known where change says so.
func foundBy(t *testing.T, tell func(*webtest.Story), change func(*query.Config, query.EntryStore)) ([]alerts.Finding, *query.Service) {
	t.Helper()
	now := func() time.Time { return noon }
	s := webtest.NewStory(noon)
	tell(s)
	store, err := webtest.Store(t.Context(), t.TempDir(), now, s.Batch)
	if err != nil {
		t.Fatal(err)
	}
	cfg := query.Config{Store: store, AgentOf: fleet.AgentOfWorker, Now: now}
	change(&cfg, store)
	ask, err := query.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ask.Close() })
	found, err := ask.Findings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found.Fleet(), ask
}

func TestMessagesThatNobodyTakesAreNamedByAgentTheMostFirst(t *testing.T) {
	t.Parallel()
	found := findings(t, func(s *webtest.Story) {
		for i, agent := range []string{"legal", "legal", "legal", "sales", "cto"} {
			m := s.Publish(fmt.Sprintf("tsk-%d", i), agent, "review", "Waits", -time.Duration(10-i)*time.Minute, "")
			if agent != "cto" {
				s.Tell(lifecycle.Orphaned, lifecycle.Broker, m, 0, -time.Minute, lifecycle.Detail{})
			}
		}
	})
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintln(f.Rule, f.Labels.Agent, f.Count, noon.Sub(f.Since.Time())))
	}
	want := []string{fmt.Sprintln(alerts.RuleOrphaned, "legal", 3, 10*time.Minute), fmt.Sprintln(alerts.RuleOrphaned, "sales", 1, 7*time.Minute)}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAConsumerThatDoesNothingWhileMessagesWaitIsNamed(t *testing.T) {
	t.Parallel()
	at := func(ago time.Duration) lifecycle.Micros { return lifecycle.MicrosOf(noon.Add(-ago)) }
	waits := func(name string, change func(*lifecycle.ConsumerState)) lifecycle.ConsumerState {
		c := lifecycle.ConsumerState{
			Stream: lifecycle.StreamID{Name: "TASKS"}, Name: name + "-task-worker", CreatedAt: at(time.Hour), ObservedAt: at(0), Pending: 5, DeliveredAt: at(10 * time.Minute),
			Filters: []string{"genbrain.agents." + name + ".tasks.>"},
		}
		change(&c)
		return c
	}
	found := findings(t, func(s *webtest.Story) {
		for i := range 6 { // One more than when its consumer was seen last.
			s.Publish(fmt.Sprint("left-", i), "gone", "review", "Waits", -time.Second, "")
		}
		s.Batch.Consumers = append(s.Batch.Consumers,
			waits("stopped", func(*lifecycle.ConsumerState) {}),
			waits("never", func(c *lifecycle.ConsumerState) { c.DeliveredAt, c.Pending = 0, 9 }),
			waits("new", func(c *lifecycle.ConsumerState) { c.DeliveredAt, c.CreatedAt = 0, at(time.Second) }),
			waits("busy", func(c *lifecycle.ConsumerState) { c.AckPending = 1 }),
			waits("asks", func(c *lifecycle.ConsumerState) { c.Waiting = 1 }),
			waits("empty", func(c *lifecycle.ConsumerState) { c.Pending = 0 }),
			waits("paused", func(c *lifecycle.ConsumerState) { c.Paused = true }),
			waits("gone", func(c *lifecycle.ConsumerState) { c.Gone = true }),
		)
	})
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintln(f.Rule, f.Labels.Agent, f.Count))
	}
	want := []string{
		fmt.Sprintln(alerts.RuleBacklogIdle, "never", 9), fmt.Sprintln(alerts.RuleBacklogIdle, "stopped", 5),
		fmt.Sprintln(alerts.RulePaused, "paused", 5), fmt.Sprintln(alerts.RuleConsumerGone, "gone", 6), // It is known to be gone only since now.
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestABacklogThatGrowsFasterThanItIsWorkedIsFound(t *testing.T) {
	t.Parallel()
	found := findings(t, func(s *webtest.Story) {
		for i := range 40 {
			m := s.Publish(fmt.Sprintf("tsk-%d", i), "cto", "review", "Waits", -time.Duration(10+i)*time.Second, "")
			if i < 2 {
				s.Deliver(m, 1, -9*time.Second)
				s.Say(lifecycle.Acked, m, 1, -5*time.Second, lifecycle.Detail{})
			}
		}
		s.Batch.Consumers = append(s.Batch.Consumers, lifecycle.ConsumerState{
			Stream: lifecycle.StreamID{Name: "TASKS"}, Name: "cto-task-worker", CreatedAt: lifecycle.MicrosOf(noon.Add(-time.Hour)), ObservedAt: lifecycle.MicrosOf(noon), Pending: 38, Waiting: 1,
			DeliveredAt: lifecycle.MicrosOf(noon.Add(-time.Second)),
		})
	})
	if len(found) != 1 || found[0].Rule != alerts.RuleBacklogGrows || found[0].Count != 38 || found[0].Why != "The backlog grew by 38 in 15 minutes. At its pace the agent needs 4h 45m for them." {
		t.Errorf("got %+v", found)
	}
}

// A message goes back to those that wait where the consumer whose worker had it was deleted and created again. Nobody has it now; that nobody ever took it is not so.
func TestAMessageOfAConsumerThatWasCreatedAgainWaitsAndWasTakenBefore(t *testing.T) {
	t.Parallel()
	found := findings(t, func(s *webtest.Story) {
		m := s.Publish("taken", "cto", "review", "Was at work", -40*time.Minute, "")
		s.Deliver(m, 1, -39*time.Minute)
		s.Tell(lifecycle.ConsumerRecreated, lifecycle.Broker, m, 0, -10*time.Minute, lifecycle.Detail{})
	})
	at := slices.IndexFunc(found, func(f alerts.Finding) bool { return f.Rule == alerts.RuleQueueAge })
	if at < 0 {
		t.Fatalf("nothing waits too long: %+v", found)
	}
	if f := found[at]; f.What != "1 task waits for cto, the oldest stored 40 m ago" || f.Why != "No worker has the oldest message now, and it was stored longer ago than the threshold allows." {
		t.Errorf("what %q, why %q", f.What, f.Why)
	}
}
