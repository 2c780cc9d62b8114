// Package storetest is the conformance suite of a store: every promise of the ports in [Store] as a test. A store passes
// when [Run] and [Reopen] pass; then pages and API answer alike on it.
//
// What a store must answer is worked out by a second way: all events in memory, folded as one batch ([expectedOf]), and filters
// applied row by row ([selects]).
package storetest

import (
	"testing"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"
	"fleetglass/restarts"
)

// Store is what every store offers: the ports of all domains.
type Store interface {
	lifecycle.Store
	lifecycle.TraceQueue
	reconcile.RunStore
	reconcile.BalanceReader
	decision.Store
	dlqtriage.EntryStore
	access.Store
	alerts.Store
	restarts.Store
}

// Run tests the store that open returns. Each call of open must give an empty store, closed by the test's own cleanup at the
// latest, that notes ends of tasks to be told at once. The tests run in parallel.
func Run(t *testing.T, open func(t testing.TB) Store) {
	t.Helper()
	for _, group := range [][]conformanceTest{
		appendTests, orderTests, listTests, countTests, traceTests, openTests, fleetTests, keepTests, hostileTests, historyTests, reconciliationTests,
		decisionTests, outboxTests, retainDecisionTests, auditTests, accessTests, requestKeyTests, entryTests, alertTests, traceQueueTests, restartTests, labelTests,
	} {
		for _, test := range group {
			t.Run(test.name, func(t *testing.T) {
				t.Parallel()
				test.run(t, open(t))
			})
		}
	}
}

type conformanceTest struct {
	name string
	run  func(t *testing.T, s Store)
}

// Reopen tests that a store opened a second time on the same data continues where the first one was. Each call of create
// must make new data and return a function that opens a store on it.
func Reopen(t *testing.T, create func(t testing.TB) (open func() Store)) {
	t.Helper()
	t.Run("a second open continues", func(t *testing.T) {
		t.Parallel()
		open := create(t)
		events := everyScenario()
		half := len(events) / 2
		first := open()
		mustAppend(t, first, events[:half])
		if err := first.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
		second := open()
		defer func() { _ = second.Close() }()
		if got := mustAppend(t, second, events[:half]).New; got != 0 {
			t.Errorf("events stored before the restart: %d are new again, want 0", got)
		}
		mustAppend(t, second, events[half:])
		expectedOf(events).check(t, second)
	})
}
