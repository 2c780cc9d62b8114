package api

import "encoding/json"

func exampleAudit() List[AuditRow] {
	return List[AuditRow]{
		Data: []AuditRow{{
			ID: "act-5f0c2b1a9d8e7f60", At: Instant(exampleTime(0)), Actor: "ceo", Role: "triager", TokenID: "ab12", Via: "api", Action: "retry", Target: "TASKS:1042",
			Outcome: "allowed", Reason: "the provider is back", Before: json.RawMessage(`{"status":"open"}`), After: json.RawMessage(`{"status":"acting"}`),
			RequestID: "8d2f1c0b9a7e6d5c",
		}},
		AsOf: Instant(exampleTime(0)), Gaps: []GapRef{},
	}
}
