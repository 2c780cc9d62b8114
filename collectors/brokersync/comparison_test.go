package brokersync

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

// The comparison begins before the first publish that was captured, as far as what capture still has tells which that was.
func TestWhereTheComparisonBegins(t *testing.T) {
	t.Parallel()
	seen := Observation{Created: at(0), LastSeq: 35}
	ttl := seen
	ttl.Limits.TTL = true
	for name, c := range map[string]struct {
		begin Begin
		seen  Observation
		want  uint64
	}{
		"where the store says":                                {Begin{Stored: true, Position: 7, Discarded: 3}, ttl, 7},
		"without a capture stream, with what comes":           {Begin{CaptureMissing: true}, seen, 35},
		"with the stream, which is younger than capture":      {Begin{CaptureCreated: at(0) - 1, FirstCaptured: 20}, seen, 0},
		"before the first line":                               {Begin{CaptureCreated: at(1), FirstCaptured: 20}, seen, 19},
		"before those that were discarded":                    {Begin{CaptureCreated: at(1), FirstCaptured: 20, Discarded: 4}, seen, 15},
		"where no line is left, before those that were there": {Begin{CaptureCreated: at(1), Discarded: 3}, seen, 32},
		"where any line may have gone, with the stream":       {Begin{CaptureCreated: at(1), FirstCaptured: 20, Discarded: 3}, ttl, 0},
	} {
		if got := c.begin.position(c.seen); got != c.want {
			t.Errorf("%s: it begins after %d, want %d", name, got, c.want)
		}
	}
}

// What was stored between the creation of the capture stream and the first line that it holds may have been missed, unless the message before that line is older.
func TestSinceWhenEachPublishHasALine(t *testing.T) {
	t.Parallel()
	seen, empty := Observation{Created: at(0), At: at(time.Minute), LastSeq: 35}, Observation{Created: at(0), At: at(time.Minute)}
	for name, c := range map[string]struct {
		begin  Begin
		seen   Observation
		since  lifecycle.Micros
		missed bool
	}{
		"as the store says":                                             {Begin{Stored: true, Position: 7, Since: at(3)}, seen, at(3), false},
		"from now on, without a capture stream":                         {Begin{CaptureMissing: true}, seen, at(time.Minute), false},
		"always, with a younger stream":                                 {Begin{CaptureCreated: at(0) - 1, FirstCaptured: 20}, seen, 0, false},
		"always, from its first message on":                             {Begin{CaptureCreated: at(1), FirstCaptured: 1, FirstAt: at(time.Second)}, seen, 0, false},
		"always, from its first message on, which has a later sequence": {Begin{CaptureCreated: at(1), First: 20, FirstCaptured: 20, FirstAt: at(time.Second)}, seen, 0, false},
		"always, where nothing was stored":                              {Begin{CaptureCreated: at(1)}, empty, 0, false},
		"since capture, behind an older message":                        {Begin{CaptureCreated: at(time.Second), FirstCaptured: 20, FirstAt: at(30 * time.Second), Before: at(2)}, seen, at(time.Second), false},
		"since capture, where the last one is older":                    {Begin{CaptureCreated: at(time.Second), Before: at(2)}, seen, at(time.Second), false},
		"from the first line on, behind a later one":                    {Begin{CaptureCreated: at(1), FirstCaptured: 20, FirstAt: at(30 * time.Second), Before: at(2 * time.Second)}, seen, at(30 * time.Second), true},
		"from the first line on, behind an unknown one":                 {Begin{CaptureCreated: at(1), FirstCaptured: 20, FirstAt: at(30 * time.Second)}, seen, at(30 * time.Second), true},
		"from a first line on that came at once":                        {Begin{CaptureCreated: at(1), FirstCaptured: 20, FirstAt: at(verifyAfter)}, seen, at(verifyAfter), false},
		"from now on, where no line came of the last":                   {Begin{CaptureCreated: at(1), Before: at(2 * time.Second)}, seen, at(time.Minute), true},
		"from a line on, behind discarded ones":                         {Begin{CaptureCreated: at(1), FirstCaptured: 20, FirstAt: at(30 * time.Second), Discarded: 3}, seen, at(30 * time.Second), false},
	} {
		_, _, missed := c.begin.missed(c.seen)
		if got := c.begin.since(c.seen); got != c.since || missed != c.missed {
			t.Errorf("%s: since %v, missed %v; want %v, %v", name, got, missed, c.since, c.missed)
		}
	}
}
