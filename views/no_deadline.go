package views

import (
	"fleetglass/lifecycle"
)

// noDeadline says what stands in the place of the time to the deadline where a lease has none, and why.
func noDeadline(l lifecycle.Lease) (words, why string) {
	switch {
	case l.Due:
		return "none", "It was handed back, and its delay is over: the next pull gets it. No lease runs until then."
	case l.Wait <= 0:
		return "not known", "The deadline is the last sign of the worker plus the wait of " + consumerWords(l.Consumer) + ". That wait is not known: the broker has not told it, or the consumer is gone."
	}
	return "not known", "The deadline is the last sign of the worker plus " + lifecycle.Lasting(l.Wait) + ". When that sign was is not known: its delivery was not seen."
}

func consumerWords(name string) string {
	if name == "" {
		return "its consumer"
	}
	return "the consumer " + Cut(name, 60)
}
