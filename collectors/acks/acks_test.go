package acks_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

func streams() collectors.Streams {
	return collectors.Streams{
		Contract: fleet.NewContract(""),
		Known:    map[string]collectors.Incarnations{"TASKS": {{Created: 1_000}, {Epoch: 5_000, From: 4_000, Created: 5_000}}},
		LastSeq:  map[string]collectors.LastSeq{"TASKS": {Epoch: 5_000, Seq: 100}},
	}
}

func decode(subject, body string) ([]lifecycle.Event, error) {
	var b lifecycle.Batch
	err := acks.Decode(collectors.Line{
		Source: lifecycle.StreamID{Name: fleet.CaptureAck, Epoch: 7}, Seq: 3, At: 9_000, Subject: subject, Body: []byte(body),
	}, streams(), &b)
	return b.Events, err
}

func TestMessagesAreTold(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, subject, want string }{
		{"the first life, by its publish time", "$JS.ACK.TASKS.a-task-worker.1.12.3.2000000.0", "TASKS:12"},
		{"a later life", "$JS.ACK.TASKS.a-task-worker.1.12.3.6000000.0", "TASKS~5000:12"},
		{"the first life may have had more messages than the live one", "$JS.ACK.TASKS.a-task-worker.1.1200.3.2000000.0", "TASKS:1200"},
		{"the long form without a domain", "$JS.ACK._.hash.TASKS.a-task-worker.1.12.3.6000000.0", "TASKS~5000:12"},
		{"the long form with tokens to come", "$JS.ACK._.hash.TASKS.a-task-worker.1.12.3.6000000.0.x.y", "TASKS~5000:12"},
		{"the largest sequence", "$JS.ACK.TASKS.w.1.9007199254740992.3.2000000.0", "TASKS:9007199254740992"},
	}
	for _, tt := range tests {
		events, err := decode(tt.subject, "+ACK")
		if err != nil || len(events) != 1 {
			t.Errorf("%s: %d events, error %v", tt.name, len(events), err)
			continue
		}
		if got := events[0].Message.String(); got != tt.want {
			t.Errorf("%s: message %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What Fleetglass hands back for somebody may name any delivery of the consumer: the line proves none.
func TestWhatFleetglassHandsBackProvesNoDelivery(t *testing.T) {
	t.Parallel()
	for by, want := range map[string]uint64{"": 3, "release-1": 0} {
		line := collectors.Line{
			Source: lifecycle.StreamID{Name: fleet.CaptureAck, Epoch: 7}, Seq: 3, At: 9_000, Subject: "$JS.ACK.TASKS.a-task-worker.1.12.3.6000000.0", Body: []byte("-NAK"),
		}
		if by != "" {
			line.Headers = map[string][]string{fleet.HeaderTriageAction: {by}}
		}
		var b lifecycle.Batch
		if err := acks.Decode(line, streams(), &b); err != nil || len(b.Events) != 1 {
			t.Fatalf("%d events, %v", len(b.Events), err)
		}
		if e := b.Events[0]; e.ConsumerSeq != want || e.Attempt != 1 || e.Detail.ActionID != by {
			t.Errorf("by %q: delivery %d of attempt %d, action %q; want delivery %d", by, e.ConsumerSeq, e.Attempt, e.Detail.ActionID, want)
		}
	}
}

func TestOddLinesAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, subject, why string }{
		{"not an ack", "genbrain.agents.a.tasks.t", "not an acknowledgement"},
		{"too short", "$JS.ACK.TASKS.w.1.2.3.4", "tokens"},
		{"between the forms", "$JS.ACK.TASKS.w.1.2.3.4.5.6", "tokens"},
		{"sequence zero", "$JS.ACK.TASKS.w.1.0.3.4.5", "stream sequence"},
		{"sequence beyond 2^53", "$JS.ACK.TASKS.w.1.9007199254740993.3.4.5", "stream sequence"},
		{"sequence that overflows", "$JS.ACK.TASKS.w.1.18446744073709551617.3.4.5", "too large"},
		{"negative sequence", "$JS.ACK.TASKS.w.1.-5.3.4.5", "not a number"},
		{"plus sign", "$JS.ACK.TASKS.w.1.+5.3.4.5", "not a number"},
		{"hexadecimal", "$JS.ACK.TASKS.w.1.0x5.3.4.5", "not a number"},
		{"empty token", "$JS.ACK.TASKS.w.1..3.4.5", "not a number"},
		{"other digits", "$JS.ACK.TASKS.w.1.٣.3.4.5", "not a number"},
		{"delivery zero", "$JS.ACK.TASKS.w.0.2.3.4.5", "delivery count"},
		{"delivery beyond", "$JS.ACK.TASKS.w.99999999999.2.3.4.5", "delivery count"},
		{"consumer sequence zero", "$JS.ACK.TASKS.w.1.2.0.4.5", "consumer sequence"},
		{"time that overflows", "$JS.ACK.TASKS.w.1.2.3.99999999999999999999.5", "publish time"},
		{"pending is text", "$JS.ACK.TASKS.w.1.2.3.4.x", "pending count"},
		{"consumer is empty", "$JS.ACK.TASKS..1.2.3.4.5", "consumer name"},
		{"consumer too long", "$JS.ACK.TASKS." + strings.Repeat("w", 256) + ".1.2.3.4.5", "consumer name"},
		{"stream is empty", "$JS.ACK..w.1.2.3.4.5", "stream name"},
		{"stream with a slash", "$JS.ACK.TA/SKS.w.1.2.3.4.5", "stream name"},
		{"domain with a slash", "$JS.ACK.do/main.h.TASKS.w.1.2.3.4.5", "domain name"},
		{"another domain", "$JS.ACK.leaf.hash.TASKS.a-task-worker.1.12.3.6000000.0", "not observed"},
		{"domain is empty", "$JS.ACK..h.TASKS.w.1.2.3.4.5", "empty domain"},
		{"a message that is not there yet", "$JS.ACK.TASKS.w.1.101.3.6000000.5", "does not exist"},
	}
	for _, tt := range tests {
		events, err := decode(tt.subject, "+ACK")
		if err == nil || !strings.Contains(err.Error(), tt.why) || len(events) != 0 {
			t.Errorf("%s: events %v, error %v, want an error about %q", tt.name, events, err, tt.why)
		}
	}
}

func TestBodiesAreReadAsTheBrokerReadsThem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		body string
		want acks.Body
		ok   bool
	}{
		{"+ACK", acks.Body{Kind: lifecycle.Acked}, true},
		{"", acks.Body{Kind: lifecycle.Acked}, true},
		{"-NAK {\"delay\": 2500000000}", acks.Body{Kind: lifecycle.Nacked, Delay: 2500 * time.Millisecond}, true},
		{"-NAK 1.5s", acks.Body{Kind: lifecycle.Nacked, Delay: 1500 * time.Millisecond}, true},
		{"-NAK {\"delay\": -5}", acks.Body{Kind: lifecycle.Nacked}, true},
		{"-NAK {\"delay\": \"1s\"}", acks.Body{Kind: lifecycle.Nacked}, true},
		{"-NAK {", acks.Body{Kind: lifecycle.Nacked}, true},
		{"+TERM  out of tokens \n", acks.Body{Kind: lifecycle.Terminated, Reason: "out of tokens"}, true},
		{"+WPI ", acks.Body{}, false},
		{"+ack", acks.Body{}, false},
	}
	for _, tt := range tests {
		if got, ok := acks.ParseBody([]byte(tt.body)); got != tt.want || ok != tt.ok {
			t.Errorf("%q: got %+v %t, want %+v %t", tt.body, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range []string{"short.lines.json", "long.lines.json"} {
		var lines []testkit.Captured
		testkit.LoadGolden(f, file, &lines)
		for _, l := range lines {
			f.Add(l.Subject, []byte(l.Body))
		}
	}
	f.Add("$JS.ACK.TASKS.w.1.18446744073709551617.3.4.5", []byte("-NAK {\"delay\":9223372036854775807}"))
	f.Fuzz(func(t *testing.T, subject string, body []byte) {
		events, err := decode(subject, string(body))
		if (err == nil) != (len(events) == 1) {
			t.Fatalf("%d events with error %v", len(events), err)
		}
		if err != nil {
			return
		}
		e := events[0]
		if e.Message.Seq < 1 || e.Message.Seq > 1<<53 || e.Attempt < 1 || e.Attempt > math.MaxInt32+1 || e.Detail.Delay < 0 {
			t.Errorf("event %+v is out of bounds", e)
		}
		if k, err := lifecycle.ParseMessageKey(e.Message.String()); err != nil || k != e.Message {
			t.Errorf("key %q does not read back: %v %v", e.Message, k, err)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
