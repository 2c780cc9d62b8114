package lifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What is kept of many heartbeats is the same in whatever order they come, is bounded, and has the first and the last.
func TestHeartbeatsAreKeptAlikeInEveryOrder(t *testing.T) {
	t.Parallel()
	r := newRand(t, 5)
	for range 200 {
		var beats []Micros
		for range 1 + r.IntN(400) {
			beats = append(beats, base.Add(time.Duration(r.IntN(3600_000))*time.Millisecond))
		}
		var want AttemptFacts
		for _, at := range beats {
			want.joinBeat(at)
		}
		r.Shuffle(len(beats), func(i, j int) { beats[i], beats[j] = beats[j], beats[i] })
		var got AttemptFacts
		for _, at := range append(beats, beats...) {
			got.joinBeat(at)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("of %d heartbeats (-one order +another):\n%s", len(beats), d)
		}
		if n := len(got.beats()); n > beatsKept {
			t.Fatalf("%d heartbeats are kept of %d, want at most %d", n, len(beats), beatsKept)
		}
	}
}
