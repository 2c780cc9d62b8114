package alerts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// quietStore is a board on which nothing is and nothing changes.
type quietStore struct{ alerts.Store }

func (quietStore) Board(context.Context, lifecycle.Micros) (alerts.Board, error) {
	return alerts.Board{}, nil
}

func TestOneLookThatFailsMakesNobodyBlind(t *testing.T) {
	t.Parallel()
	now, broken := noon, true
	e, err := alerts.NewEvaluator(alerts.EvaluatorConfig{
		Store: quietStore{}, Now: func() time.Time { return now },
		Look: func(context.Context) (alerts.Observed, error) {
			if broken {
				return alerts.Observed{}, errors.New("too late")
			}
			return alerts.Observed{At: lifecycle.MicrosOf(now)}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after  time.Duration
		broken bool
		want   health.State
	}{
		{0, true, health.Starting}, {time.Second, false, health.OK}, {time.Second, true, health.Behind}, {29 * time.Second, true, health.Behind},
		{time.Second, true, health.Down}, {time.Second, false, health.OK}, {time.Minute, true, health.Behind},
	} {
		now, broken = now.Add(step.after), step.broken
		alerts.Report(e, t.Context(), e.Turn(t.Context()))
		if got := e.Health()[0]; got.State != step.want {
			t.Errorf("at %s: %+v, want %s", now.Sub(noon), got, step.want)
		}
	}
}
