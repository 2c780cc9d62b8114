//go:build linux

package situations

import (
	"fmt"
	"net/netip"
	"os/exec"
	"testing"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats-server/v2/server"
)

// accountServer is a broker whose account for the fleet has a name, on a port and with a store that it may have had before.
func accountServer(t *testing.T, account, store string, port int) *server.Server {
	t.Helper()
	return testkit.ConfiguredBroker(t, fmt.Sprintf("listen: \"127.0.0.1:%d\"\njetstream { store_dir: %q }\naccounts { %s { jetstream: enabled, users: [ { user: fleet, password: x } ]\n%s } }",
		port, store, account, fleet.NewContract("").SelfImport(account)))
}

func provision(t *testing.T, url string, flags ...string) {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, append([]string{"provision", "--apply", "--nats-url", url, "--nats-user", "fleet", "--nats-password", "x"}, flags...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("provision: %v: %s", err, out)
	}
}

// The account that holds the fleet's streams gets another name, and its old one again. Its streams and what is in them are where they were.
func TestAnAccountIsRenamed(t *testing.T) {
	t.Parallel()
	store := t.TempDir()
	srv := accountServer(t, "FLEET", store, -1)
	url := srv.ClientURL()
	rename := func(to string) {
		t.Helper()
		address, err := netip.ParseAddrPort(srv.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		srv.Shutdown()
		srv.WaitForShutdown()
		srv = accountServer(t, to, store, int(address.Port()))
	}
	provision(t, url)
	g, err := startGlass(t, url, "--nats-user", "fleet", "--nats-password", "x")
	if err != nil {
		t.Fatal(err)
	}
	js := connectAs(t, url, "fleet", "_INBOX_cto")
	c := clientsOf(t, js, nil)
	c.publish(publish{})
	m := c.pull(c.workers())
	c.heartbeat(m)
	c.publish(publish{task: "waits"})
	held := all(is("processing"), of("waits", is("published")))
	awaitStory(t, g, c, held)

	rename("GUILD")
	once := counts(layers{})
	awaitStory(t, g, c, all(held, readyzSays("streams TASKS, OBS_PUB, OBS_ACK, OBS_EVT are missing"), gapSays("does not exist"), says("its stream does not exist"),
		of("waits", all(gapSays("does not exist"), says("its stream does not exist"), silent("the stream has it", "next free worker")))))
	rename("FLEET")
	awaitStory(t, g, c, all(held, once, silent("does not exist"), of("waits", all(once, silent("does not exist")))))
	c.ack(m)
	awaitStory(t, g, c, all(is("completed"), once, of("waits", all(is("published"), once))))

	rename("GUILD")
	provision(t, url)
	awaitStory(t, g, c, all(is("completed"), of("waits", all(is("outcome_unknown"), once, silent("deleted", "purge"), gapSays("missing")))))
	rename("FLEET")
	awaitStory(t, g, c, readyzSays("TASKS is older than the stream of its name that was seen last"))
	awaitStory(t, g, c, all(is("completed"), of("waits", is("outcome_unknown"))))
}
