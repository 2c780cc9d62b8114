package brokersync

import (
	"strconv"
	"time"

	"fleetglass/lifecycle"
)

// Reasons of [lifecycle.Vanished]: what the broker's state says about how the message left.
const (
	GoneByAge       = lifecycle.VanishedByAge
	GoneByTTL       = "older than its Nats-TTL"
	GoneUnwatched   = "gone when it was looked for, and older than its max_age or its Nats-TTL"
	GoneByLimits    = "discarded by limits"
	GoneUndelivered = "stream purged or message deleted: no worker ever had it"
	GoneBroken      = "gone when the broker had been started again: somebody deleted it, or the broker could not read it any more"
	GoneDead        = "gone after its last attempt: deleted, or answered late"
	GoneStream      = "stream deleted"
	GoneInterest    = "dropped by the stream with the last consumer that took it"
	GoneForgotten   = "the broker forgot it, or what is left of it is told as another message: its stream came back as it had been before"
	GoneReplaced    = "another stream has its stream's name: that one is gone, or lives under another account"
	GoneCopied      = "taken over by a stream that copies this one: what becomes of it there is not followed"
	GoneUnknown     = "unknown"

	GoneOrAnswered = ", or an acknowledgement was missed" // Behind an age, where a worker may have had the message.
)

// vanished says that an open message left the stream without a line that explains it. undelivered says that no worker ever had it: only
// then are its age, its TTL or a full stream the reason, for else an acknowledgement may have been missed. Where the stream was not observed when the
// message reached its age, something else may have removed it before.
func vanished(v view, c *Consumer, o lifecycle.OpenMessage, missed Missed, undelivered bool) lifecycle.Event {
	m := o.Message
	reason, by, at := GoneUnknown, lifecycle.RemovedUnknown, missed.Since.Truncate(time.Second)
	aged, expired := missed.Limits.ageOf(m), endOf(m, ttlOf(m))
	under, others := v.relimited(m, missed)
	if aged.Known() {
		aged = max(aged, under)
	}
	if missed.Over.Known() {
		missed.Over = max(missed.Over, under)
	}
	if others = others || missed.Room.Known() && missed.Room <= missed.Over; others {
		missed.Over = 0
	}
	tooOld, outlived := aged.Known() && aged <= missed.Since, expired.Known() && expired <= missed.Since
	end := aged
	if outlived && (!tooOld || expired < aged) {
		end = expired
	}
	ended := tooOld || outlived
	unwatched := ended && end < v.Watched
	either := ended && missed.Full && (!missed.Over.Known() || missed.Over == end) // Its age, or a limit before or just then.
	unwanted := v.Interest && !v.keptForWorkers(m) && !v.lostInterest(m, missed.Since)
	switch {
	case undelivered && (unwanted || (others || either) && !unwatched):
		reason, by = GoneUndelivered, lifecycle.RemovedByBroker
	case undelivered && missed.Over.Known() && (!ended || missed.Over < end):
		reason, by, at = GoneByLimits, lifecycle.RemovedByLimit, missed.Over
	case undelivered && unwatched:
		reason, by, at = GoneUnwatched, lifecycle.RemovedUnwatched, end
	case undelivered && ended && end == aged:
		reason, by, at = GoneByAge, lifecycle.RemovedByAge, end
	case undelivered && ended:
		reason, by, at = GoneByTTL, lifecycle.RemovedByTTL, end
	case undelivered && missed.Full:
		reason, by = GoneByLimits, lifecycle.RemovedByLimit
	case !ended && v.lostInterest(m, missed.Since):
		reason, by = GoneInterest, lifecycle.RemovedByInterest
	case lifecycle.Judge(m, o.Task).State == lifecycle.StateExhausted:
		reason = GoneDead
	case tooOld:
		reason = GoneByAge + GoneOrAnswered
	case outlived:
		reason = GoneByTTL + GoneOrAnswered
	case undelivered && missed.Broken:
		reason = GoneBroken
	case undelivered && (missed.Limits.MaxPerSubject > 0 || missed.Limits.Others || missed.Limits.Rollup): // A limit may have made room that is taken by now, or a publish.
		reason, by = GoneUndelivered, lifecycle.RemovedByBroker
	case undelivered:
		reason, by = GoneUndelivered, lifecycle.RemovedByOperator
	case c == nil && v.copied(m):
		reason = GoneCopied
	case v.Blind != "":
		reason += ": " + v.Blind
	}
	e := goneEvent(m, c, max(at, m.LastAt), reason, by)
	e.Detail.Undelivered = undelivered
	return e
}

// ageOf is when a message is too old for its stream; zero when it never is.
func (l Limits) ageOf(m lifecycle.MessageFacts) lifecycle.Micros {
	if ttlOf(m) == lifecycle.NeverExpires {
		return 0
	}
	return endOf(m, l.MaxAge)
}

// endOf is when a message reaches an age; zero when it has none to reach.
func endOf(m lifecycle.MessageFacts, age time.Duration) lifecycle.Micros {
	if m.Stored == nil || age <= 0 {
		return 0
	}
	return m.Stored.At.Add(age)
}

func ttlOf(m lifecycle.MessageFacts) time.Duration {
	if m.Stored == nil {
		return 0
	}
	return m.Stored.TTL
}

// streamGone says that a message went with its stream, and why: it belongs to an earlier incarnation, or none lives now.
func streamGone(m lifecycle.MessageFacts, at lifecycle.Micros, why string) lifecycle.Event {
	by := lifecycle.RemovedUnknown
	if why == GoneStream {
		by = lifecycle.RemovedWithStream
	}
	return goneEvent(m, nil, max(at, m.LastAt), why, by)
}

func goneEvent(m lifecycle.MessageFacts, c *Consumer, at lifecycle.Micros, reason string, by lifecycle.Removal) lifecycle.Event {
	e := newEvent(lifecycle.Vanished, m, c, at)
	e.ID = lifecycle.NewEventID(Name, string(lifecycle.Vanished), m.Key.String(), strconv.FormatInt(int64(e.At), 10)) // Whatever consumer a replica saw.
	e.Detail.Reason, e.Detail.Removal, e.Provenance = reason, by, by.Provenance()
	return e
}
