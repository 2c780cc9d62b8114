package delivery_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fleetglass/alerts"
	"fleetglass/alerts/delivery"
	"fleetglass/internal/testkit"
	"fleetglass/internal/webhook"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 60 * time.Second

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// replicas opens so many stores on one database.
func replicas(t *testing.T, n int) []*postgres.Store {
	t.Helper()
	address := testkit.Postgres(t)
	var out []*postgres.Store
	for range n {
		s, err := postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 4})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		out = append(out, s)
	}
	return out
}

// look moves the board by what each of several evaluators finds at once.
func look(t *testing.T, stores []*postgres.Store, at time.Time, found ...alerts.Finding) {
	t.Helper()
	done := make(chan error)
	for _, s := range stores {
		e, err := alerts.NewEvaluator(alerts.EvaluatorConfig{Store: s, Look: func(context.Context) (alerts.Observed, error) {
			return alerts.Observed{At: lifecycle.MicrosOf(at), Findings: found}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() { done <- e.Turn(t.Context()) }()
	}
	for range stores {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func zombie(key, agent string) alerts.Finding {
	return alerts.Finding{
		Rule: alerts.RuleZombie, Key: key, Severity: alerts.Critical, What: key + " is zombie", Why: "why", Next: "next", TaskID: key, Labels: alerts.Labels{Agent: agent, Stream: "TASKS"}, Count: 1,
	}
}

// tells runs a teller on each store until the test ends.
func tells(t *testing.T, stores []*postgres.Store, to ...delivery.Receiver) {
	t.Helper()
	for _, s := range stores {
		teller, err := delivery.New(delivery.Config{Store: s, Receivers: to, Every: 20 * time.Millisecond, Pause: 10 * time.Millisecond, MostPause: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- teller.Run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	testkit.Eventually(t, patience, func() error { // Receivers begin behind what was told before their first claim.
		r, claimed, err := stores[0].ClaimReceiver(t.Context(), alerts.ReceiverClaim{Name: to[0].Name(), Holder: "test", Now: 1, Until: 2})
		if err != nil || claimed {
			return fmt.Errorf("not claimed: %+v, %w", r, err)
		}
		return nil
	})
}

func hookFor(t *testing.T, h http.Handler, secret string) delivery.Receiver {
	t.Helper()
	sender, err := webhook.New(webhook.Config{URL: serve(t, h), Secret: secret, Allow: loopback})
	if err != nil {
		t.Fatal(err)
	}
	return &delivery.Webhook{Sender: sender, Label: "webhook test", Base: func() string { return "http://glass" }}
}

// serve returns the address of a server that ends with the test.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}
