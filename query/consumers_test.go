package query_test

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web/webtest"
)

// A message that nobody had yet may have as many attempts as the consumers allow that take it, where they allow the same.
func TestAMessageThatNobodyHadIsAllowedWhatItsTakersAllow(t *testing.T) {
	t.Parallel()
	taker := func(name, filter string, allows int) lifecycle.ConsumerState {
		return lifecycle.ConsumerState{Stream: webtest.Tasks, Name: name, Filters: []string{filter}, MaxDeliver: allows}
	}
	cto := taker("cto-task-worker", "genbrain.agents.cto.tasks.>", 3)
	gone, watches := cto, taker("audit", "genbrain.>", 1)
	gone.Gone, watches.Watches = true, true
	elsewhere := cto
	elsewhere.Stream.Name = "TASKS_VIP"
	for name, c := range map[string]struct {
		consumers []lifecycle.ConsumerState
		want      int
	}{
		"its agent's":                    {[]lifecycle.ConsumerState{taker("cso-task-worker", "genbrain.agents.cso.tasks.>", 7), cto}, 3},
		"of a prefix with two tokens":    {[]lifecycle.ConsumerState{taker("cto-task-worker", "org.genbrain.agents.cto.tasks.>", 4)}, 4},
		"of its type":                    {[]lifecycle.ConsumerState{taker("reviews", "genbrain.agents.*.tasks.review.*", 5)}, 5},
		"of everything":                  {[]lifecycle.ConsumerState{taker("all", "genbrain.>", 2)}, 2},
		"of another type":                {[]lifecycle.ConsumerState{taker("notes", "genbrain.agents.cto.tasks.note", 5)}, 0},
		"none":                           {nil, 0},
		"one that only watches":          {[]lifecycle.ConsumerState{watches}, 0},
		"one beside one that watches":    {[]lifecycle.ConsumerState{watches, cto}, 3},
		"one that is gone":               {[]lifecycle.ConsumerState{gone}, 0},
		"one of another stream":          {[]lifecycle.ConsumerState{elsewhere}, 0},
		"two that allow the same":        {[]lifecycle.ConsumerState{cto, taker("second", "genbrain.agents.cto.>", 3)}, 3},
		"two that do not allow the same": {[]lifecycle.ConsumerState{cto, taker("second", "genbrain.agents.cto.>", 5)}, 0},
		"one without limit":              {[]lifecycle.ConsumerState{taker("cto-task-worker", "genbrain.agents.cto.tasks.>", -1)}, 0},
	} {
		task := lifecycle.TaskSummary{Agent: "cto", Type: "review.deep", Message: lifecycle.MessageKey{Stream: webtest.Tasks, Seq: 7}}
		if got := (query.Consumers{All: c.consumers}).Allowed(task); got != c.want {
			t.Errorf("%s: %d attempts are allowed, want %d", name, got, c.want)
		}
	}
}

func TestTheListSaysWhatAWaitingTaskIsAllowed(t *testing.T) {
	t.Parallel()
	_, ask := foundBy(t, func(s *webtest.Story) {
		s.Publish("tsk", "cto", "review", "Waits", -time.Minute, "")
		s.Consumer("cto", 1, -time.Hour)
	}, func(*query.Config, query.EntryStore) {})
	list, err := ask.Tasks(t.Context(), lifecycle.Filter{}, lifecycle.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	trace, err := ask.Trace(t.Context(), "tsk")
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Rows) != 1 || list.Rows[0].MaxDeliver != 3 || trace.Messages[0].Allowed != 3 {
		t.Errorf("the list says %+v, the task %d", list.Rows, trace.Messages[0].Allowed)
	}
}
