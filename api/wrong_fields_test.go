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
		"bulk":               {bulk, `{"action":"defer","reason":"","rate_per_s":-1,"selector":{"filter":{"status":["x"],"kind":["y"],"from":"soon"}},"params":{"until":"soon"}}`, "invalid_body", "params/until selector/filter/status selector/filter/kind selector/filter/from rate_per_s reason"},
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
		if got, want := wrongParts(p, "/body/"), strings.Fields(c.pointers); !slices.Equal(got, want) {
			t.Errorf("%s: named %q, want %q", name, got, want)
		}
	}
}

// Likewise who asks with several mistakes in the address.
func TestEveryWrongParameterOfAQueryIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	f, _ := shelved(t)
	f.deadLetter("T1", 1)
	operation := f.start("one", `{"action":"discard","reason":"abc","selector":{"ids":["TASKS:1"]}}`).ID
	for target, pointers := range map[string]string{
		"/tasks?state=lost&anomaly=odd&from=soon&to=late&limit=0":              "state anomaly from to limit",
		"/tasks?q=state:lost+attempt:x&cursor=x":                               "state attempt cursor",
		"/tasks?state=lost&state=gone&sort=up":                                 "state sort",
		"/tasks/counts?state=lost&from=soon":                                   "state from",
		"/dlq?status=x&kind=y&path=z&from=soon&limit=-1":                       "status kind path from limit",
		"/dlq/groups?by=x&status=y&limit=z":                                    "by status limit",
		"/duplicates?bucket=year&from=soon&to=late&limit=x":                    "bucket from to limit",
		"/duplicates/cases?layer=x&state=y&limit=z":                            "state layer limit",
		"/duplicates/cases?limit=z":                                            "layer limit",
		"/in-flight?stale_kind=x&limit=y&cursor=z":                             "stale_kind limit cursor",
		"/alerts?state=x&severity=y&rule=z&limit=0":                            "state severity rule limit",
		"/audit?outcome=x&from=soon&to=late&format=y&limit=z":                  "outcome from to format limit",
		"/stats/history?from=soon&to=late":                                     "from to",
		"/gaps?from=soon&to=late&limit=x":                                      "from to limit",
		"/operations/" + operation + "/items?status=x&limit=y":                 "status limit",
		"/agents?limit=x&cursor=y":                                             "limit cursor",
		"/tasks?state=lost&limit=1&limit=2&sort=up&sort=down&colour=red&shape": "colour limit shape sort",
	} {
		a := f.do(http.MethodGet, "/api/v1"+target, "")
		code, _ := parse[map[string]any](t, a.body)["code"].(string)
		p := f.refused(a, http.StatusBadRequest, code)
		got, want := wrongParts(p, "/query/"), strings.Fields(pointers)
		if !slices.Equal(got, want) {
			t.Errorf("%s: named %q, want %q", target, got, want)
		}
		for _, name := range want {
			if !strings.Contains(p["detail"].(string), name) {
				t.Errorf("%s: the detail does not speak of %s: %s", target, name, p["detail"])
			}
		}
	}
}

// wrongParts are the parts of a request that a problem names.
func wrongParts(p map[string]any, within string) (parts []string) {
	for _, e := range p["errors"].([]any) {
		parts = append(parts, strings.TrimPrefix(e.(map[string]any)["pointer"].(string), within))
	}
	return parts
}
