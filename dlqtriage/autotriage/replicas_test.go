package autotriage_test

import (
	"fmt"
	"sync"
	"testing"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/autotriage"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
	"fleetglass/store/postgres"
)

// rendezvous brings two desks to their decisions about one entry before either has decided.
type rendezvous struct {
	t            *testing.T
	reached      map[string]chan struct{}
	passed       map[string]chan struct{}
	first        string // The step that is taken before the other; empty where both are taken at once.
	once         map[string]*sync.Once
	turnsOfDesks [2]chan struct{}
}

const (
	retries = "decide"   // The step of a desk that still has budget.
	tells   = "escalate" // That of one that has none.
)

func meet(t *testing.T, first string) *rendezvous {
	m := &rendezvous{t: t, first: first, reached: map[string]chan struct{}{}, passed: map[string]chan struct{}{}, once: map[string]*sync.Once{}}
	for _, step := range []string{retries, tells} {
		m.reached[step], m.passed[step], m.once[step] = make(chan struct{}), make(chan struct{}), &sync.Once{}
	}
	for i := range m.turnsOfDesks {
		m.turnsOfDesks[i] = make(chan struct{}, 1000)
	}
	return m
}

// steps is what a desk calls at each of its steps.
func (m *rendezvous) steps(desk int, own, other string) func(string) {
	return func(step string) {
		switch step {
		case "before " + own:
			m.once[own].Do(func() { close(m.reached[own]) })
			m.waits(m.reached[other])
			if m.first == other {
				m.waits(m.passed[other])
			}
		case "after " + own:
			select {
			case <-m.passed[own]:
			default:
				close(m.passed[own])
			}
		case "before claim": // After each look at all entries.
			m.turnsOfDesks[desk] <- struct{}{}
		}
	}
}

func (m *rendezvous) waits(happened <-chan struct{}) {
	select {
	case <-happened:
	case <-m.t.Context().Done():
	}
}

func TestOfTwoReplicasThatSeeDifferentBudgetsOneDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, first string }{{"told first", tells}, {"retried first", retries}, {"at once", ""}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			store, err := postgres.Open(t.Context(), postgres.Config{URL: testkit.Postgres(t)})
			if err != nil {
				t.Fatal(err)
			}
			o := newOfficeOf(t, store)
			entry := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
			m := meet(t, c.first)
			o.open(1, func(cfg *autotriage.Config) {
				toCEO(cfg)
				cfg.Step = m.steps(0, retries, tells)
			})
			o.open(1, func(cfg *autotriage.Config) {
				toCEO(cfg)
				poor := *o.policy
				poor.Auto.PerHour = 0
				cfg.Policy = func() *dlqtriage.Policy { return &poor }
				cfg.Step = m.steps(1, tells, retries)
			})
			for _, turns := range m.turnsOfDesks {
				for range 3 {
					m.waits(turns)
				}
			}
			o.oneDecision(entry, map[string]string{tells: "escalate", retries: "retry"}[c.first])
		})
	}
}

// oneDecision holds what was recorded of an entry, what it has become and what was told to one decision.
func (o *office) oneDecision(entry, want string) {
	o.t.Helper()
	records, _, err := o.store.Audit(o.t.Context(), decision.AuditFilter{Actor: autotriage.Actor, Outcome: decision.Allowed}, nil, 10)
	if err != nil || len(records) != 1 || want != "" && records[0].Action != want {
		o.t.Fatalf("records: %+v, %v; want one of %q", records, err, want)
	}
	e, err := o.store.Entry(o.t.Context(), entry)
	if retried := records[0].Action == "retry"; err != nil || e.Open() == retried {
		o.t.Errorf("after %s the entry is %s, %v", records[0].Action, e.Status, err)
	}
	var told uint64
	if records[0].Action == "escalate" {
		told = 1
	}
	testkit.Eventually(o.t, patience, func() error {
		stream, err := o.js.Stream(o.t.Context(), fleet.StreamTasks)
		if err != nil {
			return err
		}
		if got := stream.CachedInfo().State.Msgs; got != told {
			return fmt.Errorf("%d tasks tell of it, want %d", got, told)
		}
		return nil
	})
}
