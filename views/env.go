package views

import (
	"context"
	"time"

	"fleetglass/lifecycle"
)

// Env is what components need to write a page and none decides.
type Env struct {
	Asset func(name string) string // Required. The address of a static asset.
	Zone  *time.Location           // Required. The zone in which times are written.
	Now   lifecycle.Micros         // Required. The time that ages are counted to.
}

type envKey struct{}

// With returns a context that carries e to the components.
func With(ctx context.Context, e Env) context.Context { return context.WithValue(ctx, envKey{}, e) }

// env returns what [With] put into the context. Outside a page it is UTC at an unknown time, so that a component still renders.
func env(ctx context.Context) Env {
	if e, ok := ctx.Value(envKey{}).(Env); ok {
		return e
	}
	return Env{Asset: func(name string) string { return "/static/-/" + name }, Zone: time.UTC}
}

func sprite(ctx context.Context, icon string) string { return env(ctx).Asset("icons.svg") + "#" + icon }
