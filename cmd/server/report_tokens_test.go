package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"fleetglass/api"
	"fleetglass/internal/httperr"
)

// aReport is a report of an agent about a task of its own.
func aReport(agent string) string {
	return fmt.Sprintf(`{"specversion":"1.0","id":"r-%[1]s","source":"/agents/%[1]s","type":"fleet.lifecycle.checkpoint.v1","subject":"of-%[1]s","data":{"attempt":1}}`, agent)
}

func TestATokenThatIsBoundToAgentsReportsForTheseOnly(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	make := func(body string) (made api.NewToken) {
		t.Helper()
		if err := r.asks(http.MethodPost, "/api/v1/tokens", secrets["admin"], body, http.StatusCreated, &made); err != nil {
			t.Fatal(err)
		}
		r.works(made.Secret, http.StatusForbidden) // It is valid, and may not read.
		return made
	}
	bound, relay := make(`{"name":"cto's","scopes":["report"],"agents":["cto","cfo"]}`), make(`{"name":"relay","scopes":["report"]}`)
	if strings.Join(bound.Agents, " ") != "cto cfo" || len(relay.Agents) != 0 {
		t.Errorf("bound to %v and %v", bound.Agents, relay.Agents)
	}
	report := func(token, body string, status int, into any) {
		t.Helper()
		if err := r.asks(http.MethodPost, "/api/v1/reports", token, body, status, into); err != nil {
			t.Error(err)
		}
	}
	report(bound.Secret, aReport("cto"), http.StatusAccepted, nil)
	report(relay.Secret, aReport("ceo"), http.StatusAccepted, nil)
	var problem struct {
		Code, Detail string
		Errors       []httperr.FieldError
	}
	report(bound.Secret, "["+aReport("cfo")+","+aReport("mallory")+"]", http.StatusForbidden, &problem)
	if problem.Code != "forbidden" || len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/body/1/source" || !strings.Contains(problem.Detail, "cto, cfo only") {
		t.Errorf("the refusal: %+v", problem)
	}
	if err := r.asks(http.MethodGet, "/api/v1/tasks/of-cfo", secrets["viewer"], "", http.StatusNotFound, nil); err != nil {
		t.Errorf("a part of a refused request was stored: %v", err)
	}
	for task, by := range map[string]string{"of-cto": "", "of-ceo": "relay"} {
		var events struct{ Data []api.Event }
		if err := r.asks(http.MethodGet, "/api/v1/tasks/"+task+"/events", secrets["viewer"], "", http.StatusOK, &events); err != nil {
			t.Fatal(err)
		}
		if len(events.Data) != 1 || events.Data[0].Data.ReportedBy != by {
			t.Errorf("events of %s: %+v, want one, reported by %q", task, events.Data, by)
		}
	}
	audit, _ := io.ReadAll(r.request(http.MethodGet, "/api/v1/audit?outcome=denied", with(secrets["admin"]), nil).Body)
	if !strings.Contains(string(audit), "cto's") || !strings.Contains(string(audit), "mallory") {
		t.Errorf("the audit of refusals: %s", audit)
	}
}

func TestASessionReportsForTheAgentsOfItsToken(t *testing.T) {
	t.Parallel()
	r, other, root := pair(t)
	admin := newBrowser(t, "http://"+r.Addr())
	admin.open(http.MethodPost, "/login", url.Values{"token": {root}})
	if _, status, page := admin.open(http.MethodPost, "/settings", url.Values{"name": {"bad"}, "role": {"viewer"}, "agents": {"cto"}}); status != http.StatusBadRequest || page.Find("#agents-wrong").Length() != 1 {
		t.Errorf("a token that may not report is bound: %d", status)
	}
	_, status, page := admin.open(http.MethodPost, "/settings", url.Values{"name": {"cto's"}, "role": {"viewer"}, "scopes": {"report"}, "agents": {"cto, cfo"}})
	secret := strings.TrimSpace(page.Find("#secret").Text())
	if status != http.StatusCreated || !strings.Contains(page.Find("#tokens").Text(), "reports for cto, cfo") {
		t.Fatalf("made: %d %s", status, page.Find("#tokens").Text())
	}
	r.works(secret, http.StatusOK)
	other.works(secret, http.StatusOK)
	cto := newBrowser(t, "http://"+r.Addr())
	cto.open(http.MethodPost, "/login", url.Values{"token": {secret}})
	for agent, want := range map[string]int{"cto": http.StatusAccepted, "mallory": http.StatusForbidden} { // The other replica knows of the session what is stored of it.
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+other.Addr()+"/api/v1/reports", strings.NewReader(aReport(agent)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := cto.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("the session reports for %s: %d, want %d", agent, response.StatusCode, want)
		}
	}
}
