package brokersync

import (
	"strconv"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

// Name is the source of the synchronizer's events, and its name in health and watermarks.
const Name = "brokersync"

// newEvent begins an event about message m. The id derives from kind, message, consumer, time and the given coordinates.
func newEvent(kind lifecycle.Kind, m lifecycle.MessageFacts, c *Consumer, at lifecycle.Micros, coordinates ...uint64) lifecycle.Event {
	id := []string{string(kind), m.Key.String(), strconv.FormatInt(int64(at), 10)}
	e := lifecycle.Event{Kind: kind, At: at, Provenance: kind.Row().Provenance, Source: Name, Message: m.Key, Agent: m.Agent, Consumer: m.Consumer}
	if c != nil {
		e.Consumer = c.Name
		id = append(id, c.Name, strconv.FormatInt(int64(c.CreatedAt), 10))
		if e.Agent == "" {
			e.Agent = fleet.AgentOfWorker(c.Name)
		}
	}
	for _, x := range coordinates {
		id = append(id, strconv.FormatUint(x, 10))
	}
	e.ID = lifecycle.NewEventID(Name, id...)
	return e
}
