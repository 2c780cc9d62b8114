//go:build linux

package situations

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go/jetstream"
)

// Agents reach the streams of a hub, which are in a JetStream domain, through a leaf node. Fleetglass looks from either side.
func TestTasksInADomainAreTracedThroughALeafNode(t *testing.T) {
	t.Parallel()
	for _, l := range []struct {
		name   string
		beside string // Of which broker Fleetglass is a client.
		flags  string // Of the hub, in the syntax of nats-server.
		tokens int    // Of the subjects of acknowledgements.
	}{
		{"beside the hub", "hub", "", 9},
		{"beside the agents", "leaf", "", 9},
		{"acknowledgements name the domain", "hub", "feature_flags { js_ack_fc_v2: true }", 11},
	} {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			hub, leaf := leafOf(t, "hub", l.flags)
			from := map[string]string{"hub": hub, "leaf": leaf}[l.beside]
			provision(t, from, "--nats-domain", "hub")
			g, err := startGlass(t, from, "--nats-user", "fleet", "--nats-password", "x", "--nats-domain", "hub")
			if err != nil {
				t.Fatal(err)
			}
			js, err := jetstream.NewWithDomain(connectAs(t, leaf, "fleet", "_INBOX_cto").Conn(), "hub")
			if err != nil {
				t.Fatal(err)
			}
			c := clientsOf(t, js, g)
			worker := c.workers(atOnce(5))
			for _, task := range []string{"", "dead", "held", "waits"} {
				c.publish(publish{task: task})
			}
			if ack, err := c.tryPublish(publish{}); err != nil || !ack.Duplicate {
				t.Fatalf("a publish is repeated: %+v, %v", ack, err)
			}
			done := c.pull(worker)
			if got := strings.Count(done.Reply(), ".") + 1; got != l.tokens {
				t.Fatalf("the subject of an acknowledgement has %d tokens, want %d: %s", got, l.tokens, done.Reply())
			}
			c.record("", nil)
			c.ack(done)
			c.term(c.pull(worker), "impossible_task")
			c.heartbeat(c.pull(worker))
			awaitStory(t, g, c, all(is("completed"), counts(layers{stream: 1}), findsNo(wrongs...), allReady,
				of("dead", is("terminated")), of("held", is("processing")), of("waits", all(is("published"), says("next free worker")))))
			dead := c.stored[c.task("dead")][0]
			c.retries(letter{"hub." + dead.stream, dead.seq}, 0)
			awaitStory(t, g, c, of("dead", is("published")))
		})
	}
}

// leafOf are a broker whose streams are in a domain, and one without streams that is a leaf node of it.
func leafOf(t *testing.T, domain, flags string) (hub, leaf string) {
	t.Helper()
	address := testkit.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	account := "users: [ { user: fleet, password: x } ]"
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf("server_name: hub\nlisten: \"127.0.0.1:-1\"\njetstream { store_dir: %q, domain: %s }\nleafnodes { host: \"127.0.0.1\", port: %s }\n%s\naccounts { FLEET { jetstream: enabled, %s\n%s } }",
		t.TempDir(), domain, port, flags, account, fleet.NewContract("").SelfImport("FLEET")))
	remote := url.URL{Scheme: "nats", User: url.UserPassword("fleet", "x"), Host: address}
	edge := testkit.ConfiguredBroker(t, fmt.Sprintf("server_name: edge\nlisten: \"127.0.0.1:-1\"\nleafnodes { remotes: [ { url: %q, account: FLEET } ] }\naccounts { FLEET { %s } }", remote.String(), account))
	return srv.ClientURL(), edge.ClientURL()
}

// The account maps the subjects of tasks to others: what is stored has another subject than its publisher named.
func TestTasksAreTracedWhereTheirAccountMapsSubjects(t *testing.T) {
	t.Parallel()
	mapped := `mappings: { "genbrain.agents.*.tasks.old": "genbrain.agents.$1.tasks.new" }`
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf("listen: \"127.0.0.1:-1\"\njetstream { store_dir: %q }\naccounts { FLEET { jetstream: enabled, users: [ { user: fleet, password: x } ]\n%s\n%s } }",
		t.TempDir(), mapped, fleet.NewContract("").SelfImport("FLEET")))
	provision(t, srv.ClientURL())
	g, err := startGlass(t, srv.ClientURL(), "--nats-user", "fleet", "--nats-password", "x")
	if err != nil {
		t.Fatal(err)
	}
	js := connectAs(t, srv.ClientURL(), "fleet", "_INBOX_cto")
	c := clientsOf(t, js, g)
	worker := c.workers()
	c.publish(publish{kind: "old"})
	if ack, err := c.tryPublish(publish{kind: "old"}); err != nil || !ack.Duplicate {
		t.Fatalf("a publish is repeated: %+v, %v", ack, err)
	}
	c.ack(c.pull(worker))
	c.publish(publish{task: "waits", kind: "old"})
	awaitStory(t, g, c, all(is("completed"), counts(layers{stream: 1}), findsNo(wrongs...), noGap, of("waits", all(is("published"), noGap))))
}
