package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Who sends a body with several mistakes learns of all of them from one answer.
func TestEveryWrongFieldOfABodyIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	f, _ := shelved(t)
	f.deadLetter("T1", 1)
	const act, bulk, held = "/api/v1/dlq/TASKS:1/actions", "/api/v1/operations", "/api/v1/in-flight/TASKS/1/actions"
	for name, c := range map[string]struct{ target, body, code, pointers string }{
		"token":              {"/api/v1/tokens", `{"name":"","role":"boss","scopes":["fly"],"agents":["a.b"],"expires_at":"soon"}`, "invalid_body", "name role scopes agents expires_at"},
		"token of the past":  {"/api/v1/tokens", `{"name":"","agents":["cto"],"expires_at":"2001-01-01"}`, "invalid_body", "name scopes agents expires_at"},
		"action":             {act, `{"action":"fly","reason":"x","params":{"until":"soon"}}`, "invalid_body", "params/until action reason"},
		"retry":              {act, `{"action":"retry","reason":"x","params":{"as":"new","agent":"nobody","delay_ms":-1,"force":true}}`, "reason_required", "reason params/as params/agent params/delay_ms params/force_reason"},
		"edits":              {act, `{"action":"retry","reason":"abc","params":{"as":"edited","headers":{"Nats-Msg-Id":"x"},"modifications":[{"type":""}]}}`, "invalid_body", "params/headers params/modifications"},
		"defer":              {act, `{"action":"defer","reason":"abc","params":{"to":"robot","until":"2001-01-01"}}`, "invalid_body", "params/to params/until"},
		"defer to no time":   {act, `{"action":"defer","reason":"","params":{"until":"soon"}}`, "invalid_body", "params/until reason"},
		"bulk":               {bulk, `{"action":"defer","reason":"","rate_per_s":-1,"selector":{"filter":{"status":["x"],"from":"soon"}},"params":{"until":"soon"}}`, "invalid_body", "params/until selector/filter/status selector/filter/from rate_per_s reason"},
		"bulk of nothing":    {bulk, `{"action":"fly","reason":"","rate_per_s":-1,"selector":{}}`, "invalid_body", "selector rate_per_s action reason"},
		"bulk between times": {bulk, `{"action":"discard","reason":"abc","selector":{"filter":{"from":"soon","to":"late"}}}`, "invalid_body", "selector/filter/from selector/filter/to"},
		"in flight":          {held, `{"action":"fly","reason":"","params":{"force":true}}`, "unknown_action", "action reason params/force_reason"},
		"silence":            {"/api/v1/silences", `{"matchers":[{"name":"colour","op":"?","value":"x"}],"comment":"","until":"soon"}`, "invalid_body", "until matchers/0/name matchers/0/op comment"},
		"preflight":          {"/api/v1/preflight", `{"estimated_tokens":-1,"payload":"x"}`, "invalid_body", "model estimated_tokens payload"},
		"risk":               {"/api/v1/risk", `{"at":"soon"}`, "invalid_body", "agent at"},
		"reconciliation":     {"/api/v1/reconciliations", `{"from":"soon","to":"late"}`, "invalid_body", "from to"},
		"payload unmasked":   {"/api/v1/tasks/T1/payload/reveal", `{"stream":"TASKS","seq":"x","reason":"abc"}`, "invalid_body", "seq"},
		"unknown fields":     {act, `{"acton":"retry","reason":5,"params":{"dleay_ms":1,"force":"yes","agent":7}}`, "invalid_body", "acton params/agent params/dleay_ms params/force reason"},
		"within a list":      {"/api/v1/silences", `{"matchers":[{"name":"rule"},{"nome":"x","value":5},7],"colour":"red"}`, "invalid_body", "colour matchers/1/nome matchers/1/value matchers/2"},
	} {
		p := f.refused(f.do(http.MethodPost, c.target, c.body, "Content-Type", "application/json", "Idempotency-Key", name), 400, c.code)
		var got []string
		for _, e := range p["errors"].([]any) {
			got = append(got, strings.TrimPrefix(e.(map[string]any)["pointer"].(string), "/body/"))
		}
		if want := strings.Fields(c.pointers); !slices.Equal(got, want) {
			t.Errorf("%s: named %q, want %q", name, got, want)
		}
	}
}
