package advisories_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/advisories"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// capturedLines makes the broker say each thing once: stream and consumer actions, the ack metric, a nak, a termination, an
// unacknowledged message deleted, a pause, and attempts used up.
func capturedLines(t *testing.T) []testkit.Captured {
	t.Helper()
	js := testkit.JetStream(t, testkit.Broker(t))
	tasks, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := tasks.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("a1"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxDeliver: 2,
		FilterSubject: "genbrain.agents.a1.tasks.>", SampleFrequency: "100",
	})
	if err != nil {
		t.Fatal(err)
	}
	waitFor := func(n uint64) { testkit.Capture(t, js, fleet.CaptureEvt, n) }
	waitFor(2) // The stream's and the consumer's creation.
	deliver := func() jetstream.Msg {
		if _, err := js.Publish(t.Context(), "genbrain.agents.a1.tasks.t", []byte("{}")); err != nil {
			t.Fatal(err)
		}
		return next(t, worker)
	}
	say := func(m jetstream.Msg, body string, lines uint64) {
		if err := js.Conn().Publish(m.Reply(), []byte(body)); err != nil {
			t.Fatal(err)
		}
		waitFor(lines)
	}
	say(deliver(), "+ACK", 3)
	m := deliver()
	say(m, "-NAK", 4)
	say(next(t, worker), "+TERM schema invalid", 5)
	deliver()
	if err := tasks.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	waitFor(6)
	m = deliver()
	say(m, "-NAK", 7)
	say(next(t, worker), "-NAK", 8)
	if _, err := worker.FetchNoWait(1); err != nil { // MAX_DELIVERIES comes with the next pull.
		t.Fatal(err)
	}
	waitFor(9)
	if _, err := tasks.PauseConsumer(t.Context(), fleet.WorkerName("a1"), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	waitFor(10)
	if err := tasks.DeleteConsumer(t.Context(), fleet.WorkerName("a1")); err != nil { // With its stream it may go without a word.
		t.Fatal(err)
	}
	waitFor(11)
	if err := js.DeleteStream(t.Context(), fleet.StreamTasks); err != nil {
		t.Fatal(err)
	}
	return testkit.Capture(t, js, fleet.CaptureEvt, 12)
}

func next(t *testing.T, c jetstream.Consumer) jetstream.Msg {
	t.Helper()
	m, err := c.Next(jetstream.FetchMaxWait(5 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheBrokerSendsTheGoldenLines(t *testing.T) {
	t.Parallel()
	got := capturedLines(t)
	if testkit.Updating() {
		testkit.Golden(t, "lines.json", got)
		return
	}
	var want []testkit.Captured
	testkit.LoadGolden(t, "lines.json", &want)
	if diff := cmp.Diff(forms(want), forms(got)); diff != "" {
		t.Errorf("the broker sends other lines now (-golden +broker):\n%s", diff)
	}
}

func forms(lines []testkit.Captured) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Form())
	}
	return out
}

func TestGoldenLinesDecode(t *testing.T) {
	t.Parallel()
	var lines []testkit.Captured
	testkit.LoadGolden(t, "lines.json", &lines)
	type result struct {
		Subject string
		Events  []lifecycle.Event `json:",omitempty"`
		Error   string            `json:",omitempty"`
	}
	var results []result
	for _, c := range lines {
		events, err := decode(c.Seq, c.Subject, []byte(c.Body))
		r := result{Subject: c.Subject, Events: events}
		if err != nil {
			r.Error = err.Error()
		}
		results = append(results, r)
	}
	testkit.Golden(t, "events.json", results)
}

// Of a message that is deleted in its third delivery the broker names the consumer sequence of the first one.
func TestARemovalDoesNotNumberDeliveries(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	tasks, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	worker, err := tasks.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: fleet.WorkerName("a1"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: 200 * time.Millisecond, FilterSubject: "genbrain.agents.a1.tasks.>",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "genbrain.agents.a1.tasks.t", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		next(t, worker)
	}
	if err := tasks.DeleteMsg(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	said := testkit.Capture(t, js, fleet.CaptureEvt, 3)[2]
	events, err := decode(said.Seq, said.Subject, []byte(said.Body))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.Body, `"consumer_seq":1,"stream_seq":1,"deliveries":2`) || events[0].Attempt != 2 || events[0].ConsumerSeq != 0 {
		t.Errorf("got attempt %d, consumer sequence %d of %s", events[0].Attempt, events[0].ConsumerSeq, said.Body)
	}
}

// captured is when the lines of these tests are said to have been captured: after everything that they tell of.
var captured = lifecycle.MicrosOf(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))

func decode(seq uint64, subject string, body []byte) ([]lifecycle.Event, error) {
	var b lifecycle.Batch
	line := collectors.Line{Source: lifecycle.StreamID{Name: fleet.CaptureEvt, Epoch: 1}, Seq: seq, At: captured, Subject: subject, Body: body}
	err := advisories.Decode(line, collectors.Streams{Contract: fleet.NewContract(""), Home: "hub"}, &b)
	return b.Events, err
}

func TestTypesAndNumbersAreChecked(t *testing.T) {
	t.Parallel()
	const head = `"timestamp":"2026-01-02T03:04:05.000006Z","stream":"TASKS","consumer":"a1-task-worker"`
	tests := []struct{ name, body, want string }{ // want: the event's message, "nothing", or part of the error.
		{"the broker's own domain", `{"type":"io.nats.jetstream.advisory.v1.max_deliver",` + head + `,"stream_seq":5,"deliveries":3,"domain":"hub"}`, "TASKS:5"},
		{"another domain", `{"type":"io.nats.jetstream.advisory.v1.max_deliver",` + head + `,"stream_seq":5,"deliveries":3,"domain":"leaf"}`, "leaf/TASKS:5"},
		{"a year to come", `{"type":"io.nats.jetstream.advisory.v1.nak","timestamp":"9999-01-01T00:00:00Z","stream":"TASKS","consumer":"a1-task-worker","stream_seq":5}`, "after its line was captured"},
		{"more deliveries than the consumer made", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":5,"consumer_seq":2,"deliveries":3}`, "cannot be the consumer's delivery"},
		{"an answer that took a century", `{"type":"io.nats.jetstream.metric.v1.consumer_ack",` + head + `,"stream_seq":5,"consumer_seq":3,"deliveries":3,"ack_time":3153600000000000000}`, "said to have taken"},
		{"a known type about something else", `{"type":"io.nats.jetstream.advisory.v1.stream_leader_elected"}`, "nothing"},
		{"an unknown type", `{"type":"io.nats.jetstream.advisory.v9.max_deliver",` + head + `,"stream_seq":5,"deliveries":3}`, "not known"},
		{"no type", `{}`, "not known"},
		{"not JSON", `hello`, "decode advisory"},
		{"an array", `[]`, "decode advisory"},
		{"sequence zero", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":0,"deliveries":3}`, "stream sequence"},
		{"sequence beyond 2^53", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":9007199254740993,"deliveries":3}`, "stream sequence"},
		{"sequence that overflows", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":99999999999999999999,"deliveries":3}`, "decode"},
		{"negative deliveries", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":9,"deliveries":-3}`, "decode"},
		{"deliveries beyond", `{"type":"io.nats.jetstream.advisory.v1.nak",` + head + `,"stream_seq":9,"deliveries":99999999999}`, "delivery count"},
		{"no time", `{"type":"io.nats.jetstream.advisory.v1.nak","stream":"TASKS","consumer":"w","stream_seq":9,"deliveries":1}`, "no time"},
		{"no consumer", `{"type":"io.nats.jetstream.advisory.v1.nak","timestamp":"2026-01-02T03:04:05Z","stream":"TASKS","stream_seq":9}`, "consumer name"},
	}
	for _, tt := range tests {
		events, err := decode(1, "$JS.EVENT.ADVISORY.X", []byte(tt.body))
		got := "nothing"
		if err != nil {
			got = err.Error()
		} else if len(events) == 1 {
			got = events[0].Message.String()
		}
		if !strings.Contains(got, tt.want) || (len(events) > 0 && err != nil) {
			t.Errorf("%s: got %q and %d events, want %q", tt.name, got, len(events), tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	var lines []testkit.Captured
	testkit.LoadGolden(f, "lines.json", &lines)
	for _, l := range lines {
		f.Add([]byte(l.Body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := decode(1, "$JS.EVENT", body)
		if err != nil && len(events) > 0 {
			t.Fatalf("events with error %v", err)
		}
		for _, e := range events {
			if k, err := lifecycle.ParseMessageKey(e.Message.String()); err != nil || k != e.Message || e.Attempt < 0 || e.Detail.AckTime < 0 {
				t.Errorf("event %+v: %v", e, err)
			}
			if _, err := json.Marshal(e); err != nil {
				t.Error(fmt.Errorf("encode %+v: %w", e, err))
			}
		}
	})
}
