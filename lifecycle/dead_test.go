package lifecycle

import (
	"strings"
	"testing"
	"time"
)

func TestNobodySaysThatThereIsNoEntryBeforeTheQueueWasReadUpToTheDeath(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		read        Micros
		want, never string
	}{
		{"never read", 0, "is not known", "no dead-letter entry was seen"},
		{"read up to before the death", base.Add(8 * time.Second), "is not known", "no dead-letter entry was seen"},
		{"read up to after the death", base.Add(10 * time.Second), "no dead-letter entry was seen: nothing happens to it by itself", "is not known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			rows := foldAll([][]Event{parseScenario(t, "published 0s seq=1 task=T\nmax_deliveries 9s seq=1 n=3")})
			got := AssembleTrace(TraceInput{Record: rows.record("T"), Now: base.Add(time.Minute), EntriesRead: tc.read}).Answers.Recovery.said()
			if !strings.Contains(got, tc.want) || strings.Contains(got, tc.never) {
				t.Errorf("got %q, want %q and not %q", got, tc.want, tc.never)
			}
		})
	}
}

func TestWhatSomebodyAskedForIsSaidOfTheDead(t *testing.T) {
	t.Parallel()
	const died, copied = "published 0s seq=1 task=T\nmax_deliveries 9s seq=1 n=3\n", "dead_lettered 10s seq=1 category=transient\n"
	for _, tc := range []struct{ name, given, want string }{
		{"a retry", "decided 20s seq=1 actor=ops rev=1", "Somebody asked for an action. ops asked for an action; what came of it is not known yet."},
		{"a retry that is due in an hour", "decided 20s seq=1 actor=ops rev=1 until=1h", "ops asked for an action; it is due at 2026-11-01 13:00:00.000 UTC."},
		{"a retry that is due", "decided 20s seq=1 actor=ops rev=1 until=40s", "it is due since 20 s, and what came of it is not known yet."},
		{"a retry that failed", "decided 20s seq=1 actor=ops rev=1 until=40s\nreopened 45s seq=1 actor=ops rev=2", ""},
	} {
		for entry, undecided := range map[string]string{"": "nothing happens to it by itself", copied: "The page DLQ says what can be done about it."} {
			t.Run(tc.name+", "+map[bool]string{true: "in no dead-letter queue", false: "in the dead-letter queue"}[entry == ""], func(t *testing.T) {
				t.Parallel()
				rows := foldAll([][]Event{parseScenario(t, died+entry+tc.given)})
				got := AssembleTrace(TraceInput{Record: rows.record("T"), Now: base.Add(time.Minute), EntriesRead: base.Add(time.Minute)}).Answers.Recovery.said()
				if want := firstText(tc.want, undecided); !strings.Contains(got, want) || tc.want != "" && strings.Contains(got, undecided) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		}
	}
}

func TestAFloodOfForgedEntriesIsBounded(t *testing.T) {
	t.Parallel()
	m := MessageFacts{}
	for i := range 3 * maxEntriesKept {
		m.Join(Event{Kind: DeadLettered, At: base.Add(time.Duration(100-i) * time.Second), Message: MessageKey{Stream: StreamID{Name: "TASKS"}, Seq: 1}})
	}
	if len(m.Entries) != maxEntriesKept || m.Entries[0].At != base.Add(time.Duration(101-3*maxEntriesKept)*time.Second) {
		t.Errorf("%d entries are kept, the first of %s; want the %d earliest", len(m.Entries), offset(m.Entries[0].At), maxEntriesKept)
	}
}
