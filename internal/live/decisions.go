package live

import (
	"context"

	"fleetglass/decision"
)

// WrapDecisions returns a store that publishes what changed after each decision and each settlement that it commits.
func WrapDecisions(next decision.Store, hub *Hub) decision.Store {
	return deciding{Store: next, hub: hub}
}

type deciding struct {
	decision.Store
	hub *Hub
}

// Decide implements [decision.Decider].
func (d deciding) Decide(ctx context.Context, what decision.Decision) (decision.Made, error) {
	made, err := d.Store.Decide(ctx, what)
	return d.told(made, err)
}

// Settle implements [decision.Outbox].
func (d deciding) Settle(ctx context.Context, s decision.Settlement) (decision.Made, error) {
	made, err := d.Store.Settle(ctx, s)
	return d.told(made, err)
}

func (d deciding) told(made decision.Made, err error) (decision.Made, error) {
	if err == nil {
		d.hub.Publish(made.Changed)
	}
	return made, err
}
