package health

import (
	"testing"
	"time"
)

// What parts read together is read up to where the last of them is: LastAt less Lag.
func TestPartsHaveReadWhatEachOfThemHasRead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	upToDate := Part{State: OK, LastAt: now}
	for name, tt := range map[string]struct {
		other Part
		want  time.Time
	}{
		"down":                   {Part{State: Down, LastAt: now.Add(-time.Minute)}, now.Add(-time.Minute)},
		"behind":                 {Part{State: Behind, LastAt: now.Add(-time.Second), Lag: time.Minute}, now.Add(-61 * time.Second)},
		"nothing was read yet":   {Part{State: Starting}, time.Time{}},
		"not asked to work":      {Part{State: NotConfigured}, now},
		"looked a moment before": {Part{State: OK, LastAt: now.Add(-time.Second)}, now.Add(-time.Second)},
	} {
		for _, parts := range [][]Part{{upToDate, tt.other}, {tt.other, upToDate}} {
			if got := Join("acks", "collector", parts); !got.LastAt.Add(-got.Lag).Equal(tt.want) {
				t.Errorf("beside one that is %s: read up to %s before now, want %s", name, now.Sub(got.LastAt.Add(-got.Lag)), now.Sub(tt.want))
			}
		}
	}
}
