package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/lifecycle"
)

// lived tells of one message of each fate, and of what people did about them.
func (f *fixture) lived() {
	f.t.Helper()
	f.worker("marketing")
	f.completed("done", "marketing", 1)
	f.deadLetter("dead", 2)
	f.published("held", "marketing", 3)
	f.delivered("held", "marketing", 3, 1)
	f.published("waits", "cto", 4)
	f.batch.Gaps = append(f.batch.Gaps, lifecycle.Gap{Source: "OBS_PUB", From: lifecycle.MicrosOf(f.clock()), To: lifecycle.MicrosOf(f.clock().Add(time.Second)), Reason: "lines were lost"})
	f.commit()
	f.fires(zombie("held", "marketing"))
	f.do("POST", Base+"/silences", `{"matchers":[{"name":"agent","op":"=","value":"cto"}],"until":"2099-01-01T00:00:00Z","comment":"we deploy"}`)
	f.act(Base+"/dlq/TASKS:2", "set aside", `{"action":"quarantine","reason":"look at it"}`)
}

// pathParameters are what the paths of the document stand for in a fixture that has [fixture.lived].
func (f *fixture) pathParameters() *strings.Replacer {
	f.t.Helper()
	alert, operation := "none", "none"
	for _, a := range get[List[Alert]](f, Base+"/alerts").Data {
		alert = a.ID
	}
	for _, o := range get[List[Operation]](f, Base+"/operations").Data {
		operation = o.ID
	}
	return strings.NewReplacer(
		Base+"/alerts/{id}", Base+"/alerts/"+alert, Base+"/operations/{id}", Base+"/operations/"+operation, Base+"/dlq/{id}", Base+"/dlq/TASKS:2",
		"{task_id}", "dead", "{agent}", "marketing", "{restart_id}", "none", "{id}", "none",
	)
}

// describedReads visits each call of the document that only reads, except the stream, which does not end.
func (f *fixture) describedReads(visit func(path string, op *huma.Operation)) {
	for path, item := range f.api.huma.OpenAPI().Paths {
		if op := item.Get; op != nil && op.OperationID != streamOperation {
			visit(path, op)
		}
	}
}

// asDescribed asks, and compares status, type and body with the document. It returns the status.
func (f *fixture) asDescribed(path string, op *huma.Operation, accept string) int {
	f.t.Helper()
	a := f.do("GET", path, "", "Accept", accept)
	mediaType, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	response := op.Responses[strconv.Itoa(a.status)]
	if response == nil || response.Content[mediaType] == nil {
		f.t.Errorf("GET %s: the document has no answer %d of type %q", path, a.status, mediaType)
		return a.status
	}
	if strings.HasSuffix(mediaType, "json") && !strings.HasSuffix(mediaType, "ndjson") {
		checkSchema(f.t, f.api.huma.OpenAPI().Components.Schemas, response.Content[mediaType].Schema, a.body)
		if f.t.Failed() {
			f.t.Fatalf("that was GET %s", path)
		}
	}
	return a.status
}

func TestEveryAnswerIsWhatTheDocumentSays(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		before := map[string]int{}
		f.describedReads(func(path string, op *huma.Operation) {
			before[path] = f.asDescribed(f.pathParameters().Replace(path), op, "application/json")
		})
		f.lived()
		parameters, found := f.pathParameters(), 0
		f.describedReads(func(path string, op *huma.Operation) {
			for mediaType := range op.Responses["200"].Content {
				status := f.asDescribed(parameters.Replace(path), op, mediaType)
				if status == http.StatusOK && before[path] != http.StatusOK {
					found++
				}
			}
		})
		if found < 9 {
			t.Errorf("only %d answers are about one thing that there is: the fixture misses what the paths name", found)
		}
		for _, query := range []string{"/stats/history?range=30d", "/stats/history?agent=cto&from=80d", "/duplicates?bucket=hour", "/dlq/groups?by=detail", "/dlq/stats?bucket=day"} {
			path, _, _ := strings.Cut(query, "?")
			f.asDescribed(Base+query, f.api.huma.OpenAPI().Paths[Base+path].Get, "application/json")
		}
	})
}

func TestACallWithoutParametersIsRefusedOnlyWhereTheDocumentRequiresOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	parameters := f.pathParameters()
	f.describedReads(func(path string, op *huma.Operation) {
		required := slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "query" && p.Required })
		if status := f.do("GET", parameters.Replace(path), "").status; required != (status == http.StatusBadRequest) {
			t.Errorf("GET %s without parameters: %d, and the document requires a parameter: %t", path, status, required)
		}
	})
}
