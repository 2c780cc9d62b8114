package views

import "fleetglass/lifecycle"

// noDeadline says what stands in the place of the time to the deadline where a lease has none, and why.
func noDeadline(l lifecycle.Lease) (words, why string) {
	switch {
	case l.Due && l.Awaits != "":
		return "none", "It was handed back, and its delay is over: the broker gives it out once " + l.Awaits + ". No lease runs until then."
	case l.Due:
		return "none", "It was handed back, and its delay is over: the next free worker gets it. No lease runs until then."
	case l.Consumer == "":
		return "not known", "Its delivery was not seen. The deadline depends on which consumer gave it out and when, and neither is known."
	case l.Wait <= 0:
		return "not known", "The deadline is the last sign of the worker plus the wait of the consumer " + Cut(l.Consumer, 60) + ". That wait is not known: the broker has not told it, or the consumer is gone."
	}
	return "not known", "The deadline is the last sign of the worker plus " + lifecycle.Lasting(l.Wait) + ". The time of that sign is not known: its delivery was not seen."
}
