package main

import (
	"net/http"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/access"
	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/pipeline"
	"fleetglass/dlqtriage/release"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// triage is what acts on dead letters.
type triage struct {
	actions    *dlqtriage.Actions
	operations *dlqtriage.Operations
}

// triages prepares the actions on dead letters, and what carries them out.
func (a *App) triages(cfg Config, js jetstream.JetStream, store database, hub *live.Hub, now func() time.Time) (err error) {
	told := live.WrapDecisions(store, hub, tellActions(hub))
	var sent *pipeline.Pipeline
	var released *release.Relay
	a.triage.actions, err = dlqtriage.NewActions(dlqtriage.ActionsConfig{
		Entries: store, Tasks: store, Decisions: told, Policy: a.policy.Policy, Contract: contract(cfg), Fleet: store, Looks: a.looksAtDeaths, Now: now,
		LeasesRead: func(now lifecycle.Micros) lifecycle.Micros { return query.LeasesRead(a.health.Health(), now) },
		Wake:       func() { sent.Wake(); released.Wake() },
	})
	if err != nil {
		return err
	}
	sent, err = pipeline.New(pipeline.Config{
		JetStream: js, Contract: contract(cfg), Effects: told, Actions: a.triage.actions, Tasks: store, Shards: cfg.CaptureShards, Now: now, Log: a.log,
	})
	if err != nil {
		return err
	}
	released, err = release.New(release.Config{JetStream: js, Effects: told, Actions: a.triage.actions, Now: now, Log: a.log})
	if err != nil {
		return err
	}
	a.triage.operations, err = dlqtriage.NewOperations(dlqtriage.OperationsConfig{
		Actions: a.triage.actions, Store: told, Changed: func(o dlqtriage.Operation) { hub.PublishOperation(operationChange(o)) }, Log: a.log,
	})
	if err != nil {
		return err
	}
	if !cfg.ReadOnly { // What was decided before then waits: read-only means that nothing is changed by this program.
		a.watch(sent)
		a.work("retries", sent.Run)
		a.watch(released)
		a.work("releases", released.Run)
		a.work("operations", a.triage.operations.Run)
	}
	return nil
}

// tellActions tells of actions on one entry, whose operations nobody runs. Those that are part of a bulk operation are told with it.
func tellActions(hub *live.Hub) func(decision.Action) {
	return func(a decision.Action) {
		if o, err := dlqtriage.ReadOperation(a); err == nil && !o.Bulk && a.Operation == "" {
			hub.PublishOperation(operationChange(o))
		}
	}
}

func operationChange(o dlqtriage.Operation) live.OperationChange {
	return live.OperationChange{
		ID: o.ID, Status: string(o.Status), At: o.UpdatedAt, Selected: o.Counts.Selected, Eligible: o.Counts.Eligible, Blocked: o.Counts.Blocked,
		Done: o.Counts.Done, Failed: o.Counts.Failed,
	}
}

// deniedActions keeps a record of actions that were refused where the route itself was allowed.
func deniedActions(denied func(routes.Denial)) func(r *http.Request, action string, why error) {
	return func(r *http.Request, action string, why error) {
		denied(routes.Denial{Request: r, Action: action, Target: routes.TargetOf(r), Who: access.From(r.Context()), Why: why})
	}
}
