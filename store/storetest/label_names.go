package storetest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// labelTests hold the labels of rollups to a bound, whatever agents make up.
var labelTests = []conformanceTest{
	{"invented types are counted together", inventedTypes},
	{"invented publishers are counted together", inventedPublishers},
	{"a name keeps its place", namesKeepPlaces},
}

const invented = 10_000

// inventor publishes tasks with types and publishers that it makes up, for one agent; and a few for another.
func inventor(n int, typ, publisher func(i int) string) []lifecycle.Event {
	w := newEventScript("TASKS")
	for i := range n {
		d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("task-%05d", i), Type: typ(i)}}
		d.Publisher = publisher(i)
		k := w.store(d.MsgID, "cto", d)
		w.delivered(k, 1)
		if i%2 == 0 {
			w.wait(100*time.Millisecond).acked(k, 1)
		}
	}
	for i := range 50 {
		k := w.store(fmt.Sprintf("other-%d", i), "ceo", lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("other-%d", i), Type: fmt.Sprintf("type-%d", i)}})
		w.acked(k, 1)
	}
	return w.events
}

func fixed(name string) func(int) string { return func(int) string { return name } }

func numbered(name string) func(int) string {
	return func(i int) string { return fmt.Sprintf("%s-%05d", name, i) }
}

func inventedTypes(t *testing.T, s Store) {
	events := inventor(invented, numbered("invented"), fixed("marketing"))
	for batch := range slices.Chunk(events, 3000) {
		mustAppend(t, s, batch)
	}
	want := expectedOf(events).tally
	checkBound(t, s, want, lifecycle.MaxNames+1)
	given := map[string]int64{}
	for cell, n := range rollupsOf(t, s) {
		if cell.Agent == "cto" && cell.Metric == lifecycle.MetricGiven {
			_, publisher := lifecycle.Route(cell.Label)
			given[publisher] += n
		}
	}
	diff(t, "messages by publisher: it has a place, whatever types it makes up", given, map[string]int64{"marketing": invented})
	checkStays(t, s, events)
}

func inventedPublishers(t *testing.T, s Store) {
	events := inventor(invented, fixed("content_creation"), numbered("invented"))
	for batch := range slices.Chunk(events, 3000) {
		mustAppend(t, s, batch)
	}
	want := expectedOf(events).tally
	checkBound(t, s, want, lifecycle.MaxNames+1)
	for cell, n := range rollupsOf(t, s) {
		if want[cell] != n && cell.Agent == "cto" && cell.Metric != lifecycle.MetricGiven && cell.Metric != lifecycle.MetricGivenMin {
			t.Errorf("%+v: %d, want %d: it names no publisher", cell, n, want[cell])
		}
	}
	checkStays(t, s, events)
}

// checkBound holds the rollups of the agent whose names are made up to the bound, and to the sums of what happened; those of other agents to what they were. routes is the bound of
// types with their publishers.
func checkBound(t *testing.T, s Store, want lifecycle.Tally, routes int) {
	t.Helper()
	type bucket struct {
		metric lifecycle.Metric
		at     lifecycle.Micros
		how    string
	}
	labels := map[bucket]int{}
	got := rollupsOf(t, s)
	for cell := range got {
		if cell.Agent == "cto" {
			labels[bucket{cell.Metric, cell.Bucket, suffix(cell)}]++
		}
	}
	for b, n := range labels {
		most := lifecycle.MaxNames + 1
		if b.metric == lifecycle.MetricGiven || b.metric == lifecycle.MetricGivenMin {
			most = routes
		}
		if n > most {
			t.Errorf("labels of %s%s in one bucket: %d, want at most %d", b.metric, b.how, n, most)
		}
	}
	diff(t, "sums over the names", overNames(got), overNames(want))
	byRoute := map[string]int64{}
	for cell, n := range got {
		if cell.Metric == lifecycle.MetricGivenMin {
			typ, _ := lifecycle.Route(cell.Label)
			byRoute[typ] += n
		}
	}
	diff(t, "messages of each type over its publishers", byRoute, typesOf(t, s))
	others := func(t lifecycle.Tally) lifecycle.Tally {
		t = maps.Clone(t)
		maps.DeleteFunc(t, func(c lifecycle.Cell, _ int64) bool { return c.Agent == "cto" })
		return t
	}
	diff(t, "rollups of other agents", others(got), others(want))
}

// checkStays holds the rollups to what they are when the same is told again, and when they are counted anew.
func checkStays(t *testing.T, s Store, events []lifecycle.Event) {
	t.Helper()
	before := rollupsOf(t, s)
	if got := mustAppend(t, s, events[:5000]).New; got != 0 {
		t.Errorf("told again: %d events are new, want 0", got)
	}
	diff(t, "rollups after the same was told again", rollupsOf(t, s), before)
	if _, err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkBound(t, s, expectedOf(events).tally, lifecycle.MaxNames+1)
}

// namesKeepPlaces tells of tasks whose names have places, and of those whose names have none, over and over: what is known of them later corrects the
// numbers where they were counted.
func namesKeepPlaces(t *testing.T, s Store) {
	w := newEventScript("TASKS")
	var keys []lifecycle.MessageKey
	for i := range lifecycle.MaxNames + 20 {
		keys = append(keys, w.store(fmt.Sprintf("task-%d", i), "cto", lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("task-%d", i), Type: fmt.Sprintf("type-%03d", i)}}))
	}
	mustAppend(t, s, w.events)
	first := typesOf(t, s)
	if len(first) != lifecycle.MaxNames+1 || first[lifecycle.OtherNames] != 20 || first["type-000"] != 1 {
		t.Errorf("labels: %d, %d messages of names without a place, %d of the first; want %d, 20 and 1", len(first), first[lifecycle.OtherNames], first["type-000"], lifecycle.MaxNames+1)
	}
	for _, k := range keys {
		w.delivered(k, 1)
		w.wait(time.Second).acked(k, 1)
	}
	mustAppend(t, s, w.events)
	diff(t, "labels after more is known", typesOf(t, s), first)
	for i := range 10 {
		w.store(fmt.Sprintf("later-%d", i), "cto", lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("later-%d", i), Type: "type-000"}})
	}
	mustAppend(t, s, w.events)
	first["type-000"] += 10
	diff(t, "labels after more of the first type", typesOf(t, s), first)
	for cell, n := range rollupsOf(t, s) {
		if n < 0 && !strings.HasPrefix(string(cell.Metric), string(lifecycle.MetricQueue)) {
			t.Errorf("%+v: %d, want no less than zero", cell, n)
		}
	}
	checkBound(t, s, expectedOf(w.events).tally, lifecycle.MaxNames+1)
}

// raceForPlaces lets two handles append tasks with names that both make up, and then a third one that knows nothing of them.
func raceForPlaces(t *testing.T, a, b Store, open func() Store) {
	w := newEventScript("TASKS")
	for i := range 600 {
		d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("task-%d", i), Type: fmt.Sprintf("type-%d", i%400)}}
		d.Publisher = fmt.Sprintf("publisher-%d", i%300)
		w.store(d.MsgID, "cto", d)
	}
	batches := slices.Collect(slices.Chunk(w.events, 10))
	var work sync.WaitGroup
	for i, s := range []Store{a, b} {
		work.Go(func() {
			for n := i; n < len(batches); n += 2 {
				if _, err := s.Append(t.Context(), lifecycle.Batch{Events: slices.Clone(batches[n])}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	work.Wait()
	checkBound(t, a, expectedOf(w.events).tally, lifecycle.MaxRoutes+2*lifecycle.MaxNames+1)
	again := w.events
	w = newEventScript("OTHER")
	for i := range 400 {
		w.store(fmt.Sprintf("other-%d", i), "cto", lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("other-%d", i), Type: fmt.Sprintf("type-%d", i)}})
	}
	before := typesOf(t, a)
	third := open()
	mustAppend(t, third, w.events)
	after := typesOf(t, third)
	for name := range after {
		if before[name] == 0 {
			t.Errorf("type %q has a place after a restart, and had none before", name)
		}
	}
	checkBound(t, third, expectedOf(slices.Concat(again, w.events)).tally, lifecycle.MaxRoutes+2*lifecycle.MaxNames+1)
}

// upgradeNames counts tasks anew that have more names than places, while others come in.
func upgradeNames(t *testing.T, a Aging, version int) {
	w := newEventScript("TASKS")
	publish := func(from, to int) []lifecycle.Event {
		begin := len(w.events)
		for i := from; i < to; i++ {
			d := lifecycle.Detail{Naming: lifecycle.Naming{MsgID: fmt.Sprintf("task-%03d", i), Type: fmt.Sprintf("type-%03d", i)}}
			d.Publisher = "marketing"
			w.acked(w.store(d.MsgID, "cto", d), 1)
		}
		return w.events[begin:]
	}
	_, s := a.aged(t, version, publish(0, lifecycle.MaxNames+100))
	for i := range 10 {
		upgradeBy(t, s, 10)
		mustAppend(t, s, publish(lifecycle.MaxNames+100+10*i, lifecycle.MaxNames+110+10*i))
	}
	finishUpgrade(t, s, 50)
	checkBound(t, s, expectedOf(w.events).tally, lifecycle.MaxNames+1)
}

// typesOf are the published messages by the types under which they are counted.
func typesOf(t *testing.T, s Store) map[string]int64 {
	t.Helper()
	out := map[string]int64{}
	for cell, n := range rollupsOf(t, s) {
		if cell.Metric == lifecycle.MetricPublished {
			out[cell.Label] += n
		}
	}
	return out
}

func rollupsOf(t *testing.T, s Store) lifecycle.Tally {
	t.Helper()
	got, err := s.Rollups(t.Context(), lifecycle.Metrics(), 0, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// overNames are the sums over the names that agents choose.
func overNames(t lifecycle.Tally) lifecycle.Tally {
	out := lifecycle.Tally{}
	for c, n := range t {
		switch c.Metric {
		case lifecycle.MetricPublished, lifecycle.MetricCompleted, lifecycle.MetricDoneMin, lifecycle.MetricGiven, lifecycle.MetricGivenMin,
			lifecycle.MetricCost, lifecycle.MetricCosted:
			c.Label = ""
		default:
			if how := suffix(c); how != "" {
				c.Label = how
			}
		}
		out[c] += n
	}
	return out
}

// suffix is what stands in a label behind the type, of running times.
func suffix(c lifecycle.Cell) string {
	switch c.Metric {
	case lifecycle.MetricRunning, lifecycle.MetricRunningDay, lifecycle.MetricRunningMin:
		return c.Label[max(0, strings.LastIndexByte(c.Label, '|')):]
	}
	return ""
}
