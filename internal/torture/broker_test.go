//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// brokerOrder is where a broker listens and keeps its streams.
type brokerOrder struct{ Dir, Listen string }

// beTheBroker is a broker in a process of its own, until it is asked to end or killed.
func beTheBroker(text []byte) error {
	var o brokerOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM) // A busy machine may want it to end while it starts.
	srv, err := embednats.Start(embednats.Config{Dir: o.Dir, Listen: o.Listen, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	<-ended
	return srv.Close()
}

// broker is a broker that the harness runs.
type broker struct {
	t     *testing.T
	dir   string
	order brokerOrder
	*process
}

func startBroker(t *testing.T, dir string) *broker {
	t.Helper()
	return startShardedBroker(t, dir, 1)
}

// startShardedBroker cuts the capture streams into shards.
func startShardedBroker(t *testing.T, dir string, shards int) *broker {
	t.Helper()
	b := &broker{t: t, dir: dir, order: brokerOrder{Dir: filepath.Join(dir, "broker"), Listen: testkit.FreeAddress(t)}}
	b.again()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := fleet.Provision(ctx, dial(t, b.url()), fleet.Streams{Contract: fleet.NewContract(""), Shards: shards}); err != nil {
		t.Fatal(err)
	}
	return b
}

// again starts the broker on the streams that it has.
func (b *broker) again() { b.process = startRole(b.t, b.dir, "broker", b.order) }

// stop asks a broker that answers to end.
func (b *broker) stop(t *testing.T) {
	t.Helper()
	dial(t, b.url()) // Before it listens it may not know yet how to end in good order.
	b.process.stop(t)
}

func (b *broker) url() string { return "nats://" + b.order.Listen }

// dial connects the harness itself.
func dial(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.Name("harness"), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		_, err := js.AccountInfo(t.Context())
		return err
	})
	return js
}
