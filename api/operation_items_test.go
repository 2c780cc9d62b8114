package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// items lists all items of an operation, in pages of two.
func (f *fixture) items(o Operation, status string) (ids []string, all []OperationItem) {
	f.t.Helper()
	for cursor := ""; ; {
		page := get[List[OperationItem]](f, o.Links.Items+"?limit=2&status="+status+"&cursor="+url.QueryEscape(cursor))
		for _, item := range page.Data {
			ids, all = append(ids, item.EntryID), append(all, item)
		}
		if cursor = string(page.Page.Next); cursor == "" {
			return ids, all
		}
	}
}

func TestTheItemsOfAnOperationAreReadInPages(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		const n = 61 // More than are kept with the operation.
		var want []string
		for i := range n {
			f.deadLetter(fmt.Sprintf("t%02d", i), uint64(i+1))
			want = append([]string{fmt.Sprintf("TASKS:%d", i+1)}, want...)
		}
		f.act("/api/v1/dlq/TASKS:3", "alone", `{"action":"quarantine","reason":"look at it"}`)
		f.works()
		done := f.finished(f.start("run", `{"action":"discard","reason":"not needed","selector":{"filter":{"q":"agent:marketing 503"}}}`))
		f.conforms(reflect.TypeFor[Operation](), f.do("GET", done.Links.Self, "").body)
		if done.Counts != (OperationCounts{Selected: n, Eligible: n - 1, Blocked: 1, Done: n - 1}) || len(done.Items) != 50 {
			t.Errorf("operation %+v with %d items", done.Counts, len(done.Items))
		}
		if len(done.Refusals) != 1 || done.Refusals[0].Count != 1 || !strings.Contains(done.Refusals[0].Why, "quarantined") {
			t.Errorf("refusals %+v", done.Refusals)
		}
		if ids, _ := f.items(done, ""); strings.Join(ids, " ") != strings.Join(want, " ") {
			t.Errorf("items %v", ids)
		}
		if ids, all := f.items(done, "blocked"); len(ids) != 1 || ids[0] != "TASKS:3" || all[0].Why == "" {
			t.Errorf("blocked items %+v", all)
		}
		f.refused(f.do("GET", done.Links.Items+"?status=odd", ""), http.StatusBadRequest, "invalid_parameter")
		f.refused(f.do("GET", "/api/v1/operations/op-none/items", ""), http.StatusNotFound, "not_found")
		f.undone(done)
	})
}

// undone undoes an operation, but for an entry about which somebody decided since.
func (f *fixture) undone(o Operation) {
	f.t.Helper()
	f.act("/api/v1/dlq/TASKS:5", "again", `{"action":"reopen","reason":"needed after all"}`)
	f.act("/api/v1/dlq/TASKS:5", "and again", `{"action":"discard","reason":"no, not needed"}`)
	undo := fmt.Sprintf(`"selector":{"operation":%q}`, o.ID)
	want := OperationCounts{Selected: o.Counts.Done, Eligible: o.Counts.Done - 1, Blocked: 1}
	if dry := f.start("dry", `{"action":"reopen","reason":"a mistake","dry_run":true,`+undo+`}`); dry.Counts != want || len(dry.Refusals) != 1 {
		f.t.Errorf("dry run of the undo: %+v", dry)
	}
	want.Done = want.Eligible
	did := f.finished(f.start("undo", `{"action":"reopen","reason":"a mistake",`+undo+`}`))
	if did.Counts != want {
		f.t.Errorf("undo: %+v, want %+v", did.Counts, want)
	}
	if ids, all := f.items(did, "blocked"); len(ids) != 1 || ids[0] != "TASKS:5" || !strings.Contains(string(all[0].Why), "since") {
		f.t.Errorf("what was decided since is blocked: %+v", all)
	}
	f.refused(f.do("POST", "/api/v1/operations", `{"action":"reopen","reason":"a mistake","selector":{"operation":"op-none"}}`, "Idempotency-Key", "none"), http.StatusBadRequest, "invalid_body")
}
