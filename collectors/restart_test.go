package collectors_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/health"
	"fleetglass/internal/testkit"
)

func TestABrokerThatRestartsIsReadOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address := testkit.FreeAddress(t)
	start := func() *embednats.Server {
		srv, err := embednats.Start(embednats.Config{Dir: dir, Listen: address})
		if err != nil {
			t.Fatal(err)
		}
		return srv
	}
	srv := start()
	nc, err := nats.Connect(srv.URL(), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, js: js, rec: newRecorder()}
	b.cfg = collectors.Config{JetStream: js, Appender: b.rec, Watermarks: b.rec, Incarnations: incarnations(t, js, b.rec),
		Contract: fleet.NewContract(""), Retry: 5 * time.Millisecond, Watch: 20 * time.Millisecond}
	b.src = collectors.Source{Name: "lines", Stream: "LINES", Decode: keep}
	b.createStream(jetstream.StreamConfig{})
	c, stop := b.start()
	b.publish(numbered(1, 50)...)
	b.waitFor(50)
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		if p := c.Health()[0]; p.State != health.Down {
			return fmt.Errorf("health %+v while the broker is gone", p)
		}
		return nil
	})
	srv = start()
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	if moved, wanted := srv.Moved(); moved {
		t.Fatalf("the broker listens on %s, want %s", srv.URL(), wanted)
	}
	testkit.Eventually(t, patience, func() error {
		_, err := js.Publish(t.Context(), "lines.x", []byte("line 000051"), jetstream.WithMsgID("51"))
		return err
	})
	b.waitFor(51)
	testkit.Eventually(t, patience, func() error {
		if p := c.Health()[0]; p.State != health.OK || p.Pending != 0 {
			return fmt.Errorf("health %+v", p)
		}
		return nil
	})
	stop() // Before the broker.
}
