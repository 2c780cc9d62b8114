package fleet

import "fmt"

// OldestBroker is the oldest version of nats-server that Fleetglass supports: earlier ones know no paused consumers and no time to live of a
// message, and let every agent acknowledge the messages of all.
const OldestBroker = "2.11"

// The API levels of the broker from which on it can do something.
const (
	levelOldest    = 1 // Of [OldestBroker].
	levelUndeduped = 4 // Of nats-server 2.14: a stream with a source, and without a window, drops no repeated publishes.
)

// TooOld reports whether a version of nats-server, such as 2.10.27, is older than [OldestBroker]. One that cannot be read is not.
func TooOld(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return n == 2 && (major < 2 || major == 2 && minor < 11)
}

// brokerAdvice is what a later broker would do better than one of this level.
func brokerAdvice(level int) []Advice {
	switch {
	case level < levelOldest:
		return []Advice{{
			Object:  "broker",
			Why:     "it is older than nats-server " + OldestBroker + ", the oldest that Fleetglass supports",
			Command: "upgrade it to nats-server 2.14 or later",
		}}
	case level < levelUndeduped:
		return []Advice{{
			Object:  "broker",
			Why:     "it is older than nats-server 2.14: " + CapturePub + " and " + CaptureRaw + " leave out what is published again under its message id within a tenth of a second",
			Command: "upgrade it to nats-server 2.14 or later, then provision again",
		}}
	}
	return nil
}
