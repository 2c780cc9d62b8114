package web

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

func TestAPageOfRowsNamesItsDayOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 23, 50, 4, 0, time.UTC)
	for earlier, want := range map[time.Duration]string{
		0: "2 rows, 26 Nov 23:50:04 UTC", 3 * time.Second: "2 rows, 26 Nov 23:50:01 to 23:50:04 UTC", 2 * time.Hour: "2 rows, 26 Nov 21:50 to 23:50 UTC", 25 * time.Hour: "2 rows, 25 Nov 22:50 to 26 Nov 23:50 UTC",
		-20 * time.Minute: "2 rows, 26 Nov 23:50 to 27 Nov 00:10 UTC", -596 * time.Second: "2 rows, 26 Nov 23:50 to 27 Nov 00:00 UTC",
	} {
		rows := []query.TaskRow{{}, {}}
		rows[0].LastEventAt, rows[1].LastEventAt = lifecycle.MicrosOf(at), lifecycle.MicrosOf(at.Add(-earlier))
		if got := pageNote(rows, time.UTC); got != want {
			t.Errorf("%v earlier: got %q, want %q", earlier, got, want)
		}
	}
}
