package live

import (
	"context"

	"fleetglass/lifecycle"
)

// Wrap returns an appender that publishes what changed after each commit of next.
func Wrap(next lifecycle.Appender, hub *Hub) lifecycle.Appender {
	return publishing{next: next, hub: hub}
}

type publishing struct {
	next lifecycle.Appender
	hub  *Hub
}

// Append implements [lifecycle.Appender]. Nothing is published when the commit did not happen.
func (p publishing) Append(ctx context.Context, b lifecycle.Batch) (lifecycle.Appended, error) {
	done, err := p.next.Append(ctx, b)
	if err == nil {
		p.hub.Publish(done.Changed)
	}
	return done, err
}
