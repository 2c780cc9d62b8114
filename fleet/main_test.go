package fleet_test

import (
	"testing"

	"go.uber.org/goleak"
)

// A stopped server leaves the set-up of a sourcing stream waiting for a reply until its own timeout.
const serverLeftover = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(serverLeftover)) }
