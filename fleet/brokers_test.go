package fleet

import "testing"

func TestBrokersThatAreTooOld(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{"2.10.27": true, "1.4.1": true, "2.11.0": false, "2.15.2": false, "3.0.0": false, "": false, "nightly": false} {
		if TooOld(version) != old {
			t.Errorf("version %q is too old: %t, want %t", version, !old, old)
		}
	}
}

// What is captured on a broker that drops repeated publishes from every stream: `make brokers` shows it on real ones.
func TestCapturesOfADedupingBrokerHaveTheShortestWindow(t *testing.T) {
	t.Parallel()
	for _, deduping := range []bool{false, true} {
		for _, cfg := range (Streams{Contract: NewContract(""), deduping: deduping}).Configs() {
			if cfg.Name != CapturePub && cfg.Name != CaptureRaw {
				continue
			}
			if (cfg.Duplicates == LeastWindow) != deduping || (cfg.Duplicates == 0) == deduping {
				t.Errorf("a deduping broker: %t; %s has a window of %s", deduping, cfg.Name, cfg.Duplicates)
			}
		}
	}
	for level, advised := range map[int]bool{0: true, 1: true, 3: true, levelUndeduped: false, 5: false} {
		if (len(brokerAdvice(level)) > 0) != advised {
			t.Errorf("API level %d is advised to upgrade: %t, want %t", level, !advised, advised)
		}
	}
}
