//go:build linux

package situations

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The program reads everything that it needs with what `provision --permissions` prints for an observer, once the operator has provisioned.
func TestAnObserverWithThePrintedPermissionsSeesTheFleet(t *testing.T) {
	t.Parallel()
	streams := fleet.Streams{Contract: fleet.NewContract("")}
	srv := permittedServer(t, streams, "cto")
	url := srv.ClientURL()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "provision", "--apply", "--nats-url", url, "--nats-user", "operator", "--nats-password", "x").CombinedOutput()
	if err != nil {
		t.Fatalf("provision: %v: %s", err, out)
	}
	operator := connectAs(t, url, "operator", fleet.InboxPrefix)
	if _, err := operator.CreateConsumer(t.Context(), "TASKS", worker("cto")); err != nil {
		t.Fatal(err)
	}
	g, err := startGlass(t, url, "--nats-user", "observer", "--nats-password", "x", "--read-only")
	if err != nil {
		t.Fatal(err)
	}
	js := connectAs(t, url, "agent", "_INBOX_cto")
	c := clientsOf(t, js, nil)
	l := c.publish(publish{})
	consumer, err := js.Consumer(t.Context(), "TASKS", "cto-task-worker")
	if err != nil {
		t.Fatal(err)
	}
	m := c.pull(consumer)
	c.record("", said(l))
	c.ack(m)
	awaitStory(t, g, c, all(is("completed"), messageIs(0, "completed"), allReady))
	if text := strings.ToLower(g.output()); strings.Contains(text, "permissions violation") {
		t.Errorf("the broker refused the observer something:\n%s", g.tail())
	}
}

// permittedServer is a broker whose users are the printed identities, with the agent of that name.
func permittedServer(t *testing.T, streams fleet.Streams, agent string) *server.Server {
	t.Helper()
	var users strings.Builder
	for _, id := range streams.Permissions() {
		if id.Name == "agent" {
			id = streams.AgentPermissions(agent)
		}
		fmt.Fprintf(&users, "{ user: %s, password: x, permissions: { publish: [\"%s\"], subscribe: [\"%s\"] } }\n",
			id.Name, strings.Join(id.Publish, `", "`), strings.Join(id.Subscribe, `", "`))
	}
	return testkit.ConfiguredBroker(t, fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\naccounts { FLEET { jetstream: enabled, users: [ %s ]\n%s } }",
		t.TempDir(), users.String(), streams.Contract.SelfImport("FLEET")))
}

func connectAs(t *testing.T, url, user, inbox string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.UserInfo(user, "x"), nats.CustomInboxPrefix(inbox))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// clientsOf are the clients of agent cto by one connection, which a Fleetglass watches; nil where none is asked for anything.
func clientsOf(t *testing.T, js jetstream.JetStream, g *glass) *clients {
	return &clients{ctx: t.Context(), nc: js.Conn(), js: js, agent: "cto", glass: g, records: inBucket{js}, stored: map[string][]letter{}, named: map[string]string{}}
}

// awaitStory waits until a claim holds.
func awaitStory(t *testing.T, g *glass, c *clients, holds claim) {
	t.Helper()
	last, why := story{}, errors.New("never asked")
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(t.Context(), sampling) {
		named, stored := c.known()
		if last, why = g.read(t.Context(), named, stored); why == nil {
			why = holds(last)
		}
		if why == nil {
			return
		}
	}
	t.Fatalf("%v\nin the end:\n\t%s\nthe log ends with:\n%s", why, last, g.tail())
}

// allReady holds when every collector has said how it is, and none is down.
func allReady(s story) error {
	var r readiness
	if err := s.glass.ask(s.ctx, "/readyz", &r); err != nil {
		return err
	}
	for _, p := range r.Parts {
		if p.State != "ok" && p.State != "not_configured" {
			return fmt.Errorf("%s is %s: %s", p.Name, p.State, p.Detail)
		}
	}
	return nil
}
