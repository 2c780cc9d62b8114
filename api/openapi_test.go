package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
)

// specOf reads the document as a client does.
func specOf(t *testing.T, f *fixture) map[string]any {
	t.Helper()
	a := f.do("GET", "/openapi.json", "")
	if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("GET /openapi.json: %d %v", a.status, a.header)
	}
	return parse[map[string]any](t, a.body)
}

// eachOperation visits every operation of the document.
func eachOperation(spec map[string]any, visit func(name string, op map[string]any)) {
	for path, item := range spec["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			visit(strings.ToUpper(method)+" "+path, op.(map[string]any))
		}
	}
}

func TestTheDocumentDescribesEveryCallCompletely(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	spec := specOf(t, f)
	if version, _ := spec["openapi"].(string); !strings.HasPrefix(version, "3.1") {
		t.Errorf("openapi = %q", version)
	}
	var calls []string
	ids := map[string]bool{}
	eachOperation(spec, func(name string, op map[string]any) {
		calls = append(calls, name)
		id, _ := op["operationId"].(string)
		if id == "" || ids[id] || op["summary"] == "" || op["tags"] == nil {
			t.Errorf("%s: id %q is empty or double, or summary or tags are missing", name, id)
		}
		ids[id] = true
		checkParameters(t, name, op)
		checkResponses(t, name, op)
	})
	slices.Sort(calls)
	want := []string{
		"DELETE /api/v1/silences/{id}",
		"DELETE /api/v1/tokens/{id}",
		"GET /api/v1/agents", "GET /api/v1/agents/{agent}", "GET /api/v1/alert-rules", "GET /api/v1/alerts", "GET /api/v1/alerts/{id}", "GET /api/v1/audit", "GET /api/v1/dlq", "GET /api/v1/dlq/groups", "GET /api/v1/dlq/stats", "GET /api/v1/dlq/{id}", "GET /api/v1/doctor", "GET /api/v1/duplicates", "GET /api/v1/duplicates/cases", "GET /api/v1/gaps", "GET /api/v1/in-flight", "GET /api/v1/operations", "GET /api/v1/operations/{id}", "GET /api/v1/operations/{id}/items", "GET /api/v1/quarantine",
		"GET /api/v1/reconciliations", "GET /api/v1/reconciliations/{id}", "GET /api/v1/restarts", "GET /api/v1/restarts/{restart_id}", "GET /api/v1/silences", "GET /api/v1/silences/{id}", "GET /api/v1/stats/fleet", "GET /api/v1/stats/history", "GET /api/v1/stats/map", "GET /api/v1/stream", "GET /api/v1/tasks", "GET /api/v1/tasks/counts", "GET /api/v1/tasks/{task_id}",
		"GET /api/v1/tasks/{task_id}/events", "GET /api/v1/tasks/{task_id}/payload", "GET /api/v1/tasks/{task_id}/report", "GET /api/v1/tokens", "GET /api/v1/triage/policy", "GET /api/v1/triage/suggested-rules",
		"GET /healthz", "GET /readyz", "POST /api/v1/alerts/{id}/ack", "POST /api/v1/alerts/{id}/unack", "POST /api/v1/dlq/{id}/actions", "POST /api/v1/in-flight/{stream}/{seq}/actions", "POST /api/v1/operations", "POST /api/v1/operations/{id}/cancel", "POST /api/v1/preflight", "POST /api/v1/reconciliations", "POST /api/v1/reports", "POST /api/v1/risk",
		"POST /api/v1/silences", "POST /api/v1/tasks/{task_id}/payload/reveal",
		"POST /api/v1/tokens",
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func checkParameters(t *testing.T, name string, op map[string]any) {
	t.Helper()
	described := map[string]bool{}
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		param := p.(map[string]any)
		described[param["name"].(string)] = param["in"] == "path"
		if param["description"] == nil || param["schema"] == nil {
			t.Errorf("%s: parameter %v has no description or schema", name, param["name"])
		}
	}
	for _, part := range strings.Split(name, "/") {
		if inner, ok := strings.CutPrefix(part, "{"); ok && !described[strings.TrimSuffix(inner, "}")] {
			t.Errorf("%s: path parameter %s is not described", name, part)
		}
	}
}

func checkResponses(t *testing.T, name string, op map[string]any) {
	t.Helper()
	responses, _ := op["responses"].(map[string]any)
	success := false
	for status, r := range responses {
		success = success || strings.HasPrefix(status, "2")
		response := r.(map[string]any)
		content, _ := response["content"].(map[string]any)
		if response["description"] == "" || len(content) == 0 {
			t.Errorf("%s %s: no description or content", name, status)
		}
		for mediaType, m := range content {
			media := m.(map[string]any)
			if media["schema"] == nil {
				t.Errorf("%s %s %s: no schema", name, status, mediaType)
			}
			if media["example"] == nil && media["examples"] == nil && mediaType != octets {
				t.Errorf("%s %s %s: no example", name, status, mediaType)
			}
		}
	}
	if !success || responses["500"] == nil || responses["400"] == nil {
		t.Errorf("%s: responses %v", name, slices.Sorted(maps.Keys(responses)))
	}
}

func TestEveryReferenceOfTheDocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	spec := specOf(t, f)
	used := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[strings.TrimPrefix(ref, "#/components/schemas/")] = true
			}
			for _, child := range v {
				walk(child)
			}
		case []any:
			for _, child := range v {
				walk(child)
			}
		}
	}
	walk(spec)
	schemas := spec["components"].(map[string]any)["schemas"].(map[string]any)
	for name := range used {
		if schemas[name] == nil {
			t.Errorf("schema %q is used and not there", name)
		}
	}
	for name := range schemas {
		if !used[name] {
			t.Errorf("schema %q is there and not used", name)
		}
	}
}

func TestExamplesConformToTheirSchemas(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	registry := f.api.huma.OpenAPI().Components.Schemas
	n := 0
	check := func(content map[string]*huma.MediaType) {
		for mediaType, m := range content {
			examples := []any{m.Example}
			for _, e := range m.Examples {
				examples = append(examples, e.Value)
			}
			for _, example := range examples {
				if example == nil || mediaType == markdown || mediaType == eventStream {
					continue
				}
				b, err := json.Marshal(example)
				if err != nil {
					t.Fatal(err)
				}
				checkSchema(t, registry, m.Schema, b)
				n++
			}
		}
	}
	for _, item := range f.api.huma.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post} {
			if op == nil {
				continue
			}
			if op.RequestBody != nil {
				check(op.RequestBody.Content)
			}
			for _, r := range op.Responses {
				check(r.Content)
			}
		}
	}
	if n < 50 {
		t.Errorf("only %d examples were checked", n)
	}
}

// The names of the contract, to the letter.
func TestTheNamesOfTheContract(t *testing.T) {
	t.Parallel()
	cases := []struct {
		typ   reflect.Type
		names string
	}{
		{reflect.TypeFor[List[TaskRow]](), "data page as_of gaps"},
		{reflect.TypeFor[Page](), "next prev"},
		{reflect.TypeFor[GapRef](), "source from to"},
		{reflect.TypeFor[httperr.Problem](), "type title status detail code errors retryable"},
		{reflect.TypeFor[httperr.FieldError](), "pointer detail"},
		{reflect.TypeFor[Trace](), "task_id state agent type generation attempts max_deliver published_at last_event_at completed_at waiting_ms " +
			"running_ms messages lease idempotency duplicates anomalies answers links"},
		{reflect.TypeFor[Answers](), "ownership last_receipt recovery"},
		{reflect.TypeFor[Event](), "id at kind source provenance stream seq consumer attempt agent summary data raw"},
		{reflect.TypeFor[Lease](), "task_id stream seq agent consumer attempt max_deliver held_ms last_heartbeat_at deadline_at stale_kind owner " +
			"lease_version typical next recommendation"},
		{reflect.TypeFor[Typical](), "p50_ms p95_ms"},
		{reflect.TypeFor[Saved](), "usd_low usd_high minutes"},
		{reflect.TypeFor[DuplicateRow](), "bucket"},
		{reflect.TypeFor[DuplicateSums](), "published completed caught_by_stream caught_by_idempotency reached_execution unknown in_flight_or_dlq " +
			"net_rate saved"},
		{reflect.TypeFor[NextStep](), "what at"},
		{reflect.TypeFor[PreflightAnswer](), "verdict estimated_tokens budget advice"},
		{reflect.TypeFor[Recommendation](), "decision rule reasons evidence"},
	}
	for _, c := range cases {
		have := map[string]bool{}
		for i := range c.typ.NumField() {
			name, _, _ := strings.Cut(c.typ.Field(i).Tag.Get("json"), ",")
			have[name] = true
		}
		for name := range strings.FieldsSeq(c.names) {
			if !have[name] {
				t.Errorf("%s has no field %s", c.typ, name)
			}
		}
	}
}

func TestTheFiltersOfTheContractAreDescribed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	op := f.api.huma.OpenAPI().Paths[Base+"/tasks"].Get
	for name := range strings.FieldsSeq("state agent type stream category q from to sort limit cursor") {
		if queryParameter(op, name) == nil {
			t.Errorf("no parameter %s", name)
		}
	}
	if states := queryParameter(op, "state").Schema.Items.Enum; len(states) != len(lifecycle.States()) {
		t.Errorf("states = %v", states)
	}
	if orders := queryParameter(op, "sort").Schema.Enum; len(orders) != len(lifecycle.Sorts()) {
		t.Errorf("orders = %v", orders)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := New(Config{})
	for _, name := range []string{"Appender", "Hub", "Health", "Fleet.DecodeReport", "Query"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+name+" is required") {
			t.Errorf("error %v does not name %s", err, name)
		}
	}
}

func TestEveryCallSaysWhichScopeItNeeds(t *testing.T) {
	t.Parallel()
	exceptions := map[string]string{
		"GET /api/v1/tokens": "admin", "POST /api/v1/tokens": "admin", "DELETE /api/v1/tokens/{id}": "admin",
		"DELETE /api/v1/silences/{id}":   "triage:apply",
		"POST /api/v1/silences":          "triage:apply",
		"POST /api/v1/alerts/{id}/ack":   "triage:apply",
		"POST /api/v1/alerts/{id}/unack": "triage:apply",
		"GET /healthz":                   "", "POST /api/v1/reports": "report", "POST /api/v1/reconciliations": "admin",
		"POST /api/v1/in-flight/{stream}/{seq}/actions": "triage:propose",
		"POST /api/v1/dlq/{id}/actions":                 "triage:propose", "POST /api/v1/operations": "triage:propose", "POST /api/v1/operations/{id}/cancel": "triage:apply",
	}
	eachOperation(specOf(t, newFixture(t, sqliteStore)), func(name string, op map[string]any) {
		want, special := exceptions[name]
		if !special {
			want = "read"
		}
		var security []any
		if want != "" {
			security = []any{map[string]any{tokenScheme: []any{want}}}
		}
		got, _ := op["security"].([]any)
		if diff := cmp.Diff(security, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, status := range []string{"401", "429"} {
			if described := op["responses"].(map[string]any)[status] != nil; described != (want != "") {
				t.Errorf("%s: %s described = %v", name, status, described)
			}
		}
	})
}

func TestEveryCallThatChangesSomethingTakesAKey(t *testing.T) {
	t.Parallel()
	found := 0
	for _, r := range newFixture(t, sqliteStore).api.calls.list {
		if !scopeOf(r.op).Changes() {
			continue
		}
		found++
		var names []string
		for _, p := range r.op.Parameters {
			names = append(names, p.Name)
		}
		if !slices.Contains(names, "Idempotency-Key") || !slices.Contains(names, "X-Idempotency-Key") {
			t.Errorf("%s takes %q", r.op.OperationID, names)
		}
	}
	if found < 10 {
		t.Errorf("%d calls change something", found)
	}
}
