package collectors

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestALeaderIsBackedByAMajorityThatItHeard(t *testing.T) {
	t.Parallel()
	heard := func(ago ...time.Duration) *jetstream.ClusterInfo {
		c := &jetstream.ClusterInfo{Leader: "n0"}
		for _, d := range ago {
			c.Replicas = append(c.Replicas, &jetstream.PeerInfo{Active: d})
		}
		return c
	}
	const soon, late, never = time.Second, time.Minute, 0
	for name, c := range map[string]struct {
		info *jetstream.ClusterInfo
		want bool
	}{
		"no cluster":                  {nil, true},
		"one replica":                 {heard(), true},
		"both of two others":          {heard(soon, soon), true},
		"one of two others":           {heard(soon, late), true},
		"none of two others":          {heard(late, late), false},
		"never any":                   {heard(never, never), false},
		"one of four others":          {heard(soon, late, late, never), false},
		"two of four others":          {heard(soon, late, soon, late), true},
		"the other one of two":        {heard(soon), true},
		"not the other one of two":    {heard(late), false},
		"exactly as long ago as that": {heard(2*time.Second, 2*time.Second), false},
	} {
		if got := Backed(c.info, 2*time.Second); got != c.want {
			t.Errorf("%s: backed %t, want %t", name, got, c.want)
		}
	}
}

// What a leader says counts once it has heard from a majority after it was asked first; until then it may speak of what was.
func TestAnAnswerIsWaitedForThatAMajorityStandsBehind(t *testing.T) {
	t.Parallel()
	heard := time.Now().Add(-time.Second) // Before the call.
	asked := 0
	ask := func() (*jetstream.ClusterInfo, error) {
		if asked++; asked == 3 {
			heard = time.Now()
		}
		ago := max(time.Since(heard), 1)
		return &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Active: ago}, {Active: time.Hour}}}, nil
	}
	n := &IncarnationResolver{}
	if err := n.await(t.Context(), time.Now(), ask); err != nil || asked < 3 || asked > 4 {
		t.Errorf("asked %d times, %v; want three or four times and no error", asked, err)
	}
	if err := n.await(t.Context(), time.Now().Add(-HeardWithin), func() (*jetstream.ClusterInfo, error) {
		return &jetstream.ClusterInfo{Replicas: []*jetstream.PeerInfo{{Active: time.Hour}, {Active: time.Hour}}}, nil
	}); !errors.Is(err, ErrAlone) {
		t.Errorf("a leader that is alone: %v", err)
	}
	if err := n.await(t.Context(), time.Now(), func() (*jetstream.ClusterInfo, error) { return nil, jetstream.ErrStreamNotFound }); err != nil {
		t.Errorf("a stream that does not exist: %v", err)
	}
}
