package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// batchSize is the number of events in a batch of [Fleet].
const batchSize = 2000

// Fleet writes the events of a busy fleet for benchmarks: four a task, namely the publish attempt, the publish line, a delivery and
// the acknowledgement, which comes a batch later. Task ids are random, as they are in the field.
type Fleet struct {
	now    lifecycle.Micros
	random *rand.Rand
	seq    uint64
	lines  uint64
	begun  []begun
	IDs    []string // Of all tasks so far.
}

type begun struct {
	task, agent string
	key         lifecycle.MessageKey
}

// NewFleet returns a fleet that begins its work an hour ago.
func NewFleet() *Fleet {
	return &Fleet{now: lifecycle.MicrosOf(time.Now().Add(-time.Hour)), random: rand.New(rand.NewPCG(1, 1))}
}

var fleetAgents = []string{"ceo", "cto", "backend", "frontend", "marketing", "devops", "cso"}

var fleetTypes = []string{"code_review", "implementation", "content_creation", "deployment", "security_review"}

// Batch is the next 2000 events (1000 for the first one).
func (f *Fleet) Batch() []lifecycle.Event {
	out := make([]lifecycle.Event, 0, batchSize)
	before := f.begun
	f.begun = nil
	for i := range batchSize / 4 {
		agent, kind := fleetAgents[f.random.IntN(len(fleetAgents))], fleetTypes[f.random.IntN(len(fleetTypes))]
		id := fmt.Sprintf("%016x-%s", f.random.Uint64(), kind)
		f.seq++
		b := begun{task: id, agent: agent, key: lifecycle.MessageKey{Stream: tasksStream, Seq: f.seq}}
		subject := "genbrain.agents." + agent + ".tasks." + kind
		detail := lifecycle.Detail{
			Naming:      lifecycle.Naming{MsgID: id, Subject: subject, Type: kind, PayloadHash: "0f3a9c5d7e1b2f44"},
			Publication: lifecycle.Publication{Size: 412},
		}
		out = append(out, f.line("OBS_RAW", lifecycle.Event{Kind: lifecycle.PublishAttempted, TaskID: id, Agent: agent, Detail: detail}))
		detail.IdempotencyKey, detail.Title, detail.CreatedAt = id+"-1", "Review the change to the "+kind+" of service "+strconv.Itoa(i), f.now
		out = append(out, f.line("OBS_PUB", lifecycle.Event{Kind: lifecycle.Published, TaskID: id, Agent: agent, Message: b.key, Detail: detail}))
		f.begun = append(f.begun, b)
		f.IDs = append(f.IDs, id)
		if i < len(before) {
			out = append(out, f.answers(before[i])...)
		}
	}
	return out
}

func (f *Fleet) answers(b begun) []lifecycle.Event {
	e := lifecycle.Event{Message: b.key, Agent: b.agent, Consumer: b.agent + "-task-worker", Attempt: 1, ConsumerSeq: b.key.Seq}
	delivered, acked := e, e
	delivered.Kind, delivered.Provenance, delivered.Detail.Exact = lifecycle.Delivered, lifecycle.Broker, true
	acked.Kind, acked.Raw = lifecycle.Acked, []byte("$JS.ACK.TASKS."+e.Consumer+".1.1.1.1795190400000000000.0\n+ACK")
	return []lifecycle.Event{f.line("poll", delivered), f.line("OBS_ACK", acked)}
}

func (f *Fleet) line(source string, e lifecycle.Event) lifecycle.Event {
	f.lines++
	f.now += 10
	e.At, e.Source, e.SourceSeq = f.now, source, f.lines
	e.ID = lifecycle.NewEventID(source, strconv.FormatUint(f.lines, 10))
	if e.Provenance == "" {
		e.Provenance = lifecycle.Observed
	}
	return e
}

// Benchmark measures a store: appends, then reads with the given number of events stored.
func Benchmark(b *testing.B, events int, open func(t testing.TB) Store) {
	b.Run("append", func(b *testing.B) { benchmarkAppend(b, open(b)) })
	s, fleet := open(b), NewFleet()
	first, last := fillStore(b, s, fleet, events)
	b.Logf("%d events stored: first million %.0f/s, last million %.0f/s", events, first, last)
	for _, r := range benchmarkReads(s, fleet) {
		b.Run(r.name, func(b *testing.B) { timed(b, r.read) })
	}
}

func benchmarkAppend(b *testing.B, s Store) {
	fleet := NewFleet()
	mustAppend(b, s, fleet.Batch())
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		b.StopTimer()
		events := fleet.Batch()
		b.StartTimer()
		n += mustAppend(b, s, events).New
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}

// fillStore appends until the store has n events, and returns the rates of the first and the last million (or of all).
func fillStore(b *testing.B, s Store, fleet *Fleet, n int) (first, last float64) {
	const part = 1_000_000
	var spent []time.Duration
	for done := 0; done < n; {
		events := fleet.Batch()
		begin := time.Now()
		mustAppend(b, s, events)
		spent = append(spent, time.Since(begin))
		done += len(events)
	}
	return rate(spent[:min(len(spent), part/batchSize)]), rate(spent[max(0, len(spent)-part/batchSize):])
}

func rate(spent []time.Duration) float64 {
	var sum time.Duration
	for _, d := range spent {
		sum += d
	}
	return float64(len(spent)*batchSize) / sum.Seconds()
}

type benchmarkRead struct {
	name string
	read func(b *testing.B)
}

func benchmarkReads(s Store, fleet *Fleet) []benchmarkRead {
	random := rand.New(rand.NewPCG(2, 2))
	list := func(name string, f lifecycle.Filter, from func() *lifecycle.Cursor) benchmarkRead {
		return benchmarkRead{"list/" + name, func(b *testing.B) {
			page, err := s.ListTasks(b.Context(), f, lifecycle.Page{Limit: 50, From: from()})
			if err != nil || len(page.Tasks) == 0 {
				b.Fatalf("list: %d tasks, %v", len(page.Tasks), err)
			}
		}}
	}
	newest := func() *lifecycle.Cursor { return nil }
	middle := func() *lifecycle.Cursor {
		return &lifecycle.Cursor{At: fleet.now - lifecycle.Micros(random.Int64N(int64(fleet.lines)*9)), TaskID: "x"}
	}
	completed := []lifecycle.State{lifecycle.StateCompleted}
	return []benchmarkRead{
		{"timeline", func(b *testing.B) { readTimeline(b, s, fleet.IDs[random.IntN(len(fleet.IDs)-batchSize)]) }},
		list("newest", lifecycle.Filter{}, newest),
		list("anywhere", lifecycle.Filter{}, middle),
		list("state", lifecycle.Filter{States: completed}, middle),
		list("agent", lifecycle.Filter{Agents: []string{"cto"}}, middle),
		list("two states", lifecycle.Filter{States: []lifecycle.State{lifecycle.StateCompleted, lifecycle.StatePublished}}, newest),
		list("state and agent", lifecycle.Filter{States: completed, Agents: []string{"cso"}}, middle),
		list("published", lifecycle.Filter{Sort: lifecycle.SortPublishedDesc}, newest),
		list("frequent word", lifecycle.Filter{Words: []string{"deployment"}}, newest),
		list("rare word", lifecycle.Filter{Words: []string{fleet.IDs[len(fleet.IDs)/2][3:16]}}, newest),
		list("id prefix", lifecycle.Filter{IDs: []string{fleet.IDs[0][:12] + "*"}}, newest),
		{"count/counters", func(b *testing.B) { readCounts(b, s, lifecycle.Filter{Agents: []string{"cto"}}) }},
		{"count/scan", func(b *testing.B) { readCounts(b, s, lifecycle.Filter{Types: []string{"deployment"}}) }},
	}
}

func readTimeline(b *testing.B, s Store, id string) {
	record, err := s.Task(b.Context(), id)
	if err != nil || len(record.Messages) != 1 {
		b.Fatalf("task: %d messages, %v", len(record.Messages), err)
	}
	events, err := s.Events(b.Context(), id, lifecycle.EventPosition{}, 500)
	if err != nil || len(events) != 4 {
		b.Fatalf("events: %d, %v", len(events), err)
	}
}

func readCounts(b *testing.B, s Store, f lifecycle.Filter) {
	if _, _, err := s.CountTasks(b.Context(), f); err != nil {
		b.Fatal(err)
	}
}

// timed runs a read many times and reports its median and its 99th percentile.
func timed(b *testing.B, read func(b *testing.B)) {
	var spent []time.Duration
	for b.Loop() {
		begin := time.Now()
		read(b)
		spent = append(spent, time.Since(begin))
	}
	slices.Sort(spent)
	at := func(q float64) float64 {
		return float64(spent[sort.Search(len(spent)-1, func(i int) bool { return float64(i) >= q*float64(len(spent)-1) })]) / 1000
	}
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
}
