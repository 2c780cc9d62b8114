package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// works runs operations until the test ends.
func (f *fixture) works() {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = f.operations.Run(ctx)
	}()
	f.t.Cleanup(func() { cancel(); <-done })
}

func (f *fixture) start(key, body string) Operation {
	f.t.Helper()
	a := f.do("POST", "/api/v1/operations", body, "Idempotency-Key", key)
	if a.status != http.StatusAccepted {
		f.t.Fatalf("got %d %s", a.status, a.body)
	}
	f.conforms(reflect.TypeFor[Operation](), a.body)
	return parse[Operation](f.t, a.body)
}

// finished waits until an operation has ended.
func (f *fixture) finished(o Operation) Operation {
	f.t.Helper()
	testkit.Eventually(f.t, 20*time.Second, func() error {
		f.pass(time.Second)
		if o = get[Operation](f, o.Links.Self); o.EndedAt == 0 {
			return fmt.Errorf("operation %+v", o)
		}
		return nil
	})
	return o
}

func TestManyEntriesAreActedOnByFilterAndByID(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		for i := range 12 {
			f.deadLetter(fmt.Sprintf("t%02d", i), uint64(i+1))
		}
		f.act("/api/v1/dlq/TASKS:3", "alone", `{"action":"quarantine","reason":"look at it"}`)
		all := `"selector":{"filter":{"agent":["marketing"]}}`
		dry := f.start("dry", `{"action":"discard","reason":"not needed","dry_run":true,`+all+`}`)
		if !dry.DryRun || dry.Status != "succeeded" || dry.Counts != (OperationCounts{Selected: 12, Eligible: 11, Blocked: 1}) {
			t.Errorf("dry run %+v", dry)
		}
		f.works()
		done := f.finished(f.start("run", `{"action":"discard","reason":"not needed",`+all+`}`))
		if done.Status != "succeeded" || done.Counts != (OperationCounts{Selected: 12, Eligible: 11, Blocked: 1, Done: 11}) || len(done.Items) != 12 {
			t.Errorf("operation %+v", done)
		}
		for _, i := range done.Items {
			if (i.EntryID == "TASKS:3") != (i.Status == "blocked") || (i.Why != "") != (i.Status == "blocked") {
				t.Errorf("item %+v", i)
			}
		}
		undone := f.finished(f.start("undo", `{"action":"reopen","reason":"a mistake","selector":{"ids":["TASKS:1","TASKS:2","TASKS:99"]}}`))
		if undone.Counts != (OperationCounts{Selected: 3, Eligible: 2, Blocked: 1, Done: 2}) {
			t.Errorf("by ids: %+v", undone)
		}
		var list []string
		for target := "/api/v1/operations?limit=2"; target != ""; {
			page := get[List[Operation]](f, target)
			for _, o := range page.Data {
				list = append(list, o.Action)
			}
			if page.Page.Prev != "" {
				before := get[List[Operation]](f, "/api/v1/operations?limit=2&cursor="+string(page.Page.Prev))
				if n := len(list) - len(page.Data); len(before.Data) != 2 || before.Data[0].Action != list[n-2] || before.Data[1].Action != list[n-1] || before.Page.Prev != "" {
					t.Errorf("the page before %v: %+v", list, before)
				}
			}
			if target = ""; page.Page.Next != "" {
				target = "/api/v1/operations?limit=2&cursor=" + string(page.Page.Next)
			}
		}
		if got := strings.Join(list, " "); got != "reopen discard discard quarantine" {
			t.Errorf("operations %s", got)
		}
	})
}

func TestAnOperationIsCancelledWithinASecond(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for i := range 30 {
		f.deadLetter(fmt.Sprintf("t%02d", i), uint64(i+1))
	}
	f.works()
	o := f.start("slow", `{"action":"discard","reason":"not needed","rate_per_s":5,"selector":{"filter":{}}}`)
	testkit.Eventually(t, 20*time.Second, func() error {
		f.pass(time.Second)
		if o = get[Operation](f, o.Links.Self); o.Counts.Done < 2 {
			return fmt.Errorf("%d done", o.Counts.Done)
		}
		return nil
	})
	begun := time.Now()
	a := f.do("POST", o.Links.Self+"/cancel", `{"reason":"wrong filter"}`, "Idempotency-Key", "c")
	if a.status != http.StatusAccepted || parse[Operation](t, a.body).Status != "cancelled" {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	discarded := func() int { return len(get[List[AuditRow]](f, "/api/v1/audit?limit=200&action=discard").Data) }
	n := discarded()
	testkit.Eventually(t, 20*time.Second, func() error {
		before := n
		if n = discarded(); n != before && time.Since(begun) > time.Second {
			return fmt.Errorf("it goes on after a second")
		}
		if time.Since(begun) < 1500*time.Millisecond {
			return fmt.Errorf("still looking")
		}
		return nil
	})
	got := get[Operation](f, o.Links.Self)
	if got.Status != "cancelled" || got.Counts.Done >= 30 || int(got.Counts.Done)+1 != n {
		t.Errorf("operation %+v, %d audit records; want all that was done counted, and the operation's own record", got.Counts, n)
	}
	f.refused(f.do("POST", "/api/v1/operations/op-none/cancel", "", "Idempotency-Key", "x"), http.StatusNotFound, "not_found")
}

func TestWhatAnOperationMustSay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, sqliteStore)
	for body, want := range map[string]string{
		`{"action":"discard","reason":"not needed"}`:                                                  "invalid_body",
		`{"action":"discard","reason":"not needed","selector":{"ids":["a"],"filter":{}}}`:             "invalid_body",
		`{"action":"discard","reason":"not needed","selector":{"filter":{}},"rate_per_s":-1}`:         "invalid_body",
		`{"action":"discard","reason":"no","selector":{"filter":{}}}`:                                 "reason_required",
		`{"action":"discard","reason":"not needed","selector":{"filter":{"q":"status:odd"}}}`:         "invalid_body",
		`{"action":"discard","reason":"not needed","selector":{"filter":{"category":["odd"]}}}`:       "invalid_body",
		`{"action":"reboot","reason":"not needed","selector":{"filter":{}}}`:                          "unknown_action",
		`{"action":"reassign","reason":"not needed","params":{"agent":"x"},"selector":{"filter":{}}}`: "unknown_agent",
	} {
		f.refused(f.do("POST", "/api/v1/operations", body, "Idempotency-Key", "k"), http.StatusBadRequest, want)
	}
	f.refused(f.do("POST", "/api/v1/operations", `{}`), http.StatusBadRequest, "idempotency_key_required")
}
