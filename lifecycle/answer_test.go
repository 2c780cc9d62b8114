package lifecycle

import (
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

func TestWhatComesNextDependsOnTheConsumer(t *testing.T) {
	t.Parallel()
	const stored = "published 0s seq=1 task=T\n"
	const inHand = stored + "heartbeat 1s seq=1 n=1 cseq=1\n"
	for _, tc := range []struct {
		name, given string
		now         time.Duration
		consumer    func(*ConsumerState)
		leases      []Lease
		want, never string
	}{
		{"a worker is idle", stored, time.Second, nil, nil, "next pull of marketing-task-worker", "not known"},
		{"the consumer is paused", stored, time.Second, func(c *ConsumerState) { c.Paused = true }, nil, "until consumer marketing-task-worker resumes", "next pull"},
		{"the worker is busy", stored, time.Second, func(c *ConsumerState) { c.AckPending = 1 },
			[]Lease{{TaskID: "before", Consumer: "marketing-task-worker", Message: MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 9}}}, "waits behind task before", "next pull"},
		{"the consumer is gone", stored, time.Second, func(c *ConsumerState) { c.Gone = true }, nil, "until a consumer exists", "next pull"},
		{"the consumer takes other subjects", stored, time.Second, func(c *ConsumerState) { c.Filters = []string{"other.>"} }, nil, "is not known yet", "next pull"},
		{"a retry of the dead letter was asked for", stored + "max_deliveries 5s seq=1 n=3\ndead_lettered 6s seq=1 category=transient\ndecided 7s seq=1 actor=ops action=retry rev=1\n", 8 * time.Second, nil, nil, "ops asked for: retry", "waits for a decision"},
		{"a worker has it", inHand, 2 * time.Second, nil, nil, "Without an answer the broker delivers it again", "Due since"},
		{"its deadline has passed", inHand, 45500 * time.Millisecond, nil, nil, "Due since 14 s", "delivers it again"},
		{"its consumer is gone while a worker has it", inHand, 2 * time.Second, func(c *ConsumerState) { c.Gone = true }, nil, "until a consumer exists", "delivers it again"},
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

func TestHeadlinesAreShort(t *testing.T) {
	t.Parallel()
	for _, given := range []string{
		"published 0s seq=1 task=T", "published 0s seq=1 task=T\ndelivered 1s seq=1 cseq=1 exact", "published 0s seq=1 task=T\nacked 1s seq=1 n=1 cseq=1",
		"published 0s seq=1 task=T\nvanished 9s seq=1", "published 0s seq=1 task=T\nterminated 1s seq=1 n=1 cseq=1 reason=no+budget",
		"publish_attempted 0s task=T msgid=T\nnot_stored 9s task=T", "published 0s seq=1 task=T\nvanished 9s seq=1 removal=limit undelivered",
	} {
		a := traceOf(t, "T", given, time.Minute).Answers
		for _, one := range []Answer{a.Ownership, a.LastReceipt, a.Recovery} {
			if n := len(strings.Fields(one.Headline)); n == 0 || n > 9 || one.Text == "" {
				t.Errorf("%q: headline %q has %d words, text %q", given, one.Headline, n, one.Text)
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
