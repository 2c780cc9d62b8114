package testkit

// BrokerGoroutine is a goroutine of the embedded broker that outlives its shutdown by some seconds: it waits for the answer of a source
// stream. Tests that look for goroutines left over ignore it.
const BrokerGoroutine = "github.com/nats-io/nats-server/v2/server.(*stream).trySetupSourceConsumer.func3"
