package main

import (
	"time"

	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
)

const (
	// fewDescriptors is what is usual where nobody says how many there may be.
	fewDescriptors = 1024
	// mostConnections is how many connections serve pages and API, however many descriptors there are.
	mostConnections = 8192
)

// httpConnections is how many connections serve pages and API: at most half of what may be open. The rest is for the embedded broker, its
// agents, and the store: a broker that cannot open a file stops its streams until it is started again.
func httpConnections(descriptors int) int { return max(8, min(mostConnections, descriptors/2)) }

// brokerConnections is how many clients the embedded broker takes: at most a quarter of what may be open. What is left is for the files of streams
// and store.
func brokerConnections(descriptors int) int { return max(8, min(mostConnections, descriptors/4)) }

// streamLimits leaves half of the connections to everything that is no live stream. Without authentication everybody is one, and may have
// all of them.
func (c Config) streamLimits(descriptors int) routes.StreamLimits {
	l := routes.StreamLimits{Total: max(1, min(c.MaxStreams, httpConnections(descriptors)/2))}
	if c.Authenticated() {
		l.Each = min(c.MaxStreamsEach, l.Total)
	}
	return l
}

// limits are those of requests for pages and API.
func (c Config) limits() httperr.Limits { return httperr.Limits{MaxBody: int64(c.MaxBody)} }

// boundless is the same limits without a time for the answer, for what has a time of its own.
func boundless(l httperr.Limits) httperr.Limits {
	l.Timeout = time.Duration(-1)
	return l
}
