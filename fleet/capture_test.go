package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/testkit"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func lastSeq(t *testing.T, js jetstream.JetStream, stream string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

func awaitSeq(t *testing.T, js jetstream.JetStream, stream string, want uint64) {
	t.Helper()
	testkit.Eventually(t, 5*time.Second, func() error {
		if got := lastSeq(t, js, stream); got != want {
			return fmt.Errorf("%s has %d messages, want %d", stream, got, want)
		}
		return nil
	})
}

func TestDuplicatesAreCapturedAndStoredPublishesOnce(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	subject := fleet.NewContract("").TaskSubject("cto", "code_review")
	for i := range 3 {
		ack, err := js.Publish(t.Context(), subject, []byte("{}"), jetstream.WithMsgID("one"))
		if err != nil {
			t.Fatal(err)
		}
		if ack.Duplicate != (i > 0) {
			t.Errorf("publish %d: duplicate is %v", i+1, ack.Duplicate)
		}
	}
	awaitSeq(t, js, fleet.CaptureRaw, 3)
	awaitSeq(t, js, fleet.CapturePub, 1)
}

// The synchronizer closes this hole; the test pins that it exists, so that nobody forgets it.
func TestPublishesWithAnExpectationEscapeTheCaptureStreams(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	plain, err := js.Conn().SubscribeSync("obs.pub.>")
	if err != nil {
		t.Fatal(err)
	}
	subject := fleet.NewContract("").TaskSubject("cto", "code_review")
	if _, err := js.Publish(t.Context(), subject, []byte("{}"), jetstream.WithExpectStream(fleet.StreamTasks)); err != nil {
		t.Fatal(err)
	}
	msg, err := plain.NextMsg(5 * time.Second)
	if err != nil {
		t.Fatalf("a plain subscription does not see it either: %v", err)
	}
	if !fleet.EscapesCapture(msg.Header) {
		t.Errorf("not recognised by its headers: %v", msg.Header)
	}
	if _, err := js.Publish(t.Context(), subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	awaitSeq(t, js, fleet.CapturePub, 1)
	awaitSeq(t, js, fleet.StreamTasks, 2)
}

// What asks something of its own stream that capture streams do not do is known by its headers, however they are spelled.
func TestHeadersThatCaptureStreamsRefuse(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Nats-Expected-Last-Sequence": true, "nats-rollup": true, "Nats-Batch-Id": true, "Nats-Incr": true, "Nats-Schedule": true, "Nats-Schedule-Target": true,
		"Nats-Scheduler": true, "Nats-Stream-Source": true, "Nats-Msg-Id": false, "Nats-TTL": false, "Nats-Sequence": false, "X-Task-ID": false,
	} {
		if got := fleet.EscapesCapture(map[string][]string{name: {"1"}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Capture streams refuse rollups: a publish must not remove what was recorded.
func TestRollupsEscapeTheCaptureStreams(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	tasks, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	cfg := tasks.CachedInfo().Config
	cfg.AllowRollup = true
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	rollup := nats.NewMsg(fleet.NewContract("").TaskSubject("cto", "code_review"))
	rollup.Header.Set(fleet.HeaderNatsRollup, "all")
	for _, m := range []*nats.Msg{nats.NewMsg(rollup.Subject), rollup, nats.NewMsg(rollup.Subject)} {
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if !fleet.EscapesCapture(rollup.Header) {
		t.Error("not recognised by its header")
	}
	awaitSeq(t, js, fleet.CapturePub, 2)
	awaitSeq(t, js, fleet.StreamTasks, 3)
}

func TestTheProbeIsStoredNowhere(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	c := fleet.NewContract("")
	fed, err := fleet.RawFed(t.Context(), js.Conn(), c)
	if err != nil || !fed {
		t.Fatalf("fed %v, %v", fed, err)
	}
	if _, err := js.Publish(t.Context(), c.TaskSubject("cto", "x"), nil); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{fleet.StreamTasks, fleet.CapturePub, fleet.CaptureRaw} {
		awaitSeq(t, js, stream, 1)
	}
}

func TestWithoutSelfImportThePlanSaysSoAndHow(t *testing.T) {
	t.Parallel()
	js := plainServer(t, "")
	nc := js.Conn()
	c := fleet.NewContract("acme")
	if fed, err := fleet.RawFed(t.Context(), nc, c); err != nil || fed {
		t.Fatalf("fed %v, %v", fed, err)
	}
	plan, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: c})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"do not arrive under obs.raw.>", `subject: "acme.agents.*.tasks.>" }, to: "obs.raw.*.>"`} {
		if !contains(plan.String(), want) {
			t.Errorf("plan lacks %q:\n%s", want, plan)
		}
	}
}

func TestProbeReportsAClosedConnection(t *testing.T) {
	t.Parallel()
	nc, err := testkit.BareBroker(t).Connect(nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	if _, err := fleet.RawFed(t.Context(), nc, fleet.NewContract("")); err == nil {
		t.Error("no error")
	}
}

func TestTheLargestPayloadIsCapturedWhole(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	body := make([]byte, 8<<20-1024)
	for i := range body {
		body[i] = byte(i * 7)
	}
	if _, err := js.Publish(t.Context(), fleet.NewContract("").TaskSubject("cto", "code_review"), body, jetstream.WithMsgID("big")); err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{fleet.CapturePub, fleet.CaptureRaw} {
		awaitSeq(t, js, stream, 1)
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		msg, err := s.GetMsg(t.Context(), 1)
		if err != nil {
			t.Fatalf("%s: %v", stream, err)
		}
		if fleet.Fingerprint(msg.Data) != fleet.Fingerprint(body) {
			t.Errorf("%s holds another body of %d bytes", stream, len(msg.Data))
		}
	}
}
