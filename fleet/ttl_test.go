package fleet

import (
	"testing"
	"time"
)

func TestTimesToLiveAreReadAsTheBrokerReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "never": 0, "0": 0, "-5": 0, "5": 5 * time.Second, "90s": 90 * time.Second, "1h": time.Hour, "500ms": 0, "soon": 0,
		"99999999999999999": 0, "9999999h": 0,
	} {
		if got := ReadTTL(text); got != want {
			t.Errorf("ReadTTL(%q) = %s, want %s", text, got, want)
		}
	}
}
