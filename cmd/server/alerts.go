package main

import (
	"time"

	"fleetglass/alerts"
	"fleetglass/internal/live"
	"fleetglass/query"
)

// board is what says what needs attention, and keeps the board of it.
type board struct {
	rules   *followedValue[alerts.Rules]
	service *alerts.Service
	moves   *alerts.Evaluator
}

// openRules reads the rules of alerts and follows their file from then on.
func (a *App) openRules(cfg Config, now func() time.Time) error {
	a.board.rules = &followedValue[alerts.Rules]{
		name: "alert rules", kind: "alerts", file: followedFile{name: cfg.AlertRules}, parse: alerts.ParseRules, now: now,
	}
	return followValue(a, a.board.rules, alerts.Defaults())
}

// keepsBoard prepares the board, from which the questions about alerts are answered.
func (a *App) keepsBoard(store database, now func() time.Time) (err error) {
	a.board.service, err = alerts.NewService(alerts.ServiceConfig{Store: store, Rules: a.board.rules.Value, Now: now, Changed: func() { a.board.moves.Wake() }})
	return err
}

// movesBoard adds what applies the rules again and again.
func (a *App) movesBoard(cfg Config, store database, ask *query.Service, hub *live.Hub, now func() time.Time) (err error) {
	a.board.moves, err = alerts.NewEvaluator(alerts.EvaluatorConfig{
		Store: store, Look: ask.Observed, Rules: a.board.rules.Value, Every: time.Duration(cfg.Poll), Now: now, Log: a.log,
		Changed: func(changed []alerts.Standing, _ alerts.Counts) {
			for _, s := range changed {
				hub.PublishAlert(alertChange(s))
			}
		},
	})
	if err != nil {
		return err
	}
	a.watch(a.board.moves)
	a.work("alerts", a.board.moves.Run)
	return nil
}

func alertChange(s alerts.Standing) live.AlertChange {
	return live.AlertChange{
		ID: s.ID, Rule: string(s.Rule), Severity: string(s.Severity), State: string(s.State), Title: s.Title, What: s.What, Agent: s.Labels.Agent, At: max(s.StartedAt, s.ResolvedAt),
	}
}
