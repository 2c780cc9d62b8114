package lifecycle

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// said is all that an answer says.
func (a Answer) said() string { return a.Headline + ". " + a.Text }

// worker is a consumer of everything in the stream of the scenarios.
func worker(change func(*ConsumerState)) ConsumerState {
	c := ConsumerState{Stream: StreamID{Name: "TASKS"}, Name: "marketing-task-worker", AckWait: 30 * time.Second, MaxDeliver: 3, MaxAckPending: 1}
	if change != nil {
		change(&c)
	}
	return c
}

// What the broker said of a stream's consumers holds no longer while the stream does not exist.
func TestNothingIsPromisedOfAStreamThatDoesNotExist(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T\n"
	for given, owner := range map[string]string{stored: "Its stream does not exist", stored + "heartbeat 1s seq=1 n=1 cseq=1\n": "A worker has attempt 1"} {
		for ended, want := range map[Micros]string{0: "Its stream does not exist", base.Add(time.Second): ""} {
			in := TraceInput{Record: foldAll([][]Event{parseScenario(t, given)}).record("T"), Consumers: []ConsumerState{worker(nil)}, Now: base.Add(2 * time.Second)}
			in.Gaps = []Gap{StreamAbsent("TASKS", base)}
			in.Gaps[0].To = ended
			got := AssembleTrace(in).Answers
			if want != "" && (got.Recovery.Headline != want || !strings.HasPrefix(got.Ownership.Headline, owner)) || want == "" && got.Recovery.Headline == "Its stream does not exist" {
				t.Errorf("%q, absent until %d: %q, then %q", given, ended, got.Ownership.Headline, got.Recovery.Headline)
			}
		}
	}
}

func TestWhatComesNextDependsOnTheConsumer(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T\n"
	const inHand = stored + "heartbeat 1s seq=1 n=1 cseq=1\n"
	const deferred = "max_deliveries 5s seq=1 n=3\ndead_lettered 6s seq=1 category=transient\ntriaged 7s seq=1 actor=ops outcome=deferred until=20s rev=1\n"
	for _, tc := range []struct {
		name, given string
		now         time.Duration
		consumer    func(*ConsumerState)
		leases      []Lease
		want, never string
	}{
		{"a worker is idle", stored, time.Second, nil, nil, "next free worker of marketing-task-worker", "not known"},
		{"the consumer is paused", stored, time.Second, func(c *ConsumerState) { c.Paused = true }, nil, "until consumer marketing-task-worker resumes", "next free worker"},
		{"the consumer is paused for a known time", stored, time.Second, func(c *ConsumerState) { c.Paused, c.PausedUntil = true, base.Add(time.Hour) }, nil,
			"until consumer marketing-task-worker resumes, at 2026-11-01 13:00:00.000 UTC unless somebody changes that", "next free worker"},
		{"the consumer was paused until a moment ago", stored, 3 * time.Second, func(c *ConsumerState) { c.Paused, c.PausedUntil = true, base.Add(2*time.Second) }, nil, "next free worker", "resumes"},
		{"a record of its key names another message", "published 0s seq=1 task=T key=T-1\ncompletion_recorded 0s task=T key=T-1 record=2\n", time.Second, nil, nil,
			"next free worker of marketing-task-worker; a completion of its key is recorded, so that a later delivery will find it", "Do not run it again"},
		{"a record of another key names another message", "published 0s seq=1 task=T key=T-2\ncompletion_recorded 0s task=T key=T-1 record=2\n", time.Second, nil, nil, "next free worker of marketing-task-worker", "is recorded"},
		{"another message of its key is completed", "published 0s seq=1 task=T key=T-1\nacked 1s seq=1 n=1 cseq=1\npublished 2s seq=2 task=T key=T-1\n", 3 * time.Second, nil, nil,
			"next free worker of marketing-task-worker; TASKS:1 is the same work and is completed, so it may be done twice", "is recorded"},
		{"another message of its key is completed, and a record says so", "published 0s seq=1 task=T key=T-1\nacked 1s seq=1 n=1 cseq=1\ncompletion_recorded 1s task=T key=T-1 record=1\npublished 2s seq=2 task=T key=T-1\n", 3 * time.Second, nil, nil,
			"a completion of its key is recorded", "done twice"},
		{"another message of another key is completed", "published 0s seq=1 task=T key=T-1\nacked 1s seq=1 n=1 cseq=1\npublished 2s seq=2 task=T key=T-2\n", 3 * time.Second, nil, nil,
			"next free worker of marketing-task-worker", "done twice"},
		{"the worker is busy", stored, time.Second, func(c *ConsumerState) { c.AckPending = 1 },
			[]Lease{{TaskID: "before", Consumer: "marketing-task-worker", Message: MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 9}}}, "waits behind task before", "next free worker"},
		{"the consumer is past it", stored, time.Second, func(c *ConsumerState) { c.DeliveredSeq = 1 }, nil, "is past it; whether a worker has it is not known yet", "next free worker"},
		{"the consumer had nothing left to deliver", stored, 3 * time.Second, func(c *ConsumerState) { c.ObservedAt = base.Add(time.Second) }, nil, "is past it; whether a worker has it is not known yet", "next free worker"},
		{"the consumer was looked at before it could count it", stored, 3 * time.Second, func(c *ConsumerState) { c.ObservedAt = base.Add(time.Millisecond) }, nil, "next free worker", "past"},
		{"the consumer had one left to deliver", stored, 3 * time.Second, func(c *ConsumerState) { c.ObservedAt, c.Pending = base.Add(time.Second), 1 }, nil, "next free worker", "past"},
		{"the broker sends, and a worker is subscribed", stored, time.Second, func(c *ConsumerState) { c.Push, c.Bound = true, true }, nil, "next free worker of marketing-task-worker", "subscribe"},
		{"the broker sends, and no worker is subscribed", stored, time.Second, func(c *ConsumerState) { c.Push = true }, nil, "No worker is subscribed", "next free worker"},
		{"the consumer is gone", stored, time.Second, func(c *ConsumerState) { c.Gone = true }, nil, "until a consumer exists", "next free worker"},
		{"the consumer takes other subjects", stored, time.Second, func(c *ConsumerState) { c.Filters = []string{"other.>"} }, nil, "is not known yet", "next free worker"},
		{"a retry of the dead letter was asked for", stored + "max_deliveries 5s seq=1 n=3\ndead_lettered 6s seq=1 category=transient\ndecided 7s seq=1 actor=ops action=retry rev=1\n", 8 * time.Second, nil, nil, "ops asked for a retry", "waits for a decision"},
		{"a worker has it", inHand, 2 * time.Second, nil, nil, "Without an answer the broker delivers it again", "Due since"},
		{"an older attempt keeps the lease", inHand + "heartbeat 40s seq=1 n=2 cseq=2\nheartbeat 45s seq=1 n=1 cseq=1\n", 46 * time.Second, nil, nil, "The worker of attempt 1, which lost it, sends heartbeats", "A worker has it"},
		{"its deadline has passed", inHand, 45500 * time.Millisecond, nil, nil, "Due since 14 s", "delivers it again"},
		{"its consumer is gone while a worker has it", inHand, 2 * time.Second, func(c *ConsumerState) { c.Gone = true }, nil, "until a consumer exists", "delivers it again"},
		{"it was handed back, and its consumer is paused", inHand + "naked 2s seq=1 n=1 cseq=1\n", 3 * time.Second, func(c *ConsumerState) { c.Paused = true }, nil,
			"Nothing is delivered until consumer marketing-task-worker resumes", "Without an answer"},
		{"it was handed back for ten seconds", inHand + "naked 2s seq=1 n=1 cseq=1 delay=10s\n", 3 * time.Second, nil, nil, "It was handed back. The broker delivers it again when its delay has passed", "due again"},
		{"its last attempt was handed back", inHand + "naked 2s seq=1 n=3 cseq=3\n", 3 * time.Second, nil, nil, "No attempt is left", "Without an answer"},
		{"it was deferred", stored + deferred, 8 * time.Second, nil, nil, "is due at 2026-11-01 12:00:20.000 UTC", "due since"},
		{"it was deferred, and that is over", stored + deferred, 25 * time.Second, nil, nil, "is due since 5 s", "due at"},
		{"its consumer is paused while a worker has it", inHand, 2 * time.Second, func(c *ConsumerState) { c.Paused = true }, nil, "resumes", "delivers it again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rows := foldAll([][]Event{parseScenario(t, tc.given)})
			in := TraceInput{Record: rows.record("T"), Consumers: []ConsumerState{worker(tc.consumer)}, Leases: tc.leases, Now: base.Add(tc.now)}
			got := AssembleTrace(in).Answers.Recovery.said()
			if !strings.Contains(got, tc.want) || strings.Contains(got, tc.never) {
				t.Errorf("got %q, want %q and not %q", got, tc.want, tc.never)
			}
		})
	}
}

// One consumer sends to nobody. Another began with new messages: it is past this one, and does not deliver it.
func TestAConsumerThatIsPastAMessageIsNotToDeliverIt(t *testing.T) {
	t.Parallel()
	unheard, past := worker(func(c *ConsumerState) { c.Push = true }), worker(func(c *ConsumerState) { c.Name, c.DeliveredSeq = "b-task-worker", 9 })
	for _, consumers := range [][]ConsumerState{{unheard, past}, {past, unheard}} {
		rows := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\n")})
		got := AssembleTrace(TraceInput{Record: rows.record("T"), Consumers: consumers, Now: base.Add(time.Second)}).Answers.Recovery
		if got.Headline != "No worker is subscribed" {
			t.Errorf("got %q", got.said())
		}
	}
}

// An acknowledgement of which only the broker told is the broker's word.
func TestTheBrokersWordOfAnAcknowledgementIsTheBrokers(t *testing.T) {
	t.Parallel()
	rows := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T msgid=T\ndelivered 1s seq=1 n=1 cseq=1 exact\nack_confirmed 2s seq=1 n=1 cseq=1\nvanished 2s seq=1\n")})
	got := AssembleTrace(TraceInput{Record: rows.record("T"), Now: base.Add(time.Minute)}).Answers
	for _, a := range []Answer{got.LastReceipt, got.Ownership} {
		if a.Provenance != Broker || a.At != base.Add(2*time.Second) || !strings.Contains(a.Text, "The broker accepted the acknowledgement of attempt 1") {
			t.Errorf("got %q, %s at %v", a.said(), a.Provenance, a.At)
		}
	}
}

// Who has a message that left its stream, however it was left: nobody.
func TestNobodyHasWhatLeftItsStream(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T msgid=T\n"
	const inHand = stored + "heartbeat 1s seq=1 n=1 cseq=1\n"
	for _, tc := range []struct{ name, given, want string }{
		{"removed in hand", inHand + "vanished 9s seq=1 removal=deleted", "marketing-task-worker had attempt 1 when the message was removed by an operator"},
		{"removed in hand after its completion was reported", inHand + "completed 2s task=T msgid=T n=1 agent=marketing\nvanished 9s seq=1 removal=deleted",
			"marketing-task-worker had attempt 1 when the message was removed by an operator"},
		{"missed after its completion was recorded", inHand + "completion_recorded 2s task=T\nvanished 9s seq=1 removal=unknown", "no answer was seen"},
		{"missed after its completion was recorded, and no delivery was seen", stored + "completion_recorded 2s task=T record=1\nvanished 9s seq=1 removal=unknown",
			"without a delivery being seen"},
		{"missed in hand", inHand + "vanished 9s seq=1 removal=unknown", "marketing-task-worker had attempt 1; then the message left the stream, and no answer was seen"},
		{"removed after it was handed back", inHand + "naked 2s seq=1 n=1 cseq=1\nvanished 9s seq=1 removal=deleted", "had handed attempt 1 back; then the message was removed by an operator"},
		{"removed after its lease lapsed", inHand + "lease_expired 4s seq=1 n=1 basis=1s deadline=4s\nvanished 9s seq=1 removal=age",
			"The lease of marketing-task-worker on attempt 1 had lapsed; then the message was removed by the max_age of the stream"},
		{"removed after its attempts were used up", inHand + "max_deliveries 5s seq=1 n=1\nvanished 9s seq=1 removal=unknown", "had taken it back; then the message left the stream, and no answer was seen"},
		{"removed in hand, and the broker had told of a termination", inHand + "term_confirmed 2s seq=1 n=1 cseq=1 reason=no+budget\nvanished 9s seq=1 removal=deleted",
			"marketing-task-worker had attempt 1; the broker told of an answer, and later that it was deleted unanswered"},
		{"removed before any delivery", stored + "vanished 9s seq=1 removal=limit undelivered", "by a limit of the stream, and no worker ever had it."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			answer := traceOf(t, "T", tc.given, time.Minute).Answers.Ownership
			if got := answer.said(); !strings.HasPrefix(got, "Nobody: ") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want nobody, and %q", got, tc.want)
			}
			want := Broker // Its state says what removed the message.
			if strings.Contains(tc.given, "removal=unknown") {
				want = Inferred // That no answer was seen says only that none was captured.
			}
			if answer.Provenance != want {
				t.Errorf("the answer is known from %q, want %q", answer.Provenance, want)
			}
		})
	}
}

// A consumer that is gone keeps no lease: who had the message may be at work, and its answer has no effect.
func TestAWorkerOfADeletedConsumerOnlyHadTheMessage(t *testing.T) {
	t.Parallel()
	const inHand = "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\n"
	for given, want := range map[string]string{
		inHand: "A worker had attempt 1 of 3. marketing-task-worker took attempt 1 of 3, and does not exist now.",
		inHand + "acked 3s seq=1 n=1 cseq=1\nack_refuted 9s seq=1\n":                  "Answered, without effect. marketing-task-worker took attempt 1 of 3, and does not exist now: an answer that was seen had no effect.",
		inHand + "acked 3s seq=1 n=1 cseq=1 unproved said=0s\nack_refuted 9s seq=1\n": "Answered, without effect. marketing-task-worker took attempt 1 of 3, and does not exist now: an answer that was seen had no effect.",
	} {
		rows := foldAll([][]Event{parseScenario(t, given)})
		in := TraceInput{Record: rows.record("T"), Consumers: []ConsumerState{worker(func(c *ConsumerState) { c.Gone = true })}, Now: base.Add(time.Minute)}
		if got := AssembleTrace(in).Answers.Ownership.said(); got != want {
			t.Errorf("%q: got %q, want %q", given, got, want)
		}
	}
}

// The broker takes an answer of any attempt for the message: that of a later one is over too.
func TestAnOlderAttemptThatEndedTheMessageIsNamed(t *testing.T) {
	t.Parallel()
	const given = "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 3s seq=1 n=2 cseq=2\nheartbeat 5s seq=1 n=3 cseq=3\n"
	for said, want := range map[string]string{
		"terminated 7s seq=1 n=2 cseq=2\nterm_confirmed 7s seq=1 n=2 cseq=2": "attempt 2 of 3 was terminated",
		"acked 7s seq=1 n=2 cseq=2": "acknowledging attempt 2 of 3",
	} {
		rows := foldAll([][]Event{parseScenario(t, given+said)})
		in := TraceInput{Record: rows.record("T"), Consumers: []ConsumerState{worker(nil)}, Now: base.Add(9 * time.Second)}
		if got := AssembleTrace(in).Answers.Ownership.said(); !strings.Contains(got, want) {
			t.Errorf("after %q: got %q, want %q", said, got, want)
		}
	}
}

// What shows that somebody knows of the work of a task may come from a message that nobody saw: it is not to be published again before somebody has looked.
func TestNothingIsPublishedAgainThatMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	const attempted = "publish_attempted 0s task=T msgid=T\nnot_stored 60s task=T msgid=T\n"
	for sign, want := range map[string]string{
		"":                                         "Publish it again",
		"effect_logged 30s task=T key=K":           "Look for its effect first",
		"completion_recorded 30s task=T":           "Look for its effect first",
		"record_deleted 30s task=T":                "Look for its effect first",
		"record_expired 30s task=T":                "Look for its effect first",
		"key_shared 30s task=T key=T-1 namesake=U": "Look for its effect first",
		"key_shared 30s task=T key=T-1 namesake=U basis=20s":    "Look for its effect first",
		"step_intent 30s task=T msgid=T agent=marketing step=a": "Look for its effect first",
	} {
		got := traceOf(t, "T", attempted+sign, time.Hour).Answers
		if got.Recovery.Headline != want {
			t.Errorf("%q: %q, want %q", sign, got.Recovery.said(), want)
		}
		if logged := strings.HasPrefix(sign, "effect_logged"); logged != (got.LastReceipt.Headline == "A logged effect") {
			t.Errorf("%q: the last receipt is %q", sign, got.LastReceipt.said())
		}
	}
}

// A stream that keeps its messages gives one again whose consumer was created anew: its next worker has it, whoever acknowledged it before.
func TestWhoHasAMessageThatIsGivenAgain(t *testing.T) {
	t.Parallel()
	const given = "published 0s seq=1 task=T msgid=T\ndelivered 1s seq=1 cseq=1 exact\nacked 2s seq=1 n=1 cseq=1\nconsumer_recreated 3s seq=1\nheartbeat 5s seq=1 n=1 cseq=1\n"
	for then, want := range map[string]string{
		"":                            "A worker has attempt 1. ",
		"naked 6s seq=1 n=1 cseq=1":   "The stream has it again. ",
		"acked 6s seq=1 n=1 cseq=1\n": "Nobody: its worker acknowledged it. ",
	} {
		if got := traceOf(t, "T", given+then, time.Minute).Answers.Ownership.said(); !strings.HasPrefix(got, want) {
			t.Errorf("after %q: %q, want %q", then, got, want)
		}
	}
}

// A message is stored before anything is done about it, whatever the clocks of agents and of record stores say.
func TestWhatIsDurableCameAfterTheMessageWasStored(t *testing.T) {
	t.Parallel()
	const stored = "published 60s seq=1 task=T msgid=T key=T-1\ndelivered 61s seq=1 cseq=1 exact\n"
	for then, want := range map[string]string{
		"completed 5s task=T msgid=T agent=marketing n=1 heard=80s": "A reported completion",
		"completion_recorded 59900ms task=T key=T-1 record=1":       "A completion record",
		"checkpoint 5s task=T msgid=T agent=marketing n=1":          "A checkpoint",
	} {
		if got := traceOf(t, "T", stored+then, time.Hour).Answers.LastReceipt; got.Headline != want {
			t.Errorf("%q: %q, want %q", then, got.said(), want)
		}
	}
}

func TestAReportStandsInTheNameOfWhoSentIt(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T msgid=T\nheartbeat 1s seq=1 n=1 cseq=1\ncheckpoint 2s task=T msgid=T n=1 agent=marketing"
	for by, want := range map[string]string{"": "The agent reports", " by=relay": `"relay", in the agent's name, reports`} {
		rows := foldAll([][]Event{parseScenario(t, stored+by)})
		got := AssembleTrace(TraceInput{Record: rows.record("T"), Now: base.Add(3 * time.Second)}).Answers.LastReceipt.said()
		if !strings.Contains(got, want) {
			t.Errorf("reported by %q: got %q, want %q", by, got, want)
		}
	}
}

// Whatever a scenario comes to, at whatever time, an answer is a headline of nine words at most and one sentence.
func TestAnAnswerIsAHeadlineAndASentence(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d scenario files: %v", len(files), err)
	}
	another := regexp.MustCompile(`[.!?] +["A-Z0-9]`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		given, _, _ := strings.Cut(string(text), "\n---\n")
		m := foldAll([][]Event{parseScenario(t, given)})
		for _, id := range m.taskIDs() {
			for _, after := range []time.Duration{time.Second, 40 * time.Second, time.Hour} {
				a := AssembleTrace(TraceInput{Record: m.record(id), Now: base.Add(after)}).Answers
				for _, one := range []Answer{a.Ownership, a.LastReceipt, a.Recovery} {
					if n := len(strings.Fields(one.Headline)); n == 0 || n > 9 {
						t.Errorf("%s, task %s: headline %q has %d words", file, id, one.Headline, n)
					}
					if another.MatchString(one.Text) || !strings.HasSuffix(one.Text, ".") {
						t.Errorf("%s, task %s: %q is not one sentence", file, id, one.Text)
					}
				}
			}
		}
	}
}

func TestDurationsReadWell(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 999 * time.Microsecond: "0 ms", 350 * time.Millisecond: "350 ms", 4270 * time.Millisecond: "4.2 s", 6 * time.Second: "6 s", 6020 * time.Millisecond: "6.0 s",
		42 * time.Second: "42 s", 59*time.Second + 999*time.Millisecond: "59 s", 2 * time.Minute: "2 m", 2*time.Minute + time.Millisecond: "2m 00s", 14*time.Minute + 21*time.Second: "14m 21s",
		12 * time.Hour: "12 h", 3*time.Hour + 5*time.Minute: "3h 05m", 12*time.Hour + time.Second: "12h 00m", 52 * time.Hour: "2d 4h", 7 * 24 * time.Hour: "7 d", -108 * time.Second: "−1m 48s",
	} {
		if got := Lasting(d); got != want {
			t.Errorf("Lasting(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestAScheduleSaysWhenTheBrokerPublishesIt(t *testing.T) {
	t.Parallel()
	at := base.Time().UTC().Format(time.RFC3339)
	for name, tc := range map[string]struct {
		schedule, target string
		now              Micros
		want             string
	}{
		"once":                 {"@at " + at, "tasks.a", base.Add(-time.Hour), "The broker publishes it to tasks.a at " + clock(base.Truncate(time.Second)) + "."},
		"once, and it is late": {"@at " + at, "tasks.a", base.Truncate(time.Second).Add(time.Minute), "The broker publishes it to tasks.a: it is due since 1 m."},
		"again and again":      {"@every 1h", "tasks.a", base, "The broker publishes it to tasks.a again and again (@every 1h)."},
		"by a table":           {"0 30 4 * * *", "", base, "The broker publishes it to its target again and again (0 30 4 * * *)."},
	} {
		s := StoredFacts{Schedule: tc.schedule, Target: tc.target}
		if got := s.fires(tc.now); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
