package access

import "context"

type viaKey struct{}

// WithVia returns a context that says by which door a request came in, where its address does not: what a tool for agents asks of the API.
func WithVia(ctx context.Context, via string) context.Context {
	return context.WithValue(ctx, viaKey{}, via)
}

// Via is the door that was named, empty where none was.
func Via(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return via
}
