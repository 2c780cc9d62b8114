package storetest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

var fleetTests = []conformanceTest{
	{"quarantined lines are kept once", fleetQuarantine},
	{"gaps open and close", fleetGaps},
	{"an older observation of a consumer never replaces a newer one", fleetConsumers},
	{"watermarks", fleetWatermarks},
	{"rollups of a span", fleetRollups},
}

func fleetQuarantine(t *testing.T, s Store) {
	var want []lifecycle.QuarantinedLine
	for i := range uint64(5) {
		want = append(want, lifecycle.QuarantinedLine{
			ID: lifecycle.EventID(math.MaxUint64 - i), Source: "OBS_ACK", SourceSeq: math.MaxUint64 - i, At: lifecycle.Micros(1000 - i/2),
			Subject: fmt.Sprintf("$JS.ACK.odd.%d", i), Headers: map[string][]string{"H": {"\xff"}}, Body: []byte{byte(i), 0, 0xff}, Reason: "four tokens",
		})
	}
	mustStore(t, s, lifecycle.Batch{Quarantined: want})
	again := slices.Clone(want)
	again[0].Body, again[0].Reason = []byte("another body"), "another reason" // What was seen first stays.
	mustStore(t, s, lifecycle.Batch{Quarantined: again})
	got, n, err := s.Quarantine(t.Context(), 100)
	if err != nil || n != 5 {
		t.Errorf("quarantined lines: %d, %v; want 5", n, err)
	}
	byID := map[lifecycle.EventID]lifecycle.QuarantinedLine{}
	for i, line := range got {
		byID[line.ID] = line
		if i > 0 && got[i-1].At < line.At {
			t.Errorf("line %d is later than the one before it, want latest first", i)
		}
	}
	for _, line := range want {
		diff(t, fmt.Sprintf("line %v", line.ID), byID[line.ID], line)
	}
	if got, n, err = s.Quarantine(t.Context(), 2); err != nil || len(got) != 2 || n != 5 {
		t.Errorf("two lines of five: got %d of %d, %v", len(got), n, err)
	}
}

func fleetGaps(t *testing.T, s Store) {
	closed := lifecycle.Gap{Source: "OBS_PUB", From: 100, To: 200, FromSeq: 7, ToSeq: math.MaxUint64, Reason: "limits", Repaired: true}
	open := lifecycle.Gap{Source: "OBS_ACK", From: 150, Reason: "we were down"}
	twin := lifecycle.Gap{Source: "OBS_RAW", From: 150, To: 160}
	for range 2 {
		mustStore(t, s, lifecycle.Batch{Gaps: []lifecycle.Gap{closed, open}})
	}
	check := func(from, to lifecycle.Micros, want ...lifecycle.Gap) {
		t.Helper()
		got, err := s.Gaps(t.Context(), from, to, 10)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, fmt.Sprintf("gaps in [%d, %d)", from, to), got, want)
	}
	check(0, 1000, open, closed)
	check(0, 100)
	check(0, 101, closed)
	check(199, 300, open, closed)
	check(201, 300, open)
	open.To, open.Reason = 300, "we were down for maintenance"
	mustStore(t, s, lifecycle.Batch{Gaps: []lifecycle.Gap{open, twin}})
	check(301, 400)
	got, err := s.Gaps(t.Context(), 0, 1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "the latest two gaps of three, those of one time by source", got, []lifecycle.Gap{open, twin})
	check(250, 260, open)
	first := lifecycle.Gap{Source: "OBS_PUB", From: 500, To: 510, FromSeq: 20, ToSeq: 29, Reason: "first part"}
	grown := lifecycle.Gap{Source: "OBS_PUB", From: 500, To: 520, FromSeq: 30, ToSeq: 39, Reason: "second part"}
	late := lifecycle.Gap{Source: "OBS_PUB", From: 500, To: 515, FromSeq: 20, ToSeq: 34, Reason: "as another replica saw it earlier"}
	for _, part := range []lifecycle.Gap{first, grown, late} {
		mustStore(t, s, lifecycle.Batch{Gaps: []lifecycle.Gap{part}})
	}
	grown.FromSeq = 20
	check(500, 600, grown)
}

func fleetConsumers(t *testing.T, s Store) {
	newer := lifecycle.ConsumerState{
		Stream: lifecycle.StreamID{Account: "A", Domain: "hub", Name: "TASKS", Epoch: 5}, Name: "cto-task-worker", CreatedAt: 10, ObservedAt: 200,
		Filters: []string{"genbrain.agents.cto.tasks.>"}, AckWait: 5 * time.Minute, Backoff: []time.Duration{30 * time.Second, 2 * time.Minute},
		MaxDeliver: -1, MaxAckPending: 1, AckPending: 1, Redelivered: 2, Pending: math.MaxUint64, Waiting: 3, DeliveredCSeq: math.MaxUint64 - 1,
		DeliveredSeq: math.MaxUint64 - 2, DeliveredAt: 190, FloorCSeq: 4, FloorSeq: 5, Paused: true, PausedUntil: 900, Gone: true,
	}
	older, other, third := newer, newer, newer
	older.ObservedAt, older.AckPending, older.Gone = 100, 0, false
	other.Stream = tasksStream
	third.Name = "a-task-worker"
	mustStore(t, s, lifecycle.Batch{Consumers: []lifecycle.ConsumerState{older, newer}})
	mustStore(t, s, lifecycle.Batch{Consumers: []lifecycle.ConsumerState{older, other, third}})
	got, err := s.Consumers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "consumers", got, []lifecycle.ConsumerState{other, third, newer})
	newer.ObservedAt, newer.Gone = 201, false
	mustStore(t, s, lifecycle.Batch{Consumers: []lifecycle.ConsumerState{newer, older}})
	if got, err = s.Consumers(t.Context()); err != nil {
		t.Fatal(err)
	}
	diff(t, "consumers after a newer observation", got, []lifecycle.ConsumerState{other, third, newer})
}

func fleetWatermarks(t *testing.T, s Store) {
	check := func(source, want string) {
		t.Helper()
		if got, err := s.Watermark(t.Context(), source); err != nil || got != want {
			t.Errorf("watermark of %s: got %q, %v; want %q", source, got, err, want)
		}
	}
	check("firestore", "")
	mustStore(t, s, lifecycle.Batch{Watermarks: map[string]string{"firestore": "1", "kv": "9"}})
	mustStore(t, s, lifecycle.Batch{Watermarks: map[string]string{"firestore": "2\x00\xff"}})
	check("firestore", "2\x00\xff")
	check("kv", "9")
	mustStore(t, s, lifecycle.Batch{Reached: map[string]uint64{"acks": 10, "reports": 1 << 53}})
	mustStore(t, s, lifecycle.Batch{Reached: map[string]uint64{"acks": 9, "reports": 0}}) // Of a replica that was slower.
	check("acks", lifecycle.ReachedText(10))
	check("reports", lifecycle.ReachedText(1<<53))
}

func fleetRollups(t *testing.T, s Store) {
	events := everyScenario()
	mustAppend(t, s, events)
	tally := expectedOf(events).tally
	var last lifecycle.Micros
	for cell := range tally {
		if !cell.Metric.Minute() {
			last = max(last, cell.Bucket)
		}
	}
	for _, c := range []struct {
		metrics  []lifecycle.Metric
		from, to lifecycle.Micros
	}{
		{nil, 0, math.MaxInt64},
		{[]lifecycle.Metric{lifecycle.MetricPublished}, 0, math.MaxInt64},
		{[]lifecycle.Metric{lifecycle.MetricPublished, lifecycle.MetricState}, last, last + 1},
		{[]lifecycle.Metric{lifecycle.MetricCompletedMin, lifecycle.MetricPublished, lifecycle.MetricDied}, 0, last},
		{lifecycle.Metrics(), last, last},
	} {
		want := lifecycle.Tally{}
		for cell, n := range tally {
			for _, m := range c.metrics {
				if cell.Metric == m && (cell.Bucket == 0 || cell.Bucket >= c.from && cell.Bucket < c.to) {
					want[cell] = n
				}
			}
		}
		what := fmt.Sprintf("rollups %v in [%d, %d)", c.metrics, c.from, c.to)
		got, err := s.Rollups(t.Context(), c.metrics, c.from, c.to, true)
		if err != nil {
			t.Fatal(err)
		}
		diff(t, what, got, want)
		if got, err = s.Rollups(t.Context(), c.metrics, c.from, c.to, false); err != nil {
			t.Fatal(err)
		}
		diff(t, what+" of all agents", got, overAgents(want))
	}
}
