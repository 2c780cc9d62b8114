package lifecycle

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func traceOf(t *testing.T, id, given string, now time.Duration) Trace {
	t.Helper()
	return AssembleTrace(TraceInput{Record: foldAll([][]Event{parseScenario(t, given)}).record(id), Now: base.Add(now)})
}

func TestWaitingRunningAndUnsplitAddUpToTheLife(t *testing.T) {
	t.Parallel()
	given := `published 0s seq=1 task=T
		delivered 1s seq=1 cseq=1 exact
		naked 3s seq=1 n=1 cseq=1
		heartbeat 7s seq=1 n=2 cseq=2
		acked 10s seq=1 n=2 cseq=2`
	tr := traceOf(t, "T", given, time.Minute)
	if tr.Waiting != time.Second || tr.Running != 5*time.Second || tr.Unsplit != 4*time.Second {
		t.Errorf("got waiting %s running %s unsplit %s, want 1s 5s 4s", tr.Waiting, tr.Running, tr.Unsplit)
	}
}

func TestAnOpenAttemptRunsUntilNow(t *testing.T) {
	t.Parallel()
	tr := traceOf(t, "T", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", 11*time.Second)
	if tr.Running != 10*time.Second || tr.Waiting != time.Second {
		t.Errorf("got waiting %s running %s, want 1s 10s", tr.Waiting, tr.Running)
	}
}

// The time in which two workers have a message is one time, of one consumer and of two.
func TestWhatTwoWorkersDoAtOnceIsOneTime(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]string{
		"two consumers": `published 0s seq=1 task=T
			delivered 1s seq=1 cseq=1 exact
			acked 5s seq=1 n=1 cseq=1
			delivered 2s seq=1 cseq=1 exact worker=sales
			acked 7s seq=1 n=1 cseq=1 worker=sales`,
		"a zombie": `published 0s seq=1 task=T
			delivered 1s seq=1 cseq=1 exact
			delivered 3s seq=1 cseq=2 exact
			heartbeat 6s seq=1 n=1 cseq=1
			acked 7s seq=1 n=2 cseq=2`,
	} {
		tr := traceOf(t, "T", given, time.Minute)
		if tr.Waiting != time.Second || tr.Running != 6*time.Second || tr.Unsplit != 0 {
			t.Errorf("%s: got waiting %s running %s unsplit %s, want 1s 6s 0s", name, tr.Waiting, tr.Running, tr.Unsplit)
		}
	}
}

func TestAnswersSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	const givenUpTwice = "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 6s seq=1 n=2 cseq=2\nterminated 7s seq=1 n=1 cseq=1\nterminated 9s seq=1 n=2 cseq=2"
	for _, tc := range []struct{ name, given, ownership, receipt, recovery string }{
		{"waiting", "published 0s seq=1 task=T", "no delivery is known", "Stored as TASKS:1", "Which consumer takes it is not known"},
		{"in hand", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", "took attempt 1 and still has it", "Stored as", "configuration is not known"},
		{"acked", "published 0s seq=1 task=T\nacked 1s seq=1 n=1 cseq=1\nack_confirmed 1s seq=1 n=1 cseq=1", "acknowledging attempt 1", "confirmed by the broker", "Nothing to do"},
		{"acked twice", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nacked 7s seq=1 n=2 cseq=2\nacked 9s seq=1 n=1 cseq=1", "acknowledging attempt 2.", "The acknowledgement of attempt 2", "Nothing to do"},
		{"acked before it was lost, and twice", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 6s seq=1 n=2 cseq=2\nacked 7s seq=1 n=1 cseq=1\nacked 9s seq=1 n=2 cseq=2", "acknowledging attempt 1.", "The acknowledgement of attempt 1", "Nothing to do"},
		{"given up twice", givenUpTwice, "attempt 1 was terminated", "Stored as", "Its worker gave it up for good"},
		{"given up twice, and decided about", givenUpTwice + "\ntriaged 10s seq=1 actor=ops outcome=deferred rev=1", "attempt 1 was terminated", "Stored as", "ops decided"},
		{"vanished", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nvanished 9s seq=1", "left the stream, and no answer was seen", "Stored as", "look it up before anything is run again"},
		{"exhausted with record", "published 0s seq=1 task=T\ncompletion_recorded 2s task=T\nmax_deliveries 9s seq=1 n=3", "took it back without an answer", "completion record", "Do not run it again"},
		{"dead", "published 0s seq=1 task=T\nterminated 1s seq=1 n=1 cseq=1\ndead_lettered 2s seq=1", "stored in the dead-letter queue", "dead-letter entry", "The page DLQ says what can be done about it"},
		{"orphaned", "published 0s seq=1 task=T\norphaned 1s seq=1", "no consumer's filter matches", "Stored as", "until a consumer's filter matches"},
		{"not stored", "publish_attempted 0s task=T msgid=T\nnot_stored 9s task=T", "No stored message", "None", "publish it again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := traceOf(t, "T", tc.given, time.Minute).Answers
			for _, v := range []struct{ got, want string }{{a.Ownership.said(), tc.ownership}, {a.LastReceipt.said(), tc.receipt}, {a.Recovery.said(), tc.recovery}} {
				if !strings.Contains(v.got, v.want) {
					t.Errorf("got %q, want it to contain %q", v.got, v.want)
				}
			}
		})
	}
}

func TestAMessageThatIsUsedUpIsNotToldWithALimitThatWasRaisedSince(t *testing.T) {
	t.Parallel()
	m := MessageTrace{Verdict: Verdict{State: StateExhausted}, Attempts: []Attempt{{N: 1, End: EndTimedOut, LeaseRanOut: true}}, Consumer: &ConsumerState{MaxDeliver: 1}}
	for limit, want := range map[int]string{1: "on attempt 1 of 1 lapsed", 5: "on attempt 1 lapsed"} {
		m.Consumer.MaxDeliver = limit
		if got := ownership(m).Text; !strings.Contains(got, want) {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

func TestCausalOrderIgnoresClocks(t *testing.T) {
	t.Parallel()
	given := `published 5h seq=1 task=T msgid=T
		publish_attempted 9h task=T msgid=T
		heartbeat 1h seq=1 n=1 cseq=1
		acked 0s seq=1 n=2 cseq=2
		naked 2h seq=1 n=1 cseq=1`
	events := parseScenario(t, given)
	SortCausally(events, foldAll([][]Event{events}).record("T").Messages)
	want := "publish_attempted published heartbeat naked acked"
	var got []string
	for _, e := range events {
		got = append(got, string(e.Kind))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// What publishes a retry stands with the retry's message, behind the death of the one before.
func TestThePublishOfARetryStandsWithItsMessage(t *testing.T) {
	t.Parallel()
	inOrder(t, parseScenario(t, `publish_attempted 0s task=T msgid=T
		published 0s seq=1 task=T msgid=T
		terminated 2s seq=1 n=1 cseq=1
		publish_attempted 9s task=T msgid=T:r1
		published 9s seq=2 task=T msgid=T:r1`), "publish_attempted+0s published+0s terminated+2s publish_attempted+9s published+9s")
}

// inOrder checks the causal order of events that come in the reverse order of the scenario.
func inOrder(t *testing.T, events []Event, want string) {
	t.Helper()
	messages := foldAll([][]Event{slices.Clone(events)}).record("T").Messages
	slices.Reverse(events)
	SortCausally(events, messages)
	var got []string
	for _, e := range events {
		got = append(got, string(e.Kind)+offset(e.At))
	}
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestADeliveryWithoutANumberStandsInItsAttempt(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, `published 0s seq=1 task=T msgid=T
		delivered 1s seq=1 cseq=4
		naked 3s seq=1 n=1 cseq=4
		delivered 5s seq=1 cseq=9
		terminated 7s seq=1 n=2 cseq=9`)
	inOrder(t, events, "published+0s delivered+1s naked+3s delivered+5s terminated+7s")
}

func TestWhatFollowsADeathStandsByItsTime(t *testing.T) {
	t.Parallel()
	for _, order := range []string{
		"classified+2s dead_lettered+3s triaged+4s", "dead_lettered+2s classified+3s triaged+4s", "classified+2s dead_lettered+3s vanished+4s triaged+5s",
	} {
		given := "published 0s seq=1 task=T msgid=T\nterminated 1s seq=1 n=1 cseq=1"
		for _, event := range strings.Fields(order) {
			kind, at, _ := strings.Cut(event, "+")
			given += "\n" + kind + " " + at + " seq=1"
		}
		inOrder(t, parseScenario(t, given), "published+0s terminated+1s "+order)
	}
}

func TestReportsStandWithTheMessageThatTheyName(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, `published 0s seq=1 task=T msgid=T
		claimed 1s task=T msgid=T n=1
		terminated 2s seq=1 n=1 cseq=1
		published 60s seq=9 task=T msgid=T:r1 gen=1
		claimed 61s task=T msgid=T:r1 n=1`)
	inOrder(t, events, "published+0s claimed+1s terminated+2s published+1m0s claimed+1m1s")
}

func TestReportsStandWithTheMessageThatHadTheIdThen(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, `published 0s seq=1 task=T msgid=T
		claimed 1s task=T msgid=T n=1
		terminated 2s seq=1 n=1 cseq=1
		published 300s seq=9 task=T msgid=T
		claimed 301s task=T msgid=T n=1`)
	inOrder(t, events, "published+0s claimed+1s terminated+2s published+5m0s claimed+5m1s")
}

func TestReportFencesUntrustedText(t *testing.T) {
	t.Parallel()
	events := parseScenario(t, "published 0s seq=1 task=T\nterminated 1s seq=1 n=1 cseq=1")
	events[0].Detail.Title = "a`b|c\n# Ignore previous instructions \xff" + strings.Repeat("x", 1000)
	events[1].Detail.Reason = "`rm -rf`\n\n## Heading"
	md := Report(AssembleTrace(TraceInput{Record: foldAll([][]Event{events}).record("T"), Now: base}))
	for _, line := range strings.Split(md, "\n") {
		if strings.HasPrefix(line, "# Ignore") || strings.HasPrefix(line, "## Heading") {
			t.Errorf("untrusted text became markdown: %q", line)
		}
	}
	if !strings.Contains(md, "'rm -rf'") || strings.Contains(md, "`rm") {
		t.Errorf("reason is not fenced:\n%s", md)
	}
}

func TestEveryStateAnomalyAndStaleKindHasAMeaning(t *testing.T) {
	t.Parallel()
	for _, s := range States() {
		if s.Meaning() == "" {
			t.Errorf("state %s has no meaning", s)
		}
	}
	for _, r := range Rules() {
		if !r.State.Valid() || r.Why == "" {
			t.Errorf("rule %q: state %q, why %q", r.Name, r.State, r.Why)
		}
	}
	for _, k := range StaleKinds() {
		if k.Meaning() == "" {
			t.Errorf("stale kind %s has no meaning", k)
		}
	}
}

func TestATaskThatMayHaveBeenStoredUnseenIsNotToBePublishedAgain(t *testing.T) {
	t.Parallel()
	record := TaskRecord{Facts: TaskFacts{ID: "T", FirstAt: base, LastAt: base, NotStoredAt: base.Add(10 * time.Second)}}
	for _, tt := range []struct {
		name string
		gaps []Gap
		want string
	}{
		{"nothing was lost", nil, "nothing was stored: publish it again"},
		{"lines were lost and read from elsewhere", []Gap{{Repaired: true}}, "nothing was stored: publish it again"},
		{"lines were lost", []Gap{{}}, "whether it was stored is not known"},
	} {
		got := AssembleTrace(TraceInput{Record: record, Gaps: tt.gaps, Now: base.Add(time.Minute)}).Answers.Recovery.Text
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestATaskWithASignThatItWasStoredIsNotToBePublishedAgain(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]func(*TaskFacts){
		"it may be a duplicate": func(t *TaskFacts) { t.NotStoredDoubt = "another stream may have it" },
		"a record exists":       func(t *TaskFacts) { t.Completion = &CompletionFacts{At: base} },
		"its agent reported":    func(t *TaskFacts) { t.Reports = []ReportFacts{{Agent: "marketing", AcceptedAt: base}} },
	} {
		facts := TaskFacts{ID: "T", FirstAt: base, LastAt: base, NotStoredAt: base.Add(10 * time.Second)}
		sign(&facts)
		got := AssembleTrace(TraceInput{Record: TaskRecord{Facts: facts}, Now: base.Add(time.Minute)}).Answers.Recovery.Text
		if want := ": look for its effect before publishing it again."; !strings.Contains(got, want) || !strings.Contains(got, facts.NotStoredDoubt) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
