package web

import (
	"context"

	"fleetglass/query"
)

// snapshot is the fleet at a glance, from which every page draws its navigation and banners.
func (w *Web) snapshot(ctx context.Context) (*query.FleetSnapshot, error) {
	snap, err := w.cfg.Query.Snapshot(ctx)
	return &snap, err
}
