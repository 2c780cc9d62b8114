package lifecycle

import (
	"testing"
	"time"
)

// An acknowledgement may claim to be the answer to any delivery.
func TestAForgedNumberOfDeliveriesIsBounded(t *testing.T) {
	t.Parallel()
	r := traceOf(t, "T", "published 0s seq=1 task=T\nacked 1s seq=1 n=2000000000 cseq=2000000000", 0)
	if n := len(r.Messages[0].Attempts); n != 1 {
		t.Errorf("%d attempts are told, want the one that was seen", n)
	}
	if last := r.Messages[0].Attempts[len(r.Messages[0].Attempts)-1]; last.N != 2_000_000_000 || last.End != EndAcked {
		t.Errorf("the last attempt is %+v", last)
	}
}

// Attempts without a sign are told where there are not very many in a row, and those before them.
func TestAttemptsWithoutASignAreTold(t *testing.T) {
	t.Parallel()
	r := traceOf(t, "T", "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 2s seq=1 n=102 cseq=102\nheartbeat 3s seq=1 n=204 cseq=204", 0)
	var told []int
	for _, a := range r.Messages[0].Attempts {
		told = append(told, a.N)
	}
	if n := len(told); n != 103 || told[0] != 1 || told[n-2] != 102 || told[n-1] != 204 {
		t.Errorf("%d attempts are told, the last of them %v; want 1 to 102, and 204", n, told[max(0, n-2):])
	}
}

// The end of an attempt is known where its lease counts from the broker's time of the delivery, or from a heartbeat that came in time.
func TestAnEndThatIsOnlyBoundedIsToldSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, lines string
		latest      bool
	}{
		{"the broker's time of the delivery is known", "delivered 1s seq=1 cseq=1 exact", false},
		{"the delivery was no later", "delivered 1s seq=1 n=1", true},
		{"a heartbeat came in time, whenever the delivery was", "heartbeat 1s seq=1 n=1 cseq=1", false},
	} {
		lines := "published 0s seq=1 task=T\n" + c.lines + "\nlease_expired 31s seq=1 n=1 basis=1s deadline=31s"
		a := traceOf(t, "T", lines, 0).Messages[0].Attempts[0]
		if a.End != EndTimedOut || a.EndedLatest != c.latest {
			t.Errorf("%s: the attempt is %+v", c.what, a)
		}
	}
	a := traceOf(t, "T", "published 0s seq=1 task=T\nheartbeat 9s seq=1 n=2 cseq=2", 0).Messages[0].Attempts[0]
	if a.End != EndTimedOut || !a.EndedLatest {
		t.Errorf("the next one began: the attempt is %+v", a)
	}
}

// The broker takes a message from whoever has it where the worker of an earlier attempt hands it back: what ended the later one is told as one of two.
func TestALateNakMayHaveEndedTheNextAttempt(t *testing.T) {
	t.Parallel()
	const twice = "published 0s seq=1 task=T\nheartbeat 1s seq=1 n=1 cseq=1\nheartbeat 40s seq=1 n=2 cseq=2\n"
	for _, c := range []struct {
		what, lines string
		nakOf       int
	}{
		{"before the attempts were used up", "naked 41s seq=1 n=1 cseq=1\nmax_deliveries 42s seq=1 n=2", 1},
		{"before the next attempt began", "naked 41s seq=1 n=1 cseq=1\nheartbeat 42s seq=1 n=3 cseq=3", 1},
		{"before the attempt began", "naked 2s seq=1 n=1 cseq=1\nmax_deliveries 80s seq=1 n=2", 0},
		{"after the attempts were used up", "max_deliveries 80s seq=1 n=2\nnaked 81s seq=1 n=1 cseq=1", 0},
	} {
		a := traceOf(t, "T", twice+c.lines, 0).Messages[0].Attempts[1]
		if a.End != EndTimedOut || a.NakOf != c.nakOf || (a.Reason != "") != (c.nakOf > 0) {
			t.Errorf("%s: the attempt is %+v", c.what, a)
		}
	}
}

// Where the next attempt begins just as the wait of the one before is over, it is known when that one ended.
func TestAnEndThatAgreesWithTheWaitIsKnown(t *testing.T) {
	t.Parallel()
	second := base.Add(time.Second)
	for _, c := range []struct {
		what   string
		next   Micros // When the next one began.
		end    Micros
		latest bool
		since  Micros // Since when the consumer has that wait.
	}{
		{"at once", second.Add(3 * time.Millisecond), second, false, 0},
		{"at once, but the attempt began under another wait", second.Add(3 * time.Millisecond), second.Add(3 * time.Millisecond), true, second},
		{"later: its worker may have handed it back, or was not free", second.Add(200 * time.Millisecond), second.Add(200 * time.Millisecond), true, 0},
		{"before: the wait was another one", second.Add(-time.Millisecond), second.Add(-time.Millisecond), true, 0},
	} {
		m := MessageTrace{Consumer: &ConsumerState{AckWait: time.Second, WaitsSince: c.since}, Attempts: []Attempt{{N: 1, BeganAt: base, BeganExact: true, End: EndTimedOut, EndedAt: c.next, EndedLatest: true}}}
		m.dateEnds()
		if a := m.Attempts[0]; a.EndedAt != c.end || a.EndedLatest != c.latest {
			t.Errorf("%s: %+v", c.what, a)
		}
	}
}

// What the broker's state shows of a delivery is numbered by the answers before and after it, as far as they leave no choice.
func TestADeliveryJustBeforeANumberedOneIsTheAttemptBeforeIt(t *testing.T) {
	t.Parallel()
	lines := "published 0s seq=1 task=T\ndelivered 2s seq=1 cseq=4 exact\nlease_expired 3s seq=1 n=1 basis=2s deadline=9s\ndelivered 5s seq=1 cseq=5 exact\nacked 6s seq=1 n=3 cseq=5"
	a := traceOf(t, "T", lines, 0).Messages[0].Attempts
	if len(a) != 3 || a[0].BeganAt.Known() || a[1].BeganAt != base.Add(2*time.Second) || a[2].BeganAt != base.Add(5*time.Second) {
		t.Fatalf("the attempts are %+v", a)
	}
	if a[0].EndedAt > a[1].BeganAt || !a[0].EndedLatest {
		t.Errorf("the first attempt ended after the second began: %+v", a[0])
	}
}
