package main

import (
	"fmt"
	"testing"

	"fleetglass/internal/testkit"
)

// TestTheDemonstrationsDeadLettersAreDecidedAbout waits until the policy has retried some, and the CEO agent, who is told of the rest, has decided
// about some by the API.
func TestTheDemonstrationsDeadLettersAreDecidedAbout(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t, "--demo", "--demo-rate", "8", "--dlq-orphan-after", "2s"))
	testkit.Eventually(t, 9*patience, func() error {
		seen := map[string]int{}
		for _, query := range []string{"status=retried", "status=acting", "status=discarded", "status=deferred"} {
			var list struct {
				Data []struct {
					ID       string `json:"id"`
					Status   string `json:"status"`
					Category string `json:"category"`
					Type     string `json:"type"`
				} `json:"data"`
			}
			if err := r.get("/api/v1/dlq?limit=200&"+query, &list); err != nil {
				return err
			}
			for _, e := range list.Data {
				if e.Type == "triage" {
					t.Errorf("an escalation is a dead letter itself: %+v", e)
				}
				seen[e.Status+" "+e.Category]++
			}
		}
		switch {
		case seen["retried transient"]+seen["retried conditionally_recoverable"]+seen["acting transient"]+seen["acting conditionally_recoverable"] == 0:
			return fmt.Errorf("the policy has retried nothing: %v", seen)
		case seen["discarded permanent"] == 0:
			return fmt.Errorf("the CEO has discarded nothing that is permanent: %v", seen)
		case seen["deferred unclassified"] == 0:
			return fmt.Errorf("the CEO has left nothing to a person: %v", seen)
		}
		return nil
	})
}

func TestAutoTriageIsOnInTheDemonstrationOnly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args    []string
		decides bool
		subject string
	}{
		{nil, false, ""}, {[]string{"--demo"}, true, "genbrain.agents.ceo.tasks.triage"},
		{[]string{"--demo", "--auto-triage", "off", "--escalate-subject", "off"}, false, ""},
		{[]string{"--auto-triage", "on", "--escalate-subject", "genbrain.agents.cto.tasks.look"}, true, "genbrain.agents.cto.tasks.look"},
	} {
		if cfg := settings(t, tc.args...); cfg.Decides() != tc.decides || cfg.escalateSubject() != tc.subject {
			t.Errorf("%v: decides %t, tells %q; want %t, %q", tc.args, cfg.Decides(), cfg.escalateSubject(), tc.decides, tc.subject)
		}
	}
}
