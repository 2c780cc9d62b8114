package api

import (
	"bufio"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/live"
)

// fires makes alerts of findings, which are all that is so.
func (f *fixture) fires(found ...alerts.Finding) {
	f.t.Helper()
	store := f.store.(alerts.Store)
	now := f.api.now()
	b, err := store.Board(f.t.Context(), now.Add(-time.Hour))
	if err != nil {
		f.t.Fatal(err)
	}
	if err := store.CommitBoard(f.t.Context(), alerts.Step(b, alerts.Observed{At: now, Findings: found}, alerts.Defaults())); err != nil {
		f.t.Fatal(err)
	}
}

func zombie(task, agent string) alerts.Finding {
	return alerts.Finding{
		Rule: alerts.RuleZombie, Key: task, Severity: alerts.Critical, What: task + " is zombie", Why: "why", Next: "next", TaskID: task, Labels: alerts.Labels{Agent: agent, Stream: "TASKS"}, Count: 1,
	}
}

func idsOf(list List[Alert]) (out []string) {
	for _, a := range list.Data {
		out = append(out, string(a.TaskID)+" "+a.State)
	}
	return out
}

func (f *fixture) listed(query string, want ...string) {
	f.t.Helper()
	if got := idsOf(get[List[Alert]](f, "/api/v1/alerts"+query)); !reflect.DeepEqual(got, want) {
		f.t.Errorf("alerts%s: %q, want %q", query, got, want)
	}
}

func TestAlertsAreListedAcknowledgedAndSilenced(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.listed("")
		expiring := alerts.Finding{Rule: alerts.RuleExpiring, Key: "e", Severity: alerts.Info, TaskID: "e", Labels: alerts.Labels{Agent: "cto"}}
		f.fires(expiring, zombie("a", "cto"))
		f.pass(time.Minute)
		f.fires(expiring, zombie("a", "cto"), zombie("b", "ceo"))
		f.listed("", "a firing", "b firing", "e firing")
		f.listed("?agent=cto&severity=critical", "a firing")
		f.listed("?rule=expiring&rule=zombie&agent=ceo&agent=cto&limit=200", "a firing", "b firing", "e firing")
		a := get[List[Alert]](f, "/api/v1/alerts?limit=1").Data[0]
		acked := f.do("POST", a.Links["self"]+"/ack", `{"note":"I look"}`, "Idempotency-Key", "one")
		f.conforms(reflect.TypeFor[Alert](), acked.body)
		if got := parse[Alert](t, acked.body); acked.status != http.StatusOK || got.State != "acknowledged" || got.Acknowledged.Value.Note != "I look" {
			t.Errorf("acknowledged: %d %s", acked.status, acked.body)
		}
		if again := f.do("POST", a.Links["self"]+"/ack", `{"note":"I look"}`, "Idempotency-Key", "one"); again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("the same call again: %v", again.header)
		}
		f.listed("?state=firing", "b firing", "e firing")
		f.pass(time.Second)
		until := f.api.now().Add(time.Hour).Time().Format(time.RFC3339)
		body := `{"matchers":[{"name":"agent","op":"=~","value":"c.o"},{"name":"severity","op":"!=","value":"info"}],"until":"` + until + `","comment":"we deploy","dry_run":%t}`
		dry := f.do("POST", "/api/v1/silences", fmt.Sprintf(body, true), "Idempotency-Key", "silence")
		if got := parse[Silenced](t, dry.body); dry.status != http.StatusOK || got.Silence.Value != nil || len(got.Mutes) != 2 {
			t.Errorf("dry run: %d %s", dry.status, dry.body)
		}
		f.listed("?state=silenced")
		made := f.do("POST", "/api/v1/silences", fmt.Sprintf(body, false), "Idempotency-Key", "silence")
		f.conforms(reflect.TypeFor[Silenced](), made.body)
		silence := parse[Silenced](t, made.body).Silence.Value
		if made.status != http.StatusCreated || silence == nil || made.header.Get("Location") != silence.Links["self"] {
			t.Fatalf("made: %d %s", made.status, made.body)
		}
		f.listed("", "e firing", "a silenced", "b silenced")
		if got := get[List[Alert]](f, "/api/v1/alerts?state=silenced").Data[0]; string(got.SilenceID) != silence.ID {
			t.Errorf("silenced by %q", got.SilenceID)
		}
		if list := get[List[Silence]](f, "/api/v1/silences"); len(list.Data) != 1 || list.Data[0].Comment != "we deploy" {
			t.Errorf("silences: %+v", list.Data)
		}
		if got := get[Silence](f, made.header.Get("Location")); got.ID != string(parse[Silenced](t, made.body).ID) || got.Comment != "we deploy" {
			t.Errorf("the silence where Location says: %+v", got)
		}
		if ended := f.do("DELETE", silence.Links["self"], ""); ended.status != http.StatusOK {
			t.Errorf("ended: %d %s", ended.status, ended.body)
		}
		f.refused(f.do("DELETE", silence.Links["self"], ""), http.StatusNotFound, "not_found")
		f.refused(f.do("GET", silence.Links["self"], ""), http.StatusNotFound, "not_found")
		f.listed("", "b firing", "e firing", "a acknowledged")
		if back := f.do("POST", a.Links["self"]+"/unack", ""); back.status != http.StatusOK {
			t.Errorf("taken back: %d %s", back.status, back.body)
		}
		f.listed("?state=acknowledged")
		f.pass(time.Second)
		f.fires(expiring)
		f.listed("?state=resolved", "a resolved", "b resolved")
		f.refused(f.do("POST", a.Links["self"]+"/ack", ""), http.StatusConflict, "conflict")
		f.refused(f.do("POST", "/api/v1/alerts/nobody/ack", ""), http.StatusNotFound, "not_found")
		f.audited(4)
	})
}

func TestFiguresNameTheAlertsThatFire(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.fires(zombie("a", "cto"), alerts.Finding{Rule: alerts.RuleExpiring, Key: "e", Severity: alerts.Info})
	got := get[FleetStats](f, "/api/v1/stats/fleet")
	if !reflect.DeepEqual(got.Alerts, map[string]int{"critical": 1, "warning": 0, "info": 1}) || len(got.Firing) != 2 || got.Firing[0].Rule != "zombie" {
		t.Errorf("alerts %v, firing %+v", got.Alerts, got.Firing)
	}
}

func TestASilenceIsRefusedWithPointers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for body, pointer := range map[string]string{
		`{"matchers":[],"until":"2036-01-01T00:00:00Z","comment":"why not"}`:                                                  "/body/matchers",
		`{"matchers":[{"name":"agent","op":"=","value":"x"}],"comment":"why not"}`:                                            "/body/until",
		`{"matchers":[{"name":"agent","op":"=","value":"x"}],"until":"soon","comment":"why not"}`:                             "/body/until",
		`{"matchers":[{"name":"agent","op":"=~","value":"("}],"until":"2036-01-01T00:00:00Z","comment":"why not"}`:            "/body/matchers/0/value",
		`{"matchers":[{"name":"agent","op":"=","value":"x"}],"until":"2036-01-01T00:00:00Z"}`:                                 "/body/comment",
		`{"matchers":[{"name":"agent","op":"=","value":"x"}],"until":"2036-01-01T00:00:00Z","comment":"why not","more":true}`: "/body/more",
	} {
		a := f.do("POST", "/api/v1/silences", body)
		f.refused(a, http.StatusBadRequest, "invalid_body")
		if !strings.Contains(string(a.body), `"`+pointer+`"`) {
			t.Errorf("%s: no pointer %s in %s", body, pointer, a.body)
		}
	}
	for _, query := range []string{"?state=loud", "?rule=none", "?severity=bad"} {
		f.refused(f.do("GET", "/api/v1/alerts"+query, ""), http.StatusBadRequest, "invalid_parameter")
	}
}

func TestTheRulesInForceAreListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	list := get[List[AlertRule]](f, "/api/v1/alert-rules?limit=200")
	if len(list.Data) != len(alerts.Defaults()) {
		t.Fatalf("%d rules", len(list.Data))
	}
	for _, r := range list.Data {
		if r.ID == "pending_queue_age" && (r.Threshold == nil || *r.Threshold != (15*time.Minute).Milliseconds() || !r.Enabled || r.Runbook != "/runbooks/pending_queue_age") {
			t.Errorf("%+v", r)
		}
	}
}

func TestTheStreamCarriesAlertsAndTheirCounts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.fires(zombie("a", "cto"))
	lines := bufio.NewScanner(f.open(f.server(), "/api/v1/stream"))
	f.hub.PublishAlert(live.AlertChange{ID: "zombie-1", Rule: "zombie", Severity: "critical", State: "firing", What: "a is zombie"})
	var event, id bool
	var counts bool
	for (!event || !id || !counts) && lines.Scan() {
		counts = counts || strings.Contains(lines.Text(), `"alerts":{"critical":1,"info":0,"warning":0}`)
		event = event || lines.Text() == "event: alert"
		id = id || (event && strings.HasPrefix(lines.Text(), "id: "))
	}
	if err := lines.Err(); err != nil || !counts {
		t.Errorf("the stream ended: event %v, id %v, counts %v, %v", event, id, counts, err)
	}
}

func TestAnAlertThatChangedSinceIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.fires(zombie("a", "cto"))
	self := get[List[Alert]](f, "/api/v1/alerts").Data[0].Links["self"]
	tag := func() string { return f.do("GET", self, "").header.Get("ETag") }
	first := tag()
	if a := f.do("GET", self, "", "If-None-Match", first); first == "" || a.status != http.StatusNotModified {
		t.Fatalf("asked again with the tag %q: %d", first, a.status)
	}
	f.pass(time.Minute)
	f.fires(zombie("a", "cto")) // It goes on, and is noted as seen anew.
	acked := f.do("POST", self+"/ack", `{"note":"I look"}`, "If-Match", `"x", `+first)
	if acked.status != http.StatusOK || acked.header.Get("ETag") != tag() {
		t.Fatalf("with the tag of before it went on: %d %s", acked.status, acked.body)
	}
	f.refused(f.do("POST", self+"/ack", `{"note":"me too"}`, "If-Match", first), http.StatusPreconditionFailed, "entry_changed")
	f.refused(f.do("POST", self+"/unack", "", "If-Match", first), http.StatusPreconditionFailed, "entry_changed")
	if a := f.do("POST", self+"/unack", "", "If-Match", "*"); a.status != http.StatusOK {
		t.Errorf("with *: %d %s", a.status, a.body)
	}
	f.refused(f.do("POST", "/api/v1/alerts/nobody/ack", "", "If-Match", "*"), http.StatusNotFound, "not_found")
}
