package fleet_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A stopped server leaves the set-ups of streams that source or mirror others waiting for a reply until their own timeout.
const (
	sourceLeftover = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"
	mirrorLeftover = "github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(sourceLeftover), goleak.IgnoreTopFunction(mirrorLeftover))
}
