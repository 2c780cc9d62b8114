package collectors_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

func created(at lifecycle.Micros) collectors.StreamAction {
	return collectors.StreamAction{At: at, Created: true}
}

func deleted(at lifecycle.Micros) collectors.StreamAction { return collectors.StreamAction{At: at} }

func TestLivesAreLearned(t *testing.T) {
	t.Parallel()
	type actions = []collectors.StreamAction
	tests := []struct {
		name    string
		known   collectors.Incarnations
		actions actions
		live    lifecycle.Micros
		want    map[lifecycle.Micros]lifecycle.Micros // Time of a message to epoch.
	}{
		{"nothing is known", nil, nil, 0, map[lifecycle.Micros]lifecycle.Micros{5: 0}},
		{"one incarnation", nil, nil, 100, map[lifecycle.Micros]lifecycle.Micros{50: 0, 150: 0}},
		{"one incarnation and the advisory of its creation", nil, actions{created(103)}, 100, map[lifecycle.Micros]lifecycle.Micros{101: 0, 150: 0}},
		{"created again before our first look", nil, actions{deleted(200), created(213)}, 210,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 210: 210, 211: 210, 300: 210}},
		{"created again while we watched, no advisory", collectors.Incarnations{{Created: 100}}, nil, 210,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 209: 0, 210: 210}},
		{"created again while we watched", collectors.Incarnations{{Created: 100}}, actions{created(103), deleted(200), created(213)}, 210,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 200: 0, 210: 210}},
		{"twice while we were down", collectors.Incarnations{{Created: 100}},
			actions{created(103), deleted(200), created(213), deleted(300), created(313)}, 310,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 211: 213, 250: 213, 311: 310}},
		{"deleted and not there now", collectors.Incarnations{{Created: 100}}, actions{deleted(200)}, 0, map[lifecycle.Micros]lifecycle.Micros{150: 0}},
		{"a short incarnation that we never saw", collectors.Incarnations{{Created: 100}}, actions{deleted(200), created(213), deleted(220)}, 0,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 214: 213}},
		{"the deletion's clock runs ahead of the creation's", collectors.Incarnations{{Created: 100}}, actions{deleted(215), created(218)}, 210,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 210: 210, 211: 210}},
		{"the creation advisory alone was seen", nil, actions{created(103)}, 0, map[lifecycle.Micros]lifecycle.Micros{104: 0}},
		{"the living stream was neither deleted nor created since", collectors.Incarnations{{Created: 100}},
			actions{deleted(5_000_000), created(5_000_013)}, 100, map[lifecycle.Micros]lifecycle.Micros{150: 0, 6_000_000: 0}},
		{"nor before our first look", nil, actions{deleted(5_000_000), created(5_000_013), deleted(6_000_000)}, 100,
			map[lifecycle.Micros]lifecycle.Micros{150: 0, 5_500_000: 0, 7_000_000: 0}},
		{"an older creation time is no news", collectors.Incarnations{{Created: 100}}, nil, 90, map[lifecycle.Micros]lifecycle.Micros{150: 0}},
	}
	for _, tt := range tests {
		got := tt.known.Learn(tt.actions, tt.live)
		for at, want := range tt.want {
			if epoch := got.EpochAt(at); epoch != want {
				t.Errorf("%s: a message at %d has epoch %d, want %d (%+v)", tt.name, at, epoch, want, got)
			}
		}
		if again := got.Learn(tt.actions, tt.live); !slices.Equal(got, again) {
			t.Errorf("%s: learning again changed something (-first +second):\n%s", tt.name, cmp.Diff(got, again))
		}
	}
}

// A stream incarnations several times; an observer looks at arbitrary moments, is down in between, and reads all advisories each time. Every
// message must be told apart by incarnation, and stay with the epoch that it was first given.
func TestEveryMessageStaysWithItsIncarnation(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 7))
		type incarnation struct{ from, to lifecycle.Micros }
		var incarnations []incarnation
		var advisories []collectors.StreamAction
		now := lifecycle.Micros(1000)
		for range 1 + r.IntN(4) {
			l := incarnation{from: now}
			advisories = append(advisories, created(now+1+lifecycle.Micros(r.IntN(5))))
			now += 10 + lifecycle.Micros(r.IntN(100))
			l.to = now
			incarnations = append(incarnations, l)
			now++
			advisories = append(advisories, deleted(now))
			now += 1 + lifecycle.Micros(r.IntN(20))
		}
		var known collectors.Incarnations
		given := map[lifecycle.Micros]lifecycle.Micros{} // Message time to epoch.
		for at := lifecycle.Micros(1000); at <= now; at += 1 + lifecycle.Micros(r.IntN(60)) {
			live := lifecycle.Micros(0)
			for _, l := range incarnations {
				if l.from <= at && at <= l.to {
					live = l.from
				}
			}
			seen := slices.DeleteFunc(slices.Clone(advisories), func(a collectors.StreamAction) bool { return a.At > at })
			known = known.Learn(seen, live)
			for _, l := range incarnations {
				for m := l.from; m <= min(l.to, at); m++ {
					epoch := known.EpochAt(m)
					if before, had := given[m]; had && before != epoch {
						t.Fatalf("seed %d: message at %d moved from epoch %d to %d at %d: %+v", seed, m, before, epoch, at, known)
					}
					given[m] = epoch
				}
			}
		}
		for i, l := range incarnations {
			for _, o := range incarnations[:i] {
				a, okA := given[l.to]
				b, okB := given[o.to]
				if okA && okB && a == b {
					t.Fatalf("seed %d: incarnations %+v and %+v share epoch %d: %+v", seed, o, l, a, known)
				}
			}
		}
	}
}

func TestAnAnswerIsAboutTheIncarnationThatLivedWhenItWasSent(t *testing.T) {
	t.Parallel()
	l := collectors.Incarnations{{Created: 100, Deleted: 200}, {Epoch: 300, From: 201, Created: 300, Restored: 5}}
	tests := []struct {
		name         string
		seq          uint64
		stored, sent lifecycle.Micros
		want         lifecycle.Micros
	}{
		{"sent before the stream was deleted", 3, 150, 190, 0},
		{"of a message that the backup brought", 3, 150, 310, 300},
		{"of a message that the backup does not have", 6, 160, 310, 0},
		{"of a message that was stored after it", 6, 320, 330, 300},
	}
	for _, tt := range tests {
		if got := l.EpochOfAnswer(tt.seq, tt.stored, tt.sent); got != tt.want {
			t.Errorf("%s: epoch %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestWhatABackupBroughtIsTold(t *testing.T) {
	t.Parallel()
	l := collectors.Incarnations{{Created: 100, Deleted: 200}, {Epoch: 300, From: 201, Created: 300}}
	if got := l.CameBack("TASKS"); len(got) != 0 {
		t.Errorf("of a stream that was made anew it says %+v", got)
	}
	l[1].Restored = 5
	want := []lifecycle.Gap{{Source: "backup of TASKS", From: 201, To: 300, Repaired: true,
		Reason: "TASKS was restored from a backup: workers are given what it holds up to 5, also what was done since the backup"}}
	if diff := cmp.Diff(want, l.CameBack("TASKS")); diff != "" {
		t.Error(diff)
	}
}
