package views

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

// Two clocks differ by less than a millisecond: the broker's confirmation is dated before the captured answer that it confirms.
func TestWithinAMillisecondTheCauseComesFirst(t *testing.T) {
	t.Parallel()
	_, trace := twoMessages()
	at, message := lifecycle.MicrosOf(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)), trace.Messages[1].Facts.Key
	events := []lifecycle.Event{
		{ID: 1, Kind: lifecycle.AckConfirmed, Message: message, Attempt: 1, At: at + 505},
		{ID: 2, Kind: lifecycle.Acked, Message: message, Attempt: 1, At: at + 601},
		{ID: 3, Kind: lifecycle.Heartbeat, Message: message, Attempt: 1, At: at - 2000},
	}
	for name, rows := range map[string][]EventRow{
		"by attempt": EventRows(Arrange(events, trace), trace, 0, false, href),
		"by time":    TimeRows([]lifecycle.Event{events[2], events[0], events[1]}, trace, 0, href),
	} {
		var got []string
		for _, r := range rows {
			if r.Group == "" {
				got = append(got, r.Event.Kind.Row().Name+" "+afterText(r))
			}
		}
		if diff := cmp.Diff([]string{"heartbeat ", "ack +2 ms", "ack confirmed +0 ms"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAnAttemptWithoutAnAckSaysThatItsCompletionIsRecorded(t *testing.T) {
	t.Parallel()
	a := lifecycle.Attempt{N: 1, End: lifecycle.EndTimedOut}
	if got := endWord(a, []lifecycle.Event{{Kind: lifecycle.CompletionRecorded}}); got != "completion recorded, no ack" {
		t.Errorf("with a record: got %q", got)
	}
	if got := endWord(a, nil); got != "no answer" {
		t.Errorf("without one: got %q", got)
	}
}
