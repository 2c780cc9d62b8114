package testkit

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"

	"github.com/nats-io/nats-server/v2/server"
)

// BrokerCluster is three servers that form a cluster, without any stream. Their account FLEET imports its own tasks, and clients need no credentials. They are
// stopped when the test ends; one of them may be stopped before.
func BrokerCluster(t testing.TB, c fleet.Contract) []*server.Server {
	t.Helper()
	ports := freePorts(t, 3)
	routes := make([]string, len(ports))
	for i, port := range ports {
		routes[i] = fmt.Sprintf("\"nats-route://127.0.0.1:%d\"", port)
	}
	var servers []*server.Server
	for n, port := range ports {
		servers = append(servers, clusterNode(t, c, n, port, strings.Join(routes, ", ")))
	}
	Eventually(t, time.Minute, func() error { // On a busy machine elections are repeated.
		for _, srv := range servers {
			if srv.JetStreamIsLeader() && len(srv.JetStreamClusterPeers()) == len(servers) {
				return nil
			}
		}
		return fmt.Errorf("no leader of three")
	})
	return servers
}

// clusterNode starts one of the servers.
func clusterNode(t testing.TB, c fleet.Contract, n, port int, routes string) *server.Server {
	t.Helper()
	return ConfiguredBroker(t, fmt.Sprintf(`server_name: n%d
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
cluster { name: c, listen: "127.0.0.1:%d", routes: [%s] }
accounts { FLEET { jetstream: enabled, users: [ {user: fleet, password: x} ]
%s } , SYS { users: [ {user: sys, password: x} ] } }
system_account: SYS
no_auth_user: fleet`, n, t.TempDir(), port, routes, c.SelfImport("FLEET")))
}

// freePorts finds ports that were free a moment ago: the routes of a cluster must be known before it starts.
func freePorts(t testing.TB, n int) []int {
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
