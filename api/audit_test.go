package api

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

// audited keeps n records, a second apart.
func (f *fixture) audited(n int) {
	f.t.Helper()
	for i := range n {
		r := decision.Actor{Name: []string{"ceo", "ops"}[i%2], Role: "triager", TokenID: "abc", Via: decision.ViaAPI}.
			Record(fmt.Sprintf("r%03d", i), lifecycle.MicrosOf(f.clock()).Add(1e9*2), []string{"retry", "discard"}[i/2%2], decision.Allowed)
		r.Reason, r.Target, r.After = "=because", "TASKS:1", []byte(`{"status":"acting"}`)
		if i%5 == 0 {
			r.Outcome = decision.Denied
		}
		if err := f.store.(decision.Store).AddAudit(f.t.Context(), r); err != nil {
			f.t.Fatal(err)
		}
		f.pass(1e9)
	}
}

func TestTheAuditIsListedByPageAndFilter(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.audited(20)
		var ids []string
		for target := "/api/v1/audit?limit=3&actor=ceo"; target != ""; {
			page := get[List[AuditRow]](f, target)
			for _, r := range page.Data {
				ids = append(ids, r.ID)
			}
			if target = ""; page.Page.Next != "" {
				target = "/api/v1/audit?limit=3&actor=ceo&cursor=" + string(page.Page.Next)
			}
		}
		if want := "r018 r016 r014 r012 r010 r008 r006 r004 r002 r000"; strings.Join(ids, " ") != want {
			t.Errorf("ids %v, want %s", ids, want)
		}
		first := get[List[AuditRow]](f, "/api/v1/audit?limit=3&actor=ceo")
		second := get[List[AuditRow]](f, "/api/v1/audit?limit=3&actor=ceo&cursor="+string(first.Page.Next))
		third := get[List[AuditRow]](f, "/api/v1/audit?limit=3&actor=ceo&cursor="+string(second.Page.Next))
		back := get[List[AuditRow]](f, "/api/v1/audit?limit=3&actor=ceo&cursor="+string(third.Page.Prev))
		begin := get[List[AuditRow]](f, "/api/v1/audit?limit=3&actor=ceo&cursor="+string(back.Page.Prev))
		if first.Page.Prev != "" || begin.Page.Prev != "" || begin.Page.Next == "" || len(back.Data) != 3 || back.Data[0].ID != "r012" || begin.Data[0].ID != "r018" {
			t.Errorf("back from the third page: %+v, %+v", back, begin)
		}
		if got := get[List[AuditRow]](f, "/api/v1/audit?outcome=denied&action=retry"); len(got.Data) != 2 || string(got.Data[0].After) != `{"status":"acting"}` || string(got.Data[0].Before) != "null" {
			t.Errorf("denied retries: %+v", got.Data)
		}
		if got := get[List[AuditRow]](f, "/api/v1/audit?from=5s&to="+f.clock().Add(1e9).Format("2006-01-02T15:04:05.999999999Z")); len(got.Data) != 6 {
			t.Errorf("of the last five seconds: %+v", got.Data)
		}
		f.refused(f.do("GET", "/api/v1/audit?outcome=maybe", ""), http.StatusBadRequest, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/audit?from=yesterday", ""), http.StatusBadRequest, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/audit?who=ceo", ""), http.StatusBadRequest, "unknown_parameter")
	})
}

// The filters of every list are alternatives where they are given more than once.
func TestTheAuditTakesAlternatives(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.audited(20)
		const target = "/api/v1/audit?limit=3&actor=ceo&actor=ops&actor=ceo&action=discard&outcome=allowed&outcome=denied"
		var ids []string
		var pages []List[AuditRow]
		for cursor := ""; len(pages) == 0 || cursor != ""; {
			at := target
			if cursor != "" {
				at += "&cursor=" + cursor
			}
			page := get[List[AuditRow]](f, at)
			for _, r := range page.Data {
				ids = append(ids, r.ID)
			}
			pages, cursor = append(pages, page), string(page.Page.Next)
		}
		if want := "r019 r018 r015 r014 r011 r010 r007 r006 r003 r002"; strings.Join(ids, " ") != want {
			t.Fatalf("ids %v, want %s", ids, want)
		}
		back := get[List[AuditRow]](f, target+"&cursor="+string(pages[2].Page.Prev))
		if len(back.Data) != 3 || back.Data[0].ID != "r014" || back.Data[2].ID != "r010" || back.Page.Prev == "" || back.Page.Next == "" {
			t.Errorf("back from the third page: %+v", back)
		}
		if lines := f.do("GET", "/api/v1/audit?format=lines&action=retry&action=discard", ""); strings.Count(string(lines.body), "\n") != 20 {
			t.Errorf("as lines: %s", lines.body)
		}
		f.refused(f.do("GET", "/api/v1/audit?outcome=allowed&outcome=maybe", ""), http.StatusBadRequest, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/audit?limit=3"+many("actor", 65), ""), http.StatusBadRequest, "invalid_parameter")
	})
}

// many gives a parameter n different values.
func many(name string, n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "&%s=%d", name, i)
	}
	return out.String()
}

func TestTheAuditIsATableAndLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.audited(4)
	table := f.do("GET", "/api/v1/audit", "", "Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(string(table.body))).ReadAll()
	if err != nil || len(rows) != 5 || rows[0][0] != "id" || rows[1][0] != "r003" || rows[1][9] != "'=because" {
		t.Errorf("%s: %v, %v", table.header.Get("Content-Type"), rows, err)
	}
	lines := strings.Split(strings.TrimSpace(string(f.do("GET", "/api/v1/audit?actor=ops", "", "Accept", "application/x-ndjson").body)), "\n")
	if len(lines) != 2 || parse[AuditRow](t, []byte(lines[0])).ID != "r003" {
		t.Errorf("lines %q", lines)
	}
}

func TestAFileOfTheAuditHasANameAndTheRowsThatWereAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	f.audited(5)
	const rfc8288 = `>; rel="next"`
	for format, want := range map[string]struct{ media, extension string }{"csv": {"text/csv; charset=utf-8; header=present", "csv"}, "lines": {"application/x-ndjson", "ndjson"}} {
		whole := f.do("GET", "/api/v1/audit?format="+format, "")
		name := `attachment; filename="fleetglass-audit-` + f.clock().UTC().Format("20060102T150405Z") + "." + want.extension + `"`
		if got := whole.header.Get("Content-Disposition"); got != name {
			t.Errorf("%s: Content-Disposition %s, want %s", format, got, name)
		}
		if got := whole.header.Get("Content-Type"); got != want.media || whole.header.Get("Link") != "" {
			t.Errorf("%s: Content-Type %s, Link %s", format, got, whole.header.Get("Link"))
		}
		var rows []string
		for target := "/api/v1/audit?limit=2&format=" + format; target != ""; {
			part := f.do("GET", target, "")
			lines := strings.Split(strings.TrimSpace(string(part.body)), "\n")
			if format == "csv" {
				lines = lines[1:] // The names of the columns.
			}
			if rows = append(rows, lines...); len(lines) > 2 {
				t.Fatalf("%s: %d rows with limit=2", format, len(lines))
			}
			target = ""
			for link := range strings.SplitSeq(part.header.Get("Link"), ", ") {
				if at, ok := strings.CutSuffix(link, rfc8288); ok {
					target = strings.TrimPrefix(at, "<")
				}
			}
		}
		if len(rows) != 5 || !strings.Contains(rows[0], "r004") || !strings.Contains(rows[4], "r000") {
			t.Errorf("%s: rows %q", format, rows)
		}
		f.refused(f.do("GET", "/api/v1/audit?limit=0&format="+format, ""), http.StatusBadRequest, "invalid_parameter")
	}
}

// Records keep times as microseconds, in rows that are never changed.
func TestTheAuditWritesTimesAsEverywhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	r := decision.Actor{Name: "ops", Via: decision.ViaAPI}.Record("r1", lifecycle.MicrosOf(f.clock()), "silence alerts", decision.Allowed)
	r.Before = []byte(`{"by":"ops","at":1795469659944534,"note":"say \"until\":1795469659944534"}`)
	r.After = []byte(`{"created_at":1795469659944534,"until":1795469660000000,"attempt":1795469659944534,"due_at":0,"deadline":"2026-11-23T21:34:19Z"}`)
	if err := f.store.(decision.Store).AddAudit(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := get[List[AuditRow]](f, "/api/v1/audit").Data[0]
	before := `{"by":"ops","at":"2026-11-23T21:34:19.944534Z","note":"say \"until\":1795469659944534"}`
	after := `{"created_at":"2026-11-23T21:34:19.944534Z","until":"2026-11-23T21:34:20.000000Z","attempt":1795469659944534,"due_at":null,"deadline":"2026-11-23T21:34:19Z"}`
	if string(got.Before) != before || string(got.After) != after {
		t.Errorf("before %s\nafter %s\nwant\n%s\n%s", got.Before, got.After, before, after)
	}
}
