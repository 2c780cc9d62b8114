package brokersync_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// A task that another stream over the fleet's subjects took was stored. Nobody captures that stream, and health says so: the task is read from the stream.
func TestATaskInAnotherStreamIsNeverCalledNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.cfg.NotStored = 100 * time.Millisecond
	b.tasks(t, func(c *jetstream.StreamConfig) {
		c.Subjects, c.RePublish = []string{"genbrain.agents.*.tasks.blog"}, nil
	})
	vip := jetstream.StreamConfig{Name: "TASKS_VIP", Subjects: []string{"genbrain.agents.*.tasks.vip"}, Retention: jetstream.WorkQueuePolicy}
	if _, err := b.js.CreateStream(t.Context(), vip); err != nil {
		t.Fatal(err)
	}
	part := b.start()
	a := b.agent(t, "vip")
	m := nats.NewMsg("genbrain.agents.vip.tasks.vip")
	m.Data = []byte(`{"taskId":"elsewhere"}`)
	m.Header.Set("Nats-Msg-Id", "elsewhere")
	_, err := a.js.PublishMsg(m)
	a.must(err)
	testkit.Eventually(t, patience, func() error {
		var err error
		if said := b.events("elsewhere"); !strings.Contains(said, string(lifecycle.PublishAttempted)) {
			err = fmt.Errorf("no attempt is stored; its events:\n%s", said)
		}
		if h := part.Health()[0]; err == nil && !strings.Contains(h.Detail, "TASKS_VIP") {
			err = fmt.Errorf("health does not name the stream: %+v", h)
		}
		return err
	})
	b.expect(t, "elsewhere", "published (stored) [orphaned publish_unseen]")
	if said := b.events("elsewhere"); strings.Contains(said, string(lifecycle.NotStored)) {
		t.Errorf("it is stored in TASKS_VIP; its events:\n%s", said)
	}
}
