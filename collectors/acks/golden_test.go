package acks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// bodies are all the answers that the golden lines hold, in order. Each is given to a message of its own.
var bodies = []string{
	"+ACK", "", "+OK", "-NAK", `-NAK {"delay": 200000000}`, "-NAK 1m30s", "-NAK soon", "+WPI", "+TERM", "+TERM schema invalid", "+NXT",
	`+NXT {"batch":1}`, "+ack", "+ACK ", "+WPI x", "nonsense",
}

func TestTheBrokerSendsTheGoldenLines(t *testing.T) {
	for _, tt := range []struct{ file, domain string }{{"short.lines.json", ""}, {"long.lines.json", "hub"}} {
		js := answered(t, tt.domain)
		got := testkit.Capture(t, js, fleet.CaptureAck, uint64(len(bodies)))
		if testkit.Updating() {
			testkit.Golden(t, tt.file, got)
			continue
		}
		var want []testkit.Captured
		testkit.LoadGolden(t, tt.file, &want)
		if diff := cmp.Diff(forms(want), forms(got)); diff != "" {
			t.Errorf("%s: the broker sends other lines now (-golden +broker):\n%s", tt.file, diff)
		}
	}
}

func TestGoldenLinesDecode(t *testing.T) {
	t.Parallel()
	for _, form := range []string{"short", "long"} {
		var lines []testkit.Captured
		testkit.LoadGolden(t, form+".lines.json", &lines)
		type result struct {
			Subject, Body string
			Events        []lifecycle.Event `json:",omitempty"`
			Error         string            `json:",omitempty"`
		}
		contract := fleet.NewContract("")
		contract.Domain = map[string]string{"long": "hub"}[form]
		var results []result
		for _, c := range lines {
			var b lifecycle.Batch
			r := result{Subject: c.Subject, Body: c.Body}
			if err := acks.Decode(line(c), collectors.Streams{Contract: contract}, &b); err != nil {
				r.Error = err.Error()
			}
			r.Events = b.Events
			results = append(results, r)
		}
		testkit.Golden(t, form+".events.json", results)
	}
}

func line(c testkit.Captured) collectors.Line {
	return collectors.Line{
		Source: lifecycle.StreamID{Name: fleet.CaptureAck, Epoch: 1}, Seq: c.Seq, At: lifecycle.MicrosOf(c.Time), Subject: c.Subject,
		Headers: c.Headers, Body: []byte(c.Body),
	}
}

func forms(lines []testkit.Captured) []string {
	var out []string
	for _, l := range lines {
		out = append(out, l.Form())
	}
	return out
}

// answered runs a broker in which one worker gives one answer after another. With a domain it uses the long form of ack subjects.
func answered(t *testing.T, domain string) jetstream.JetStream {
	t.Helper()
	js := broker(t, domain)
	for i, body := range bodies {
		m := deliver(t, js, "genbrain.agents.a1.tasks.t"+string(rune('a'+i)))
		answer(t, js, m, body)
		meta, err := m.Metadata()
		if err != nil {
			t.Fatal(err)
		}
		// So that it is not delivered again. It is gone already after an acknowledgement.
		_ = tasks(t, js).DeleteMsg(t.Context(), meta.Sequence.Stream)
	}
	return js
}
