package query

import (
	"context"
	"slices"
	"time"

	"fleetglass/alerts"
	"fleetglass/lifecycle"
)

const (
	alertCountsAge = 500 * time.Millisecond // How long counts of alerts are shared.
	maxDeliveries  = 1000                   // How many tries to tell receivers are read for a list, the newest.
	maxDelivered   = 10                     // How many of them one alert shows.
)

// AlertBoard is where alerts come from; [alerts.Service] is one.
type AlertBoard interface {
	// List returns the alerts on the board as they stand now, and the silences that mute.
	List(ctx context.Context) ([]alerts.Standing, []alerts.Silence, error)
	// Deliveries returns the tries to tell receivers of an alert, the newest first; without an id those of all alerts.
	Deliveries(ctx context.Context, alert string, limit int) ([]alerts.Delivery, error)
}

// Alerts is the board of alerts.
type Alerts struct {
	AsOf       lifecycle.Micros
	All        []alerts.Standing // By state, then in order of harm.
	Silences   []alerts.Silence  // Those that mute.
	Counts     alerts.Counts
	Deliveries []alerts.Delivery // The newest tries to tell receivers.

	delivered map[string][]alerts.Delivery
}

// Delivered is the tries to tell receivers of an alert, the newest first.
func (a Alerts) Delivered(id string) []alerts.Delivery { return a.delivered[id] }

// Only is the board with the alerts that a filter selects. Silences and deliveries stay.
func (a Alerts) Only(f alerts.Filter) Alerts {
	a.All = slices.DeleteFunc(slices.Clone(a.All), func(s alerts.Standing) bool { return !f.Selects(s) })
	a.Counts = alerts.Count(a.All)
	return a
}

// Alerts returns the board as it is now. It is not shared: who acknowledges an alert sees it acknowledged.
func (s *Service) Alerts(ctx context.Context) (Alerts, error) {
	out := Alerts{AsOf: s.now(), Counts: alerts.Count(nil), delivered: map[string][]alerts.Delivery{}}
	if s.cfg.Alerts == nil {
		return out, nil
	}
	var err error
	if out.All, out.Silences, err = s.cfg.Alerts.List(ctx); err != nil {
		return out, err
	}
	out.Counts = alerts.Count(out.All)
	if out.Deliveries, err = s.cfg.Alerts.Deliveries(ctx, "", maxDeliveries); err != nil {
		return out, err
	}
	for _, d := range out.Deliveries {
		if of := out.delivered[d.Alert]; len(of) < maxDelivered {
			out.delivered[d.Alert] = append(of, d)
		}
	}
	return out, nil
}

// AlertCounts counts the alerts on the board.
func (s *Service) AlertCounts(ctx context.Context) (alerts.Counts, error) {
	if s.cfg.Alerts == nil {
		return alerts.Count(nil), nil
	}
	return ask(ctx, s.cache, "alert counts", alertCountsAge, func(ctx context.Context, _ lifecycle.Micros) (alerts.Counts, error) {
		all, _, err := s.cfg.Alerts.List(ctx)
		return alerts.Count(all), err
	})
}
