package fleet_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// cluster is three servers whose account FLEET imports its own tasks.
func cluster(t *testing.T, c fleet.Contract) []*server.Server {
	t.Helper()
	ports := freePorts(t, 3)
	routes := make([]string, len(ports))
	for i, port := range ports {
		routes[i] = fmt.Sprintf("\"nats-route://127.0.0.1:%d\"", port)
	}
	var servers []*server.Server
	for n, port := range ports {
		o := &server.Options{}
		conf := fmt.Sprintf(`server_name: n%d
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
cluster { name: c, listen: "127.0.0.1:%d", routes: [%s] }
accounts { FLEET { jetstream: enabled, users: [ {user: fleet, password: x} ]
%s } , SYS { users: [ {user: sys, password: x} ] } }
system_account: SYS
no_auth_user: fleet`, n, t.TempDir(), port, strings.Join(routes, ", "), c.SelfImport("FLEET"))
		if err := o.ProcessConfigString(conf); err != nil {
			t.Fatal(err)
		}
		o.NoSigs, o.NoLog = true, true
		srv, err := server.NewServer(o)
		if err != nil {
			t.Fatal(err)
		}
		srv.Start()
		t.Cleanup(func() {
			srv.Shutdown()
			srv.WaitForShutdown()
		})
		servers = append(servers, srv)
	}
	testkit.Eventually(t, 30*time.Second, func() error {
		for _, srv := range servers {
			if srv.JetStreamIsLeader() && len(srv.JetStreamClusterPeers()) == len(servers) {
				return nil
			}
		}
		return fmt.Errorf("no leader of three")
	})
	return servers
}

// freePorts finds ports that were free a moment ago: the routes of a cluster must be known before it starts.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// On three replicas a capture stream must neither deduplicate nor answer the publisher, just as on one.
func TestThreeReplicasCaptureEveryAttempt(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster of three servers")
	}
	t.Parallel()
	c := fleet.NewContract("")
	servers := cluster(t, c)
	js := connectTo(t, servers[0])
	s := fleet.Streams{Contract: c, Replicas: 3}
	testkit.Eventually(t, 60*time.Second, func() error {
		_, err := fleet.Provision(t.Context(), js, s)
		return err
	})
	plan, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil || !plan.Empty() || !plan.SelfImport.Fed {
		t.Errorf("second plan: %v\n%s", err, plan)
	}
	for _, srv := range servers {
		other := connectTo(t, srv)
		for i := range 3 {
			replies := publishAndCount(t, other, c.TaskSubject("cto", "x"), srv.Name())
			if want := fmt.Sprintf(`"duplicate": %v`, i > 0); len(replies) != 1 || (i > 0) != strings.Contains(replies[0], `"duplicate"`) {
				t.Errorf("publish %d on %s: replies %v, want one with %s", i+1, srv.Name(), replies, want)
			}
		}
	}
	for _, srv := range servers {
		replies := publishAndCount(t, connectTo(t, srv), c.TaskSubject("cto", "x"), "expecting-"+srv.Name(), "Nats-Expected-Stream", fleet.StreamTasks)
		if len(replies) != 1 || strings.Contains(replies[0], "error") {
			t.Errorf("publish with an expectation on %s: replies %v", srv.Name(), replies)
		}
	}
	awaitSeq(t, js, fleet.CaptureRaw, 9)
	awaitSeq(t, js, fleet.CapturePub, 3)
	awaitSeq(t, js, fleet.StreamTasks, 6)
}

// publishAndCount publishes and collects every reply that comes before a marker sent after it has been stored.
func publishAndCount(t *testing.T, js jetstream.JetStream, subject, id string, headers ...string) []string {
	t.Helper()
	nc := js.Conn()
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	msg := nats.NewMsg(subject)
	msg.Reply, msg.Data = inbox.Subject, []byte("{}")
	msg.Header.Set(fleet.HeaderMsgID, id)
	for i := 0; i < len(headers); i += 2 {
		msg.Header.Set(headers[i], headers[i+1])
	}
	if err := nc.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	var replies []string
	for wait := 10 * time.Second; ; wait = 300 * time.Millisecond {
		reply, err := inbox.NextMsg(wait)
		if err != nil {
			return replies
		}
		replies = append(replies, string(reply.Data))
	}
}
