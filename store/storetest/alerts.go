package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var alertTests = []conformanceTest{
	{"a board is committed as a whole and read back", boardWhole},
	{"a change that was made for another board is refused", boardConflict},
	{"of many that make the same change one succeeds", boardRace},
	{"notices are told by one holder at a time, in order", receiverLife},
	{"what was resolved and told long ago is deleted", boardRetained},
}

// hostileUTF8 is hostile text as alerts may have it: they are stored as JSON, which is UTF-8.
var hostileUTF8 = strings.ToValidUTF8(hostileText, "?")

func anAlert(n int, at lifecycle.Micros) alerts.Alert {
	key := fmt.Sprint(hostileUTF8, n)
	return alerts.Alert{
		ID: alerts.AlertID(alerts.RuleZombie, key), Rule: alerts.RuleZombie, Key: key, Severity: alerts.Critical, What: hostileUTF8, Labels: alerts.Labels{Agent: hostileUTF8},
		Count: 1, StartedAt: at, LastSeenAt: at, Recurrence: n, Told: true, Acknowledged: &alerts.Acknowledgement{By: "ann", At: at, Note: hostileUTF8},
	}
}

func mustCommitBoard(t testing.TB, s Store, c alerts.Change) {
	t.Helper()
	if err := s.CommitBoard(t.Context(), c); err != nil {
		t.Fatalf("commit the board: %v", err)
	}
}

func mustBoard(t testing.TB, s Store, since lifecycle.Micros) alerts.Board {
	t.Helper()
	b, err := s.Board(t.Context(), since)
	if err != nil {
		t.Fatalf("read the board: %v", err)
	}
	return b
}

func boardWhole(t *testing.T, s Store) {
	diff(t, "a new board", mustBoard(t, s, 1), alerts.Board{})
	first, second, pending := anAlert(1, 1000), anAlert(2, 2000), anAlert(3, 0)
	silence := alerts.Silence{ID: "s1", Matchers: []alerts.Matcher{{Name: "agent", Op: alerts.Matches, Value: hostileUTF8}}, Until: 5000, Comment: hostileUTF8, By: "ann"}
	mustCommitBoard(t, s, alerts.Change{
		Alerts: []alerts.Alert{first, second, pending}, Silences: []alerts.Silence{silence},
		Notices: []alerts.Notice{{Seq: 1, At: 1000, State: alerts.StateFiring, Alert: first}},
		Audit:   []decision.AuditRecord{{ID: "a1", At: 1000, Actor: "ann", Action: "silence alerts", Outcome: decision.Allowed}},
	})
	want := alerts.Board{Version: 1, Seq: 1, Alerts: []alerts.Alert{first, second, pending}, Silences: []alerts.Silence{silence}}
	alerts.SortByID(want.Alerts)
	diff(t, "committed", mustBoard(t, s, 1), want)
	if n := len(onlyAudit(t, s)); n != 1 {
		t.Errorf("audit records: %d, want 1", n)
	}
	first.ResolvedAt, second.What = 3000, "it is another thing now"
	silence.EndedAt = 2500
	mustCommitBoard(t, s, alerts.Change{Expected: 1, Alerts: []alerts.Alert{first, second}, Forget: []string{pending.ID, "nobody"}, Silences: []alerts.Silence{silence}})
	want = alerts.Board{Version: 2, Seq: 1, Alerts: []alerts.Alert{first, second}, Silences: []alerts.Silence{silence}}
	alerts.SortByID(want.Alerts)
	diff(t, "changed", mustBoard(t, s, 2500), want)
	want.Alerts, want.Silences = []alerts.Alert{second}, nil
	diff(t, "later", mustBoard(t, s, 3001), want)
	if got, err := s.Alert(t.Context(), first.ID); err != nil || got.ResolvedAt != 3000 {
		t.Errorf("the resolved alert: %+v, %v", got, err)
	}
	if _, err := s.Alert(t.Context(), pending.ID); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("the forgotten alert: %v, want ErrNotFound", err)
	}
}

func boardConflict(t *testing.T, s Store) {
	mustCommitBoard(t, s, alerts.Change{Alerts: []alerts.Alert{anAlert(1, 1000)}})
	late := alerts.Change{
		Alerts: []alerts.Alert{anAlert(2, 1000)}, Notices: []alerts.Notice{{Seq: 1, At: 1000}},
		Audit: []decision.AuditRecord{{ID: "a1", At: 1000, Actor: "ann", Outcome: decision.Allowed}},
	}
	if err := s.CommitBoard(t.Context(), late); !errors.Is(err, alerts.ErrConflict) {
		t.Errorf("a change for an older board: %v, want ErrConflict", err)
	}
	if b := mustBoard(t, s, 1); b.Version != 1 || b.Seq != 0 || len(b.Alerts) != 1 || len(onlyAudit(t, s)) != 0 {
		t.Errorf("something of it was committed: %+v", b)
	}
}

func boardRace(t *testing.T, s Store) {
	const rounds = 5
	for round := range uint64(rounds) {
		var won atomic.Int64
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				err := s.CommitBoard(t.Context(), alerts.Change{Expected: round, Notices: []alerts.Notice{{Seq: round + 1, At: 1000}}})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, alerts.ErrConflict):
					t.Errorf("commit: %v", err)
				}
			})
		}
		work.Wait()
		if won.Load() != 1 {
			t.Errorf("round %d: %d made the change, want one", round, won.Load())
		}
	}
	notices, err := s.Notices(t.Context(), 0, 100)
	if err != nil || len(notices) != rounds {
		t.Errorf("%d notices, %v; want %d", len(notices), err, rounds)
	}
}

func receiverLife(t *testing.T, s Store) {
	claim := func(holder string, now lifecycle.Micros) (alerts.Receiver, bool) {
		t.Helper()
		r, claimed, err := s.ClaimReceiver(t.Context(), alerts.ReceiverClaim{Name: "hook" + hostileUTF8, Holder: holder, Now: now, Until: now.Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		return r, claimed
	}
	mustCommitBoard(t, s, alerts.Change{Notices: []alerts.Notice{{Seq: 1, At: 1000, State: alerts.StateFiring, Alert: anAlert(1, 1000)}}})
	a, claimed := claim("a", 1000)
	if !claimed || a.Position != 1 || a.Token != 1 {
		t.Fatalf("claimed %v: %+v, want it to begin behind what was told before", claimed, a)
	}
	mustCommitBoard(t, s, alerts.Change{Expected: 1, Notices: []alerts.Notice{
		{Seq: 2, At: 2000, State: alerts.StateFiring, Alert: anAlert(2, 2000)}, {Seq: 3, At: 3000, State: alerts.StateResolved, Alert: anAlert(2, 2000)},
	}})
	notices, err := s.Notices(t.Context(), a.Position, 1)
	if err != nil || len(notices) != 1 || notices[0].Seq != 2 || notices[0].Alert.What != hostileUTF8 {
		t.Fatalf("notices: %+v, %v", notices, err)
	}
	if _, claimed := claim("b", 2000); claimed {
		t.Error("a second holder got the receiver within the lease")
	}
	if again, claimed := claim("a", 2000); !claimed || again != a {
		t.Errorf("its holder again: %v, %+v", claimed, again)
	}
	a.Position = 2
	tries := []alerts.Delivery{
		{To: a.Name, Seq: 2, Alert: "x", At: 2000, Status: alerts.DeliveryFailed, Detail: hostileUTF8}, {To: a.Name, Seq: 2, Alert: "x", At: 2500, Status: alerts.DeliveryDone},
	}
	if err := s.Delivered(t.Context(), a, tries); err != nil {
		t.Fatal(err)
	}
	b, claimed := claim("b", lifecycle.Micros(2000).Add(2*time.Minute))
	if !claimed || b.Token != 2 || b.Position != 2 {
		t.Errorf("after the lease: %v, %+v", claimed, b)
	}
	a.Position = 3
	if err := s.Delivered(t.Context(), a, []alerts.Delivery{{To: a.Name, Seq: 3, Alert: "y", At: 9000}}); !errors.Is(err, alerts.ErrTakenOver) {
		t.Errorf("the holder before: %v, want ErrTakenOver", err)
	}
	got, err := s.Deliveries(t.Context(), "", 10)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "deliveries", got, []alerts.Delivery{tries[1], tries[0]})
	if of, err := s.Deliveries(t.Context(), "y", 10); err != nil || len(of) != 0 {
		t.Errorf("of another alert: %+v, %v", of, err)
	}
	if one, err := s.Deliveries(t.Context(), "x", 1); err != nil || len(one) != 1 || one[0].Status != alerts.DeliveryDone {
		t.Errorf("the newest: %+v, %v", one, err)
	}
}

func boardRetained(t *testing.T, s Store) {
	open, old, young := anAlert(1, 1000), anAlert(2, 1000), anAlert(3, 1000)
	old.ResolvedAt, young.ResolvedAt = 1500, 9000
	mustCommitBoard(t, s, alerts.Change{
		Alerts: []alerts.Alert{open, old, young}, Silences: []alerts.Silence{{ID: "old", Until: 1500}, {ID: "young", Until: 9000}},
		Notices: []alerts.Notice{{Seq: 1, At: 1000}, {Seq: 2, At: 9000}},
	})
	if n, err := s.RetainAlerts(t.Context(), 5000); err != nil || n != 3 {
		t.Errorf("deleted %d, %v; want 3", n, err)
	}
	b := mustBoard(t, s, 1)
	if len(b.Alerts) != 2 || len(b.Silences) != 1 || b.Silences[0].ID != "young" || b.Seq != 2 {
		t.Errorf("left: %+v", b)
	}
}
