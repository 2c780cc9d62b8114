package alerts_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

// memory is a board in memory, by the contract of alerts.BoardStore.
type memory struct {
	board   alerts.Board
	notices []alerts.Notice
}

func (m *memory) commit(t interface{ Fatal(...any) }, c alerts.Change) {
	if err := c.Check(m.board); err != nil {
		t.Fatal(err)
	}
	rows := map[string]alerts.Alert{}
	for _, a := range append(m.board.Alerts, c.Alerts...) {
		rows[a.ID] = a
	}
	for _, id := range c.Forget {
		delete(rows, id)
	}
	m.board.Alerts = nil
	for _, a := range rows {
		m.board.Alerts = append(m.board.Alerts, a)
	}
	alerts.SortByID(m.board.Alerts)
	m.notices = append(m.notices, c.Notices...)
	m.board.Version, m.board.Seq = m.board.Version+1, m.board.Seq+uint64(len(c.Notices))
}

// at looks once, and holds that a second look at the same instant changes nothing.
func (m *memory) at(t interface{ Fatal(...any) }, now lifecycle.Micros, found ...alerts.Finding) {
	seen := alerts.Observed{At: now, Findings: found}
	m.commit(t, alerts.Step(m.board, seen, alerts.Defaults()))
	if again := alerts.Step(m.board, seen, alerts.Defaults()); !again.Empty() {
		t.Fatal(fmt.Sprintf("a second look at the same fleet changes the board: %+v", again))
	}
}

func (m *memory) state(now lifecycle.Micros) alerts.State {
	if len(m.board.Alerts) == 0 {
		return ""
	}
	return m.board.Alerts[0].At(now, m.board.Silences).State
}

func (m *memory) told() (out []string) {
	for _, n := range m.notices {
		out = append(out, fmt.Sprint(n.Seq, " ", n.State, " ", n.Alert.Recurrence))
	}
	return out
}

func finding(rule alerts.RuleID, key string) alerts.Finding {
	r, _ := alerts.Defaults().Of(rule)
	return alerts.Finding{Rule: rule, Key: key, Severity: r.Severity, What: "it is so", Labels: alerts.Labels{Agent: "cto"}, Count: 1}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

const second = lifecycle.Micros(1_000_000)

func TestAnAlertFiresOnceItsFindingHasLastedAndIsResolvedWhenItIsGone(t *testing.T) {
	t.Parallel()
	var m memory
	paused := finding(alerts.RulePaused, "c") // For a minute.
	m.at(t, second, paused)
	same(t, "at first", m.state(second), alerts.StatePending)
	m.at(t, 60*second, paused)
	same(t, "before the time", m.state(60*second), alerts.StatePending)
	m.at(t, 61*second, paused)
	same(t, "after a minute", m.state(61*second), alerts.StateFiring)
	m.at(t, 70*second, paused)
	m.at(t, 71*second)
	same(t, "gone", m.state(71*second), alerts.StateResolved)
	m.at(t, 72*second, paused)
	same(t, "back, for a moment", m.state(72*second), alerts.StateResolved)
	m.at(t, 73*second)
	m.at(t, 80*second, paused)
	m.at(t, 140*second, paused)
	same(t, "back, for long", m.state(140*second), alerts.StateFiring)
	same(t, "told", m.told(), []string{"1 firing 0", "2 resolved 0", "3 firing 1"})
}

func TestAFindingThatSaysSinceWhenItIsSoIsCountedFromThen(t *testing.T) {
	t.Parallel()
	var m memory
	f := finding(alerts.RuleDLQUntouched, "cto") // For an hour.
	f.Since = second
	m.at(t, 3600*second, f)
	same(t, "just under an hour old", m.state(3600*second), alerts.StatePending)
	m.at(t, 3601*second, f)
	same(t, "an hour old", m.state(3601*second), alerts.StateFiring)
}

func TestAFindingThatWasNeverLongEnoughIsForgotten(t *testing.T) {
	t.Parallel()
	var m memory
	m.at(t, second, finding(alerts.RulePaused, "c"))
	m.at(t, 2*second)
	if len(m.board.Alerts) != 0 || len(m.notices) != 0 {
		t.Errorf("left: %+v, %v", m.board.Alerts, m.told())
	}
}

func TestAnAcknowledgementEndsWhenTheAlertIsResolved(t *testing.T) {
	t.Parallel()
	var m memory
	f := finding(alerts.RuleZombie, "m 1")
	m.at(t, second, f)
	m.board.Alerts[0].Acknowledged = &alerts.Acknowledgement{By: "ann", At: second}
	same(t, "acknowledged", m.state(second), alerts.StateAcknowledged)
	m.at(t, 20*second, f)
	same(t, "still so", m.state(20*second), alerts.StateAcknowledged)
	m.at(t, 21*second)
	m.at(t, 22*second, f)
	same(t, "it came back", m.state(22*second), alerts.StateFiring)
	same(t, "told", m.told(), []string{"1 firing 0", "2 resolved 0", "3 firing 1"})
}

func TestASilencedAlertIsNotTold(t *testing.T) {
	t.Parallel()
	var m memory
	m.board.Silences = []alerts.Silence{{ID: "s", Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Equal, Value: "cto"}}, Until: 100 * second}}
	f, other := finding(alerts.RuleZombie, "m 1"), finding(alerts.RuleZombie, "m 2")
	other.Labels.Agent = "ceo"
	m.at(t, second, f, other)
	same(t, "told", m.told(), []string{"1 firing 0"})
	m.at(t, 2*second, other)
	same(t, "one that was never told is resolved in silence", m.told(), []string{"1 firing 0"})
	m.at(t, 3*second, f, other)
	m.at(t, 100*second, f, other)
	same(t, "the silence has ended", m.told(), []string{"1 firing 0", "2 firing 1"})
}

func TestWhereFindingsMayBeMissingNothingIsResolved(t *testing.T) {
	t.Parallel()
	var m memory
	m.at(t, second, finding(alerts.RuleStale, "m 1"), finding(alerts.RuleUnknown, ""))
	c := alerts.Step(m.board, alerts.Observed{At: 2 * second, Unsure: func(id alerts.RuleID, _ string) bool { return alerts.LeaseRules(id) }}, alerts.Defaults())
	if len(c.Notices) != 1 || c.Notices[0].Alert.Rule != alerts.RuleUnknown {
		t.Errorf("told: %+v", c.Notices)
	}
}

// Another replica may have read more: it found that a lease is stale, and this one cannot say yet whether it is.
func TestALeaseThatCannotBeJudgedYetResolvesNothing(t *testing.T) {
	t.Parallel()
	key := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 1}
	var m memory
	m.at(t, second, finding(alerts.RuleStale, key.String()), finding(alerts.RuleStale, key.String()+" second-task-worker"))
	unjudged := alerts.Unjudged([]lifecycle.Lease{{Message: key, Consumer: "task-worker", Unread: true}, {Message: key, Consumer: "second-task-worker", Beside: true}})
	c := alerts.Step(m.board, alerts.Observed{At: 2 * second, Unsure: func(_ alerts.RuleID, about string) bool { return unjudged[about] }}, alerts.Defaults())
	if len(c.Notices) != 1 || c.Notices[0].Alert.Key == key.String() {
		t.Errorf("told: %+v", c.Notices)
	}
}

// However findings come and go, and whoever silences and acknowledges: of each alert receivers hear firing and resolved in turn, and an alert
// that fires without a silence was told.
func TestEveryAlertIsToldInTurn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m memory
		now := second
		kinds := []alerts.Finding{finding(alerts.RuleZombie, "a"), finding(alerts.RulePaused, "b"), finding(alerts.RuleUnknown, "")}
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			now += lifecycle.Micros(rapid.IntRange(1, 90).Draw(t, "seconds")) * second
			var found []alerts.Finding
			for i, f := range kinds {
				if rapid.Bool().Draw(t, fmt.Sprint("finding ", i)) {
					found = append(found, f)
				}
			}
			if rapid.Bool().Draw(t, "somebody silences") {
				m.board.Silences = append(m.board.Silences, alerts.Silence{
					ID: fmt.Sprint(now), Matchers: []alerts.Matcher{{Name: "rule", Op: alerts.Equal, Value: string(rapid.SampledFrom(kinds).Draw(t, "rule").Rule)}}, Until: now + 60*second,
				})
			}
			if len(m.board.Alerts) > 0 && rapid.Bool().Draw(t, "somebody acknowledges") && m.board.Alerts[0].Active() {
				m.board.Alerts[0].Acknowledged = &alerts.Acknowledgement{By: "ann", At: now}
			}
			m.at(t, now, found...)
			m.check(t, now)
		}
	})
}

func (m *memory) check(t *rapid.T, now lifecycle.Micros) {
	last := map[string]alerts.State{}
	for i, n := range m.notices {
		if n.Seq != uint64(i+1) {
			t.Fatalf("notice %d has the number %d", i, n.Seq)
		}
		if before := last[n.Alert.ID]; before == n.State || (before == "" && n.State != alerts.StateFiring) {
			t.Fatalf("%s: %s follows %q", n.Alert.ID, n.State, before)
		}
		last[n.Alert.ID] = n.State
	}
	for _, a := range m.board.Alerts {
		s := a.At(now, m.board.Silences)
		if s.State == alerts.StateFiring && last[a.ID] != alerts.StateFiring {
			t.Fatalf("%s fires, and receivers heard last that it is %q", a.ID, last[a.ID])
		}
		if s.State == alerts.StateResolved && last[a.ID] == alerts.StateFiring {
			t.Fatalf("%s is resolved, and receivers were not told", a.ID)
		}
	}
}

func TestMatchers(t *testing.T) {
	t.Parallel()
	a := alerts.Alert{ID: "zombie-1", Rule: alerts.RuleZombie, Severity: alerts.Critical, Labels: alerts.Labels{Agent: "marketing"}}
	for text, want := range map[string]bool{
		`rule=zombie`: true, `rule="zombie"`: true, `rule!=zombie`: false, `agent=~"market.*"`: true, `agent=~market`: false, `agent!~market`: true,
		`severity=~critical|warning`: true, `category=`: true, `category!=`: false, `id=zombie-1`: true, `agent=~(`: false, `agent!~(`: false,
	} {
		m, err := alerts.ParseMatcher(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got := m.Matches(a); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if _, err := alerts.ParseMatcher("agent"); err == nil {
		t.Error("a matcher without a comparison was accepted")
	}
}

func TestASilenceIsRefusedWithEverythingThatIsWrongWithIt(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(noon)
	good := alerts.Silence{Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Equal, Value: "cto"}}, Until: now.Add(time.Hour), Comment: "we deploy"}
	if wrong := good.Validate(now); len(wrong) != 0 {
		t.Errorf("a good one: %+v", wrong)
	}
	var got []string
	for _, w := range (alerts.Silence{Matchers: []alerts.Matcher{{Name: "colour", Op: "~", Value: "x"}, {Name: "agent", Op: alerts.Matches, Value: "("}}, Until: now}).Validate(now) {
		got = append(got, w.Pointer)
	}
	same(t, "pointers", got, []string{"/matchers/0/name", "/matchers/0/op", "/matchers/1/value", "/until", "/comment"})
	all := good
	all.Matchers = []alerts.Matcher{{Name: "agent", Op: alerts.Matches, Value: ".*"}}
	if wrong := all.Validate(now); len(wrong) != 1 || wrong[0].Pointer != "/matchers" {
		t.Errorf("one that mutes everything: %+v", wrong)
	}
}

// What is slow to find elsewhere does not keep an alert about a lease: "is expiring" stood for seconds beside "over by 5 s".
func TestALeaseIsResolvedByANewLookAtLeases(t *testing.T) {
	t.Parallel()
	at := func(s int64) lifecycle.Micros { return lifecycle.Micros(s * 1_000_000) }
	b := alerts.Board{}
	found := []alerts.Finding{{Rule: alerts.RuleExpiring, Key: "lease"}, {Rule: alerts.RuleTrapCritical, Key: "trap"}}
	b.Alerts = alerts.Step(b, alerts.Observed{At: at(10), Findings: found}, alerts.Defaults()).Alerts
	resolved := alerts.Step(b, alerts.Observed{At: at(11), DataAt: at(6), LeasesAt: at(11)}, alerts.Defaults()).Alerts
	if len(resolved) != 1 || resolved[0].Key != "lease" || !resolved[0].ResolvedAt.Known() {
		t.Errorf("got %+v, want the lease alone", resolved)
	}
}

// TestAnOlderLookOfAnotherReplicaChangesNothing has two replicas that look in turns, one of them at what it read a second before.
func TestAnOlderLookOfAnotherReplicaChangesNothing(t *testing.T) {
	t.Parallel()
	at := func(s int64) lifecycle.Micros { return lifecycle.Micros(s * 1_000_000) }
	found := []alerts.Finding{{Rule: alerts.RuleStale, Key: "one"}}
	b := alerts.Board{}
	look := func(o alerts.Observed, want int) {
		t.Helper()
		c := alerts.Step(b, o, alerts.Defaults())
		if len(c.Alerts) != want || len(c.Forget) > 0 {
			t.Errorf("at %d: got %+v, forget %v, want %d changes", o.At, c.Alerts, c.Forget, want)
		}
		if len(c.Alerts) > 0 {
			b.Alerts = c.Alerts
		}
	}
	look(alerts.Observed{At: at(10), Findings: found}, 1)
	look(alerts.Observed{At: at(11), DataAt: at(9)}, 0)
	look(alerts.Observed{At: at(20)}, 1)
	look(alerts.Observed{At: at(21), DataAt: at(19), Findings: found}, 0)
	if a := b.Alerts[0]; !a.ResolvedAt.Known() || a.Recurrence != 0 {
		t.Errorf("got %+v, want it to be resolved, once", a)
	}
	look(alerts.Observed{At: at(22), Findings: found}, 1)
	if a := b.Alerts[0]; a.Recurrence != 1 {
		t.Errorf("got %+v, want a recurrence", a)
	}
}
