package lifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestLeaseTellsWhatIsWrongAndWhatFollows(t *testing.T) {
	t.Parallel()
	consumer := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 5 * time.Minute,
		Backoff: []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}, MaxDeliver: 3}
	for _, tc := range []struct {
		name     string
		given    string
		at       time.Duration
		stale    StaleKind
		held     bool
		next     string
		nextAt   time.Duration
		deadline time.Duration
	}{
		{"in hand", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", 2 * time.Second, "", true, "redelivery", 11 * time.Second, 11 * time.Second},
		{"a heartbeat extends", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\nheartbeat 8s seq=1 n=1 cseq=1", 12 * time.Second, "", true, "redelivery", 18 * time.Second, 18 * time.Second},
		{"expiring without heartbeat", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", 10 * time.Second, StaleExpiring, true, "redelivery", 11 * time.Second, 11 * time.Second},
		{"expiring, and a heartbeat came before", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\nheartbeat 8s seq=1 n=1 cseq=1", 17 * time.Second, StaleExpiring, true, "redelivery", 18 * time.Second, 18 * time.Second},
		{"stale", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", 12 * time.Second, StaleLease, true, "redelivery", 11 * time.Second, 11 * time.Second},
		{"the second attempt has the second wait", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\ndelivered 12s seq=1 cseq=2 exact", 13 * time.Second, "", true, "redelivery", 32 * time.Second, 32 * time.Second},
		{"last attempt overdue", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=3 cseq=3", 32 * time.Second, StalePresumedDead, true, "exhaustion", 31 * time.Second, 31 * time.Second},
		{"exhausted by its last nak", "published 0s seq=1 task=T\nnaked 1s seq=1 n=3 cseq=3\npresumed_dead 1s seq=1 n=3 basis=1s deadline=1s", 2 * time.Second, "", false, "dead_letter", 0, 0},
		{"waiting in the stream", "published 0s seq=1 task=T", time.Minute, "", false, "delivery", 0, 0},
		{"nak with delay is late under backoff", "published 0s seq=1 task=T\nnaked 5s seq=1 n=2 cseq=2 delay=1s", 6 * time.Second, "", false, "redelivery", 16 * time.Second, 25 * time.Second},
		{"heartbeats of the attempt before say nothing of one of which no time is known", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 2s seq=1 n=1 cseq=1\nattempt_unanswered 13s seq=1 n=2 cseq=2", 20 * time.Second, "", true, "redelivery", 0, 0},
		{"handed back and due again", "published 0s seq=1 task=T\nnaked 5s seq=1 n=1 cseq=1 delay=1s", 7 * time.Second, "", true, "redelivery", 6 * time.Second, 0},
		{"the delay of an earlier consumer's nak is not that of this one's", "published 0s seq=1 task=T\nnaked 2s seq=1 n=1 cseq=1 delay=8s\nconsumer_recreated 10s seq=1\ndelivered 11s seq=1 cseq=1 exact\nnaked 12s seq=1 n=1 cseq=1", 13 * time.Second, "", true, "redelivery", 12 * time.Second, 0},
		{"handed back, and its delay goes on", "published 0s seq=1 task=T\nnaked 5s seq=1 n=1 cseq=1 delay=3s", 7 * time.Second, "", false, "redelivery", 8 * time.Second, 0},
		{"zombie", "published 0s seq=1 task=T\ndelivered 12s seq=1 cseq=2 exact\nheartbeat 14s seq=1 n=1 cseq=1\nheartbeat 13s seq=1 n=2 cseq=2", 15 * time.Second, StaleZombie, true, "redelivery", 34 * time.Second, 34 * time.Second},
		{"a late heartbeat extends nothing", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\nheartbeat 14s seq=1 n=1 cseq=1", 15 * time.Second, StaleLease, true, "redelivery", 11 * time.Second, 11 * time.Second},
		{"of two heartbeats the late one extends nothing", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\nheartbeat 8s seq=1 n=1 cseq=1\nheartbeat 30s seq=1 n=1 cseq=1", 31 * time.Second, StaleLease, true, "redelivery", 18 * time.Second, 18 * time.Second},
		{"a zombie's heartbeats keep the next attempt alive", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\ndelivered 12s seq=1 cseq=2 exact\nheartbeat 20s seq=1 n=1 cseq=1\nheartbeat 28s seq=1 n=1 cseq=1\nheartbeat 36s seq=1 n=1 cseq=1", 37 * time.Second, StaleZombie, true, "redelivery", 56 * time.Second, 56 * time.Second},
		{"without a time of the delivery nothing is about to expire", "published 0s seq=1 task=T msgid=T\nattempt_unanswered 3s seq=1 n=2 cseq=2", 4 * time.Second, "", true, "redelivery", 0, 0},
		{"stuck", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\n" + beating(8*time.Second, 16*time.Minute), 16*time.Minute + 2*time.Second, StaleStuck, true, "redelivery", 16*time.Minute + 10*time.Second, 16*time.Minute + 10*time.Second},
		{"handed back, and the line of that was stored a moment after the next delivery", "published 0s seq=1 task=T\nheartbeat 12001ms seq=1 n=1 cseq=1\nnaked 12002ms seq=1 n=1 cseq=1\ndelivered 12s seq=1 cseq=2 exact", 15 * time.Second, "", true, "redelivery", 32001 * time.Millisecond, 32001 * time.Millisecond},
		{"a heartbeat after it was handed back", "published 0s seq=1 task=T\nnaked 12002ms seq=1 n=1 cseq=1\ndelivered 12s seq=1 cseq=2 exact\nheartbeat 15s seq=1 n=1 cseq=1", 16 * time.Second, StaleZombie, true, "redelivery", 35 * time.Second, 35 * time.Second},
		{"claimed, and its step is confirmed", "published 0s seq=1 task=T msgid=T agent=marketing\ndelivered 60s seq=1 cseq=1 exact\nclaimed 1s task=T msgid=T n=1 agent=marketing\nstep_receipt 2s task=T msgid=T n=1 agent=marketing step=a", 62 * time.Second, "", true, "redelivery", 70 * time.Second, 70 * time.Second},
		{"claimed, and a step is announced", "published 0s seq=1 task=T msgid=T\ndelivered 60s seq=1 cseq=1 exact\nclaimed 1s task=T msgid=T n=1 agent=marketing\nstep_intent 2s task=T msgid=T n=1 agent=marketing step=a", 62 * time.Second, "", true, "redelivery", 70 * time.Second, 70 * time.Second},
		{"claimed, and another agent announces a step", "published 0s seq=1 task=T msgid=T\ndelivered 60s seq=1 cseq=1 exact\nclaimed 1s task=T msgid=T n=1 agent=marketing\nstep_intent 2s task=T msgid=T n=1 agent=mallory step=a", 62 * time.Second, StaleWeakAccept, true, "redelivery", 70 * time.Second, 70 * time.Second},
		{"claimed, and a relay says that it began", "published 0s seq=1 task=T msgid=T\ndelivered 60s seq=1 cseq=1 exact\nclaimed 1s task=T msgid=T n=1 agent=marketing\naccepted 2s task=T msgid=T n=1 agent=marketing by=relay", 62 * time.Second, "", true, "redelivery", 70 * time.Second, 70 * time.Second},
		{"weak accept", "published 0s seq=1 task=T msgid=T\ndelivered 60s seq=1 cseq=1 exact\nclaimed 1s task=T msgid=T n=1 owner=w lease=2", 62 * time.Second, StaleWeakAccept, true, "redelivery", 70 * time.Second, 70 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := foldAll([][]Event{parseScenario(t, tc.given)}).record("T")
			l, held := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, &consumer, Typical{}, At(base.Add(tc.at)))
			if held != tc.held || l.Stale != tc.stale {
				t.Errorf("got held %v stale %q, want %v %q", held, l.Stale, tc.held, tc.stale)
			}
			want := NextStep{What: tc.next}
			if tc.nextAt > 0 {
				want.At = base.Add(tc.nextAt)
			}
			if l.Next != want {
				t.Errorf("next: got %s at %s, want %s at %s", l.Next.What, offset(l.Next.At), want.What, offset(want.At))
			}
			if tc.deadline > 0 && l.Deadline != base.Add(tc.deadline) {
				t.Errorf("deadline: got %s, want +%s", offset(l.Deadline), tc.deadline)
			}
		})
	}
}

// A lease has the owner that reported it of this attempt: that of an attempt before lost it.
func TestALeaseHasTheOwnerOfItsAttempt(t *testing.T) {
	t.Parallel()
	const again = "published 0s seq=1 task=T msgid=T\nheartbeat 2s seq=1 n=1 cseq=1\nlease_expired 32s seq=1 n=1 basis=2s deadline=32s\ndelivered 33s seq=1 cseq=2 exact\n"
	for said, want := range map[string]string{
		"claimed 1s task=T msgid=T n=1 agent=marketing owner=pod-a lease=3":                                                                     "",
		"claimed 1s task=T msgid=T n=1 agent=marketing owner=pod-a lease=3\nclaimed 34s task=T msgid=T n=2 agent=marketing owner=pod-b lease=4": "pod-b",
		"claimed 1s task=T msgid=T n=1 agent=marketing owner=pod-a lease=9\nclaimed 34s task=T msgid=T n=2 agent=marketing owner=pod-b lease=1": "pod-b",
		"claimed 1s task=T msgid=T agent=marketing owner=pod-a lease=3":                                                                         "",
		"claimed 34s task=T msgid=T agent=marketing owner=pod-b lease=3":                                                                        "pod-b",
	} {
		tr := AssembleTrace(TraceInput{Record: foldAll([][]Event{parseScenario(t, again+said)}).record("T"), Consumers: []ConsumerState{worker(nil)}, Now: base.Add(35 * time.Second)})
		if tr.Lease == nil || tr.Lease.Owner != want || want == "" && strings.Contains(tr.Answers.Ownership.Text, "pod-a") {
			t.Errorf("%q: %+v, want the owner %q, and %q", said, tr.Lease, want, tr.Answers.Ownership.said())
		}
	}
}

func TestALeaseTellsWhatItsConsumerWaitsFor(t *testing.T) {
	t.Parallel()
	r := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\nnaked 5s seq=1 n=1 cseq=1")}).record("T")
	for want, c := range map[string]*ConsumerState{
		"": {Push: true, Bound: true}, "a worker subscribes": {Push: true}, "its consumer resumes": {Push: true, Bound: true, Paused: true},
	} {
		l, held := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, c, Typical{}, At(base.Add(time.Minute)))
		if !held || !l.Due || l.Awaits != want {
			t.Errorf("%+v: held %v, due %v, awaits %q, want %q", c, held, l.Due, l.Awaits, want)
		}
	}
	if l, _ := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, nil, Typical{}, At(base)); l.Awaits != "" {
		t.Errorf("of an unknown consumer it awaits %q", l.Awaits)
	}
}

func TestTypicalDurationsBoundTheTruth(t *testing.T) {
	t.Parallel()
	tally := Tally{}
	for i := 1; i <= 100; i++ {
		d := time.Duration(i) * time.Second
		tally[Cell{Metric: MetricRunning, Label: "blog|" + DurationBucket(d)}]++
	}
	got := TypicalDurations(tally)["blog"]
	if got.Sample != 100 {
		t.Errorf("sample: got %d, want 100", got.Sample)
	}
	for name, v := range map[string]struct{ got, want time.Duration }{"p50": {got.P50, 50 * time.Second}, "p95": {got.P95, 95 * time.Second}} {
		if v.got < v.want || float64(v.got) > 1.19*float64(v.want) {
			t.Errorf("%s: got %s, want between %s and 19 %% more", name, v.got, v.want)
		}
	}
}

// beating are the lines of heartbeats of the first attempt, from one period after the begin on.
func beating(period, until time.Duration) string {
	var out strings.Builder
	for at := period; at <= until; at += period {
		fmt.Fprintf(&out, "heartbeat %s seq=1 n=1 cseq=1\n", at)
	}
	return out.String()
}

// Heartbeats may lie unread: while what workers answered is read up to before the deadline only, nobody says that it passed without one.
func TestALeaseIsJudgedAsFarAsAnswersWereRead(t *testing.T) {
	t.Parallel()
	r := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T msgid=T\ndelivered 1s seq=1 cseq=1 exact")}).record("T")
	o := OpenMessage{Message: r.Messages[0], Task: r.Facts}
	c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 10 * time.Second, MaxDeliver: 3}
	for _, tc := range []struct {
		read, now time.Duration
		stale     StaleKind
		unread    bool
		next      string
	}{
		{5 * time.Second, 8 * time.Second, "", false, "A worker has it"},
		{8 * time.Second, 20 * time.Second, "", true, "Not known yet"},
		{10 * time.Second, 10 * time.Second, StaleExpiring, false, "A worker has it"},
		{10 * time.Second, 20 * time.Second, "", true, "Not known yet"},
		{12 * time.Second, 20 * time.Second, StaleLease, false, "Due since 9 s"},
		{20 * time.Second, 20 * time.Second, StaleLease, false, "Due since 9 s"},
	} {
		at := Moment{Now: base.Add(tc.now), Read: base.Add(tc.read)}
		l, held := LeaseOf(o, &c, Typical{}, at)
		if !held || l.Stale != tc.stale || l.Unread != tc.unread {
			t.Errorf("read until %v at %v: held %v, stale %q, unread %v", tc.read, tc.now, held, l.Stale, l.Unread)
		}
		in := TraceInput{Record: r, Consumers: []ConsumerState{c}, Now: at.Now, Read: at.Read}
		if a := AssembleTrace(in).Answers.Recovery; a.Headline != tc.next {
			t.Errorf("read until %v at %v: %+v", tc.read, tc.now, a)
		}
	}
}

// TestAHeartbeatInAGapMayHaveCome has an attempt begin at 1 s, with a wait of 10 s, and answers not be captured for a while.
func TestAHeartbeatInAGapMayHaveCome(t *testing.T) {
	t.Parallel()
	gap := func(from, to time.Duration) Gap {
		g := Gap{Source: "OBS_ACK", From: base.Add(from)}
		if to > 0 {
			g.To = base.Add(to)
		}
		return g
	}
	elsewhere, mended, other := gap(5*time.Second, 0), gap(5*time.Second, 0), gap(5*time.Second, 0)
	elsewhere.Source, mended.Repaired, other.Source = Uncaptured("TASKS_VIP"), true, "OBS_EVT"
	for name, tc := range map[string]struct {
		gaps  []Gap
		beat  time.Duration // A heartbeat that was captured; zero for none.
		stale StaleKind     // At 20 s.
		until time.Duration // The last moment at which the lease may last.
	}{
		"none":                                   {nil, 0, StaleLease, 11 * time.Second},
		"one that ended before the attempt":      {[]Gap{gap(0, time.Second)}, 0, StaleLease, 11 * time.Second},
		"one that ended long ago":                {[]Gap{gap(0, 5*time.Second)}, 0, StaleLease, 15 * time.Second},
		"one that ended lately":                  {[]Gap{gap(5*time.Second, 12*time.Second)}, 0, "", 22 * time.Second},
		"one that is open":                       {[]Gap{gap(5*time.Second, 0)}, 0, "", 0},
		"one that began after the deadline":      {[]Gap{gap(12*time.Second, 0)}, 0, StaleLease, 11 * time.Second},
		"two":                                    {[]Gap{gap(14*time.Second, 15*time.Second), gap(2*time.Second, 6*time.Second)}, 0, "", 25 * time.Second},
		"a heartbeat after it":                   {[]Gap{gap(5*time.Second, 12*time.Second)}, 13 * time.Second, "", 23 * time.Second},
		"a heartbeat that comes too late":        {[]Gap{gap(2*time.Second, 3*time.Second)}, 14 * time.Second, StaleLease, 13 * time.Second},
		"one of another stream's answers":        {[]Gap{elsewhere}, 0, StaleLease, 11 * time.Second},
		"one of which the lines were read later": {[]Gap{mended}, 0, StaleLease, 11 * time.Second},
		"one of another source":                  {[]Gap{other}, 0, StaleLease, 11 * time.Second},
	} {
		lines := "published 0s seq=1 task=T msgid=T\ndelivered 1s seq=1 cseq=1 exact"
		if tc.beat > 0 {
			lines += fmt.Sprintf("\nheartbeat %s seq=1 n=1 cseq=1", tc.beat)
		}
		r := foldAll([][]Event{parseScenario(t, lines)}).record("T")
		c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 10 * time.Second, MaxDeliver: 3}
		now := base.Add(20 * time.Second)
		l, _ := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, &c, Typical{}, Moment{Now: now, Read: now, Unseen: UnseenAnswers(tc.gaps)})
		want := forever
		if tc.until > 0 {
			want = base.Add(tc.until)
		}
		if l.Stale != tc.stale || l.Latest != want || l.Unread != (tc.stale == "" && l.Deadline < now) {
			t.Errorf("%s: stale %q, unread %v, until %v; want %q, until %v", name, l.Stale, l.Unread, offset(l.Latest), tc.stale, offset(want))
		}
	}
}

// A consumer that awaits no answers has no wait, so that nothing runs out.
func TestAConsumerThatAwaitsNoAnswersKeepsNoLease(t *testing.T) {
	t.Parallel()
	r := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\nheartbeat 2s seq=1 n=1 cseq=1")}).record("T")
	c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", Unanswered: true, DeliveredSeq: 1}
	l, _ := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, &c, Typical{}, At(base.Add(20*time.Second)))
	if l.Deadline.Known() || l.Stale != "" || l.Next.What == "redelivery" {
		t.Errorf("deadline %s, stale %q, next %+v", offset(l.Deadline), l.Stale, l.Next)
	}
}

// The broker counts a delay by the wait that was in force when the message was handed back, and by the one that is in force when it looks.
func TestNobodyKnowsWhenADelayIsOverWhoseWaitWasChanged(t *testing.T) {
	t.Parallel()
	r := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact\nnaked 5s seq=1 n=1 cseq=1 delay=3s")}).record("T")
	o := OpenMessage{Message: r.Messages[0], Task: r.Facts}
	c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 10 * time.Minute, MaxDeliver: 3, WaitsSince: base.Add(6 * time.Second)}
	l, held := LeaseOf(o, &c, Typical{}, At(base.Add(20*time.Second)))
	if held || l.Due || l.Next.What != "redelivery" || l.Next.At.Known() {
		t.Errorf("held %v, due %v, next %s at %s", held, l.Due, l.Next.What, offset(l.Next.At))
	}
	if a := AssembleTrace(TraceInput{Record: r, Consumers: []ConsumerState{c}, Now: base.Add(20 * time.Second)}).Answers.Recovery; strings.Contains(a.Headline, "Due since") {
		t.Errorf("it is said to be due: %+v", a)
	}
}

// Where fewer attempts are allowed by now than there were, nobody says "attempt 4 of 2".
func TestAnAttemptBeyondTheLimitIsToldWithoutIt(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]string{0: "attempt 4", 2: "attempt 4", 4: "attempt 4 of 4", 5: "attempt 4 of 5"} {
		if got := attemptOf(4, &ConsumerState{MaxDeliver: most}); got != want {
			t.Errorf("of %d: got %q, want %q", most, got, want)
		}
	}
}

// Where the broker's own time of a delivery is not known, the lease may have run out before the deadline that the first sign gives, unless that came in time whenever the
// delivery was.
func TestADeadlineIsTheLatestWhereTheDeliveryIsNotKnown(t *testing.T) {
	t.Parallel()
	c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 10 * time.Second, MaxDeliver: 3}
	const expired = "\nlease_expired 40s seq=1 n=1 basis=30s deadline=40s judged=41s"
	for _, tc := range []struct {
		name, given string
		atLatest    bool
		due         string
		waits       time.Duration // Since when the consumer's waits are known to be in force.
	}{
		{"its time is known", "delivered 28s seq=1 cseq=1 exact\nheartbeat 30s seq=1 n=1 cseq=1", false, "Due since 5 s", 0},
		{"a heartbeat long after it was stored", "heartbeat 30s seq=1 n=1 cseq=1", true, "Due since 5 s, or longer", 0},
		{"the same, and it was concluded that it ran out", "heartbeat 30s seq=1 n=1 cseq=1" + expired, true, "Due since 5 s, or longer", 0},
		{"a poll saw the delivery at some time", "delivered 30s seq=1 cseq=1", true, "Due since 5 s, or longer", 0},
		{"a heartbeat within the wait since it was stored, and others in time", "heartbeat 9s seq=1 n=1 cseq=1\nheartbeat 17s seq=1 n=1 cseq=1\nheartbeat 24s seq=1 n=1 cseq=1\nheartbeat 30s seq=1 n=1 cseq=1", false, "Due since 5 s", 0},
		{"within the wait since the attempt before was handed back", "heartbeat 9s seq=1 n=1 cseq=1\nheartbeat 18s seq=1 n=1 cseq=1\nnaked 21s seq=1 n=1 cseq=1\nheartbeat 30s seq=1 n=2 cseq=2", false, "Due since 5 s", 0},
		{"the same, and who handed it back may have had it no more", "naked 21s seq=1 n=1 cseq=1\nheartbeat 30s seq=1 n=2 cseq=2", true, "Due since 5 s, or longer", 0},
		{"longer after that", "naked 12s seq=1 n=1 cseq=1\nheartbeat 30s seq=1 n=2 cseq=2", true, "Due since 5 s, or longer", 0},
		{"its wait was changed after it was delivered", "delivered 30s seq=1 cseq=1 exact", true, "Due since 5 s, or longer", 35 * time.Second},
		{"that was concluded, and Fleetglass started again", "delivered 30s seq=1 cseq=1 exact" + expired + " latest", true, "Due since 5 s, or longer", 0},
	} {
		r := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\n"+tc.given)}).record("T")
		now := base.Add(45 * time.Second)
		if c.WaitsSince = 0; tc.waits > 0 {
			c.WaitsSince = base.Add(tc.waits)
		}
		l, _ := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, &c, Typical{}, At(now))
		if l.Deadline != base.Add(40*time.Second) || l.AtLatest != tc.atLatest {
			t.Errorf("%s: deadline %s, the latest: %v; want +40s, %v", tc.name, offset(l.Deadline), l.AtLatest, tc.atLatest)
		}
		got := AssembleTrace(TraceInput{Record: r, Consumers: []ConsumerState{c}, Now: now}).Answers.Recovery.Headline
		if got != tc.due {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.due)
		}
	}
}

// An agent's own report shows that it works on a message. Which attempt that is nobody has seen where the report does not say, and no more than said where it does.
func TestALeaseSaysHowItsAttemptIsKnown(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]Provenance{
		"published 0s seq=1 task=T msgid=T\naccepted 1s task=T msgid=T owner=w lease=1":                                      Inferred,
		"published 0s seq=1 task=T msgid=T\naccepted 1s task=T msgid=T n=1 owner=w lease=1":                                  Reported,
		"published 0s seq=1 task=T msgid=T\nheartbeat 1s seq=1 n=1 cseq=1\naccepted 1s task=T msgid=T owner=w lease=1":       "",
		"published 0s seq=1 task=T msgid=T\nheartbeat 1s seq=1 n=1 cseq=1\naccepted 12s task=T msgid=T n=2 owner=w lease=1":  Reported,
		"published 0s seq=1 task=T msgid=T\ndelivered 1s seq=1 cseq=1 exact\naccepted 2s task=T msgid=T n=1 owner=w lease=1": "",
	} {
		r := foldAll([][]Event{parseScenario(t, given)}).record("T")
		l, held := LeaseOf(OpenMessage{Message: r.Messages[0], Task: r.Facts}, nil, Typical{}, At(base.Add(13*time.Second)))
		if !held || l.AttemptFrom != want {
			t.Errorf("%s:\nheld %v, attempt %d known from %q, want %q", given, held, l.Attempt, l.AttemptFrom, want)
		}
	}
}
