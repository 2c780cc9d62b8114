package views

import (
	"strings"
	"testing"
)

// An agent without a task in flight is idle only where nothing waits for it.
func TestAnAgentForWhichWorkWaitsIsNotCalledIdle(t *testing.T) {
	t.Parallel()
	for activity, want := range map[string]string{
		"idle": "No task in flight: idle.", "silent": "No task in flight: silent.", "unseen": "No task in flight: never seen.", "paused": "No task in flight: paused.",
	} {
		var page strings.Builder
		if err := Agent(AgentPage{Name: "legal", Activity: activity, Waits: activity == "silent"}).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), want) {
			t.Errorf("%s: the page does not say %q", activity, want)
		}
	}
}
