package fleet

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestTimesToLiveAreReadAsTheBrokerReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "never": lifecycle.NeverExpires, "Never": lifecycle.NeverExpires, "0": 0, "-5": 0, "5": 5 * time.Second, "90s": 90 * time.Second,
		"1h": time.Hour, "2900ms": 2 * time.Second, "500ms": 0, "soon": 0,
		"99999999999999999": 0, "9999999h": 0,
	} {
		if got := ReadTTL(map[string][]string{HeaderNatsTTL: {text}}); got != want {
			t.Errorf("ReadTTL(%q) = %s, want %s", text, got, want)
		}
	}
	if got := ReadTTL(map[string][]string{"nats-ttl": {"5"}}); got != 0 {
		t.Errorf("the broker does not know the header nats-ttl, and it is read as %s", got)
	}
}
