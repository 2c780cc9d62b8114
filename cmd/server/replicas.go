package main

import (
	"context"

	"fleetglass/dlqtriage"
	"fleetglass/internal/live"
	"fleetglass/internal/replicas"

	"github.com/nats-io/nats.go"
)

// joinsReplicas returns the hub that pages and streams read. Where the store may be shared it has what the other replicas commit too, beside own.
func (a *App) joinsReplicas(cfg Config, nc *nats.Conn, store database, own *live.Hub) (*live.Hub, error) {
	if cfg.DatabaseURL == "" {
		return own, nil
	}
	all := live.NewHub(hubSize)
	r, err := replicas.New(replicas.Config{
		Conn: nc, Subject: streams(cfg).ChangesSubject(), Own: own, All: all, Tasks: store, Log: a.log,
		Operation: func(ctx context.Context, id string) (live.OperationChange, error) {
			stored, err := store.Action(ctx, id)
			if err != nil {
				return live.OperationChange{}, err
			}
			o, err := dlqtriage.ReadOperation(stored)
			return operationChange(o), err
		},
		Alert: func(ctx context.Context, id string) (live.AlertChange, error) {
			s, err := a.board.service.Get(ctx, id)
			return alertChange(s), err
		},
	})
	if err != nil {
		return nil, err
	}
	a.work("replicas", r.Run)
	return all, nil
}
