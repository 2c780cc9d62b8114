package api

import (
	"testing"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

func TestACorrectionIsOfferedAsARule(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.terminated("t-1", "marketing", 1, `crm: tenant "acme" is frozen (case 4711)`)
		f.terminated("t-2", "marketing", 2, "HTTP 429")
		f.commit()
		if got := get[SuggestedRules](f, "/api/v1/triage/suggested-rules"); len(got.Data) != 0 {
			t.Errorf("nobody corrected anything: %+v", got.Data)
		}
		f.tell(lifecycle.Event{
			Kind: lifecycle.Classified, TaskID: "t-1", Message: inTasks(1), Provenance: lifecycle.Recorded,
			Detail: lifecycle.Detail{
				Triage:     lifecycle.Triage{Revision: 1, Actor: "ann"},
				DeadLetter: lifecycle.DeadLetter{Category: "permanent", CategoryDetail: dlqtriage.DependencyUnavailable},
			},
		})
		f.commit()
		got := get[SuggestedRules](f, "/api/v1/triage/suggested-rules")
		if len(got.Data) != 1 || got.Data[0].By[0] != "ann" || got.Data[0].Entries[0] != "TASKS:1" || got.Data[0].Rule.Detail != dlqtriage.DependencyUnavailable {
			t.Fatalf("got %+v", got.Data)
		}
		if _, err := dlqtriage.ParsePolicy([]byte("rules:\n" + got.Data[0].YAML)); err != nil {
			t.Errorf("the rule cannot be used: %v", err)
		}
	})
}
