package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// On three replicas a capture stream must neither deduplicate nor answer the publisher, just as on one.
func TestThreeReplicasCaptureEveryAttempt(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a cluster of three servers")
	}
	t.Parallel()
	c := fleet.NewContract("")
	servers := testkit.BrokerCluster(t, c)
	js := connectTo(t, servers[0])
	s := fleet.Streams{Contract: c, Replicas: 3}
	testkit.Eventually(t, 60*time.Second, func() error {
		_, err := fleet.Provision(t.Context(), js, s)
		return err
	})
	plan, err := fleet.NewPlan(t.Context(), js, s)
	if err != nil || !plan.Empty() || !plan.SelfImport.Fed {
		t.Errorf("second plan: %v\n%s", err, plan)
	}
	for _, srv := range servers {
		other := connectTo(t, srv)
		for i := range 3 {
			replies := publishAndCount(t, other, c.TaskSubject("cto", "x"), srv.Name())
			if want := fmt.Sprintf(`"duplicate": %v`, i > 0); len(replies) != 1 || (i > 0) != strings.Contains(replies[0], `"duplicate"`) {
				t.Errorf("publish %d on %s: replies %v, want one with %s", i+1, srv.Name(), replies, want)
			}
		}
	}
	for _, srv := range servers {
		replies := publishAndCount(t, connectTo(t, srv), c.TaskSubject("cto", "x"), "expecting-"+srv.Name(), "Nats-Expected-Stream", fleet.StreamTasks)
		if len(replies) != 1 || strings.Contains(replies[0], "error") {
			t.Errorf("publish with an expectation on %s: replies %v", srv.Name(), replies)
		}
	}
	awaitSeq(t, js, fleet.CaptureRaw, 9)
	awaitSeq(t, js, fleet.CapturePub, 3)
	awaitSeq(t, js, fleet.StreamTasks, 6)
}

// publishAndCount publishes and collects every reply that comes before a marker sent after it has been stored.
func publishAndCount(t *testing.T, js jetstream.JetStream, subject, id string, headers ...string) []string {
	t.Helper()
	nc := js.Conn()
	inbox, err := nc.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	msg := nats.NewMsg(subject)
	msg.Reply, msg.Data = inbox.Subject, []byte("{}")
	msg.Header.Set(fleet.HeaderMsgID, id)
	for i := 0; i < len(headers); i += 2 {
		msg.Header.Set(headers[i], headers[i+1])
	}
	if err := nc.PublishMsg(msg); err != nil {
		t.Fatal(err)
	}
	var replies []string
	for wait := 10 * time.Second; ; wait = 300 * time.Millisecond {
		reply, err := inbox.NextMsg(wait)
		if err != nil {
			return replies
		}
		replies = append(replies, string(reply.Data))
	}
}
