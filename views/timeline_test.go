package views

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fleetglass/lifecycle"
)

var tasks = lifecycle.StreamID{Name: "TASKS"}

// twoMessages is a task that was handed back, ran again, died, and was retried; times in seconds.
func twoMessages() ([]lifecycle.Event, lifecycle.Trace) {
	at := func(s int) lifecycle.Micros { return lifecycle.MicrosOf(time.Unix(1_800_000_000+int64(s), 0)) }
	var events []lifecycle.Event
	add := func(kind lifecycle.Kind, p lifecycle.Provenance, seq uint64, attempt, s int, d lifecycle.Detail) {
		e := lifecycle.Event{ID: lifecycle.EventID(len(events) + 1), Kind: kind, Provenance: p, At: at(s), TaskID: "t", Attempt: attempt, Detail: d}
		if seq > 0 {
			e.Message, e.ConsumerSeq = lifecycle.MessageKey{Stream: tasks, Seq: seq}, uint64(attempt)+seq*10
		}
		events = append(events, e)
	}
	add(lifecycle.PublishAttempted, lifecycle.Observed, 0, 0, 0, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t"}})
	add(lifecycle.Published, lifecycle.Observed, 1, 0, 0, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t"}})
	add(lifecycle.Delivered, lifecycle.Broker, 1, 1, 10, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
	add(lifecycle.PublishAttempted, lifecycle.Observed, 0, 0, 12, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t"}})
	add(lifecycle.Heartbeat, lifecycle.Observed, 1, 1, 15, lifecycle.Detail{})
	add(lifecycle.ReportStepIntent, lifecycle.Reported, 0, 1, 16, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t"}, StepReport: lifecycle.StepReport{Tool: "cms"}})
	add(lifecycle.Nacked, lifecycle.Observed, 1, 1, 20, lifecycle.Detail{})
	add(lifecycle.Delivered, lifecycle.Broker, 1, 2, 30, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
	add(lifecycle.Terminated, lifecycle.Observed, 1, 2, 40, lifecycle.Detail{Ending: lifecycle.Ending{Reason: "no"}})
	add(lifecycle.DeadLettered, lifecycle.Recorded, 1, 0, 41, lifecycle.Detail{})
	add(lifecycle.PublishAttempted, lifecycle.Observed, 0, 0, 50, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t:r1"}})
	add(lifecycle.Published, lifecycle.Observed, 2, 0, 50, lifecycle.Detail{Naming: lifecycle.Naming{MsgID: "t:r1"}, Publication: lifecycle.Publication{Generation: 1}})
	add(lifecycle.Delivered, lifecycle.Broker, 2, 1, 60, lifecycle.Detail{Timing: lifecycle.Timing{Exact: true}})
	add(lifecycle.CompletionRecorded, lifecycle.Recorded, 0, 0, 79, lifecycle.Detail{})
	add(lifecycle.Acked, lifecycle.Observed, 2, 1, 80, lifecycle.Detail{})
	fold := lifecycle.NewFold()
	fold.Assign(events)
	for _, e := range events {
		fold.Add(e)
	}
	changes := fold.Changes()
	record := lifecycle.TaskRecord{Facts: *changes.Tasks[0].Facts, Summary: changes.Tasks[0].Summary}
	for _, m := range changes.Messages {
		record.Messages = append(record.Messages, *m.Facts)
	}
	return events, lifecycle.AssembleTrace(lifecycle.TraceInput{Record: record, Now: at(100)})
}

func href(id lifecycle.EventID) string { return "#ev-" + id.String() }

func TestAStoryIsToldByMessageAndAttempt(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	var got []string
	for _, r := range EventRows(Arrange(events, trace), trace, 0, true, href) {
		if r.Group != "" {
			got = append(got, "## "+r.Group)
			continue
		}
		got = append(got, r.look().Word+" "+afterText(r))
	}
	want := []string{
		"## Message 1 · TASKS:1", "publish attempt ", "published +0 ms", "duplicate caught +12 s",
		"## Message 1 · TASKS:1 · attempt 1 · nak", "delivered ", "heartbeat +5 s", "step intent +1 s", "nak +4 s",
		"## Message 1 · TASKS:1 · attempt 2 · terminated", "delivered +10 s", "term +10 s",
		"## Message 1 · TASKS:1 · after its attempts", "dead-lettered +1 s",
		"## Message 2 · TASKS:2 · generation 1", "publish attempt +9 s", "published +0 ms",
		"## Message 2 · TASKS:2 · attempt 1 · acked", "delivered +10 s", "completion recorded +19 s", "ack +1 s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestALaneForEachMessageAndAttempt(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	tl := LayoutTimeline(trace, Arrange(events, trace), time.UTC, false, href)
	var got []string
	for _, l := range tl.Lanes {
		line := l.Name + ":"
		for _, b := range l.Bars {
			line += " " + string(b.Kind)
		}
		for _, m := range l.Marks {
			line += " [" + m.Look.Word + "]"
		}
		if l.Label != nil && l.Bars[0].Kind == "life" {
			line += " " + strconv.Quote(l.Label.Text)
		}
		got = append(got, fmt.Sprintf("%s %d beats", line, len(l.Beats)))
	}
	want := []string{
		`Message 1: life [published] [duplicate caught] [dead-lettered] "1 duplicate caught" 0 beats`,
		"Attempt 1: waiting running [step intent] [nak] 1 beats",
		"Attempt 2: waiting running [term] 0 beats",
		`Message 2: life [published] "retry, generation 1" 0 beats`,
		"Attempt 1: waiting running [completion recorded] [ack] 0 beats",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lanes (-want +got):\n%s", diff)
	}
}

func TestAScaleNeverTurnsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		instant := rapid.Int64Range(1, 1_000_000)
		from := lifecycle.Micros(instant.Draw(t, "from"))
		to := from + lifecycle.Micros(instant.Draw(t, "length"))
		var busy []interval
		for range rapid.IntRange(0, 6).Draw(t, "busy") {
			a := from + lifecycle.Micros(rapid.Int64Range(0, int64(to-from)).Draw(t, "begin"))
			busy = append(busy, interval{a, min(to, a+lifecycle.Micros(instant.Draw(t, "for")))})
		}
		for name, s := range map[string]scale{"linear": linear(from, to), "squeezed": squeezed(from, to, busy)} {
			last := 0.0
			for i := range 50 {
				x := s.x(from + (to-from)*lifecycle.Micros(i)/49)
				if x < last || x < 0 || x > 1 {
					t.Fatalf("%s: x went from %v to %v", name, last, x)
				}
				last = x
			}
		}
	})
}

func TestALeaseBarShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	now := lifecycle.Micros(1e12)
	for _, test := range []struct {
		left, wait time.Duration
		want       leaseShape
	}{
		{time.Minute, 2 * time.Minute, leaseShape{held: 0.35, words: "1 m to the deadline"}},
		{0, 2 * time.Minute, leaseShape{held: 0.7, words: "0 ms to the deadline"}},
		{-time.Minute, 5 * time.Minute, leaseShape{held: 0.7, over: 0.14, words: "1 m past the deadline"}},
		{-time.Hour, time.Minute, leaseShape{held: 0.7, over: 0.3, words: "1 h past the deadline"}},
	} {
		l := lifecycle.Lease{Deadline: now.Add(test.left), Wait: test.wait}
		got := leaseGeometry(l, now)
		got.held, got.over = float64(int(got.held*1000+0.5))/1000, float64(int(got.over*1000+0.5))/1000
		if got != test.want {
			t.Errorf("%v left of %v: got %+v, want %+v", test.left, test.wait, got, test.want)
		}
	}
}

func TestAMissingDeadlineSaysWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lease       lifecycle.Lease
		words, part string
	}{
		{lifecycle.Lease{Due: true}, "none", "the next free worker gets it"},
		{lifecycle.Lease{Due: true, Awaits: "a worker subscribes"}, "none", "the broker gives it out once a worker subscribes"},
		{lifecycle.Lease{Consumer: "cto-task-worker"}, "not known", "the wait of the consumer cto-task-worker. That wait is not known"},
		{lifecycle.Lease{}, "not known", "which consumer gave it out"},
		{lifecycle.Lease{Consumer: "cto-task-worker", Wait: time.Minute}, "not known", "plus 1 m. The time of that sign is not known"},
	} {
		words, why := noDeadline(test.lease)
		if words != test.words || !strings.Contains(why, test.part) {
			t.Errorf("%+v reads %q, %q", test.lease, words, why)
		}
		if got := leaseGeometry(test.lease, 1).words; got != why {
			t.Errorf("its bar reads %q, want %q", got, why)
		}
	}
}

func TestAChartReachesARoundNumber(t *testing.T) {
	t.Parallel()
	for most, want := range map[int64]int64{0: 4, 3: 4, 5: 5, 12: 12, 13: 15, 74: 75, 257: 300, 420: 500, 999: 1000, 1001: 1200} {
		c := Chart{Series: []Series{{Name: "n", Tone: "ok"}}, Buckets: []Bucket{{Values: []int64{most}}}}
		if got := c.top(); got != want {
			t.Errorf("top for %d: got %d, want %d", most, got, want)
		}
		guides := c.guides()
		if last := guides[len(guides)-1]; last.Label != Count(want) || last.Y != 0 || guides[0].Label != "0" || len(guides) < 4 || len(guides) > 6 {
			t.Errorf("guides for %d: %v", most, guides)
		}
	}
}

func TestTheLegendHasWhatIsUsedAndNothingElse(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	var got []string
	for _, k := range LayoutTimeline(trace, Arrange(events, trace), time.UTC, false, href).Legend {
		got = append(got, k.Look.Word)
	}
	want := []string{"waiting", "running", "lease", "heartbeat", "published", "duplicate caught", "dead-lettered", "step intent", "nak", "term", "completion recorded", "ack"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("legend (-want +got):\n%s", diff)
	}
}

// TestMarksOfALaneDifferInShape: kinds that look alike mean the same.
func TestMarksOfALaneDifferInShape(t *testing.T) {
	t.Parallel()
	same := map[string]bool{"m-pub": true, "m-dup": true, "m-effect": true} // Stored; caught; an effect that happened.
	for _, lane := range []lifecycle.Lane{lifecycle.LaneMessage, lifecycle.LaneAttempt} {
		word := map[string]string{}
		for _, row := range lifecycle.Kinds() {
			if !row.Lane.On(lane) || same[row.Icon] {
				continue
			}
			if other := word[row.Icon]; other != "" {
				t.Errorf("%q and %q are both drawn as %s", other, row.Name, row.Icon)
			}
			word[row.Icon] = row.Name
		}
	}
}

func TestMarksStandClearOfEachOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var marks []Mark
		for range rapid.IntRange(1, 40).Draw(t, "marks") {
			marks = append(marks, Mark{X: rapid.Float64Range(0, 1).Draw(t, "x"), Rank: rapid.IntRange(0, 2).Draw(t, "rank")})
		}
		counted, last := 0, -1.0
		for _, m := range spread(marks) {
			if m.Folded {
				continue
			}
			counted += max(1, m.N)
			at := m.X*laneWidth + m.Dx
			if at < markEdge-0.01 || at > laneWidth-markEdge+0.01 || (last >= 0 && at < last+markGap-0.01) {
				t.Fatalf("a mark at %v, after one at %v", at, last)
			}
			last = at
		}
		if counted != len(marks) {
			t.Fatalf("%d marks are drawn or counted, want %d", counted, len(marks))
		}
	})
}

func TestTheAxisSaysTheDayWhereItChanges(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	from := lifecycle.MicrosOf(time.Date(2026, 11, 20, 16, 10, 0, 0, time.UTC))
	var got []string
	for _, tick := range linear(from, from.Add(5*time.Hour)).ticks(zone) {
		got = append(got, tick.Day+" "+tick.Label)
	}
	want := []string{"20 Nov 22:00", " 22:30", " 23:00", " 23:30", "21 Nov 00:00", " 00:30", " 01:00", " 01:30", " 02:00", " 02:30"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ticks (-want +got):\n%s", diff)
	}
	short := linear(from, from.Add(40*time.Millisecond)).ticks(time.UTC)
	if len(short) == 0 || len(short[0].Label) != len("16:10:00.005") {
		t.Errorf("ticks of 40 ms: %+v", short)
	}
}

func TestReasonsStandAtTheEndOfAttempts(t *testing.T) {
	t.Parallel()
	events, trace := twoMessages()
	got := map[string]string{}
	for _, l := range LayoutTimeline(trace, Arrange(events, trace), time.UTC, false, href).Lanes {
		if l.Label != nil && !l.Message {
			got[l.Name] = l.Label.Whole
		}
	}
	if diff := cmp.Diff(map[string]string{"Attempt 1": "nak", "Attempt 2": "term: no"}, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	long := "term: " + strings.Repeat("word ", 60)
	for _, x := range []float64{0, 0.3, 0.5, 0.8, 1} {
		l := placeLabel(x, long)
		if n := float64(len([]rune(l.Text))) * letter / laneWidth; (l.Left && n > x) || (!l.Left && n > 1-x) {
			t.Errorf("at %v: a label of %v to the left %v", x, n, l.Left)
		}
	}
}

func TestTimesLeaveOutWhatIsNone(t *testing.T) {
	t.Parallel()
	const either = "waiting or running (the delivery was not observed)"
	for _, test := range []struct {
		running, waiting, unsplit time.Duration
		want                      []Param
	}{
		{0, 0, 84 * time.Second, []Param{{Name: either, Value: "1m 24s"}}},
		{0, 84 * time.Second, 0, []Param{{Name: "waiting", Value: "1m 24s"}}},
		{time.Minute, 0, time.Second, []Param{{Name: "in all", Value: "1m 01s"}, {Name: "running", Value: "1 m"}, {Name: either, Value: "1 s"}}},
		{0, 0, 0, nil},
	} {
		if diff := cmp.Diff(test.want, timesOf(test.running, test.waiting, test.unsplit, 1)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test, diff)
		}
	}
}

// A wait of less than a millisecond reads "0 ms" everywhere: a bar of it would lie under the running one, and only the legend would name it.
func TestAWaitOfNoTimeIsNotDrawn(t *testing.T) {
	t.Parallel()
	_, trace := twoMessages()
	b := builder{trace: trace}
	b.scale = b.chooseScale(false)
	for _, test := range []struct {
		waits time.Duration
		want  int
	}{{400 * time.Microsecond, 0}, {time.Millisecond, 1}} {
		var lane Lane
		b.spanBars(&lane, lifecycle.Span{Kind: lifecycle.SpanWaiting, From: trace.AsOf, To: trace.AsOf.Add(test.waits)}, lifecycle.Attempt{}, 0)
		if len(lane.Bars) != test.want {
			t.Errorf("%v: got %d bars, want %d", test.waits, len(lane.Bars), test.want)
		}
	}
}

// How long a worker had an attempt is said as far as its ends are known.
func TestHowLongAnAttemptWasHeld(t *testing.T) {
	t.Parallel()
	at := lifecycle.Micros(1_700_000_000_000_000)
	for _, c := range []struct {
		exact, latest bool
		want          string
	}{{true, false, "5 s"}, {true, true, "at most 5 s"}, {false, false, "at least 5 s"}, {false, true, ""}} {
		a := lifecycle.Attempt{BeganAt: at, BeganExact: c.exact, EndedAt: at.Add(5 * time.Second), EndedLatest: c.latest}
		if got := heldWords(a, a.EndedAt); got != c.want {
			t.Errorf("begin exact %v, end or before %v: %q, want %q", c.exact, c.latest, got, c.want)
		}
	}
}
