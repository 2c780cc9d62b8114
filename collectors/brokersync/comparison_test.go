package brokersync

import "testing"

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
