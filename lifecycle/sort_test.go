package lifecycle

import (
	"net/url"
	"testing"
	"time"
)

func TestOnlyStatesAndAgentsAreCountedByCounters(t *testing.T) {
	t.Parallel()
	values := map[string]string{"state": "completed", "anomaly": string(AnomalyNotStored), "has": "duplicate", "layer": "execution", "from": "7d", "to": "1h", "sort": "published"}
	for _, name := range FilterParameters() {
		value := values[name]
		if value == "" {
			value = "x"
		}
		f, err := ParseFilter(url.Values{name: {value}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := f.Counted(), name == "state" || name == "agent" || name == "sort"; got != want {
			t.Errorf("a filter by %s: counters answer %v, want %v", name, got, want)
		}
	}
}
