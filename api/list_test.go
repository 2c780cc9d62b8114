package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fleetglass/fleet/doctor"
)

// A list is encoded once, for its tag and to be sent; what embeds one is sent whole.
func TestWhatWasEncodedForTheTagIsSentAsItIs(t *testing.T) {
	t.Parallel()
	list := List[Quarantined]{
		Data: []Quarantined{{ID: "1", Subject: "<script>&\u2028", Reason: "", Headers: map[string][]string{"a": {"b"}}}},
		Page: Page{Next: "c<1>"}, AsOf: 1_700_000_000_000_000, Gaps: []GapRef{},
	}
	encoded := list
	encoded.rows, _ = json.Marshal(list.Data)
	for _, tt := range []struct{ plain, once any }{
		{list, encoded}, {QuarantineList{List: list, Total: 7}, QuarantineList{List: encoded, Total: 7}},
	} {
		var want, got bytes.Buffer
		if err := json.NewEncoder(&want).Encode(tt.plain); err != nil {
			t.Fatal(err)
		}
		if err := writeJSON(&got, tt.once); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("(-encoded at once +sent):\n%s", diff)
		}
	}
}

// A span that ends before it begins is a mistake of whoever asks, and not an empty answer.
func TestASpanThatEndsBeforeItBeginsIsRefusedEverywhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for _, path := range []string{
		"/tasks?", "/tasks/counts?", "/dlq?", "/dlq/groups?", "/dlq/stats?", "/duplicates?", "/duplicates/cases?layer=stream&", "/gaps?", "/audit?", "/stats/history?",
	} {
		p := f.refused(f.do("GET", "/api/v1"+path+"from=2026-11-20&to=2026-11-13", ""), http.StatusBadRequest, "invalid_parameter")
		if at := p["errors"].([]any)[0].(map[string]any)["pointer"]; at != "/query/to" && at != "/query/from" {
			t.Errorf("%s: pointer %v", path, at)
		}
	}
	f.refused(f.do("GET", "/api/v1/dlq?q=from:1h+to:24h", ""), http.StatusBadRequest, "invalid_parameter")
	body := `{"action":"discard","reason":"obsolete by now","selector":{"filter":{"from":"2026-11-20T00:00:00Z","to":"2026-11-13T00:00:00Z"}},"dry_run":true}`
	p := f.refused(f.do("POST", "/api/v1/operations", body, "Idempotency-Key", "k"), http.StatusBadRequest, "invalid_body")
	if at := p["errors"].([]any)[0].(map[string]any)["pointer"]; at != "/body/selector/filter/to" {
		t.Errorf("operations: pointer %v", at)
	}
}

// Lists that were answered whole have the envelope of every list, and pages where a limit is asked for.
func TestListsThatAreAnsweredWholeHavePagesWhereALimitIsAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.dies("a", "cto", 1, "503 overloaded", "transient", "llm_provider_timeout")
	f.dies("b", "cto", 2, "503 overloaded", "transient", "llm_provider_timeout")
	f.dies("c", "cso", 3, "not allowed", "permanent", "authority_exceeded")
	f.dies("d", "ceo", 4, "not allowed", "permanent", "authority_exceeded")
	f.commit()
	f.api.cfg.Doctor = func(context.Context) (doctor.Report, error) {
		return doctor.Report{At: time.UnixMicro(1), Findings: []doctor.Finding{{Code: "z", Severity: "critical"}, {Code: "a", Severity: "info"}}}, nil
	}
	type list struct {
		Data []json.RawMessage  `json:"data"`
		Page map[string]*string `json:"page"`
		AsOf *string            `json:"as_of"`
		Gaps []map[string]any   `json:"gaps"`
	}
	for path, rows := range map[string]int{"/dlq/groups": 3, "/dlq/stats?bucket=hour": 24, "/duplicates?bucket=day": 31, "/doctor": 2, "/restarts": 0} {
		path, sep := "/api/v1"+path, "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		a := f.do("GET", path, "")
		whole := parse[list](t, a.body)
		if a.status != http.StatusOK || len(whole.Data) != rows || len(whole.Page) != 2 || whole.AsOf == nil || whole.Gaps == nil || a.header.Get("Link") != "" {
			t.Errorf("%s: %d rows, %d %s", path, len(whole.Data), a.status, a.body)
		}
		f.refused(f.do("GET", path+sep+"limit=0", ""), http.StatusBadRequest, "invalid_parameter")
		f.refused(f.do("GET", path+sep+"cursor=x", ""), http.StatusBadRequest, "invalid_cursor")
		var got []json.RawMessage
		next := path + sep + "limit=2"
		for next != "" && len(got) <= rows {
			a := f.do("GET", next, "")
			page := parse[list](t, a.body)
			if len(page.Data) > 2 {
				t.Fatalf("%s: %d rows with a limit of 2", path, len(page.Data))
			}
			got = append(got, page.Data...)
			next = ""
			if cursor := page.Page["next"]; cursor != nil {
				next = path + sep + "limit=2&cursor=" + *cursor
				if !strings.Contains(a.header.Get("Link"), `rel="next"`) {
					t.Errorf("%s: Link %q", path, a.header.Get("Link"))
				}
			}
		}
		if d := cmp.Diff(whole.Data, got, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("%s by pages (-whole +pages):\n%s", path, d)
		}
	}
}
