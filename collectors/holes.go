package collectors

import (
	"cmp"

	"fleetglass/lifecycle"
)

// hole is a span of a capture stream that was discarded before anybody read it.
type hole struct {
	fromSeq, toSeq uint64
	lost           uint64           // At least this many lines.
	from, to       lifecycle.Micros // Store times of the lines around it; from is zero when not known.
}

// holes finds such spans from the sequences of deliveries. Every delivery of a durable, to any replica, raises its consumer sequence by
// one, and at most one delivery is the first of a given line. So where stream sequences advance by more than consumer sequences,
// lines were skipped: the stream had discarded them. Deliveries to other replicas can hide a hole, never feign one.
type holes struct {
	consumer  uint64           // Consumer sequence of the last delivery seen.
	stream    uint64           // Highest stream sequence seen delivered for the first time.
	at        lifecycle.Micros // Store time of that line.
	elsewhere uint64           // Deliveries since that line that others got.
	others    lifecycle.Micros // Store time of the last line before others got the first one; zero for never.
}

// next takes one delivery in and returns the hole before it, if there is one.
func (h *holes) next(consumer, stream, deliveries uint64, at lifecycle.Micros) (hole, bool) {
	if consumer > h.consumer {
		if skipped := consumer - h.consumer - 1; skipped > 0 {
			h.elsewhere += skipped
			h.others = cmp.Or(h.others, h.at, at)
		}
		h.consumer = consumer
	}
	if deliveries > 1 || stream <= h.stream {
		return hole{}, false
	}
	skipped := stream - h.stream - 1
	found := hole{fromSeq: h.stream + 1, toSeq: stream - 1, from: h.at, to: at, lost: skipped - min(skipped, h.elsewhere)}
	h.stream, h.at, h.elsewhere = stream, at, 0
	return found, found.lost > 0
}
