package lifecycle

import (
	"slices"
	"testing"
)

// Whom a publish is for was seen; who reports about it may be anybody.
func TestATaskIsOfTheAgentThatItsPublishWasFor(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, `
checkpoint 1s task=T1 msgid=T1 n=1 agent=another
publish_attempted 0s task=T1 msgid=T1 agent=marketing
completion_recorded 2s task=T1 agent=anybody
`)
	backward := slices.Clone(events)
	slices.Reverse(backward)
	for _, order := range [][]Event{events, backward} {
		if got := foldAll([][]Event{order}).record("T1").Summary.Agent; got != "marketing" {
			t.Errorf("the task is of %q, want marketing", got)
		}
	}
	if got := foldAll([][]Event{events[:1]}).record("T1").Summary.Agent; got != "another" {
		t.Errorf("a task that is only reported is of %q, want another", got)
	}
}
