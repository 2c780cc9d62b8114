package doctor_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
)

// TestAnAccountWithoutItsImportRecordsNoAttempt looks at a capture stream of publish attempts that is there and stays empty.
func TestAnAccountWithoutItsImportRecordsNoAttempt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		name            string
		created, stored time.Duration // How long ago.
		lines           uint64
		found           bool
	}{
		{"nothing came of a publish", time.Hour, time.Minute, 0, true},
		{"its line may be under way", time.Hour, 9 * time.Second, 0, false},
		{"nothing was published since", time.Minute, time.Hour, 0, false},
		{"attempts are recorded", time.Hour, time.Minute, 1, false},
	} {
		look := doctor.Cluster{}
		for _, cfg := range rightly.Configs() {
			s := doctor.Stream{At: now, Created: now.Add(-c.created), Config: cfg, Servers: 1}
			switch cfg.Name {
			case fleet.CaptureRaw:
				s.State = jetstream.StreamState{LastSeq: c.lines}
			case fleet.StreamTasks:
				s.State = jetstream.StreamState{LastSeq: 7, LastTime: now.Add(-c.stored)}
			}
			look.Streams = append(look.Streams, s)
		}
		got := codes(doctor.Rules{Contract: contract}.Examine(look))
		if found := len(got) == 1 && got[0] == "attempts_unseen: stream OBS_RAW"; found != c.found || (!found && len(got) > 0) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
