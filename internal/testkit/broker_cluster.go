package testkit

import (
	"fmt"
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
	var addresses, routes []string // Of the routes: each server must know all of them before it starts.
	for range 3 {
		address := FreeAddress(t)
		addresses, routes = append(addresses, address), append(routes, fmt.Sprintf("%q", "nats-route://"+address))
	}
	var servers []*server.Server
	for n, address := range addresses {
		servers = append(servers, clusterNode(t, c, n, address, strings.Join(routes, ", ")))
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
func clusterNode(t testing.TB, c fleet.Contract, n int, address, routes string) *server.Server {
	t.Helper()
	return ConfiguredBroker(t, fmt.Sprintf(`server_name: n%d
listen: "127.0.0.1:-1"
jetstream { store_dir: %q }
cluster { name: c, listen: %q, routes: [%s] }
accounts { FLEET { jetstream: enabled, users: [ {user: fleet, password: x} ]
%s } , SYS { users: [ {user: sys, password: x} ] } }
system_account: SYS
no_auth_user: fleet`, n, t.TempDir(), address, routes, c.SelfImport("FLEET")))
}
