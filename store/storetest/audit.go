package storetest

import (
	"fmt"
	"testing"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var auditTests = []conformanceTest{
	{"audit records are listed newest first, page by page, by every filter", auditLists},
	{"an audit record is never changed", auditAppendOnly},
}

func auditRecords(n int) []decision.AuditRecord {
	var out []decision.AuditRecord
	for i := range n {
		out = append(out, decision.AuditRecord{
			ID: fmt.Sprintf("r%02d", i), At: lifecycle.Micros(100 + i/3), Actor: []string{"ops", "ceo"}[i%2], Action: []string{"retry", "discard", "sign-in"}[i%3],
			Outcome: []string{decision.Allowed, decision.Denied}[i/2%2], Via: "api", Reason: "because", RequestID: fmt.Sprint(i), Before: []byte(`{}`),
		})
	}
	return out
}

// auditSelected works out the list by a second way.
func auditSelected(all []decision.AuditRecord, f decision.AuditFilter) []decision.AuditRecord {
	var out []decision.AuditRecord
	for i := len(all) - 1; i >= 0; i-- { // They were made in the order of time and id.
		r := all[i]
		if (f.Actor == "" || f.Actor == r.Actor) && (f.Action == "" || f.Action == r.Action) && (f.Outcome == "" || f.Outcome == r.Outcome) &&
			r.At >= f.From && (f.To == 0 || r.At < f.To) {
			out = append(out, r)
		}
	}
	return out
}

func auditLists(t *testing.T, s Store) {
	all := auditRecords(30)
	for _, i := range []int{7, 3, 29, 0, 11} { // Some come late.
		if err := s.AddAudit(t.Context(), all[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range all {
		if err := s.AddAudit(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, actor := range []string{"", "ops", "nobody"} {
		for _, action := range []string{"", "retry"} {
			for _, outcome := range []string{"", decision.Denied} {
				for _, span := range [][2]lifecycle.Micros{{0, 0}, {102, 0}, {0, 106}, {102, 106}} {
					f := decision.AuditFilter{Actor: actor, Action: action, Outcome: outcome, From: span[0], To: span[1]}
					for _, limit := range []int{1, 4, 100} {
						diff(t, fmt.Sprintf("audit %+v, %d at a time", f, limit), auditPages(t, s, f, limit), auditSelected(all, f))
					}
				}
			}
		}
	}
}

// auditPages reads the list page by page.
func auditPages(t *testing.T, s decision.Auditor, f decision.AuditFilter, limit int) []decision.AuditRecord {
	t.Helper()
	var out []decision.AuditRecord
	var after *decision.AuditCursor
	for pages := 0; pages < 100; pages++ {
		some, next, err := s.Audit(t.Context(), f, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, some...)
		if after = next; next == nil {
			break
		}
	}
	auditBackward(t, s, f, limit, out)
	return out
}

// auditBackward reads the list from its end to its beginning.
func auditBackward(t *testing.T, s decision.Auditor, f decision.AuditFilter, limit int, all []decision.AuditRecord) {
	t.Helper()
	if len(all) == 0 {
		return
	}
	var got []decision.AuditRecord
	last := all[len(all)-1]
	for from := (&decision.AuditCursor{At: last.At, ID: last.ID, Newer: true}); from != nil; {
		some, next, err := s.Audit(t.Context(), f, from, limit)
		if err != nil {
			t.Fatal(err)
		}
		got, from = append(some, got...), next
	}
	diff(t, "audit read backward", append(got, last), all)
}

func auditAppendOnly(t *testing.T, s Store) {
	r := auditRecords(1)[0]
	other := r
	other.Actor, other.At = "somebody else", 5
	for _, given := range []decision.AuditRecord{r, other, r} {
		if err := s.AddAudit(t.Context(), given); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "audit", onlyAudit(t, s), []decision.AuditRecord{r})
	if err := s.AddAudit(t.Context(), decision.AuditRecord{ID: "x", At: 1, Outcome: "perhaps"}); err == nil {
		t.Error("a record without a known outcome was accepted")
	}
}
