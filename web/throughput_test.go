package web

import (
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/query"
)

// An axis has round times, in the reader's zone, whenever the span begins.
func TestTheAxisOfThroughputHasRoundTimes(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 20, 3, 14, 0, 0, time.UTC)
	for key, c := range map[string]struct {
		step time.Duration
		want string
	}{
		"1h":  {time.Minute, "03:20 03:30 03:40 03:50 04:00 04:10"},
		"24h": {time.Hour, "04:00 08:00 12:00 16:00 20:00 00:00"},
		"7d":  {6 * time.Hour, "20 Nov 21 Nov 22 Nov 23 Nov 24 Nov 25 Nov 26 Nov"},
		"30d": {24 * time.Hour, "22 Nov 27 Nov 2 Dec 7 Dec 12 Dec 17 Dec"},
	} {
		wd, first := windowOf(key), begin.Truncate(c.step)
		var got []string
		for i := range int(wd.length / c.step) {
			at := lifecycle.MicrosOf(first.Add(time.Duration(i) * c.step))
			if b := wd.bucket(i, query.FlowStep{At: at, End: at.Add(c.step)}, preferences{zone: time.UTC}, false); b.Axis != "" {
				got = append(got, b.Axis)
			}
		}
		if words := strings.Join(got, " "); words != c.want {
			t.Errorf("%s: the axis has %s, want %s", key, words, c.want)
		}
	}
}

func TestRatesOfTheMapHaveOneUnit(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0/h", 9999: "9,999/h", 12_345: "12k/h", 1_260_000: "1.2M/h"} {
		if got := rateWord(n); got != want {
			t.Errorf("%d in an hour reads %q, want %q", n, got, want)
		}
	}
}
