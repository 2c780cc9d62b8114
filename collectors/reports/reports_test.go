package reports_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetglass/collectors"
	"fleetglass/collectors/reports"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(testkit.BrokerGoroutine))
}

func TestReportsReachTheStoreAndOddOnesTheQuarantine(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	contract := fleet.NewContract("")
	inc, err := collectors.NewIncarnationResolver(collectors.IncarnationResolverConfig{JetStream: js, Appender: store, Watermarks: store, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	c, err := reports.New(collectors.Config{JetStream: js, Appender: store, Watermarks: store, Incarnations: inc, Contract: contract})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	reporter, err := fleet.NewReporter(fleet.ReporterConfig{JetStream: js, Contract: contract, Agent: "backend"})
	if err != nil {
		t.Fatal(err)
	}
	lease := fleet.ReportData{MessageID: "m-1", Attempt: 1, LeaseOwner: "worker-7", LeaseVersion: 3}
	for _, kind := range []lifecycle.Kind{lifecycle.ReportClaimed, lifecycle.ReportHeartbeat, lifecycle.ReportCompleted} {
		if err := reporter.Report(t.Context(), fleet.Report{Kind: kind, TaskID: "T-1", Data: lease}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := js.Publish(t.Context(), contract.ReportSubject("backend", "completed"), []byte(`{"not":"a CloudEvent"}`)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 20*time.Second, func() error {
		rec, err := store.Task(t.Context(), "T-1")
		if err != nil {
			return err
		}
		if len(rec.Facts.Reports) != 1 || c.Stats().Quarantined != 1 {
			return fmt.Errorf("reports %+v, %d quarantined", rec.Facts.Reports, c.Stats().Quarantined)
		}
		f := rec.Facts.Reports[0]
		if !f.ClaimedAt.Known() || !f.BeatAt.Known() || !f.CompletedAt.Known() || f.Owner != "worker-7" || f.LeaseVersion != 3 || f.MsgID != "m-1" {
			return fmt.Errorf("facts %+v", f)
		}
		return nil
	})
}

func TestSubjectsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	var b lifecycle.Batch
	line := collectors.Line{Subject: "elsewhere.lifecycle.backend.completed", Body: []byte("{}")}
	if err := reports.Decode(line, collectors.Streams{Contract: fleet.NewContract("")}, &b); err == nil || !b.Empty() {
		t.Errorf("error %v, batch %+v", err, b)
	}
}
