package leader

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// Consumer is what the leader of a consumer says of it, whether workers pull from it or the broker sends to them. The client's own calls know one of
// the two kinds each. The error is [jetstream.ErrConsumerNotFound] where there is none of that name.
func Consumer(ctx context.Context, js jetstream.JetStream, stream, name string) (*jetstream.ConsumerInfo, error) {
	pulled, err := js.Consumer(ctx, stream, name)
	if err == nil {
		return pulled.CachedInfo(), nil
	}
	if !errors.Is(err, jetstream.ErrNotPullConsumer) {
		return nil, err
	}
	pushed, err := js.PushConsumer(ctx, stream, name)
	if err != nil {
		return nil, err
	}
	return pushed.CachedInfo(), nil
}
