package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/fleet/demo"
	"fleetglass/lifecycle"

	"github.com/google/go-cmp/cmp"
)

func TestStoriesDependOnSeedAndNumberAlone(t *testing.T) {
	t.Parallel()
	differ := 0
	for n := range 200 {
		a := demo.Tell(1, n)
		if diff := cmp.Diff(a, demo.Tell(1, n)); diff != "" {
			t.Fatalf("task %d told twice: %s", n, diff)
		}
		if a.Fate != demo.Tell(2, n).Fate {
			differ++
		}
	}
	if differ == 0 {
		t.Error("another seed tells the same fates")
	}
}

func TestEveryFateComesInEverySixtyTasks(t *testing.T) {
	t.Parallel()
	for d := range 10 {
		seen := map[demo.Fate]int{}
		for n := range 60 {
			seen[demo.Tell(3, 60*d+n).Fate]++
		}
		for fate := range expected {
			if seen[fate] == 0 {
				t.Errorf("deck %d has no %s", d, fate)
			}
		}
		if seen[demo.FatePlain] < 30 {
			t.Errorf("deck %d has %d plain tasks", d, seen[demo.FatePlain])
		}
	}
}

func TestStoriesAreFitToBePublishedAndRead(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	agents := map[string]bool{}
	for _, name := range demo.Agents() {
		agents[name] = true
	}
	for n := range 1000 {
		s := demo.Tell(5, n)
		if ids[s.ID] {
			t.Errorf("id %s twice", s.ID)
		}
		ids[s.ID] = true
		if agents[s.Agent] == (s.Fate == demo.FateOrphan) {
			t.Errorf("%s is for %s, fate %s", s.ID, s.Agent, s.Fate)
		}
		if strings.Contains(s.Title, "%s") || strings.Contains(s.Reason, "%!") || strings.Contains(s.Reason, "%s") {
			t.Errorf("unfilled text: %q, %q", s.Title, s.Reason)
		}
		body, err := json.Marshal(map[string]any{"taskId": s.ID, "payload": s.Payload})
		if err != nil {
			t.Fatal(err)
		}
		task := fleet.ReadTask(map[string][]string{"traceparent": {s.Trace}}, body, lifecycle.MessageKey{})
		if task.Title != s.Title || task.TraceParent != s.Trace || task.ID != s.ID {
			t.Errorf("reads back as %+v", task)
		}
	}
}
