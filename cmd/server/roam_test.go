package main

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// natsServer is a server that stores nothing unless it is given a directory.
func natsServer(t *testing.T, dir string) *server.Server {
	t.Helper()
	return testkit.BrokerWith(t, &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: dir != "", StoreDir: dir})
}

// roaming is connected to the first of the servers.
func roaming(t *testing.T, servers ...*server.Server) *roam {
	t.Helper()
	urls := ""
	for _, s := range servers {
		urls += "," + s.ClientURL()
	}
	nc, err := nats.Connect(urls[1:], nats.DontRandomize(), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return &roam{conn: nc, js: js, every: 20 * time.Millisecond, log: slog.New(slog.DiscardHandler)}
}

// A server that answers pings and no question of JetStream is what a node is that was cut off from its cluster.
func TestAServerWithoutAnAnswerIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	mute, good := natsServer(t, ""), natsServer(t, t.TempDir())
	r := roaming(t, mute, good)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	testkit.Eventually(t, 20*time.Second, func() error {
		if got := r.conn.ConnectedUrl(); got != good.ClientURL() {
			return fmt.Errorf("connected to %q, want %q", got, good.ClientURL())
		}
		return nil
	})
}

// Where there is no other server, leaving would only cost the connection; and an answer makes up for those that were missing.
func TestWhoIsAskedAndNotLeft(t *testing.T) {
	t.Parallel()
	mute, good := natsServer(t, ""), natsServer(t, t.TempDir())
	for name, c := range map[string]struct {
		servers []*server.Server
		want    int
	}{
		"the only server":      {[]*server.Server{mute}, 0},
		"a mute one of two":    {[]*server.Server{mute, good}, asksUnmet},
		"one that answers now": {[]*server.Server{good, mute}, 0},
	} {
		r := roaming(t, c.servers...)
		r.every = 10 * time.Second
		if got := r.ask(t.Context(), asksUnmet-1); got != c.want {
			t.Errorf("%s: %d questions in a row are not answered, want %d", name, got, c.want)
		}
	}
}
