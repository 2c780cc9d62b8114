package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fleetglass/internal/testkit"
)

// A person corrects what the rules could not know; the correction is offered as a rule; in the policy file it classifies the next one.
func TestACorrectionBecomesARule(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, settings(t, "--triage-policy", file))
	s := r.agent("")
	r.die("T-first", `crm: tenant "acme" is frozen (case 4711)`)
	var id string
	testkit.Eventually(t, patience, func() error {
		rows := use(t, s, "list_dlq", map[string]any{"q": "T-first", "category": "unclassified"}).structured["data"].([]any)
		if len(rows) != 1 {
			return fmt.Errorf("%d dead letters", len(rows))
		}
		id = rows[0].(map[string]any)["id"].(string)
		return nil
	})
	applied := use(t, s, "apply_action", map[string]any{
		"id": id, "action": "reclassify", "reason": "accounting froze it", "idempotency_key": "c",
		"params": map[string]any{"category": "permanent", "detail": "dependency_unavailable"},
	})
	if applied.failed {
		t.Fatalf("reclassify: %+v", applied)
	}
	var suggested struct {
		Data []struct {
			YAML    string   `json:"yaml"`
			Entries []string `json:"entries"`
		} `json:"data"`
	}
	testkit.Eventually(t, patience, func() error {
		if err := r.get("/api/v1/triage/suggested-rules", &suggested); err != nil {
			return err
		}
		if len(suggested.Data) != 1 || suggested.Data[0].Entries[0] != id {
			return fmt.Errorf("suggested %+v", suggested)
		}
		return nil
	})
	if err := os.WriteFile(file, []byte("rules:\n"+suggested.Data[0].YAML), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, policyWithin, func() error {
		if got := r.policy(); got.Problem != "" || len(got.Policy.Rules[0].Name) == 0 || got.Policy.Rules[0].Name == "header-detail" {
			return fmt.Errorf("policy %q, first rule %q", got.Problem, got.Policy.Rules[0].Name)
		}
		return nil
	})
	r.die("T-second", `crm: tenant "umbrella" is frozen (case 12)`)
	deadOf(t, s, "T-second", "dependency_unavailable")
}
