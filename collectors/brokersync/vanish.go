package brokersync

import (
	"time"

	"fleetglass/lifecycle"
)

// Reasons of [lifecycle.Vanished]: what the broker's state says about how the message left.
const (
	GoneByAge       = lifecycle.VanishedByAge
	GoneByLimits    = "discarded by limits"
	GoneUndelivered = "stream purged or message deleted: no worker ever had it"
	GoneDead        = "gone after its last attempt: deleted, or answered late"
	GoneStream      = "stream deleted"
	GoneUnknown     = "unknown"
)

// vanished says that an open message, seen missing from the stream since then, left it without a line that explains it.
func vanished(v view, c *Consumer, o lifecycle.OpenMessage, since lifecycle.Micros) lifecycle.Event {
	m := o.Message
	reason, by, at := GoneUnknown, lifecycle.RemovedUnknown, since.Truncate(time.Second)
	var stored lifecycle.Micros
	if m.Stored != nil {
		stored = m.Stored.At
	}
	undelivered := m.CurrentAttempt() == 0 && neverDelivered(c, stored)
	dead := lifecycle.Judge(m, o.Task).State == lifecycle.StateExhausted
	switch old := stored.Add(v.Limits.MaxAge); {
	case v.Limits.MaxAge > 0 && stored.Known() && old <= since:
		reason, by, at = GoneByAge, lifecycle.RemovedByAge, old
	case v.Full && m.Key.Seq < v.FirstSeq, m.Stored != nil && v.Crowded[m.Stored.Subject]:
		reason, by = GoneByLimits, lifecycle.RemovedByLimit
	case dead:
		reason = GoneDead
	case undelivered:
		reason, by = GoneUndelivered, lifecycle.RemovedByOperator
	}
	if v.Blind != "" && reason == GoneUnknown {
		reason += ": " + v.Blind + " does not exist"
	}
	e := goneEvent(m, c, max(at, m.LastAt), reason, by)
	e.Detail.Undelivered = undelivered
	return e
}

// neverDelivered reports whether no consumer can have had a message stored at that time: nobody serves its subject, or its consumer's
// last delivery was before.
func neverDelivered(c *Consumer, stored lifecycle.Micros) bool {
	return c == nil || (stored.Known() && c.DeliveredAt.Known() && c.DeliveredAt < stored) || c.DeliveredCSeq == 0
}

// streamGone says that a message went with its stream: it belongs to an earlier incarnation, or none lives now.
func streamGone(m lifecycle.MessageFacts, at lifecycle.Micros) lifecycle.Event {
	return goneEvent(m, nil, max(at, m.LastAt), GoneStream, lifecycle.RemovedWithStream)
}

func goneEvent(m lifecycle.MessageFacts, c *Consumer, at lifecycle.Micros, reason string, by lifecycle.Removal) lifecycle.Event {
	e := newEvent(lifecycle.Vanished, m, c, at)
	e.ID = lifecycle.NewEventID(Name, string(lifecycle.Vanished), m.Key.String())
	e.Detail.Reason, e.Detail.Removal = reason, by
	return e
}
