package alerts

import (
	"cmp"
	"slices"
	"strconv"

	"fleetglass/lifecycle"
)

// Observed is what one look at the fleet found.
type Observed struct {
	At       lifecycle.Micros
	DataAt   lifecycle.Micros // Optional; default At. All that it draws on is at least as new: replicas look at different times, and share what they read for a while.
	LeasesAt lifecycle.Micros // Optional; default DataAt. Likewise, of what the rules about leases draw on.
	By       string           // Optional. Tells who looks from the other replicas on the same store.
	Findings []Finding
	Unsure   func(RuleID, string) bool // Optional. A finding of the rule about the key may be missing: its alert is not resolved.
}

// Board is the alerts and silences as they are stored.
type Board struct {
	Version  uint64    // Rises with every change: who changes it names the one that they saw.
	Seq      uint64    // Of the latest notice.
	Alerts   []Alert   // All that are not resolved, and those resolved not long ago, by id.
	Silences []Silence // Those that have not ended, by id.
}

// Change is what is committed to the board together.
type Change struct {
	Expected uint64    // The version of the board that it was made for.
	Alerts   []Alert   // New ones, and new states of those with these ids.
	Forget   []string  // Ids of alerts that never fired and whose finding is gone.
	Silences []Silence // Likewise.
	Notices  []Notice  // What receivers are told, in order. Their sequence numbers follow [Board.Seq].
	Audit    []Record  // Who did it.
}

// Empty reports whether nothing is to be changed.
func (c Change) Empty() bool {
	return len(c.Alerts)+len(c.Forget)+len(c.Silences)+len(c.Notices)+len(c.Audit) == 0
}

// Notice tells receivers that an alert fires or is resolved. Each is told once, in the order of their numbers.
type Notice struct {
	Seq   uint64           `json:"seq"`
	At    lifecycle.Micros `json:"at"`
	State State            `json:"state"` // Firing or resolved.
	Alert Alert            `json:"alert"` // As it was then.
}

// ID names the notice for receivers, the same however often it is sent.
func (n Notice) ID() string { return "alert." + strconv.FormatUint(n.Seq, 10) }

// Step says how a look at the fleet changes the board. It is pure: the same look at the same board gives the same change, and a second time
// none.
func Step(b Board, seen Observed, rules Rules) Change {
	s := step{board: b, by: seen.By, now: seen.At, data: cmp.Or(seen.DataAt, seen.At), leases: cmp.Or(seen.LeasesAt, seen.DataAt, seen.At), rules: rules, change: Change{Expected: b.Version}}
	known := map[string]int{}
	for i, a := range b.Alerts {
		known[a.ID] = i
	}
	found := map[string]bool{}
	for _, f := range seen.Findings {
		id := AlertID(f.Rule, f.Key)
		if found[id] {
			continue
		}
		found[id] = true
		a := Alert{ID: id, Rule: f.Rule, Key: f.Key}
		i, is := known[id]
		if is {
			a = b.Alerts[i]
		}
		s.found(a, f, is)
	}
	for _, a := range b.Alerts {
		if !found[a.ID] && (seen.Unsure == nil || !seen.Unsure(a.Rule, a.Key)) {
			s.missing(a)
		}
	}
	return s.change
}

// step gathers the change of one look.
type step struct {
	board  Board
	by     string // As [Observed.By].
	now    lifecycle.Micros
	data   lifecycle.Micros // As [Observed.DataAt].
	leases lifecycle.Micros // As [Observed.LeasesAt].
	rules  Rules
	change Change
}

// dataOf is how new at least that is which a rule draws on.
func (s *step) dataOf(rule RuleID) lifecycle.Micros {
	if LeaseRules(rule) {
		return s.leases
	}
	return s.data
}

// found moves an alert whose finding is there.
func (s *step) found(a Alert, f Finding, known bool) {
	before, rule := a, s.ruleOf(f.Rule)
	if a.ResolvedAt.Known() && s.dataOf(a.Rule) <= a.ResolvedAt {
		return // A newer look has not found it any more.
	}
	if !a.Active() {
		s.begin(&a, f, rule)
	}
	if a.Active() {
		s.keep(&a, f, rule)
	}
	if !known || !same(before, a) {
		s.change.Alerts = append(s.change.Alerts, a)
	}
}

// begin fires an alert whose finding lasts long enough, or notes since when it waits for that.
func (s *step) begin(a *Alert, f Finding, rule Rule) {
	if !a.PendingAt.Known() {
		a.PendingAt, a.LastSeenAt, a.SeenBy = s.now, s.now, s.seesOwn(*a)
		a.Since = 0
		a.take(f, rule.Title)
	} else if PartRules(a.Rule) {
		s.seen(a)
	}
	since := a.PendingAt
	if f.Since.Known() && f.Since < since {
		since = f.Since
	}
	if s.now < since.Add(rule.For) {
		return
	}
	if a.StartedAt.Known() {
		a.Recurrence++
	}
	a.PendingAt, a.StartedAt, a.ResolvedAt, a.LastSeenAt, a.Acknowledged, a.Told = 0, s.now, 0, s.now, nil, false
	a.SeenBy = s.seesOwn(*a)
}

// keep notes what an alert that fires says now, and tells receivers unless it is silenced.
func (s *step) keep(a *Alert, f Finding, rule Rule) {
	a.take(f, rule.Title)
	s.seen(a)
	if !a.Told && muting(s.board.Silences, *a, s.now) == nil {
		a.Told = true
		s.tell(*a, StateFiring)
	}
}

// seen notes now and then that a finding is still there.
func (s *step) seen(a *Alert) {
	if s.now >= a.LastSeenAt.Add(SeenEvery) {
		a.LastSeenAt, a.SeenBy = s.now, s.seesOwn(*a)
	}
}

// seesOwn is who looks, where that is the one who can say whether the finding is there; empty where every replica can.
func (s *step) seesOwn(a Alert) string {
	if PartRules(a.Rule) {
		return s.by
	}
	return ""
}

// ofAnother reports whether another replica has found an alert among its own parts lately.
func (s *step) ofAnother(a Alert) bool {
	return a.SeenBy != s.seesOwn(a) && s.now < a.LastSeenAt.Add(goneAfter)
}

// goneAfter is how long a replica has not noted that an alert about its parts is still so until it is taken for gone.
const goneAfter = 3 * SeenEvery

// missing resolves an alert whose finding is gone.
func (s *step) missing(a Alert) {
	switch {
	case s.ofAnother(a):
		return
	case s.dataOf(a.Rule) <= max(a.PendingAt, a.StartedAt): // A newer look has found it.
		return
	case a.Active():
		told := a.Told
		a.ResolvedAt, a.Told = s.now, false
		if told {
			s.tell(a, StateResolved)
		}
	case a.PendingAt.Known() && !a.StartedAt.Known():
		s.change.Forget = append(s.change.Forget, a.ID)
		return
	case a.PendingAt.Known():
		a.PendingAt = 0
	default:
		return
	}
	s.change.Alerts = append(s.change.Alerts, a)
}

func (s *step) tell(a Alert, state State) {
	seq := s.board.Seq + uint64(len(s.change.Notices)) + 1
	s.change.Notices = append(s.change.Notices, Notice{Seq: seq, At: s.now, State: state, Alert: a})
}

func (s *step) ruleOf(id RuleID) Rule {
	r, _ := s.rules.Of(id)
	return r
}

// same reports whether nothing is worth to be stored anew: words that only count on, such as how long something waits, are stored with the
// next note that the alert is still so.
func same(before, after Alert) bool {
	if before.LastSeenAt == after.LastSeenAt {
		after.What, after.Why, after.Count, after.Since = before.What, before.Why, before.Count, before.Since
		after.Harm = before.Harm
	}
	return before.equal(after)
}

func (a Alert) equal(b Alert) bool {
	acked := a.Acknowledged == b.Acknowledged || (a.Acknowledged != nil && b.Acknowledged != nil && *a.Acknowledged == *b.Acknowledged)
	a.Acknowledged, b.Acknowledged = nil, nil
	return acked && a == b
}

// Standings says how the alerts that people are shown stand, the worst first, then the oldest.
func (b Board) Standings(now lifecycle.Micros) []Standing {
	var out []Standing
	for _, a := range b.Alerts {
		if s := a.At(now, b.Silences); s.State != StatePending {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, compareStandings)
	return out
}
