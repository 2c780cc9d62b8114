package api

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
)

// reconciled gives the fixture a service that makes reports, until the test ends.
func (f *fixture) reconciled() {
	f.t.Helper()
	runner, err := reconcile.New(reconcile.Config{Store: f.store.(reconcile.Store), Now: f.clock, Grace: -1, RestartDelay: time.Hour})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- runner.Run(ctx) }()
	f.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			f.t.Error(err)
		}
	})
	f.reconcile = runner
	f.build(Options{})
}

// report asks for a reconciliation and waits for its report.
func (f *fixture) report(body string, header ...string) ReconciliationDetail {
	f.t.Helper()
	a := f.do("POST", reconciliationsPath, body, header...)
	if a.status != http.StatusAccepted {
		f.t.Fatalf("got %d %s", a.status, a.body)
	}
	var out ReconciliationDetail
	testkit.Eventually(f.t, 20*time.Second, func() error {
		out = get[ReconciliationDetail](f, a.header.Get("Location"))
		if out.Status != "done" {
			return fmt.Errorf("status %s: %s", out.Status, out.Failure)
		}
		return nil
	})
	return out
}

func TestAReconciliationOfEveryStoreNamesWhatIsWrong(t *testing.T) {
	onEveryStore(t, func(t *testing.T, f *fixture) {
		f.reconciled()
		f.completed("no record", "cto", 1)
		f.published("done", "cto", 2)
		f.delivered("done", "cto", 2, 1)
		f.recorded("done", "cto")
		f.did(lifecycle.Acked, "done", "cto", 2, 1)
		f.published("waits", "ceo", 3)
		f.published("gone", "ceo", 5) // Nothing is known of 4.
		f.did(lifecycle.Vanished, "gone", "ceo", 5, 0, func(e *lifecycle.Event) { e.Provenance, e.Consumer = lifecycle.Broker, "" })
		f.recorded("=never published", "cto")
		f.commit()
		f.pass(time.Hour)
		got := f.report("", "Idempotency-Key", "one")
		want := Balance{Published: 5, Completed: 2, InFlight: 1, Unexplained: 2, NeverSeen: 1, Balanced: true}
		if diff := cmp.Diff(want, *got.Balance.Value); diff != "" {
			t.Errorf("balance (-want +got):\n%s", diff)
		}
		found := map[string]string{}
		for _, l := range got.Lists {
			for _, d := range l.Rows {
				found[l.Kind] += strings.TrimSpace(string(d.TaskID) + " " + strconv.FormatUint(uint64(d.Seq), 10))
			}
		}
		wrong := map[string]string{
			"acked_not_recorded": "no record 1", "recorded_unpublished": "=never published 0", "outcome_unexplained": "gone 5", "never_seen": "4",
		}
		if diff := cmp.Diff(wrong, found); diff != "" {
			t.Errorf("what is wrong (-want +got):\n%s", diff)
		}
		var lines Balance
		for _, l := range got.Lines {
			lines.Published, lines.Completed, lines.Unexplained = lines.Published+l.Published, lines.Completed+l.Completed, lines.Unexplained+l.Unexplained
		}
		if lines.Published != 5 || lines.Completed != 2 || lines.Unexplained != 2 {
			t.Errorf("lines add up to %+v", lines)
		}
		if again := f.report("", "Idempotency-Key", "one"); again.ID != got.ID {
			t.Errorf("the same key gave %s and %s", got.ID, again.ID)
		}
		f.refused(f.do("POST", reconciliationsPath, `{"from":"2020-01-01"}`, "Idempotency-Key", "one"), http.StatusUnprocessableEntity, "idempotency_key_reused")
		f.refused(f.do("POST", reconciliationsPath, `{"from":"2999-01-01"}`), http.StatusBadRequest, "invalid_body")
		table, err := csv.NewReader(strings.NewReader(string(f.do("GET", got.Links.CSV, "").body))).ReadAll()
		if err != nil || len(table) != 1+1+len(got.Lines)+4+len(got.Notes) {
			t.Errorf("%d rows, %v", len(table), err)
		}
		if listed := get[List[Reconciliation]](f, reconciliationsPath).Data; len(listed) != 1 || listed[0].ID != got.ID || *listed[0].Discrepancies != 4 {
			t.Errorf("listed: %+v", listed)
		}
	})
}
