//go:build linux

package bench

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

// beTheBroker is a broker in a process of its own, until it is asked to end.
func beTheBroker(text []byte) error {
	var o brokerOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	srv, err := embednats.Start(embednats.Config{Dir: o.Dir, Listen: o.Listen, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	<-ended
	return srv.Close()
}

// broker is a nats-server in a process of its own.
type broker struct {
	*process
	url string
}

func startBroker(t testing.TB, dir string) *broker {
	t.Helper()
	listen := testkit.FreeAddress(t)
	p := startRole(t, dir, "broker", brokerOrder{Dir: filepath.Join(dir, "broker"), Listen: listen})
	return &broker{process: p, url: "nats://" + listen}
}

// dial connects to a broker, which may still be starting.
func dial(t testing.TB, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(2*window))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		_, err := js.AccountInfo(t.Context())
		return err
	})
	return js
}

// provision sets the streams of a fleet up, capture streams included.
func provision(t testing.TB, js jetstream.JetStream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := fleet.Provision(ctx, js, fleet.Streams{Contract: contract}); err != nil {
		t.Fatal(err)
	}
}

// contract is that of every fleet here.
var contract = fleet.NewContract("")
