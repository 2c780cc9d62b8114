package health

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestAPartThatIsDownIsToldInOneClause(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]Part{
		"collector acks is down":                              {Name: "acks", Kind: "collector"},
		"the store is down":                                   {Name: "store", Kind: "store"},
		"alerts is down":                                      {Name: "alerts", Kind: "alerts"},
		"the broker does not answer":                          {Name: "nats", Kind: "broker"},
		"the broker does not say which streams it has":        {Name: "streams", Kind: "broker"},
		"the broker lacks stream OBS_ACK":                     {Name: "acks", Kind: "collector", Lacks: []string{"OBS_ACK"}},
		"the broker lacks streams TASKS, OBS_PUB and OBS_ACK": {Name: "streams", Kind: "broker", Lacks: []string{"TASKS", "OBS_PUB", "OBS_ACK"}},
	} {
		if got := p.DownWords(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWhatPartsLackIsNamedOnce(t *testing.T) {
	t.Parallel()
	parts := []Part{{State: Down, Lacks: []string{"TASKS", "OBS_ACK"}}, {State: OK, Lacks: []string{"OBS_EVT"}}, {State: Down, Lacks: []string{"OBS_ACK"}}, {State: Down, Lacks: []string{"RETRY"}}}
	if got, want := Lacking(parts), []string{"TASKS", "OBS_ACK", "RETRY"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := LackOf(fmt.Errorf("open: %w", NoStreamError{"RETRY", "stream RETRY is missing"})); !slices.Equal(got, []string{"RETRY"}) {
		t.Errorf("lack of an error that wraps one: got %v", got)
	}
	if got := LackOf(errors.New("no broker")); got != nil {
		t.Errorf("lack of another error: got %v", got)
	}
}
