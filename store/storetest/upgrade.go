package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// Aging is how a store is made one that an older version of the rules has judged.
type Aging struct {
	Victim
	// Age says that everything was judged by the given version: it makes states, summaries and counts wrong, and, where the version is below
	// lifecycle.FactsVersion, the facts of messages too. No store is open.
	Age func(t testing.TB, address string, version int)
	// Shared says that several programs may have the store open at once.
	Shared bool
}

// versions are those from which upgrades are tested: one whose facts are good, and one whose facts are not.
func versions() []int { return []int{lifecycle.FactsVersion, lifecycle.FactsVersion - 1} }

// Upgrade tests that a store whose tasks were judged by older rules is brought to those of this program.
func Upgrade(t *testing.T, a Aging) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Aging, int){
		"an upgrade judges and counts everything anew":      upgradeAll,
		"events come in while an upgrade runs":              upgradeWhileAppending,
		"two programs upgrade at once while events come in": upgradeTogether,
		"what deleted tasks contributed stays":              upgradeAfterRetention,
		"a rebuild ends an upgrade":                         upgradeRebuilt,
		"an upgrade counts names by their places":           upgradeNames,
	} {
		for _, version := range versions() {
			t.Run(fmt.Sprintf("%s, from version %d", name, version), func(t *testing.T) {
				t.Parallel()
				test(t, a, version)
			})
		}
	}
	t.Run("a store that newer rules judged is refused", func(t *testing.T) {
		t.Parallel()
		upgradeNewer(t, a)
	})
}

// aged makes a store of the events, judged by an older version, and opens it.
func (a Aging) aged(t *testing.T, version int, events []lifecycle.Event) (address string, s Store) {
	t.Helper()
	address = a.Create(t)
	s = a.open(t, address)
	mustAppend(t, s, events)
	a.age(t, address, s, version)
	return address, a.open(t, address)
}

func (a Aging) age(t *testing.T, address string, s Store, version int) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	a.Age(t, address, version)
}

func (a Aging) open(t *testing.T, address string) Store {
	t.Helper()
	s, err := a.Open(t.Context(), address, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// upgradeBy takes a step.
func upgradeBy(t *testing.T, s lifecycle.Upgrader, tasks int) lifecycle.UpgradeProgress {
	t.Helper()
	p, err := s.Upgrade(t.Context(), tasks)
	if err != nil {
		t.Fatalf("upgrade: %v", err)
	}
	return p
}

func finishUpgrade(t *testing.T, s lifecycle.Upgrader, tasks int) {
	t.Helper()
	for range 10_000 {
		if upgradeBy(t, s, tasks).Done() {
			return
		}
	}
	t.Fatal("the upgrade does not end")
}

func upgradeAll(t *testing.T, a Aging, version int) {
	events := everyScenario()
	expected := expectedOf(events)
	_, s := a.aged(t, version, events)
	last := lifecycle.UpgradeProgress{From: version, To: lifecycle.FoldVersion}
	for n := 1; ; n++ {
		p := upgradeBy(t, s, 3)
		if p.Done() {
			diff(t, "progress at the end", p, lifecycle.UpgradeProgress{From: last.To, To: last.To, Judged: int64(len(expected.tasks)), Percent: 100})
			break
		}
		if p.From != version || p.To != last.To || p.Judged != int64(min(3*n, len(expected.tasks))) || p.Percent < last.Percent || p.Percent > 100 {
			t.Fatalf("progress of step %d: %+v after %+v", n, p, last)
		}
		last = p
	}
	expected.check(t, s)
	if p := upgradeBy(t, s, 3); !p.Done() {
		t.Errorf("an upgrade that is done goes on: %+v", p)
	}
	expected.check(t, s)
}

// upgradeWhileAppending gives the rest of the events, in any order, between the steps.
func upgradeWhileAppending(t *testing.T, a Aging, version int) {
	r := rand.New(rand.NewPCG(uint64(version), 7))
	events := everyScenario()
	batches := partition(r, events)
	half := len(batches) / 2
	_, s := a.aged(t, version, slices.Concat(batches[:half]...))
	for _, batch := range batches[half:] {
		mustAppend(t, s, batch)
		if r.IntN(2) == 0 {
			upgradeBy(t, s, 1)
		}
	}
	finishUpgrade(t, s, 2)
	expectedOf(events).check(t, s)
}

// upgradeTogether lets two programs take steps and append at once.
func upgradeTogether(t *testing.T, a Aging, version int) {
	events := everyScenario()
	batches := partition(rand.New(rand.NewPCG(uint64(version), 8)), events)
	half := len(batches) / 2
	address, first := a.aged(t, version, slices.Concat(batches[:half]...))
	stores := []Store{first, first}
	if a.Shared {
		stores[1] = a.open(t, address)
	}
	var work sync.WaitGroup
	for i, s := range stores {
		work.Go(func() {
			for n, batch := range batches[half:] {
				if n%2 == i {
					if _, err := s.Append(t.Context(), lifecycle.Batch{Events: slices.Clone(batch)}); err != nil {
						t.Errorf("append: %v", err)
					}
				}
			}
		})
		work.Go(func() {
			for done := false; !done; {
				p, err := s.Upgrade(t.Context(), 1)
				if err != nil {
					t.Errorf("upgrade: %v", err)
				}
				done = err != nil || p.Done()
			}
		})
	}
	work.Wait()
	expectedOf(events).check(t, stores[1])
}

// upgradeAfterRetention deletes old tasks before the upgrade and while it runs. The rollups of their hours stay.
func upgradeAfterRetention(t *testing.T, a Aging, version int) {
	old, older, recent := newEventScript("OLD"), newEventScript("OLDER"), newEventScript("NEW")
	older.now, old.now = older.now.Add(-90*24*time.Hour), old.now.Add(-60*24*time.Hour)
	for i := range 4 {
		for _, w := range []*eventScript{old, older, recent} {
			k := w.published(fmt.Sprintf("%s-%d", w.stream.Name, i), "cto", 0)
			w.said(lifecycle.Nacked, k, 1, lifecycle.Detail{})
			w.acked(k, 2)
		}
	}
	all := slices.Concat(older.events, old.events, recent.events)
	expected := expectedOf(all)
	address := a.Create(t)
	s := a.open(t, address)
	for _, w := range []*eventScript{older, old, recent} { // The upgrade passes them in this order.
		mustAppend(t, s, w.events)
	}
	retain := func(s Store, before lifecycle.Micros, want int64) {
		t.Helper()
		if n, err := s.Retain(t.Context(), before, old.now); err != nil || n != want {
			t.Fatalf("retain: %d deleted, %v; want %d", n, err, want)
		}
	}
	retain(s, older.now.Add(24*time.Hour), 4)
	a.age(t, address, s, version)
	s = a.open(t, address)
	upgradeBy(t, s, 2)
	retain(s, old.now.Add(24*time.Hour), 2) // Those that the upgrade has not passed stay until it has.
	finishUpgrade(t, s, 2)
	retain(s, old.now.Add(24*time.Hour), 2)
	checkHistory(t, s, expected, recent)
	if _, err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkHistory(t, s, expected, recent)
}

// checkHistory holds the rollups to those of all that ever was, but for the minutes, which are kept for two days, and for what is so now.
func checkHistory(t *testing.T, s Store, all expected, recent *eventScript) {
	t.Helper()
	want := lifecycle.Tally{}
	for cell, n := range all.tally {
		if cell.Bucket != 0 && !cell.Metric.Minute() {
			want[cell] = n
		}
	}
	var metrics []lifecycle.Metric
	for _, m := range lifecycle.Metrics() {
		if !m.Minute() && m != lifecycle.MetricState {
			metrics = append(metrics, m)
		}
	}
	got, err := s.Rollups(t.Context(), metrics, 0, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "rollups of all that ever was", got, want)
	states, err := s.Rollups(t.Context(), []lifecycle.Metric{lifecycle.MetricState}, 0, math.MaxInt64, true)
	if err != nil {
		t.Fatal(err)
	}
	now := expectedOf(recent.events)
	for cell, n := range states {
		if want := now.tally[cell]; n != want {
			t.Errorf("%v: %d, want %d", cell, n, want)
		}
	}
}

func upgradeRebuilt(t *testing.T, a Aging, version int) {
	events := everyScenario()
	_, s := a.aged(t, version, events)
	upgradeBy(t, s, 3)
	if _, err := s.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := upgradeBy(t, s, 3); !p.Done() {
		t.Errorf("after a rebuild the upgrade goes on: %+v", p)
	}
	expectedOf(events).check(t, s)
}

func upgradeNewer(t *testing.T, a Aging) {
	address := a.Create(t)
	s := a.open(t, address)
	mustAppend(t, s, everyScenario())
	a.age(t, address, s, lifecycle.FoldVersion+1)
	if s, err := a.Open(t.Context(), address, func() {}); !errors.Is(err, lifecycle.ErrNewer) {
		t.Errorf("open: %v, %v; want ErrNewer", s, err)
	}
}

// KillUpgrade tests that a process that dies by SIGKILL at any step of an upgrade leaves one that the next process ends rightly. The test
// that calls it must do nothing else, as with [Kill].
func KillUpgrade(t *testing.T, a Aging) {
	t.Helper()
	if isVictim() {
		a.live(t)
		return
	}
	w := newEventScript("TASKS")
	k := w.published("first", "cto", 0)
	w.acked(k, 1)
	w.published("second", "ceo", 0)
	expected := expectedOf(w.events)
	address := a.Create(t)
	s := a.open(t, address)
	mustAppend(t, s, w.events)
	for n := 1; ; n++ {
		a.age(t, address, s, versions()[n%2])
		died := a.run(t, address, n)
		s = a.open(t, address)
		finishUpgrade(t, s, 1)
		expected.check(t, s)
		if !died {
			t.Logf("%d steps", n-1)
			if n <= leastSteps {
				t.Errorf("an upgrade has %d steps, want more than %d", n-1, leastSteps)
			}
			return
		}
	}
}

// live upgrades, and dies at a step.
func (a Aging) live(t *testing.T) {
	s, _, begin := a.victim(t)
	defer func() { _ = s.Close() }()
	begin()
	finishUpgrade(t, s, 1)
}
