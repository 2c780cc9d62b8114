package query

import (
	"context"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// riskAge is how old what the past says may be.
const riskAge = 5 * time.Minute

// RiskQuestion asks how likely a task is to die.
type RiskQuestion struct {
	Agent string
	Type  string
	At    lifecycle.Micros // When it would be published; zero means now.
}

// Risk is the answer, with how well such answers held in the past.
type Risk struct {
	dlqtriage.Risk
	From, To    lifecycle.Micros       // The past that it rests on.
	Calibration *dlqtriage.Calibration // Nil where the past is too short to tell.
}

// pastRisk is what the past says.
type pastRisk struct {
	model       *dlqtriage.RiskModel
	calibration *dlqtriage.Calibration
	from, to    lifecycle.Micros
}

// Risk says how likely a task is to die. What the past says is at most [riskAge] old.
func (s *Service) Risk(ctx context.Context, q RiskQuestion) (Risk, error) {
	past, err := ask(ctx, s.cache, "risk", riskAge, s.pastRisk)
	if err != nil {
		return Risk{}, err
	}
	if !q.At.Known() {
		q.At = s.now()
	}
	load, err := s.loadBefore(ctx, q.Agent, q.At)
	if err != nil {
		return Risk{}, err
	}
	found := past.model.Risk(dlqtriage.RiskQuestion{Agent: q.Agent, Type: q.Type, At: q.At, Load: load})
	return Risk{Risk: found, From: past.from, To: past.to, Calibration: past.calibration}, nil
}

// pastRisk learns from the rollups, and from the entries of what died.
func (s *Service) pastRisk(ctx context.Context, now lifecycle.Micros) (pastRisk, error) {
	from, to := dlqtriage.RiskSpan(now)
	type group struct {
		agent, kind string
		hour        lifecycle.Micros
	}
	cells := map[group]*dlqtriage.RiskCell{}
	cell := func(agent, kind string, hour lifecycle.Micros) *dlqtriage.RiskCell {
		g := group{agent, kind, hour}
		if cells[g] == nil {
			cells[g] = &dlqtriage.RiskCell{Agent: agent, Type: kind, Hour: hour}
		}
		return cells[g]
	}
	published, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricPublished}, from, to, true)
	if err != nil {
		return pastRisk{}, err
	}
	for c, n := range published {
		cell(c.Agent, c.Label, c.Bucket).Tasks += n
	}
	apart := map[[2]string]bool{}
	for c := range published {
		apart[[2]string{c.Agent, c.Label}] = true
	}
	err = s.cfg.Entries.EachFate(ctx, from, to, func(f dlqtriage.Fate) {
		typ := f.Type
		if !apart[[2]string{f.Agent, typ}] && apart[[2]string{f.Agent, lifecycle.OtherNames}] {
			typ = lifecycle.OtherNames // Where its tasks are counted.
		}
		cell(f.Agent, typ, f.FailedAt.Truncate(time.Hour)).Died++
	})
	if err != nil {
		return pastRisk{}, err
	}
	all := make([]dlqtriage.RiskCell, 0, len(cells))
	for _, c := range cells {
		all = append(all, *c)
	}
	return pastRisk{dlqtriage.NewRiskModel(all), dlqtriage.Calibrate(all), from, to}, nil
}

// loadBefore is how many messages were published for the agent in the hour before; negative where that is not kept, or lies ahead.
func (s *Service) loadBefore(ctx context.Context, agent string, at lifecycle.Micros) (int64, error) {
	now := s.now()
	if at > now.Add(time.Minute) || at < now.Add(-lifecycle.MinutesKept+time.Hour) {
		return -1, nil
	}
	found, err := s.cfg.Store.Rollups(ctx, []lifecycle.Metric{lifecycle.MetricPublishedMin}, at.Add(-time.Hour), at, true)
	if err != nil {
		return 0, err
	}
	var sum int64
	for c, n := range found {
		if c.Agent == agent {
			sum += n
		}
	}
	return sum, nil
}
