package acks_test

import (
	"slices"
	"testing"

	"fleetglass/collectors"
	"fleetglass/collectors/acks"
	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// TestAnAnswerNamesWhoElseIsStillToAnswer holds answers in streams that keep their messages to naming the other consumers of the workers that may take the message and have not answered it.
func TestAnAnswerNamesWhoElseIsStillToAnswer(t *testing.T) {
	t.Parallel()
	of := func(agent string) []string { return []string{"genbrain.agents." + agent + ".tasks.>"} }
	const first, second = "a-task-worker", "a-second-task-worker"
	for _, tc := range []struct {
		name, body string
		other      collectors.Worker
		gone       bool
		want       []string
	}{
		{"it takes the same", "+ACK", collectors.Worker{Name: second, Filters: of("a")}, false, []string{second}},
		{"it takes everything", "+TERM", collectors.Worker{Name: second}, false, []string{second}},
		{"it has answered it", "+ACK", collectors.Worker{Name: second, Filters: of("a"), Floor: 12}, false, nil},
		{"it is just before it", "+ACK", collectors.Worker{Name: second, Filters: of("a"), Floor: 11}, false, []string{second}},
		{"it takes another agent's", "+ACK", collectors.Worker{Name: second, Filters: of("b")}, false, nil},
		{"it took the same before, and may have it", "+ACK", collectors.Worker{Name: second, Filters: of("b"), Held: of("a")}, false, []string{second}},
		{"it took others before too", "+ACK", collectors.Worker{Name: second, Filters: of("b"), Held: of("c")}, false, nil},
		{"it is the one that answers", "+ACK", collectors.Worker{Name: first, Filters: of("a")}, false, nil},
		{"an answer that ends nothing", "+WPI", collectors.Worker{Name: second, Filters: of("a")}, false, nil},
		{"the one that answers is gone", "+ACK", collectors.Worker{Name: second, Filters: of("a")}, true, nil},
	} {
		s := streams()
		s.LastSeq["TASKS"] = collectors.LastSeq{Epoch: 5_000, Seq: 100, Kept: true, Consumers: 2}
		s.Workers = map[string][]collectors.Worker{"TASKS": {tc.other}}
		s.Sights = map[collectors.ConsumerRef]collectors.Sight{}
		if !tc.gone {
			s.Sights[collectors.ConsumerRef{Stream: "TASKS", Name: first}] = collectors.Sight{CreatedAt: 5_500, DeliveredSeq: 12, Deliveries: 3, Filters: of("a")}
		}
		var b lifecycle.Batch
		line := collectors.Line{Source: lifecycle.StreamID{Name: fleet.CaptureAck}, Seq: 3, At: 9_000, Subject: "$JS.ACK.TASKS." + first + ".1.12.3.6000000.0", Body: []byte(tc.body)}
		if err := acks.Decode(line, s, &b); err != nil || len(b.Events) != 1 {
			t.Errorf("%s: %d events, %v", tc.name, len(b.Events), err)
			continue
		}
		if got := b.Events[0].Detail.Beside; !slices.Equal(got, tc.want) {
			t.Errorf("%s: beside %q, want %q", tc.name, got, tc.want)
		}
	}
}
