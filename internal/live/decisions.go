package live

import (
	"context"

	"fleetglass/decision"
)

// WrapDecisions returns a store that publishes what changed after each decision and each settlement that it commits. acted hears of each action
// that they begin or carry on; nil for nobody.
func WrapDecisions(next decision.Store, hub *Hub, acted func(decision.Action)) decision.Store {
	if acted == nil {
		acted = func(decision.Action) {}
	}
	return deciding{Store: next, hub: hub, acted: acted}
}

type deciding struct {
	decision.Store
	hub   *Hub
	acted func(decision.Action)
}

// Decide implements [decision.Decider].
func (d deciding) Decide(ctx context.Context, what decision.Decision) (decision.Made, error) {
	made, err := d.Store.Decide(ctx, what)
	return d.told(what.Change, made, err)
}

// Settle implements [decision.Outbox].
func (d deciding) Settle(ctx context.Context, s decision.Settlement) (decision.Made, error) {
	made, err := d.Store.Settle(ctx, s)
	return d.told(s.Change, made, err)
}

func (d deciding) told(what decision.Change, made decision.Made, err error) (decision.Made, error) {
	if err != nil {
		return made, err
	}
	d.hub.Publish(made.Changed)
	if what.Action != nil && !made.Repeated {
		d.acted(*what.Action)
	}
	return made, nil
}
