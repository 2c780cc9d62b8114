package testkit

import (
	"context"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// BareBroker is a broker of the default contract on a random loopback port, without any stream. It is closed when the test ends.
func BareBroker(t testing.TB) *embednats.Server {
	t.Helper()
	srv, err := embednats.Start(embednats.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// Broker is a [BareBroker] with every stream of the default contract, OBS_PULL included, and the idempotency bucket.
func Broker(t testing.TB) *embednats.Server {
	t.Helper()
	srv := BareBroker(t)
	Provision(t, srv, fleet.Streams{Contract: fleet.NewContract(""), Pulls: true})
	return srv
}

// Provision applies the streams to a broker.
func Provision(t testing.TB, srv *embednats.Server, s fleet.Streams) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := fleet.Provision(ctx, JetStream(t, srv), s); err != nil {
		t.Fatal(err)
	}
}

// JetStream is a connection through memory. It is closed when the test ends; its Conn is the plain connection.
func JetStream(t testing.TB, srv *embednats.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := srv.Connect(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
