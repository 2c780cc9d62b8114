package reconcile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

var auditStreamID = lifecycle.StreamID{Name: "TASKS"}

// holding is a stream of which everything is known.
type holding []uint64

func (h holding) Has(seq uint64) (present, known bool) { return slices.Contains(h, seq), true }

func (h holding) Between(from, to uint64, yield func(uint64) bool) {
	for _, seq := range h {
		if seq >= from && seq <= to && !yield(seq) {
			return
		}
	}
}

// auditConfig is that of a report an hour after base, on sequences 1 to last.
func auditConfig(last uint64, present StreamPresence) AuditConfig {
	asOf := base.Add(time.Hour)
	s := AuditStream{StreamSpan: StreamSpan{Stream: auditStreamID, FromSeq: 1, ToSeq: last, LookedAt: asOf, Compared: present != nil}, Present: present}
	s.MaxAge = 10 * time.Minute
	return AuditConfig{
		AsOf: asOf, Grace: time.Minute, Period: Period{From: base, To: base.Add(59 * time.Minute)}, Streams: []AuditStream{s},
	}
}

// auditOf audits everything that was folded.
func auditOf(cfg AuditConfig, f folded) Report {
	a := NewAudit(cfg)
	for _, m := range f.messages {
		a.Message(AuditedMessage{OpenMessage: m})
	}
	for _, t := range f.orphans {
		a.Task(t, false)
	}
	return a.Report()
}

// brief writes what a report says in one line for each term and row that is not zero.
func brief(r Report) string {
	var out []string
	b := r.Total
	for _, term := range []struct {
		name string
		n    int64
	}{{"completed", b.Completed}, {"in flight", b.InFlight}, {"in dlq", b.InDLQ}, {"exhausted", b.Exhausted}, {"terminated", b.Terminated},
		{"expired", b.Expired}, {"unexplained", b.Unexplained}, {"never seen", b.NeverSeen}} {
		if term.n > 0 {
			out = append(out, fmt.Sprintf("%s %d", term.name, term.n))
		}
	}
	for _, l := range r.Lists {
		for _, d := range l.Rows {
			at := d.TaskID
			if d.TaskID == "" {
				at = strconv.FormatUint(d.Message.Seq, 10)
			}
			if d.ToSeq > 0 {
				at += "-" + strconv.FormatUint(d.ToSeq, 10)
			}
			out = append(out, string(l.Kind)+": "+at)
		}
	}
	for _, k := range r.WithoutRecords {
		out = append(out, fmt.Sprintf("no records: %s %d", k.Agent, k.Acknowledged))
	}
	return strings.Join(out, "; ")
}

func TestEveryKindOfMessageHasItsTermAndItsDiscrepancy(t *testing.T) {
	t.Parallel()
	// Another task that the same agent completed, so that a missing record is missed.
	const keeps = "\npublished 0s seq=9 task=K\nacked 2s seq=9 n=1\ncompletion_recorded 1s task=K"
	stored := "published 0s seq=1 task=T\n"
	for _, c := range []struct{ name, events, want string }{
		{"completed", stored + "acked 2s seq=1 n=1\ncompletion_recorded 1s task=T", "completed 1"},
		{"completed by a report", stored + "acked 2s seq=1 n=1\ncompleted 1s task=T", "completed 1"},
		{"queued", stored, "in flight 1"},
		{"in a worker's hands", stored + "delivered 1s seq=1 n=1 exact", "in flight 1"},
		{"acked without a record", stored + "acked 2s seq=1 n=1" + keeps, "completed 2; acked_not_recorded: T"},
		{"acked without a record a moment ago", stored + "acked 59m30s seq=1 n=1" + keeps, "completed 2"},
		{"acked as another message of its key was recorded", stored + "acked 2s seq=1 n=1\ncompletion_recorded 1s task=T\npublished 10s seq=2 task=T\nacked 12s seq=2 n=1", "completed 2"},
		{"acked, and another task recorded the work of its key", "published 0s seq=1 task=T key=K-1\nacked 4s seq=1 n=1\npublished 0s seq=2 task=U key=K-1\ncompletion_recorded 1s task=U key=K-1\nacked 2s seq=2 n=1\n" +
			"key_shared 1s task=T namesake=U key=K-1 basis=1s", "completed 2"},
		{"acked, and another task with its key was acknowledged", "published 0s seq=1 task=T key=K-1\nacked 4s seq=1 n=1\nkey_shared 1s task=T namesake=U key=K-1 basis=1s unproved" + keeps,
			"completed 2; acked_not_recorded: T"},
		{"acked, and its publish was not seen", "acked 2s seq=1 n=1" + keeps, "completed 2"},
		{"recorded, removed, then acked", stored + "delivered 1s seq=1 n=1 exact\ncompletion_recorded 2s task=T\nvanished 3s seq=1 removal=operator\nacked 4s seq=1 n=1" + keeps, "completed 2"},
		{"an agent that keeps none", stored + "acked 2s seq=1 n=1", "completed 1; no records: marketing 1"},
		{"recorded, not acked", stored + "completion_recorded 2s task=T", "in flight 1; completed_not_acked: T"},
		{"recorded a moment ago", stored + "completion_recorded 59m30s task=T", "in flight 1"},
		{"recorded and gone", stored + "completion_recorded 2s task=T\nvanished 1m seq=1 reason=unknown", "completed 1"},
		{"recorded and died", stored + "completion_recorded 2s task=T\nterminated 3s seq=1 n=1", "terminated 1; completed_not_acked: T"},
		{"died before its retry completed", stored + "terminated 3s seq=1 n=1\ncompletion_recorded 2m task=T", "terminated 1"},
		{"never published", "completion_recorded 2s task=T", "recorded_unpublished: T"},
		{"reported, never published", "completed 2s task=T", "recorded_unpublished: T"},
		{"never published, a moment ago", "completion_recorded 58m30s task=T\nreport_heartbeat 59m30s task=T", ""},
		{"recorded before the period", "completion_recorded -2s task=T", ""},
		{"in the queue of the dead", stored + "max_deliveries 1m seq=1\ndead_lettered 2m seq=1 task=T", "in dlq 1"},
		{"exhausted", stored + "max_deliveries 1m seq=1", "exhausted 1; exhausted_outside_dlq: T"},
		{"exhausted a moment ago", stored + "max_deliveries 59m30s seq=1", "exhausted 1"},
		{"exhausted and aged", stored + "max_deliveries 1m seq=1\nvanished 10m seq=1 reason=aged", "exhausted 1; exhausted_outside_dlq: T"},
		{"exhausted and discarded before it had an entry", stored + "max_deliveries 1m seq=1\ntriaged 2m seq=1 outcome=discarded", "exhausted 1"},
		{"terminated and discarded before it had an entry", stored + "terminated 3s seq=1 n=1\ntriaged 2m seq=1 outcome=discarded", "terminated 1"},
		{"terminated by its worker", stored + "terminated 3s seq=1 n=1 reason=impossible", "terminated 1"},
		{"deleted by hand in a worker's hands", stored + "term_confirmed 3s seq=1 n=1 reason=Unacknowledged+message+was+deleted", "unexplained 1; outcome_unexplained: T"},
		{"aged in a worker's hands", stored + "term_confirmed 10m seq=1 n=1 reason=Unacknowledged+message+was+deleted", "expired 1; expired: T"},
		{"missed by the broker", stored + "term_confirmed 10m seq=1 n=1 reason=Message+deleted+by+stream+limits", "unexplained 1; outcome_unexplained: T"},
		{"aged", stored + "vanished 10m seq=1 reason=aged", "expired 1; expired: T"},
		{"passed over by its consumer", stored + "delivered 1s seq=1 n=1 exact\nstranded 2s seq=1 n=1", "unexplained 1; outcome_unexplained: T"},
		{"gone", stored + "vanished 1m seq=1 reason=unknown", "unexplained 1; outcome_unexplained: T"},
		{"discarded by limits", stored + "vanished 1m seq=1 reason=discarded+by+limits", "unexplained 1; outcome_unexplained: T"},
		{"removed by an operator before delivery", stored + "vanished 1m seq=1 removal=operator undelivered", "terminated 1"},
		{"removed by its TTL before delivery", stored + "vanished 1m seq=1 removal=ttl undelivered", "expired 1; expired: T"},
		{"known by a dead-letter entry alone", "dead_lettered 1m seq=1 task=T", "in dlq 1"},
		{"nothing proves that it was stored", "orphaned 1m seq=1", "unexplained 1; outcome_unexplained: TASKS:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := foldLines(t, c.events)
			cfg := auditConfig(9, nil)
			cfg.Streams[0].ToSeq = uint64(len(m.messages))
			if strings.Contains(c.events, "seq=9") {
				cfg.Streams[0].ToSeq, cfg.Streams[0].SeenFrom = 9, 9 // What lies between was not observed.
			}
			r := auditOf(cfg, m)
			if got := brief(r); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !r.Total.Balanced() || r.Total.Published != int64(len(m.messages)) {
				t.Errorf("total %+v of %d messages does not balance", r.Total, len(m.messages))
			}
			for _, l := range r.Lists {
				for _, d := range l.Rows {
					if !strings.HasSuffix(d.Why, ".") {
						t.Errorf("%s of %s is not explained: %q", l.Kind, d.TaskID, d.Why)
					}
					if strings.Contains(d.Why, "none proves that the stream stored it") && strings.Contains(c.events, "published") {
						t.Errorf("%s of %s: %q, by %s", l.Kind, d.TaskID, d.Why, c.events)
					}
				}
			}
		})
	}
}

func TestWhatIsListedSaysWhereItsWorkIsDone(t *testing.T) {
	t.Parallel()
	stored, again := "published 0s seq=1 task=T key=T-1\n", "\npublished 3m seq=2 task=T key=T-1\ncompletion_recorded 5m task=T key=T-1 record=2\nacked 6m seq=2 n=1"
	for _, c := range []struct {
		events string
		kind   DiscrepancyKind
		done   bool
	}{
		{stored + "max_deliveries 1m seq=1", ExhaustedOutsideDLQ, false},
		{stored + "max_deliveries 1m seq=1" + again, ExhaustedOutsideDLQ, true},
		{stored + "max_deliveries 1m seq=1\ncompletion_recorded 2m task=T key=T-1", ExhaustedOutsideDLQ, true},
		{stored + "vanished 1m seq=1 reason=unknown", OutcomeUnexplained, false},
		{stored + "vanished 1m seq=1 reason=unknown" + again, OutcomeUnexplained, true},
		{stored + "vanished 10m seq=1 reason=aged" + again, ExpiredInStream, true},
	} {
		m := foldLines(t, c.events)
		r := auditOf(auditConfig(uint64(len(m.messages)), nil), m)
		rows := r.List(c.kind).Rows
		if len(rows) != 1 || strings.Contains(rows[0].Why, "its work is done") != c.done {
			t.Errorf("%s: rows %+v of %s, want one that says that the work is done: %v", c.events, rows, c.kind, c.done)
		}
	}
}

func TestWhatTheStreamHoldsDecides(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, events string
		held         holding
		want         string
	}{
		{"queued and held", "published 0s seq=1 task=T", holding{1}, "in flight 1"},
		{"queued and gone", "published 0s seq=1 task=T", holding{}, "unexplained 1; outcome_unexplained: T"},
		{"queued and gone a moment ago", "published 0s seq=1 task=T\ndelivered 59m30s seq=1 n=1 exact", holding{}, "in flight 1"},
		{"recorded and gone", "published 0s seq=1 task=T\ncompletion_recorded 1s task=T", holding{}, "completed 1"},
		{"recorded, and its consumer is past it", "published 0s seq=1 task=T\ncompletion_recorded 1s task=T\nstranded 3s seq=1", holding{1}, "completed 1; completed_not_acked: T"},
		{"given up, and its consumer is past it", "published 0s seq=1 task=T\nterminated 2s seq=1 n=1\nstranded 3s seq=1 n=1", holding{1}, "terminated 1; held_though_settled: T"},
		{"acked and held", "published 0s seq=1 task=T\nacked 2s seq=1 n=1\ncompletion_recorded 1s task=T", holding{1}, "completed 1; held_though_settled: T"},
		{"acked and held a moment ago", "published 0s seq=1 task=T\nacked 59m30s seq=1 n=1\ncompletion_recorded 1s task=T", holding{1}, "completed 1"},
		{"dead and held, as the dead are", "published 0s seq=1 task=T\nmax_deliveries 1m seq=1\ndead_lettered 2m seq=1 task=T", holding{1}, "in dlq 1"},
		{"held and not known", "published 0s seq=1 task=T", holding{1, 2}, "in flight 2; held_unknown: 2"},
		{"never seen", "published 0s seq=1 task=T\npublished 5s seq=5 task=U", holding{1, 5}, "in flight 2; unexplained 3; never seen 3; never_seen: 2-4"},
		{"never seen around one that is held", "published 0s seq=1 task=T\npublished 5s seq=5 task=U", holding{1, 3, 5},
			"in flight 3; unexplained 2; never seen 2; never_seen: 2; never_seen: 4; held_unknown: 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := foldLines(t, c.events)
			cfg := auditConfig(1, c.held)
			for _, message := range m.messages {
				cfg.Streams[0].ToSeq = max(cfg.Streams[0].ToSeq, message.Message.Key.Seq)
			}
			if n := len(c.held); n > 0 {
				cfg.Streams[0].ToSeq = max(cfg.Streams[0].ToSeq, c.held[n-1])
			}
			r := auditOf(cfg, m)
			if got := brief(r); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if want := int64(cfg.Streams[0].ToSeq); r.Total.Published != want || !r.Total.Balanced() {
				t.Errorf("total %+v, want %d published and a balance", r.Total, want)
			}
		})
	}
}

func TestAnExpiryIsNotProvedWhereAnAnswerMayHaveBeenMissed(t *testing.T) {
	t.Parallel()
	m := foldLines(t, "published 0s seq=1 task=T\nvanished 10m seq=1 reason=aged")
	for _, c := range []struct {
		gap  lifecycle.Gap
		want string
	}{
		{lifecycle.Gap{From: base.Add(time.Minute), To: base.Add(2 * time.Minute)}, "unexplained 1; outcome_unexplained: T"},
		{lifecycle.Gap{From: base.Add(time.Minute)}, "unexplained 1; outcome_unexplained: T"},
		{lifecycle.Gap{From: base.Add(-time.Minute), To: base.Add(-time.Second)}, "expired 1; expired: T"},
		{lifecycle.Gap{From: base.Add(11 * time.Minute)}, "expired 1; expired: T"},
		{lifecycle.Gap{Source: lifecycle.Uncaptured("TASKS"), From: base}, "unexplained 1; outcome_unexplained: T"},
		{lifecycle.Gap{Source: lifecycle.Uncaptured("TASKS_VIP"), From: base}, "expired 1; expired: T"},
	} {
		cfg := auditConfig(1, nil)
		cfg.Blind = []lifecycle.Gap{c.gap}
		if got := brief(auditOf(cfg, m)); got != c.want {
			t.Errorf("with a gap from %s to %s: got %q, want %q", c.gap.From.Sub(base), c.gap.To.Sub(base), got, c.want)
		}
	}
}

func TestAGapWeakensWhatIsSaidOfAMissingAnswer(t *testing.T) {
	t.Parallel()
	gap := []lifecycle.Gap{{Source: "OBS", From: base.Add(time.Second)}}
	recorded := foldLines(t, "published 0s seq=1 task=T\ncompletion_recorded 1s task=T")
	acked := foldLines(t, "published 0s seq=1 task=T\nacked 2s seq=1 n=1\npublished 0s seq=2 task=U\ncompletion_recorded 1s task=U\nacked 2s seq=2 n=1")
	for _, c := range []struct {
		of    folded
		blind AuditConfig
		kind  DiscrepancyKind
		weak  bool
	}{
		{recorded, AuditConfig{Blind: gap}, CompletedNotAcked, true},
		{recorded, AuditConfig{Deaf: gap}, CompletedNotAcked, false},
		{acked, AuditConfig{Deaf: gap}, AckedNotRecorded, true},
		{acked, AuditConfig{Blind: gap}, AckedNotRecorded, false},
	} {
		cfg := auditConfig(2, nil)
		cfg.Blind, cfg.Deaf = c.blind.Blind, c.blind.Deaf
		for _, l := range auditOf(cfg, c.of).Lists {
			if l.Kind == c.kind && (l.Total != 1 || strings.Contains(l.Rows[0].Why, "may have been missed") != c.weak) {
				t.Errorf("%s, blind %v, deaf %v: %+v, want weak words %v", c.kind, cfg.Blind != nil, cfg.Deaf != nil, l.Rows, c.weak)
			}
		}
	}
}

func TestAMissingRecordIsNamedOnceForItsTask(t *testing.T) {
	t.Parallel()
	m := foldLines(t, "published 0s seq=1 task=T\nacked 2s seq=1 n=1\ncompletion_recorded 1s task=T")
	a := NewAudit(auditConfig(1, nil))
	a.Message(AuditedMessage{OpenMessage: m.messages[0], RecordGone: true})
	if got, want := brief(a.Report()), "completed 1; record_missing: T"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAMissingRecordIsThatOfTheMessageWhichItCompleted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, events string
		want         uint64
	}{
		{"of an older message", "published 0s seq=1 task=T\nacked 2s seq=1 n=1\ncompletion_recorded 1s task=T\npublished 10s seq=2 task=T", 1},
		{"of none that is known", "published 0s seq=1 task=T key=T-1\ncompletion_recorded 5s task=T key=T-2", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, m := NewAudit(auditConfig(2, nil)), foldLines(t, c.events)
			a.Message(AuditedMessage{OpenMessage: m.messages[len(m.messages)-1], RecordGone: true})
			r := a.Report()
			rows := r.List(RecordMissing).Rows
			if len(rows) != 1 || rows[0].TaskID != "T" || rows[0].Message.Seq != c.want {
				t.Errorf("rows %+v, want one of message %d", rows, c.want)
			}
		})
	}
}

func TestWhatLiesOutsideTheSpanDoesNotCount(t *testing.T) {
	t.Parallel()
	m := foldLines(t, "published 0s seq=1 task=T\npublished 1s seq=4 task=U\npublished 2s seq=6 task=V")
	cfg := auditConfig(4, nil)
	cfg.Streams[0].FromSeq, cfg.Streams[0].SeenFrom = 2, 4
	r := auditOf(cfg, m)
	if got, want := brief(r), "in flight 1"; got != want {
		t.Errorf("got %q, want %q: 1 and 6 are outside, 2 and 3 before our time", got, want)
	}
	if len(r.Streams) != 1 || r.Streams[0].Known != 1 {
		t.Errorf("streams %+v, want one with one known message", r.Streams)
	}
}

// TestReportsOfRandomHistoriesBalance audits random histories in random orders, with repetitions and with sequences that are missing,
// and compares the terms with the states that each message has by itself.
func TestReportsOfRandomHistoriesBalance(t *testing.T) {
	t.Parallel()
	rounds := 400
	if testing.Short() {
		rounds = 60
	}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 7))
		fleet := randomFleet(r)
		cfg := auditConfig(fleet.last, nil)
		cfg.Grace = 0
		want := fleet.naiveBalance()
		var first Report
		for try := range 3 {
			a := NewAudit(cfg)
			told := slices.Concat(fleet.messages, fleet.messages[:r.IntN(len(fleet.messages)+1)])
			r.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
			for _, m := range told {
				a.Message(m)
			}
			got := a.Report()
			if d := cmp.Diff(want, termsOfReport(got)); d != "" {
				t.Fatalf("round %d (-states +got):\n%s", round, d)
			}
			checkReport(t, got)
			if try == 0 {
				first = got
			} else if d := cmp.Diff(first, got); d != "" {
				t.Fatalf("round %d: another order gives another report (-first +got):\n%s", round, d)
			}
		}
		if t.Failed() {
			return
		}
	}
}

type randomFleetOf struct {
	messages []AuditedMessage
	last     uint64
}

// randomFleet gives every message of a stream a random history; some sequences have none.
func randomFleet(r *rand.Rand) randomFleetOf {
	f := randomFleetOf{last: uint64(1 + r.IntN(40))}
	for seq := uint64(1); seq <= f.last; seq++ {
		if r.IntN(4) == 0 {
			continue
		}
		for _, m := range fold(randomHistory(r, seq)).messages {
			if m.Message.Stored != nil { // Without it the message is under a task of its own, which scenarios cover.
				f.messages = append(f.messages, AuditedMessage{OpenMessage: m})
			}
		}
	}
	return f
}

// naiveBalance counts the states of the messages. What died is one number: a state does not tell the terms of the dead apart.
func (f randomFleetOf) naiveBalance() map[string]int64 {
	out := map[string]int64{"published": int64(f.last), "unexplained": int64(f.last) - int64(len(f.messages))}
	for _, m := range f.messages {
		v := lifecycle.Judge(m.Message, m.Task)
		if v.State == lifecycle.StateTriaged { // A decision does not change how the message died.
			v.State = v.Death.State
		}
		switch s := v.State; {
		case s == lifecycle.StateCompleted:
			out["completed"]++
		case s.Open():
			out["in flight"]++
		case s == lifecycle.StateDeadLettered:
			out["in dlq"]++
		case s == lifecycle.StateExhausted, s == lifecycle.StateTerminated:
			out["died"]++
		case m.Message.Removal == lifecycle.RemovedByAge:
			out["expired"]++
		case s == lifecycle.StateRemoved:
			out["died"]++
		default:
			out["unexplained"]++
		}
	}
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

func termsOfReport(r Report) map[string]int64 {
	b := r.Total
	out := map[string]int64{
		"published": b.Published, "completed": b.Completed, "in flight": b.InFlight, "in dlq": b.InDLQ, "died": b.Exhausted + b.Terminated,
		"expired": b.Expired, "unexplained": b.Unexplained,
	}
	maps.DeleteFunc(out, func(_ string, n int64) bool { return n == 0 })
	return out
}

// checkReport holds a report to what must hold of every one.
func checkReport(t *testing.T, r Report) {
	t.Helper()
	var sum Balance
	for _, l := range r.Lines {
		if !l.Balanced() {
			t.Errorf("line of %q does not balance: %+v", l.Agent, l.Balance)
		}
		sum.add(l.Balance)
	}
	if sum != r.Total {
		t.Errorf("total %+v, want the sum of the lines %+v", r.Total, sum)
	}
	if n := r.List(OutcomeUnexplained).Total + r.List(NeverSeen).Total; n != r.Total.Unexplained {
		t.Errorf("%d unexplained messages are listed, want %d", n, r.Total.Unexplained)
	}
	if n := r.List(ExpiredInStream).Total; n != r.Total.Expired {
		t.Errorf("%d expired messages are listed, want %d", n, r.Total.Expired)
	}
	named := map[string]DiscrepancyKind{}
	for _, l := range r.Lists {
		var n int64
		for _, d := range l.Rows {
			n += d.N()
			if other, twice := named[d.Message.String()]; twice && l.Kind != RecordMissing {
				t.Errorf("%v is in the lists %s and %s", d.Message, other, l.Kind)
			}
			named[d.Message.String()] = l.Kind
		}
		if n != l.Total {
			t.Errorf("list %s counts %d, its rows %d", l.Kind, l.Total, n)
		}
		if !slices.IsSortedFunc(l.Rows, compareRows) {
			t.Errorf("list %s is not in order", l.Kind)
		}
	}
}

func TestListsKeepTheFirstRowsAndCountAll(t *testing.T) {
	t.Parallel()
	const n = 3 * DiscrepancyRows
	stored := lifecycle.StoredFacts{At: base}
	a := NewAudit(auditConfig(n, nil))
	for _, seq := range rand.New(rand.NewPCG(3, 7)).Perm(n) {
		m := lifecycle.OpenMessage{Message: lifecycle.MessageFacts{Key: lifecycle.MessageKey{Stream: auditStreamID, Seq: uint64(seq) + 1}, Stored: &stored, MaxDeliveriesAt: base + 1, LastAt: base + 1}}
		m.Task.ID = fmt.Sprintf("T%d", seq+1)
		a.Message(AuditedMessage{OpenMessage: m})
	}
	l := a.Report()
	list := l.List(ExhaustedOutsideDLQ)
	if list.Total != n || len(list.Rows) != DiscrepancyRows {
		t.Fatalf("total %d with %d rows, want %d and %d", list.Total, len(list.Rows), n, DiscrepancyRows)
	}
	if last := list.Rows[DiscrepancyRows-1].Message.Seq; last != DiscrepancyRows {
		t.Errorf("the last row is message %d, want %d", last, DiscrepancyRows)
	}
	if runs := len(a.streams[auditStreamID].known); runs != 1 {
		t.Errorf("%d runs are kept for sequences without a hole, want 1", runs)
	}
}
