package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// holding is a store of a size that tests choose.
type holding struct{ bytes int64 }

func (h *holding) Size(context.Context) (int64, error) { return h.bytes, nil }
func (h *holding) Append(context.Context, lifecycle.Batch) (lifecycle.Appended, error) {
	return lifecycle.Appended{New: 1}, nil
}

func TestAQuotaStopsAndContinuesByItself(t *testing.T) {
	t.Parallel()
	h := &holding{}
	q := &quota{Appender: h, store: h, most: 1000, now: time.Now, log: slog.New(slog.DiscardHandler)}
	for _, step := range []struct {
		bytes int64
		takes bool
	}{{0, true}, {999, true}, {1000, false}, {980, false}, {971, false}, {970, true}, {999, true}, {5000, false}, {0, true}} {
		h.bytes = step.bytes
		q.look(t.Context())
		_, err := q.Append(t.Context(), lifecycle.Batch{})
		if (err == nil) != step.takes || err != nil && !errors.Is(err, lifecycle.ErrUnable) {
			t.Errorf("%d of 1000 bytes: %v, want taken %v", step.bytes, err, step.takes)
		}
		if down := q.Health()[0].State == health.Down; down == step.takes {
			t.Errorf("%d of 1000 bytes: %+v", step.bytes, q.Health()[0])
		}
	}
}

func TestAFullStoreSaysSoAndLosesNothing(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, args ...string) {
		most := "2MB"
		if len(args) > 0 {
			most = "12MB" // An empty database is larger.
		}
		cfg := settings(t, append(args, "--store-quota", most)...)
		full := start(t, cfg)
		a := connectAgent(t, full.AgentsURL())
		a.work("before-1")
		full.completed("before-1")
		body, state := `{"taskId":"large-%d","payload":{"title":"%s"}}`, uint64(1)
		for n := range 12 {
			noise := make([]byte, 500_000)
			for i := range noise { // Text that cannot be compressed.
				state = state*6364136223846793005 + 1442695040888963407
				noise[i] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[state>>58]
			}
			a.publish(fmt.Sprintf("large-%d", n), fmt.Sprintf(body, n, noise))
		}
		testkit.Eventually(t, 2*patience, func() error {
			response := full.request(http.MethodGet, "/readyz", nil, nil)
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "raise --store-quota") {
				return fmt.Errorf("%s %s", response.Status, text)
			}
			return nil
		})
		testkit.Eventually(t, 2*patience, func() error {
			page, err := io.ReadAll(full.request(http.MethodGet, "/tasks", nil, nil).Body)
			if err != nil || !strings.Contains(string(page), "The storage quota is reached") || !strings.Contains(string(page), "before-1") {
				return fmt.Errorf("the page does not say that the quota is reached, or not what is stored: %w", err)
			}
			return nil
		})
		report := strings.NewReader(`{"specversion":"1.0","id":"1","source":"x","type":"fleet.lifecycle.claimed.v1","subject":"before-1","data":{}}`)
		if got := full.request(http.MethodPost, "/api/v1/reports", http.Header{"Content-Type": {"application/cloudevents+json"}}, report); got.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("a report: %s", got.Status)
		}
		a.publish("after-1", `{"taskId":"after-1"}`) // The broker takes it all the same.
		full.end()

		cfg.StoreQuota = 0
		roomy := start(t, cfg)
		for _, id := range []string{"before-1", "large-0", "large-11", "after-1"} {
			testkit.Eventually(t, 2*patience, func() error { var task json.RawMessage; return roomy.get("/api/v1/tasks/"+id, &task) })
		}
	})
}
