package testkit

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// ConfiguredBroker is a broker with a configuration in the syntax of nats-server, for what the embedded one cannot be told. It listens on a random loopback
// port unless the configuration says where, and is closed when the test ends.
func ConfiguredBroker(t testing.TB, configuration string) *server.Server {
	t.Helper()
	o := &server.Options{}
	if err := o.ProcessConfigString(configuration); err != nil {
		t.Fatal(err)
	}
	if o.Host == "" && o.Port == 0 {
		o.Host, o.Port = "127.0.0.1", server.RANDOM_PORT
	}
	return BrokerWith(t, o)
}

// BrokerWith is a broker with options of nats-server, without a log and without handlers of signals. It is closed when the test ends.
func BrokerWith(t testing.TB, o *server.Options) *server.Server {
	t.Helper()
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
	if !srv.ReadyForConnections(30 * time.Second) {
		t.Fatal("the broker takes no connections")
	}
	return srv
}
