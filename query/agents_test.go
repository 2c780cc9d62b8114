package query_test

import (
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

// An agent has the consumer that is named after it, and the workers' consumers that take its tasks. What those are to deliver that take other agents' tasks too is nobody's alone.
func TestAnAgentHasTheConsumersThatTakeItsTasks(t *testing.T) {
	t.Parallel()
	consumer := func(name string, pending uint64, filters ...string) lifecycle.ConsumerState {
		return lifecycle.ConsumerState{Stream: webtest.Tasks, Name: name, Filters: filters, Pending: pending, ObservedAt: lifecycle.MicrosOf(noon)}
	}
	gone := func(c lifecycle.ConsumerState) lifecycle.ConsumerState { c.Gone = true; return c }
	watches := func(c lifecycle.ConsumerState) lifecycle.ConsumerState { c.Watches = true; return c }
	own := consumer("cto-task-worker", 1, "genbrain.agents.cto.tasks.>")
	for name, c := range map[string]struct {
		consumers []lifecycle.ConsumerState
		want      []string
		pending   uint64
		known     bool
	}{
		"its own":                          {[]lifecycle.ConsumerState{own, consumer("cso-task-worker", 2, "genbrain.agents.cso.tasks.>")}, []string{"cto-task-worker"}, 1, true},
		"one of another name":              {[]lifecycle.ConsumerState{consumer("crew-task-worker", 2, "genbrain.agents.cto.tasks.>")}, []string{"crew-task-worker"}, 2, true},
		"one of several agents":            {[]lifecycle.ConsumerState{consumer("crew-task-worker", 2, "genbrain.agents.cto.tasks.>", "genbrain.agents.cso.tasks.>")}, []string{"crew-task-worker"}, 0, false},
		"one of all agents":                {[]lifecycle.ConsumerState{consumer("crew-task-worker", 2, "genbrain.agents.*.tasks.review")}, []string{"crew-task-worker"}, 0, false},
		"one without filters":              {[]lifecycle.ConsumerState{consumer("crew-task-worker", 2)}, []string{"crew-task-worker"}, 0, false},
		"its own, and one that only looks": {[]lifecycle.ConsumerState{watches(consumer("audit", 2, "genbrain.>")), own}, []string{"cto-task-worker"}, 1, true},
		"its own that is gone":             {[]lifecycle.ConsumerState{gone(own)}, []string{"cto-task-worker"}, 0, false},
		"one that is gone, and its own":    {[]lifecycle.ConsumerState{gone(consumer("crew-task-worker", 2, "genbrain.agents.cto.tasks.>")), own}, []string{"cto-task-worker"}, 1, true},
		"one that is gone, and no other":   {[]lifecycle.ConsumerState{gone(consumer("crew-task-worker", 2, "genbrain.agents.cto.tasks.>"))}, []string{"crew-task-worker"}, 0, false},
	} {
		_, ask := foundBy(t, func(s *webtest.Story) {
			s.Publish("tsk", "cto", "review", "Waits", -time.Minute, "")
			s.Batch.Consumers = append(s.Batch.Consumers, c.consumers...)
		}, func(*query.Config, query.EntryStore) {})
		agents, err := ask.Agents(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		cto := agents.Of("cto")
		var got []string
		for _, of := range cto.Consumers {
			got = append(got, of.Name)
		}
		if !slices.Equal(got, c.want) || cto.Pending != c.pending || cto.PendingKnown != c.known {
			t.Errorf("%s: %v, %d pending, known: %v", name, got, cto.Pending, cto.PendingKnown)
		}
	}
}
