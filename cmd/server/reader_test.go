package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

// provisionAs makes streams and durables of a broker as `fleetglass provision --apply` does, and returns what it printed.
func provisionAs(t *testing.T, url string, args ...string) string {
	t.Helper()
	var out strings.Builder
	args = append([]string{"provision", "--apply", "--nats-url", url}, args...)
	if code := run(t.Context(), args, vars(), &out, &out); code != 0 {
		t.Fatalf("%v: exit code %d: %s", args, code, &out)
	}
	return out.String()
}

// brokerWithReader is a broker on which a further reader may do what is printed for it, and admin everything.
func brokerWithReader(t *testing.T, name string) (as func(user string) string) {
	t.Helper()
	s := fleet.Streams{Contract: fleet.NewContract(""), By: fleet.DurablePrefix(name)}
	observer := s.Permissions()[0]
	list := func(subjects []string) string { return `"` + strings.Join(subjects, `", "`) + `"` }
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf(`listen: "127.0.0.1:-1", jetstream { store_dir: %q }, accounts { FLEET { jetstream: enabled, users: [
{ user: admin, password: x }
{ user: %s, password: x, permissions: { publish: [%s], subscribe: [%s] } }
]
%s } }`, t.TempDir(), name, list(observer.Publish), list(observer.Subscribe), s.Contract.SelfImport("FLEET")))
	return func(user string) string { return strings.Replace(srv.ClientURL(), "://", "://"+user+":x@", 1) }
}

// Production and staging, each with a store of its own.
func TestTwoFleetglassesWithStoresOfTheirOwnSeeEverything(t *testing.T) {
	t.Parallel()
	as := brokerWithReader(t, "staging")
	provisionAs(t, as("admin"))
	if text := provisionAs(t, as("admin"), "--reader", "staging"); !strings.Contains(text, "+ create durable fleetglass-staging-publishes on OBS_PUB") || strings.Contains(text, "create stream") ||
		strings.Contains(text, "on RETRY") {
		t.Errorf("provision for the second:\n%s", text)
	}
	said := &output{}
	first := start(t, settings(t, "--nats-url", as("admin")))
	second := startWith(t, settings(t, "--nats-url", as("staging"), "--reader", "staging", "--read-only"), slog.New(slog.NewTextHandler(said, nil)))
	agent := connectAgent(t, as("admin"))
	const tasks = 20
	for i := range tasks {
		agent.work(fmt.Sprintf("both-%d", i))
	}
	for _, r := range []*running{first, second} {
		for i := range tasks {
			r.completed(fmt.Sprintf("both-%d", i))
		}
		var ready struct{ Ready bool }
		if err := r.get("/readyz", &ready); err != nil || !ready.Ready {
			t.Errorf("readyz: %+v, %v", ready, err)
		}
		var gaps struct{ Data []struct{ Reason string } }
		if err := r.get("/api/v1/gaps", &gaps); err != nil || len(gaps.Data) > 0 {
			t.Errorf("gaps %+v, %v; want none", gaps.Data, err)
		}
	}
	if text := said.String(); strings.Contains(strings.ToLower(text), "permissions violation") {
		t.Errorf("the second asks for what it may not:\n%s", text)
	}
	for _, name := range []string{"fleetglass-acks", "fleetglass-staging-acks"} {
		consumer, err := agent.js.Consumer(t.Context(), "OBS_ACK", name)
		if err != nil {
			t.Fatal(err)
		}
		if seen := consumer.CachedInfo().Delivered.Consumer; seen < tasks {
			t.Errorf("%s was sent %d lines, want %d or more", name, seen, tasks)
		}
	}
	if again := provisionAs(t, as("admin"), "--reader", "staging"); !strings.Contains(again, "nothing to change") {
		t.Errorf("a second apply:\n%s", again)
	}
}

func TestADeadLetterIsReadByBothAndActedOnByOne(t *testing.T) {
	t.Parallel()
	broker := testkit.BareBroker(t)
	provisionAs(t, broker.URL())
	provisionAs(t, broker.URL(), "--reader", "staging")
	first := start(t, settings(t, "--nats-url", broker.URL(), "--dlq-monitor", "on"))
	second := start(t, settings(t, "--nats-url", broker.URL(), "--reader", "staging", "--read-only"))
	first.die("dead-1", "no_such_tool")
	for _, r := range []*running{first, second} {
		testkit.Eventually(t, patience, func() error {
			var page struct {
				Data []struct {
					TaskID string `json:"task_id"`
				}
			}
			if err := r.get("/api/v1/dlq", &page); err != nil || len(page.Data) != 1 || page.Data[0].TaskID != "dead-1" {
				return fmt.Errorf("entries %+v, %v", page.Data, err)
			}
			return nil
		})
	}
	if _, err := testkit.JetStream(t, broker).Consumer(t.Context(), "RETRY", "fleetglass-staging-retry"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the second reads retries: %v", err)
	}
}
