//go:build linux

package torture

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"fleetglass/fleet"

	"github.com/nats-io/nats-server/v2/server"
)

// nodeOrder is how one server of a cluster listens, where it keeps its streams, and by which ways it reaches the others.
type nodeOrder struct {
	Name, Dir       string
	Listen, Cluster string
	Routes          []string
}

// beTheNode is one server of a cluster in a process of its own, until it is asked to end or killed.
func beTheNode(text []byte) error {
	var o nodeOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	opts := &server.Options{}
	if err := opts.ProcessConfigString(o.config()); err != nil {
		return err
	}
	opts.NoSigs = true
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.ConfigureLogger()
	srv.Start()
	if !srv.ReadyForConnections(30 * time.Second) {
		return errors.New("the node does not serve")
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	srv.Shutdown()
	srv.WaitForShutdown()
	return nil
}

// config is the node's configuration. The routes that nodes tell each other of lead nowhere (advertise), so that every one goes through a link.
func (o nodeOrder) config() string {
	routes := make([]string, len(o.Routes))
	for i, r := range o.Routes {
		routes[i] = fmt.Sprintf("%q", r)
	}
	return fmt.Sprintf(`server_name: %s
listen: %q
logtime: true
jetstream { store_dir: %q, max_memory_store: 64MB, max_file_store: 10GB, sync_interval: 10s }
cluster { name: torture, listen: %q, advertise: "127.0.0.1:1", routes: [%s] }
accounts { FLEET { jetstream: enabled, users: [ {user: fleet, password: x} ]
%s } , SYS { users: [ {user: sys, password: x} ] } }
system_account: SYS
no_auth_user: fleet
`, o.Name, o.Listen, o.Dir, o.Cluster, strings.Join(routes, ", "), fleet.NewContract("").SelfImport("FLEET"))
}
