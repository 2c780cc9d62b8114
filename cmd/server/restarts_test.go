package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
)

// shownRestart is a restart as the API lists it.
type shownRestart struct {
	ID, Cause, What string
	Messages, Open  int
	RecoveryTimeMS  int64      `json:"recovery_time_ms"`
	EndedAt         *time.Time `json:"ended_at"`
}

// restart waits for the one restart of a cause that holds, and returns it.
func (r *running) restart(cause string, holds func(shownRestart) bool) (found shownRestart) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var list struct{ Data []shownRestart }
		if err := r.get("/api/v1/restarts", &list); err != nil {
			return err
		}
		n := 0
		for _, one := range list.Data {
			if one.Cause == cause {
				found, n = one, n+1
			}
		}
		if n != 1 || !holds(found) {
			return fmt.Errorf("restarts %+v; want one of %s that holds", list.Data, cause)
		}
		return nil
	})
	return found
}

func over(s shownRestart) bool { return s.EndedAt != nil && s.Open == 0 }

func (r *running) page(path, accept string) string {
	r.t.Helper()
	response := r.request(http.MethodGet, path, http.Header{"Accept": {accept}}, nil)
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: status %d, %v", path, response.StatusCode, err)
	}
	return string(text)
}

// TestVictimsOfOneRestartAreGroupedUntilTheLastIsResolved has the workers of two agents die with a message each, then Fleetglass go away while one of them
// is answered.
func TestVictimsOfOneRestartAreGroupedUntilTheLastIsResolved(t *testing.T) {
	t.Parallel()
	srv := testkit.Broker(t)
	cfg := settings(t, "--nats-url", srv.URL(), "--dlq-monitor", "off")
	r := start(t, cfg)
	js := testkit.JetStream(t, srv)
	cto := startWorker(t, js, "cto", jetstream.ConsumerConfig{BackOff: []time.Duration{time.Second, time.Minute}, MaxDeliver: 5})
	ceo := startWorker(t, js, "ceo", jetstream.ConsumerConfig{BackOff: []time.Duration{1500 * time.Millisecond, time.Minute}, MaxDeliver: 5})
	cto.takes()
	ceo.takes() // And both die.

	found := r.restart("workers", func(s shownRestart) bool { return s.Messages == 2 && s.Open == 2 })
	if found.What != "2 messages of 2 agents were in flight when their workers may have gone away at once" {
		t.Errorf("it says %q", found.What)
	}
	if page := r.page("/in-flight", "text/html"); !strings.Contains(page, found.What) {
		t.Error("the in-flight board does not say so")
	}
	again := []jetstream.Msg{cto.takes(), ceo.takes()}
	found = r.restart("workers", over)
	if report := r.page("/api/v1/restarts/"+found.ID, "text/markdown"); strings.Count(report, "delivered again") != 2 || !strings.Contains(report, "cto-1") {
		t.Errorf("the report says\n%s", report)
	}
	if report := r.page("/api/v1/tasks/cto-1/report", "text/markdown"); !strings.Contains(report, found.What) {
		t.Errorf("the report of the task says\n%s", report)
	}
	want := fmt.Sprintf(`fleetglass_recovery_seconds{cause="workers"} %v`, float64(found.RecoveryTimeMS)/1000)
	if metrics := r.page("/metrics", "text/plain"); !strings.Contains(metrics, want[:len(want)-1]) {
		t.Errorf("no metric begins like %s", want)
	}

	r.end()
	cto.must(again[0].DoubleAck(t.Context()))
	r = start(t, cfg)
	r.restart("fleetglass", func(s shownRestart) bool { return s.Messages == 2 && s.Open == 1 })
	ceo.must(again[1].DoubleAck(t.Context()))
	found = r.restart("fleetglass", over)
	if page := r.page("/restarts", "text/html"); strings.Count(page, "its attempt was answered") != 2 || !strings.Contains(page, found.What) {
		t.Errorf("the page of restarts does not say that both were answered:\n%s", page)
	}
}

// Fleetglass is away when its last replica is, not when one more comes.
func TestAReplicaThatComesIsNoRestart(t *testing.T) {
	t.Parallel()
	srv := testkit.Broker(t)
	flags := []string{"--nats-url", srv.URL(), "--database-url", testkit.Postgres(t), "--dlq-monitor", "off"}
	first := start(t, settings(t, flags...))
	worker := startWorker(t, testkit.JetStream(t, srv), "cto", jetstream.ConsumerConfig{AckWait: time.Minute, MaxDeliver: 5})
	held := worker.takes()
	first.inFlight(1)
	second := start(t, settings(t, flags...))
	second.inFlight(1)
	if page := second.page("/api/v1/restarts", "application/json"); strings.Contains(page, "fleetglass-") {
		t.Errorf("a restart is told: %s", page)
	}
	first.end()
	second.end()
	third := start(t, settings(t, flags...))
	third.restart("fleetglass", func(s shownRestart) bool { return s.Messages == 1 })
	worker.must(held.Ack())
}

// inFlight waits until the board has so many leases.
func (r *running) inFlight(n int) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var board struct{ Data []json.RawMessage }
		if err := json.Unmarshal([]byte(r.page("/api/v1/in-flight", "application/json")), &board); err != nil {
			return err
		}
		if len(board.Data) != n {
			return fmt.Errorf("%d messages are in flight", len(board.Data))
		}
		return nil
	})
}

// TestARestartOfTheBrokerIsNoticed has the broker end with a message in hand, and start again with its data at the same address.
func TestARestartOfTheBrokerIsNoticed(t *testing.T) {
	t.Parallel()
	at := embednats.Config{Dir: t.TempDir(), Listen: testkit.FreeAddress(t)}
	srv := openBrokerOf(t, at)
	testkit.Provision(t, srv, fleet.Streams{Contract: fleet.NewContract("")})
	r := start(t, settings(t, "--nats-url", srv.URL(), "--dlq-monitor", "off"))
	cto := startWorker(t, testkit.JetStream(t, srv), "cto", jetstream.ConsumerConfig{AckWait: time.Minute, MaxDeliver: 5})
	m := cto.takes()
	testkit.Eventually(t, patience, func() error {
		var list struct{ Data []any }
		if err := r.get("/api/v1/in-flight", &list); err != nil || len(list.Data) != 1 {
			return fmt.Errorf("in flight %+v, %w", list, err)
		}
		return nil
	})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	srv = openBrokerOf(t, at)
	r.restart("broker", func(s shownRestart) bool { return s.Messages == 1 && s.Open == 1 })
	var gaps struct {
		Data []struct {
			Source   string
			Repaired bool
		}
	}
	if err := r.get("/api/v1/gaps", &gaps); err != nil || len(gaps.Data) != 1 || gaps.Data[0].Source != "broker" || !gaps.Data[0].Repaired {
		t.Errorf("the time without the broker is told as %+v, %v", gaps.Data, err)
	}
	answer := testkit.JetStream(t, srv).Conn()
	if _, err := answer.Request(m.Reply(), []byte("+ACK"), patience); err != nil {
		t.Fatal(err)
	}
	r.restart("broker", over)
}

// openBrokerOf starts a broker.
func openBrokerOf(t *testing.T, cfg embednats.Config) *embednats.Server {
	t.Helper()
	srv, err := embednats.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}
